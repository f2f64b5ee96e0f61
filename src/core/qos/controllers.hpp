// SPDX-License-Identifier: Apache-2.0
// Controllers by their names.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/qos/algorithm_1.hpp"
#include "core/qos/controller.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// "best" is the one that proved itself; "none" leaves all on the default level.
std::vector<std::string_view> controller_names();

/// Makes the controller of that name. Controllers other than Algorithm 1 use only the number of
/// levels and the largest weight of its options. Errors: no controller has that name; the message
/// lists the names.
Result<std::unique_ptr<Controller>> make_controller(std::string_view name,
                                                    const Algorithm1Options& options,
                                                    std::uint64_t seed);

}  // namespace weft::qos
