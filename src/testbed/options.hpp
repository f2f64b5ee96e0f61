// SPDX-License-Identifier: Apache-2.0
// The options of a testbed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::testbed {

inline constexpr std::uint32_t kMostHosts = 64;
inline constexpr std::size_t kMostLevels = 16;

/// A service level at the switches' ports: packets that carry its DSCP.
struct LevelClass {
  std::uint8_t dscp = 0;    ///< 0 … 63
  std::uint8_t weight = 1;  ///< 1 … 255: its share of a port that several levels have filled

  friend bool operator==(const LevelClass&, const LevelClass&) = default;
};

/// A number of hosts around one switch, or two. Each host has one interface, and the same link to
/// its switch as all others.
struct TestbedOptions {
  std::uint32_t hosts = 16;  ///< 1 … 64
  Bandwidth link{};          ///< of each link, each way; zero: not limited
  /// The rate of the link between two switches, each way; hosts 0 … hosts/2 - 1 are at the first
  /// switch, the others at the second. Zero: there is one switch.
  Bandwidth uplink{};
  ByteCount queue = ByteCount::kib(128);  ///< of each switch port; excess frames are dropped
  /// Levels with a queue of their own, of that size each, at every limited port. Frames with none
  /// of their DSCPs belong to the first one. Empty: a port has one queue.
  std::vector<LevelClass> levels;
  Duration delay{};          ///< from host to host, one way; needs the kernel's netem
  std::uint32_t mtu = 9000;  ///< 1280 … 9000 bytes
  std::string congestion_control = "cubic";  ///< when the kernel allows it; empty: the kernel's own
  Duration lifetime = Duration::seconds(12 * 3600);  ///< the testbed ends after this long
};

/// Checks whether they are possible; the error names the command line's option.
Result<void> check(const TestbedOptions& options);

}  // namespace weft::testbed
