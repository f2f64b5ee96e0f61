// SPDX-License-Identifier: Apache-2.0
// The messages by which the two processes of `weft odp bench` find each other's queue pairs, over
// TCP: the client says hello, the server welcomes or refuses it. Little-endian, docs/formats.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fabric/registration/memory_mode.hpp"
#include "weft/result.hpp"

namespace weft::rdma {

constexpr std::uint16_t exchange_version = 1;
/// Upper bounds of a client's request; hellos beyond them do not decode.
constexpr std::uint32_t most_queue_pairs = 16'384;
constexpr std::uint64_t most_buffer_bytes = std::uint64_t{1} << 30;
/// In bytes, without the length in front of it.
constexpr std::size_t longest_message = 256 + most_queue_pairs * 8;
constexpr std::size_t longest_refusal = 200;

/// The purpose of the server's queue pairs.
enum class Purpose : std::uint8_t {
  benchmark,
  silence  ///< they take packets and answer none: the client measures its timeouts
};

struct QueuePairAddress {
  std::uint32_t number = 0;  ///< 24 bits
  std::uint32_t psn = 0;     ///< of its first packet, 24 bits
  bool operator==(const QueuePairAddress&) const = default;
};

/// The address by which packets reach an adapter's port.
struct PortAddress {
  std::array<std::uint8_t, 16> gid{};  ///< zeros: none
  std::uint16_t lid = 0;               ///< 0 on Ethernet
  std::uint8_t mtu = 1;                ///< code: 1 is 256 bytes, 5 is 4,096
  std::uint8_t read_depth = 1;         ///< READs of a queue pair that it answers at a time
  bool operator==(const PortAddress&) const = default;
};

struct Hello {
  Purpose purpose = Purpose::benchmark;
  bool wants_paged = false;
  bool wants_prefetch = false;
  std::uint8_t rnr_timer = 14;     ///< code that the server's RNR NAKs shall carry, 0 to 31
  std::uint64_t buffer_bytes = 1;  ///< of the server's buffer
  PortAddress port;
  std::vector<QueuePairAddress> queue_pairs;
  bool operator==(const Hello&) const = default;
};

struct Welcome {
  fabric::MemoryMode memory = fabric::MemoryMode::pinned;
  std::uint64_t address = 0;  ///< of the server's buffer
  std::uint32_t key = 0;
  PortAddress port;
  std::vector<QueuePairAddress> queue_pairs;  ///< as many as the hello had
  bool operator==(const Welcome&) const = default;
};

/// One line of printable characters, at most longest_refusal of them.
struct Refusal {
  std::string why;
  bool operator==(const Refusal&) const = default;
};

std::vector<std::byte> encode(const Hello& hello);
std::vector<std::byte> encode(const Welcome& welcome);
/// Longer reasons are cut, other characters replaced.
std::vector<std::byte> encode(const Refusal& refusal);

/// Bytes may come from any program. Errors: `corrupt`, with the reason.
Result<Hello> decode_hello(std::span<const std::byte> bytes);
Result<std::variant<Welcome, Refusal>> decode_answer(std::span<const std::byte> bytes);

}  // namespace weft::rdma
