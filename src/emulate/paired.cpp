// SPDX-License-Identifier: Apache-2.0
#include "emulate/paired.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantile.hpp"

namespace weft::emulate {
namespace {

constexpr int kTriesPerRun = 2;

template <class Figure>
double median(const PairedRuns& paired, Figure figure) {
  std::vector<double> values;
  for (const PairedRun& run : paired.runs) values.push_back(figure(run));
  return median_of(std::move(values));
}

bool is_within(const Figures& figures, const PairingLimits& limits) {
  if (limits.least_bandwidth > 0 && figures.at("bandwidth_median") < limits.least_bandwidth) {
    return false;
  }
  const double near = limits.near_latency;
  return near == 0 || std::abs(figures.at("latency_min") - near) <= near / 3;
}

}  // namespace

bool agree(const Figures& a, const Figures& b) {
  const auto differ = [&](const char* name, double part) {
    const auto found = a.find(name);
    return found != a.end() && std::abs(found->second - b.at(name)) > part * found->second;
  };
  return !differ("latency_min", 0.25) && !differ("latency_p25", 0.25) &&
         !differ("bandwidth_median", 0.1);
}

Result<PairedRuns> run_paired(const Probe& probe, const ProbeRun& how,
                              const std::vector<std::string>& arguments, PairingLimits limits,
                              const std::function<void()>& on_pair) {
  PairedRuns paired;
  const auto is_enough = [&] { return static_cast<int>(paired.runs.size()) >= limits.runs; };
  auto before = run_probe(probe, ProbeRun{}, arguments);
  if (!before) return before.error();
  for (int tries = 0; !is_enough() && tries < kTriesPerRun * limits.runs; ++tries) {
    auto emulated = run_probe(probe, how, arguments);
    if (!emulated) return emulated.error();
    auto after = run_probe(probe, ProbeRun{}, arguments);
    if (!after) return after.error();
    if (is_within(*before, limits) && is_within(*after, limits) && agree(*before, *after)) {
      PairedRun run{.native = *before, .emulated = std::move(*emulated)};
      for (auto& [name, value] : run.native) value = (value + after->at(name)) / 2;
      paired.runs.push_back(std::move(run));
      if (on_pair) on_pair();
    } else {
      ++paired.rejected;
    }
    before = std::move(after);
  }
  if (!paired.runs.empty()) return paired;
  return Error{ErrorCode::unavailable,
               "no two native runs, one after the other, agree and are as fast as they should be: "
               "let nothing else run here, and try again"};
}

void keep_fastest_state(PairedRuns& paired) {
  const auto latency = [](const PairedRun& run) { return run.native.at("latency_min"); };
  const double least = latency(*std::ranges::min_element(paired.runs, {}, latency));
  paired.rejected += static_cast<int>(
      std::erase_if(paired.runs, [&](const PairedRun& run) { return latency(run) > 2 * least; }));
}

std::string warning_of_few(const PairedRuns& paired) {
  constexpr std::size_t kFewest = 12;
  if (paired.runs.size() >= kFewest) return {};
  return fmt::format(
      "its figures are of {} undisturbed pairs of runs only, and {} were disturbed; let nothing "
      "else run here, and calibrate again",
      paired.runs.size(), paired.rejected);
}

double median_native(const PairedRuns& paired, const std::string& name) {
  return median(paired, [&](const PairedRun& run) { return run.native.at(name); });
}

double median_added(const PairedRuns& paired, const std::string& name) {
  return median(paired,
                [&](const PairedRun& run) { return run.emulated.at(name) - run.native.at(name); });
}

}  // namespace weft::emulate
