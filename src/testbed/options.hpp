// SPDX-License-Identifier: Apache-2.0
// What a testbed is like.
#pragma once

#include <cstdint>
#include <string>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::testbed {

inline constexpr std::uint32_t kMostHosts = 64;

/// A number of hosts around one switch. Each host has one interface, and the same link to the
/// switch as all others.
struct TestbedOptions {
  std::uint32_t hosts = 16;               ///< 1 … 64
  Bandwidth link{};                       ///< of each link, each way; zero: not limited
  ByteCount queue = ByteCount::kib(128);  ///< of each switch port; what does not fit is dropped
  Duration delay{};                       ///< from host to host, one way; needs the kernel's netem
  std::uint32_t mtu = 9000;               ///< 1280 … 9000 bytes
  std::string congestion_control = "cubic";  ///< when the kernel allows it; empty: the kernel's own
  Duration lifetime = Duration::seconds(12 * 3600);  ///< the testbed ends after this long
};

/// Whether they are possible; the error names the command line's option.
Result<void> check(const TestbedOptions& options);

}  // namespace weft::testbed
