// SPDX-License-Identifier: Apache-2.0
// The parts of FLESnet archives (.tsa, .msa); the byte layouts are in docs/formats.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/timeslice.hpp"

namespace weft::wire {

#pragma pack(push, 1)
/// Before a timeslice's components; as of descriptor version 2, 44 bytes.
struct TimesliceDescriptor {
  std::uint64_t index = 0;
  std::uint64_t start_time = 0;            ///< nanoseconds; since version 2
  std::uint64_t duration = 0;              ///< nanoseconds; since version 2
  std::uint32_t flags = 0;                 ///< TimesliceFlag bits 0 to 3; since version 2
  std::uint64_t ts_pos = UINT64_MAX;       ///< deprecated
  std::uint32_t num_core_microslices = 0;  ///< deprecated, but the only way to tell in version 1
  std::uint32_t num_components = 0;
};
/// One per component, after all components' data; as of version 1, 36 bytes.
struct ComponentDescriptor {
  std::uint64_t ts_num = 0;  ///< the timeslice's index
  std::uint64_t offset = 0;  ///< position in the sender's buffer; means nothing in a file
  std::uint64_t size = 0;    ///< of the data: microslice descriptors and contents
  std::uint64_t num_microslices = 0;
  std::uint32_t flags = 0;  ///< since version 1
};
#pragma pack(pop)
static_assert(sizeof(TimesliceDescriptor) == 44);
static_assert(sizeof(ComponentDescriptor) == 36);

/// The only flags that archives carry; the others are weft's own.
inline constexpr std::uint32_t archived_flags = 0xF;

enum class ArchiveType : std::int32_t { timeslices = 0, microslices = 1 };
enum class ArchiveCompression : std::int32_t { none = 0, zstd = 1 };

std::string_view to_text(ArchiveType type);
std::string_view to_text(ArchiveCompression compression);

/// The header of an archive, and the versions of its contents. Writing with the format that was
/// read gives the same bytes.
struct ArchiveFormat {
  std::uint16_t library_version = 18;    ///< of Boost.Serialization; 8 and later have this layout
  std::uint32_t descriptor_version = 2;  ///< archive descriptor: 0 to 2
  ArchiveType type = ArchiveType::timeslices;                 ///< since descriptor version 1
  ArchiveCompression compression = ArchiveCompression::none;  ///< since descriptor version 2
  std::int64_t time_created = 0;                              ///< seconds since 1970
  std::string host;
  std::string user;
  std::uint32_t timeslice_version = 2;       ///< timeslice descriptor: 0 to 2
  std::uint32_t component_version = 1;       ///< component descriptor: 0 or 1
  std::uint32_t component_item_version = 1;  ///< repeated before the list of these descriptors
};

/// A format for a new archive, with the time, this host and this user.
ArchiveFormat new_archive_format(ArchiveType type, ArchiveCompression compression);

/// An item of a microslice archive, in place.
struct ArchivedMicroslice {
  MicrosliceDescriptor descriptor;
  std::span<const std::byte> content;
};
struct ArchivedComponent {
  ComponentDescriptor descriptor;
  std::span<const std::byte> data;
};
/// An item of a timeslice archive, in place.
struct ArchivedTimeslice {
  TimesliceDescriptor descriptor;
  std::span<const ArchivedComponent> components;
};

/// Constants of the encoding, shared by reader and writer.
namespace layout {
inline constexpr std::string_view signature = "serialization::archive";
inline constexpr std::uint16_t oldest_library_version = 8;
inline constexpr std::uint16_t newest_library_version = 63;
/// Sizes of int, long, float and double on the machine that wrote.
inline constexpr std::uint32_t type_sizes = 0x08040804;
inline constexpr std::uint32_t endianness = 1;
inline constexpr std::uint32_t newest_descriptor = 2;
inline constexpr std::uint32_t newest_timeslice = 2;
inline constexpr std::uint32_t newest_component = 1;
}  // namespace layout

}  // namespace weft::wire
