// SPDX-License-Identifier: Apache-2.0
//
// Question: how long does an experiment with service levels take on two cores, and how much memory?
// Must hold: 500 iterations of qos-small.toml at one placement within 5 minutes, of qos-medium.toml
// within 40, so a window of all arms in 0.6 and 4.8 s; memory under 1 GB. The exit code is 1 when
// memory does not; times depend on what else the machine does, and are printed. Isolation is
// simulated once for each variant of a job, 5 times: over few windows it weighs more than over 500,
// and the figure without it is beside.
//
//   bench_qos SCENARIO [ITERATIONS [CONTROLLER [THREADS]]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>

#include "measuring.hpp"
#include "qos/experiment.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace {

using Clock = std::chrono::steady_clock;

struct Usage {
  double cpu_s = 0;
  double megabytes = 0;
};
Usage usage() {
  rusage of{};
  getrusage(RUSAGE_SELF, &of);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {.cpu_s = seconds(of.ru_utime) + seconds(of.ru_stime),
          .megabytes = static_cast<double>(of.ru_maxrss) * 1024 / 1e6};
}

}  // namespace

int main(int argc, char** argv) {
  using namespace weft;
  using bench::seconds_since;
  if (argc < 2) {
    fmt::print(stderr, "bench_qos SCENARIO [ITERATIONS [CONTROLLER [THREADS]]]\n");
    return 2;
  }
  auto scenario = sim::read_scenario(argv[1], {});
  auto options = scenario ? qos::options_of(std::move(scenario).value())
                          : Result<qos::ExperimentOptions>(scenario.error());
  if (!options) {
    fmt::print(stderr, "{}\n", options.error().message);
    return 2;
  }
  options->placements = 1;
  options->iterations = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 20;
  options->controller = argc > 3 ? argv[3] : "best";
  options->threads = argc > 4 ? static_cast<unsigned>(std::atoi(argv[4])) : 2;
  const auto begun = Clock::now();
  double calibrated = -1;
  const auto outcome = qos::run_experiment(*options, [&](std::uint64_t, std::uint64_t) {
    if (calibrated < 0) calibrated = seconds_since(begun);
    return true;
  });
  if (!outcome) {
    fmt::print(stderr, "{}\n", outcome.error().message);
    return 2;
  }
  const double wall = seconds_since(begun);
  const auto [cpu, megabytes] = usage();
  const double windows = options->iterations;
  fmt::print("{} windows in {:.2f} s, first one after {:.2f} s, CPU {:.2f} s, {:.0f} MB\n", windows,
             wall, calibrated, cpu, megabytes);
  std::uint64_t work = 0;
  for (const auto& job : outcome->jobs) {
    work = work * 31 + job.isolated_work * 7 + job.default_work * 3 + job.controlled_work;
  }
  fmt::print("{:.3f} s a window; work {:016x}\n", wall / windows, work);
  return megabytes < 1000 ? 0 : 1;
}
