// SPDX-License-Identifier: Apache-2.0
#include "qos/calibration.hpp"

#include <algorithm>

namespace weft::qos {
namespace {

constexpr int most_rounds = 8;

/// The longest computation of a rank in one iteration.
PicoDuration longest_computation(const sim::Program& program) {
  PicoDuration longest{};
  for (std::uint32_t rank = 0; rank < program.ranks(); ++rank) {
    sim::Cursor cursor;
    PicoDuration sum{};
    for (;;) {
      const sim::Action action = program.next(rank, cursor);
      if (action.kind == sim::Action::Kind::compute) sum += action.time;
      if (action.kind == sim::Action::Kind::mark_progress) break;
      if (action.kind == sim::Action::Kind::end) break;
    }
    longest = std::max(longest, sum);
  }
  return longest;
}

}  // namespace

Result<void> calibrate(jobs::WorkloadJob& job, const sim::Scenario& scenario,
                       const std::vector<std::uint32_t>& hosts, std::uint32_t levels,
                       PicoDuration window) {
  if (job.computation == 0) return {};
  jobs::WorkloadJob quiet = job;
  quiet.compute_noise = 0;
  quiet.pattern.compute = PicoDuration::microseconds(1);
  const double aimed = job.computation / (1 - job.computation);
  for (int round = 0; round < most_rounds; ++round) {
    const auto program = sim::make_pattern(quiet.pattern);
    if (!program) return program.error();
    const PicoDuration longest = longest_computation(**program);
    if (longest == PicoDuration{}) break;
    const auto seen =
        run_window(scenario, {{.job = &quiet, .program = program->get(), .hosts = hosts}}, nullptr,
                   levels, window);
    if (!seen) return seen.error();
    const std::uint64_t work = seen->front().work();
    if (work == 0) return no_iteration(job, window);
    const double iteration = window.to_seconds() / static_cast<double>(work);
    const double communication = std::max(iteration - longest.to_seconds(), 1e-9);
    const double factor = aimed * communication / longest.to_seconds();
    quiet.pattern.compute = PicoDuration(
        static_cast<std::int64_t>(static_cast<double>(quiet.pattern.compute.ticks()) * factor));
    if (factor > 0.995 && factor < 1.005) break;
  }
  job.pattern.compute = quiet.pattern.compute;
  return {};
}

}  // namespace weft::qos
