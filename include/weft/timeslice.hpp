// SPDX-License-Identifier: Apache-2.0
// Microslices and timeslices: the data that streams carry, in FLESnet's byte layout
// (docs/formats.md), so that a buffer can be written to an archive as it stands.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft {

static_assert(std::endian::native == std::endian::little,
              "descriptors are read and written in place, little-endian");

/// Bits of MicrosliceDescriptor::flags.
enum class MicrosliceFlag : std::uint16_t {
  crc_valid = 1,
  overflow_flim = 2,  ///< in the FLES interface module, which sends the data
  overflow_user = 4,
  data_error = 8,
};

#pragma pack(push, 1)
/// The 32 bytes that describe a microslice's content, which is stored apart from them.
struct MicrosliceDescriptor {
  std::uint8_t header_id = 0xDD;
  std::uint8_t header_version = 1;
  std::uint16_t equipment_id = 0;
  std::uint16_t flags = 0;
  std::uint8_t system_id = 0;
  std::uint8_t system_version = 0;
  std::uint64_t index = 0;   ///< start time, nanoseconds
  std::uint32_t crc = 0;     ///< CRC-32C of the content, when flag crc_valid is set
  std::uint32_t size = 0;    ///< content bytes
  std::uint64_t offset = 0;  ///< position of the content in its stream, bytes
};
#pragma pack(pop)
static_assert(sizeof(MicrosliceDescriptor) == 32);

/// Bits of TimesliceView::flags. The low four are FLESnet's; the others are weft's own and are
/// not written to archives.
enum class TimesliceFlag : std::uint32_t {
  missing_microslices = 1,
  overflow = 2,
  missing_components = 4,
  missing_subtimeslices = 8,
  late = 1u << 16,      ///< a contribution came more than `late_after` after the first
  repeated = 1u << 17,  ///< built again after a failure: may have been delivered before
  ended = 1u << 18,     ///< of a missing component: its source had ended before this timeslice
};

constexpr std::uint32_t bit(TimesliceFlag f) {
  return static_cast<std::uint32_t>(f);
}
constexpr std::uint16_t bit(MicrosliceFlag f) {
  return static_cast<std::uint16_t>(f);
}

/// One input's part of a timeslice. `data` is num_microslices descriptors of 32 bytes, then the
/// contents; content m starts at data + 32·num_microslices + desc[m].offset − desc[0].offset.
/// A missing component has no microslices, no data, and flag missing_components.
struct ComponentView {
  std::uint32_t flags = 0;            ///< TimesliceFlag bits
  std::uint64_t num_microslices = 0;  ///< core and overlap
  std::span<const std::byte> data;
};

/// A timeslice that was built, in place: nothing is copied, everything is valid until it is
/// released. Components may be missing, which `flags` tells.
struct TimesliceView {
  TimesliceIndex index{};
  std::uint64_t start_time = 0;  ///< of the first core microslice, nanoseconds
  std::uint64_t duration = 0;    ///< nanoseconds from there to the end of core; 0: unknown
  std::uint32_t flags = 0;       ///< TimesliceFlag bits, components' included
  std::uint32_t num_core_microslices = 0;     ///< per component; the rest is overlap
  std::span<const ComponentView> components;  ///< one per input, in input order
};

}  // namespace weft
