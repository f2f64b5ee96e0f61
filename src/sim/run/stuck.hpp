// SPDX-License-Identifier: Apache-2.0
// Whether the messages of a simulation have arrived, or can.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

class Exchange;
class Network;
class World;

/// Of a simulation in which nothing happens any more. Errors: messages wait in the network although
/// no link is down, so packets wait for each other. Behind a link that is down they may.
Result<void> check_arrival(std::uint64_t sent, std::uint64_t delivered, std::uint32_t links_down);

/// Of a network in one part in which nothing happens any more, while its users still wait. Errors:
/// they wait for packets that wait for each other.
Result<void> check_standstill(const Network& network);

/// When the network's users are done: `run_for` lets simulated time pass until packets have left
/// it, or until it is seen that they move. In a divided simulation all parts call it. Errors:
/// packets that do not move although no link is down.
Result<void> check_rest(const Network& network, Exchange& exchange,
                        const std::function<void(PicoDuration)>& run_for);
/// The same of a world, whose traffic ends.
Result<void> check_rest(World& world, Exchange& exchange);

}  // namespace weft::sim
