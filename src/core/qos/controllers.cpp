// SPDX-License-Identifier: Apache-2.0
#include "core/qos/controllers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/qos/climb.hpp"

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
  return {"best", "algorithm-1", "climb", "none"};
}

Result<std::unique_ptr<Controller>> make_controller(std::string_view name,
                                                    const Algorithm1Options& options,
                                                    std::uint64_t seed) {
  std::unique_ptr<Controller> made;
  if (name == "none") made = std::make_unique<NoController>();
  if (name == "algorithm-1") made = std::make_unique<Algorithm1>(options, seed);
  if (name == "climb" || name == "best") {
    if (options.levels < climb_levels) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("{} needs {} levels and the network has {}: use qos.levels = {} or "
                               "the controller algorithm-1",
                               name, climb_levels, options.levels, climb_levels)};
    }
    made = std::make_unique<Climb>(ClimbOptions());
  }
  if (made) return made;
  return Error{ErrorCode::invalid_argument,
               fmt::format("no controller is called '{}': there are {}", name,
                           fmt::join(controller_names(), ", "))};
}

}  // namespace weft::qos
