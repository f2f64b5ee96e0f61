// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/windows.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "sim/partition/partition.hpp"

namespace weft::sim {

Windows::Windows(Engine& engine, Network& network, Exchange& exchange, Border& border,
                 const Guarantees& expected)
    : expected_(expected),
      engine_(engine),
      network_(network),
      exchange_(exchange),
      border_(border),
      // The link that loses a packet may be in any part, and so may its sender, and nodes of a job.
      neighbours_(expected.everybody_talks()
                      ? others(exchange)
                      : neighbours_of(network.topology(), border.owners(), exchange.rank())),
      incoming_(exchange.size()) {
  length_ = network.lookahead(expected);
  engine.count_shared(exchange.rank() == 0);
}

void Windows::expect_rates_up_to(Bandwidth fastest) {
  WEFT_CHECK(count_ == 0);
  expected_.fastest = std::max(expected_.fastest, fastest);
  length_ = network_.lookahead(expected_);
}

/// Exchanges crossings with the other parts; returns the time of the next event in any part.
PicoInstant Windows::exchange_crossings() {
  const PicoInstant own = std::min(engine_.next_time(), border_.earliest());
  for (const std::uint32_t r : neighbours_) bytes_sent_ += border_.outgoing()[r].size();
  const std::int64_t least =
      exchange_.turn(neighbours_, border_.outgoing(), incoming_, own.ticks());
  border_.clear();
  for (const std::uint32_t r : neighbours_) network_.receive(incoming_[r]);
  return PicoInstant(least);
}

void Windows::run_until(PicoInstant end) {
  for (;;) {
    const PicoInstant next = exchange_crossings();
    if (next >= end) break;
    ++count_;
    const bool far = length_ > PicoInstant::never() - next;
    const PicoInstant horizon = far ? PicoInstant::never() : next + length_;
    border_.set_horizon(horizon);
    engine_.run_until(std::min(end, horizon));
  }
  engine_.run_until(end);
}

}  // namespace weft::sim
