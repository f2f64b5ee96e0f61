// SPDX-License-Identifier: Apache-2.0
// Controllers by their names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/qos/algorithm_1.hpp"
#include "core/qos/controller.hpp"
#include "core/qos/model_predictive.hpp"
#include "core/qos/twin.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// "best" is the one that proved itself: model-predictive with a twin, climb without one. "none"
/// leaves all on the default level.
std::vector<std::string_view> controller_names();

/// The controller that `name` stands for, which is another one for "best" only.
std::string_view chosen_controller(std::string_view name, bool has_twin);

/// Errors: no controller has that name; the message lists the names. A network has too few levels
/// for it.
Result<void> check_controller(std::string_view name, const Algorithm1Options& options);

/// The options that the controller of that name decides by, each as "KEY=VALUE" of a scenario.
/// Windows under other ones are not its own.
std::vector<std::string> settings_of(std::string_view name, const Algorithm1Options& options,
                                     std::uint32_t predictions);

/// Makes the controller of that name. Controllers other than Algorithm 1 use only the number of
/// levels of its options. `twin`: of the jobs, outlives the controller; null: nobody has one.
/// `with_twin`: of model-predictive.
/// Errors: those of `check_controller`; model-predictive without a twin.
Result<std::unique_ptr<Controller>> make_controller(std::string_view name,
                                                    const Algorithm1Options& options,
                                                    std::uint64_t seed, Twin* twin = nullptr,
                                                    const ModelPredictiveOptions& with_twin = {});

}  // namespace weft::qos
