// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/partition/exchange.hpp"

namespace weft::sim {

/// Runs `body` once per rank, each in a thread of its own; returns when all have. The exchange is
/// valid within the body. Throws std::system_error, and runs no body, when the system starts fewer
/// threads.
void run_in_threads(std::uint32_t ranks, const std::function<void(Exchange&)>& body);

}  // namespace weft::sim
