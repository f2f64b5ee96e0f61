// SPDX-License-Identifier: Apache-2.0
// Running ip, tc and nft inside a testbed: no shell, arguments as they are, input from memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "testbed/spaces.hpp"
#include "weft/result.hpp"

namespace weft::testbed {

/// A program that the testbed needs.
struct Tool {
  std::string_view name;
  std::string_view package;  ///< of Debian, for the message when it is missing
};
inline constexpr Tool kIp{"ip", "iproute2"};
inline constexpr Tool kTc{"tc", "iproute2"};
inline constexpr Tool kNft{"nft", "nftables"};

/// The program's path: from PATH or the directories of system programs. The error names the
/// package.
Result<std::string> find_tool(const Tool& tool);

/// Runs `tool` with `arguments` in the network of `host` and with the testbed's mounts, `input` on
/// its standard input, and returns when it has ended, within `kToolSeconds`. An error has the
/// tool's message, on one line.
Result<void> run_tool(const Spaces& spaces, std::uint32_t host, const Tool& tool,
                      std::span<const std::string> arguments, std::string_view input);
inline constexpr int kToolSeconds = 20;

}  // namespace weft::testbed
