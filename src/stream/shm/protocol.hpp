// SPDX-License-Identifier: Apache-2.0
// The protocol of the shm sink and its consumers: small messages over a Unix seqpacket socket, and
// tables of components in shared memory. Neither side trusts the bytes that it reads here.
//
//   consumer → sink   Hello, then Release for each Offer in any order, Leave
//   sink → consumer   Welcome (with the table's memory file) or Refusal, then FileNotice (each with
//                     a memory file) and Offer, End
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "weft/consumer.hpp"
#include "weft/timeslice.hpp"

namespace weft::shm {

inline constexpr std::size_t max_message = 512;    ///< bytes, either direction
inline constexpr std::size_t max_group_name = 64;  ///< characters
inline constexpr std::size_t max_reason = 400;     ///< characters of a refusal
inline constexpr std::uint32_t max_depth = 64;     ///< offers a consumer may have at once
inline constexpr std::uint32_t max_computes = 4096;
inline constexpr std::uint32_t max_files = 65536;  ///< numbers that a FileNotice may carry

/// Numbers of memory files that are the same on every connection.
inline constexpr std::uint32_t table_file = 0;    ///< comes with the Welcome
inline constexpr std::uint32_t private_file = 1;  ///< copies for this consumer (policy skip)
inline constexpr std::uint32_t first_shared_file = 2;
inline constexpr std::uint32_t no_file = 0xffff'ffff;

struct Hello {
  GroupPolicy policy = GroupPolicy::all;
  std::uint32_t depth = 1;
  std::string_view group;  ///< decoded: points into the message
};
struct Release {
  std::uint64_t delivery = 0;
};
struct Leave {};
using FromConsumer = std::variant<Hello, Release, Leave>;

/// Bytes in a memory file that is mapped as a mirrored ring.
struct Piece {
  std::uint32_t file = no_file;
  std::uint64_t ring_offset = 0;  ///< of the ring in the file
  std::uint64_t ring_size = 0;
  std::uint64_t position = 0;  ///< of the bytes in the double mapping
  std::uint64_t size = 0;
};

struct Welcome {
  std::uint32_t compute = 0;
  std::uint32_t computes = 1;
};
struct Refusal {
  std::string_view reason;  ///< decoded: points into the message
};
struct FileNotice {
  std::uint32_t number = 0;
};
struct Offer {
  std::uint64_t delivery = 0;  ///< to be named in the Release
  std::uint64_t missed = 0;    ///< so far, by this consumer
  bool repeated = false;       ///< a consumer that died had it before
  Piece table;                 ///< a TimesliceHeader and its ComponentEntries
};
struct End {};
using FromSink = std::variant<Welcome, Refusal, FileNotice, Offer, End>;

using MessageBuffer = std::span<std::byte, max_message>;

/// Writes a message and returns its size. Texts longer than the limits above are cut.
std::size_t encode(const FromConsumer& message, MessageBuffer out);
std::size_t encode(const FromSink& message, MessageBuffer out);
/// The message, or nothing when the bytes are not exactly one message with values in range.
std::optional<FromConsumer> decode_from_consumer(std::span<const std::byte> bytes);
std::optional<FromSink> decode_from_sink(std::span<const std::byte> bytes);

/// Start of a table in shared memory.
struct TimesliceHeader {
  std::uint64_t index = 0;
  std::uint64_t start_time = 0;
  std::uint64_t duration = 0;
  std::uint32_t flags = 0;
  std::uint32_t num_core_microslices = 0;
  std::uint32_t components = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(TimesliceHeader) == 40);

/// One per component, after the header. A component without data has file no_file.
struct ComponentEntry {
  std::uint32_t file = no_file;
  std::uint32_t flags = 0;
  std::uint64_t ring_offset = 0;
  std::uint64_t ring_size = 0;
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t num_microslices = 0;

  Piece piece() const { return {file, ring_offset, ring_size, position, size}; }
};
static_assert(sizeof(ComponentEntry) == 48);

/// Bytes of a table of `components` entries.
constexpr std::size_t table_size(std::size_t components) {
  return sizeof(TimesliceHeader) + components * sizeof(ComponentEntry);
}
TimesliceHeader header_of(const TimesliceView& timeslice);
void write_entry(std::span<std::byte> table, std::size_t component, const ComponentEntry& entry);
void write_header(std::span<std::byte> table, const TimesliceHeader& header);
/// The header of a table of exactly the size it claims, or nothing.
std::optional<TimesliceHeader> read_header(std::span<const std::byte> table);
/// `component` is less than the header's count.
ComponentEntry read_entry(std::span<const std::byte> table, std::size_t component);
/// Returns whether a piece's own numbers can be true: its bytes lie in the double mapping of its
/// ring.
bool plausible(const Piece& piece);

}  // namespace weft::shm
