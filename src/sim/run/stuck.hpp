// SPDX-License-Identifier: Apache-2.0
// Checks that find a network in deadlock: packets that can never move although no link is down.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

class Exchange;
class Network;
class World;

/// Checks that all `sent` messages of a simulation without further events were delivered. With
/// links down the check always passes, because messages may wait behind them. Errors: unavailable
/// when messages are missing, since their packets are then in deadlock.
Result<void> check_arrival(std::uint64_t sent, std::uint64_t delivered, std::uint32_t links_down);

/// Checks that an undivided network, in which no event is left while its users still wait, holds no
/// packets. Errors: unavailable when packets are in deadlock.
Result<void> check_standstill(const Network& network);

/// Checks, after the network's users are done, that the remaining packets can leave it: `run_for`
/// advances simulated time until the network is empty or enough packets have moved. All parts of a
/// divided simulation must call the function together. Errors: unavailable when packets do not move
/// although no link is down.
Result<void> check_rest(const Network& network, Exchange& exchange,
                        const std::function<void(PicoDuration)>& run_for);
/// Stops the world's traffic and makes the same check of its network.
Result<void> check_rest(World& world, Exchange& exchange);

}  // namespace weft::sim
