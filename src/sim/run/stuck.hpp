// SPDX-License-Identifier: Apache-2.0
// Whether a simulation in which nothing happens any more has delivered all of its messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "weft/result.hpp"

namespace weft::sim {

/// Errors: messages wait in the network although no link is down, so packets wait for each other.
/// Behind a link that is down they may.
inline Result<void> check_arrival(std::uint64_t sent, std::uint64_t delivered,
                                  std::uint32_t links_down) {
  if (delivered == sent || links_down > 0) return {};
  return Error{ErrorCode::unavailable,
               fmt::format("{} of {} messages never arrive, though no link is down: their packets "
                           "wait for each other; use another router",
                           sent - delivered, sent)};
}

}  // namespace weft::sim
