// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/testbed_twin.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "testbed/options.hpp"

namespace weft::stream {
namespace {

/// The headers of an Ethernet frame of the testbed around the bytes of a TCP stream: IPv4, and TCP
/// with time stamps, within the MTU; the Ethernet header, which token buckets count, outside of it.
constexpr std::uint32_t ip_and_tcp = 20 + 32;
constexpr std::uint32_t ethernet = 14;
/// The TCP fabric's header of an operation.
constexpr std::uint32_t frame_header = 24;
/// Crossing a veth pair and a bridge.
constexpr PicoDuration crossing = PicoDuration::microseconds(5);
/// A system call and its share of a turn of the loop.
constexpr PicoDuration host_overhead = PicoDuration::microseconds(10);
/// How unevenly TCP connections share their host's link: fitted to the spreads of best-effort,
/// eight by eight at 100 Mbit/s. Without it senders that begin together stay in step for ever.
constexpr double second_turn_probability = 0.03;

}  // namespace

sim::Scenario twin_of_testbed(const StreamOptions& options, const LocalOptions& local) {
  WEFT_CHECK(local.testbed && local.testbed_link != Bandwidth{});
  const testbed::TestbedOptions bed;
  sim::Scenario s;
  s.name = "twin of the testbed";
  s.topology = fmt::format("star:{}", options.inputs + options.computes);
  s.seed = options.seed;
  sim::NetworkOptions& n = s.network;
  n.host_link = {.rate = local.testbed_link, .latency = crossing};
  n.mtu = static_cast<std::uint32_t>(bed.mtu) - ip_and_tcp;
  n.packet_overhead = ip_and_tcp + ethernet;
  n.cut_through = false;
  n.switch_delay = crossing;
  n.host_overhead = host_overhead;
  n.output_queues = true;
  // A testbed's port drops frames that do not fit, which the simulation does not do.
  n.buffer_bytes = 1U << 30;
  n.second_turn_probability = second_turn_probability;
  n.interleaved_messages = options.inputs + options.computes;
  s.fabric.header_bytes = frame_header;
  return s;
}

}  // namespace weft::stream
