// SPDX-License-Identifier: Apache-2.0
// LinkedHosts: two network namespaces joined by one link of a chosen latency and rate. Unlike a
// Testbed there is no switch, and latency needs no netem: a process of ours is the cable.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "testbed/relay.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::testbed {

struct LinkOptions {
  Duration latency{};        ///< one way, on top of the packets' own time
  Bandwidth rate{};          ///< each way, of IP packets; zero: not limited
  std::uint32_t mtu = 9000;  ///< 1280 … 9000 bytes
};

/// Two hosts, 0 and 1, in namespaces that end with the object, and also when its process ends.
///
/// Threads: one at a time. Its maker has one thread, forks before it opens sockets, and ends after
/// it has no more use for the hosts: see the functions that change the calling process.
class LinkedHosts {
 public:
  /// Errors (unavailable, not_found) name the step that the kernel refused or the missing program.
  static Result<LinkedHosts> up(const LinkOptions& options);
  LinkedHosts(LinkedHosts&&) noexcept;
  LinkedHosts& operator=(LinkedHosts&&) noexcept;
  ~LinkedHosts();

  /// IPv4: "10.77.0.1" for host 0.
  static std::string address(std::uint32_t host);
  /// Packets and bytes that passed between them up to now.
  const RelayCounters& counters() const;

  /// Moves the calling process into a host.
  Result<void> enter_host(std::uint32_t host) const;
  /// Children that the calling process forks from now on end with the hosts at the latest.
  Result<void> contain_children() const;

 private:
  struct State;
  explicit LinkedHosts(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace weft::testbed
