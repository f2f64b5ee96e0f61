// SPDX-License-Identifier: Apache-2.0
// Testbed: a switched cluster on one machine. Hosts are network namespaces, joined by a bridge
// whose ports have the rate and the queue of a real switch's. Works as root, and without where
// unprivileged user namespaces are allowed. docs/testbed.md describes its uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "testbed/options.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft::testbed {

/// A testbed that is up.
///
/// Lifetime: one made by `up` ends with the object, and also when the process ends in any way. One
/// made by `up_named` stays until `down`, its lifetime's end or a reboot. In both cases the kernel
/// itself removes everything, since nothing of a testbed exists outside of its namespaces.
///
/// Threads: one at a time. Functions that change the network run ip, tc or nft, which takes some
/// milliseconds.
class Testbed {
 public:
  /// Sets a testbed up; 16 hosts take well below a second.
  static Result<Testbed> up(const TestbedOptions& options);

  /// Sets a testbed up that stays, under a name of letters, digits, '-' and '_'. Fails when one of
  /// that name is up.
  static Result<Testbed> up_named(const TestbedOptions& options, std::string_view name);
  /// One that is up already.
  static Result<Testbed> attach(std::string_view name);
  /// Takes a named testbed down with all processes in it, or cleans up after one that crashed.
  static Result<void> down(std::string_view name);
  /// Names of this user's testbeds, and of those that crashed.
  static std::vector<std::string> names();

  Testbed(Testbed&&) noexcept;
  Testbed& operator=(Testbed&&) noexcept;
  ~Testbed();

  const TestbedOptions& options() const;
  std::uint32_t hosts() const { return options().hosts; }
  /// IPv4 address of a host: "10.77.0.1" for host 0.
  std::string address(std::uint32_t host) const;
  /// A path of the host's network namespace, for `nsenter --net=` and the like.
  std::string namespace_path(std::uint32_t host) const;
  /// The congestion control of the hosts, "cubic" if the kernel allows it, for TCP as in a cluster.
  const std::string& congestion_control() const;

  /// Moves the calling process into a host; to be called in a forked child before it opens sockets.
  /// Not root: the process joins the testbed's user namespace as well, in which it is root, and may
  /// have one thread only.
  Result<void> enter_host(std::uint32_t host) const;
  /// Children that the caller forks from now on end with the testbed at the latest. Not root: the
  /// caller joins the testbed's user namespace and may have one thread only.
  Result<void> contain_children() const;

  // Faults. They stay until changed back.

  /// Pulls a host's cable, or plugs it in again.
  Result<void> set_link_up(std::uint32_t host, bool up);
  /// Another rate for a host's link, both ways; zero gives back the rate of the options.
  Result<void> set_rate(std::uint32_t host, Bandwidth rate);
  /// Drops packets of a host at random, each way; parts per million, 0 ends it.
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million);
  /// Other weights for the levels at the switches' ports, as many as the options have levels.
  /// Queued packets stay. `set_rate` gives back those of the options.
  Result<void> set_level_weights(std::span<const std::uint8_t> weights);
  /// Hosts of different groups do not reach each other; those in no group reach all. No groups end
  /// the partition. Not with two switches (unavailable).
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups);

 private:
  struct State;
  explicit Testbed(std::unique_ptr<State> state);
  static Result<std::unique_ptr<State>> build(const TestbedOptions& options, bool stays);

  std::unique_ptr<State> state_;
};

}  // namespace weft::testbed
