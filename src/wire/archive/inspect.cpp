// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/crc32c.hpp"
#include "base/make_error.hpp"
#include "wire/archive/component.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/tools.hpp"

namespace weft::wire {
namespace {

class Inspector {
 public:
  Inspector(ArchiveContents& contents, bool check_crc)
      : contents_(contents), check_crc_(check_crc) {}

  void look_at(const ArchivedMicroslice& item) {
    see_index(item.descriptor.index);
    see_microslice(channel(0), {item.descriptor, item.content}, 0, 0);
  }
  void look_at(const ArchivedTimeslice& timeslice) {
    see_index(timeslice.descriptor.index);
    std::uint32_t flags = timeslice.descriptor.flags;
    for (std::size_t c = 0; c < timeslice.components.size(); ++c) {
      const ArchivedComponent& component = timeslice.components[c];
      flags |= component.descriptor.flags;
      ChannelContents& into = channel(c);
      if (component.descriptor.num_microslices == 0) ++into.missing;
      // The reader has accepted it already.
      const auto reader =
          ComponentReader::open(component.data, component.descriptor.num_microslices);
      for (std::uint64_t m = 0; m < reader->num_microslices(); ++m) {
        see_microslice(into, reader->microslice(m), c, m);
      }
    }
    constexpr std::uint32_t incomplete = bit(TimesliceFlag::missing_microslices) |
                                         bit(TimesliceFlag::missing_components) |
                                         bit(TimesliceFlag::missing_subtimeslices);
    if ((flags & incomplete) != 0) ++contents_.incomplete;
  }

 private:
  ChannelContents& channel(std::size_t c) {
    if (c >= contents_.channels.size()) contents_.channels.resize(c + 1);
    return contents_.channels[c];
  }
  void see_index(std::uint64_t index) {
    if (contents_.items == 0) {
      contents_.first_index = contents_.last_index = index;
    } else if (index <= previous_index_) {
      ++contents_.out_of_order;
    }
    contents_.first_index = std::min(contents_.first_index, index);
    contents_.last_index = std::max(contents_.last_index, index);
    previous_index_ = index;
    ++contents_.items;
  }
  void see_microslice(ChannelContents& into, const MicrosliceView& microslice, std::size_t c,
                      std::uint64_t m) {
    const MicrosliceDescriptor& d = microslice.descriptor;
    if (into.microslices == 0) {
      into.system_id = d.system_id;
      into.system_version = d.system_version;
      into.equipment_id = d.equipment_id;
    }
    ++into.microslices;
    into.bytes += d.size;
    ++contents_.microslices;
    contents_.bytes += d.size;
    if (!check_crc_ || (d.flags & bit(MicrosliceFlag::crc_valid)) == 0) return;
    ++contents_.crc_checked;
    const std::uint32_t crc = crc32c(microslice.content);
    if (crc == d.crc || contents_.crc_wrong++ > 0) return;
    contents_.first_wrong = fmt::format(
        "item {}, component {}, microslice {}: CRC-32C {:#010x} of the content, {:#010x} in its "
        "descriptor",
        contents_.items - 1, c, m, crc, std::uint32_t{d.crc});
  }

  ArchiveContents& contents_;
  bool check_crc_;
  std::uint64_t previous_index_ = 0;
};

}  // namespace

Result<ArchiveContents> inspect_archive(const std::string& path, bool check_crc,
                                        const ProgressCallback& progress) {
  auto reader = ArchiveReader::open(path);
  if (!reader) return std::move(reader).error();
  ArchiveContents contents;
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  contents.file_bytes = ignored ? 0 : size;
  std::optional<std::uint64_t> total;
  if (const auto left = reader->remaining()) total = reader->position() + *left;
  Inspector inspector(contents, check_crc);
  for (;;) {
    const auto more = reader->next();
    if (!more) return more.error();
    if (!*more) break;
    if (reader->type() == ArchiveType::microslices) {
      inspector.look_at(reader->microslice());
    } else {
      inspector.look_at(reader->timeslice());
    }
    if (progress && !progress({reader->items(), reader->position(), total})) {
      return make_error(ErrorCode::cancelled, "{}: interrupted", path);
    }
  }
  contents.format = reader->format();
  return contents;
}

}  // namespace weft::wire
