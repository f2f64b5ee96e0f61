// SPDX-License-Identifier: Apache-2.0
#include "core/qos/controllers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/qos/climb.hpp"
#include "core/qos/model_predictive.hpp"

namespace weft::qos {
namespace {

/// All on the default level.
class NoController final : public Controller {
 public:
  std::string_view name() const override { return "none"; }
  void on_jobs(std::span<const JobFacts> jobs) override {
    std::size_t processes = 0;
    for (const JobFacts& job : jobs) processes += job.processes;
    now_ = {.level_of = std::vector<Level>(processes, default_level), .weight_of = {1}};
  }
  const Configuration& configuration() const override { return now_; }
  void on_window(std::span<const JobWindow>) override {}
  bool is_settled() const override { return true; }
  std::uint32_t accepted() const override { return 0; }

 private:
  Configuration now_;
};

}  // namespace

std::vector<std::string_view> controller_names() {
  return {"best", "algorithm-1", "climb", "model-predictive", "none"};
}

std::string_view chosen_controller(std::string_view name, bool has_twin) {
  if (name != "best") return name;
  return has_twin ? "model-predictive" : "climb";
}

Result<void> check_controller(std::string_view name, const Algorithm1Options& options) {
  const auto names = controller_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format("no controller is called '{}': there are {}", name, fmt::join(names, ", "))};
  }
  const bool has_rungs = name != "none" && name != "algorithm-1";
  if (!has_rungs || options.levels >= rung_levels) return {};
  return Error{ErrorCode::invalid_argument,
               fmt::format("{} needs {} levels and the network has {}: use qos.levels = {} or the "
                           "controller algorithm-1",
                           name, rung_levels, options.levels, rung_levels)};
}

std::vector<std::string> settings_of(std::string_view name, const Algorithm1Options& a,
                                     std::uint32_t predictions) {
  if (name == "algorithm-1") {
    return {fmt::format("qos.threshold={}", a.threshold),
            fmt::format("qos.default-windows={}", a.default_windows),
            fmt::format("qos.largest-weight={}", a.largest_weight)};
  }
  if (name == "model-predictive") return {fmt::format("qos.predictions={}", predictions)};
  return {};
}

Result<std::unique_ptr<Controller>> make_controller(std::string_view name,
                                                    const Algorithm1Options& options,
                                                    std::uint64_t seed, Twin* twin,
                                                    const ModelPredictiveOptions& with_twin) {
  if (auto good = check_controller(name, options); !good) return std::move(good).error();
  std::unique_ptr<Controller> made;
  name = chosen_controller(name, twin != nullptr);
  if (name == "none") {
    made = std::make_unique<NoController>();
  } else if (name == "algorithm-1") {
    made = std::make_unique<Algorithm1>(options, seed);
  } else if (name == "climb") {
    made = std::make_unique<Climb>(ClimbOptions());
  } else if (twin != nullptr) {
    made = std::make_unique<ModelPredictive>(with_twin, *twin);
  } else {
    return Error{ErrorCode::invalid_argument,
                 "model-predictive needs a simulation of the jobs: use climb for real processes"};
  }
  return made;
}

}  // namespace weft::qos
