// SPDX-License-Identifier: Apache-2.0
// The parts of a testbed, as input for ip, tc and nft. Text in, text out; testbed.cpp runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "testbed/options.hpp"

namespace weft::testbed {

/// "10.77.0.1" for host 0.
std::string host_address(std::uint32_t host);
/// The switch's port of a host: "p0".
std::string port_name(std::uint32_t host);

/// For `ip -batch` in the switch: the bridge, and a pair of interfaces for each host.
std::string switch_links(const TestbedOptions& options);
/// For `ip -batch` in a host: its address, and where its peers are.
std::string host_links(const TestbedOptions& options, std::uint32_t host);
/// For `tc -batch`: the interface of a host, and the switch's port to a host, limited to `rate`;
/// works whether or not they were limited before. Empty when there is nothing to do.
std::string host_queue(const TestbedOptions& options, Bandwidth rate);
std::string port_queue(const TestbedOptions& options, std::uint32_t host, Bandwidth rate);

/// The switches' ports to each other, "u0" and "u1"; empty where there is one switch.
std::string uplink_queues(const TestbedOptions& options);
/// Other weights for the levels at all limited ports of the switches; as many as `options.levels`.
std::string change_weights(const TestbedOptions& options, std::span<const std::uint8_t> weights);

/// The packets that the switch drops.
struct Drops {
  std::vector<std::uint32_t> loss;  ///< per host: parts per million, each way
  /// Per host: 0 reaches all; the hosts of island n > 0 reach each other and those of island 0.
  /// Islands are numbered without gaps.
  std::vector<std::uint32_t> island;
};
/// For `nft -f -` in the switch; replaces the earlier rules.
std::string drop_rules(const Drops& drops);

}  // namespace weft::testbed
