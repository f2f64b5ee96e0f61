// SPDX-License-Identifier: Apache-2.0
// A star whose times are easy to work out: links carry a byte per nanosecond and take 10 ns, the
// switch takes 100 ns and hands packets on whole, packets have at most 1,000 bytes, messages have
// headers of 32 bytes.
#pragma once

#include <cstdint>
#include <string>

#include "sim/scenario/scenario.hpp"

namespace weft::trace {

inline sim::Scenario star_for_test(std::uint32_t hosts) {
  sim::Scenario scenario;
  scenario.topology = "star:" + std::to_string(hosts);
  sim::NetworkOptions& o = scenario.network;
  const sim::LinkOptions link{.rate = Bandwidth::bytes_per_second(1'000'000'000),
                              .latency = PicoDuration::nanoseconds(10)};
  o.host_link = o.local_link = o.global_link = link;
  o.mtu = 1000;
  o.buffer_bytes = 64'000;
  o.switch_delay = PicoDuration::nanoseconds(100);
  o.cut_through = false;
  return scenario;
}

/// From posting to arrival of an eager message that fits a packet.
constexpr double way_ns(int bytes) {
  return 2 * (bytes + 32 + 10) + 100;
}

}  // namespace weft::trace
