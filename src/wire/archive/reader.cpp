// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "wire/archive/component.hpp"

namespace weft::wire {

ArchiveReader::ArchiveReader(Decoder decoder, const ArchiveLimits& limits)
    : decoder_(std::move(decoder)),
      limits_(limits),
      class_versions_(static_cast<std::size_t>(Class::count)) {}

Result<ArchiveReader> ArchiveReader::open(const std::string& path, const ArchiveLimits& limits) {
  auto input = open_file_input(path);
  if (!input) return std::move(input).error();
  return from(std::move(*input), path, limits);
}

Result<ArchiveReader> ArchiveReader::from(std::unique_ptr<ByteInput> input, std::string name,
                                          const ArchiveLimits& limits) {
  ArchiveReader reader(Decoder(std::move(input), std::move(name)), limits);
  if (auto recognised = reader.read_signature(); !recognised) return std::move(recognised).error();
  reader.read_header();
  reader.read_archive_descriptor();
  if (reader.decoder_.failed()) return reader.decoder_.error();
  reader.header_bytes_ = reader.decoder_.position();
  if (reader.format_.compression == ArchiveCompression::zstd) reader.enter_compressed();
  return reader;
}

/// An archive that ends early is damaged; a file that begins otherwise is a wrong input.
Result<void> ArchiveReader::read_signature() {
  if (decoder_.at_end() && !decoder_.failed()) {
    return invalid("{}: is empty; name a .tsa or .msa file", decoder_.name());
  }
  constexpr std::size_t length_bytes = sizeof(std::uint64_t);
  for (std::size_t i = 0; i < length_bytes + layout::signature.size(); ++i) {
    const std::uint64_t expected =
        i < length_bytes ? layout::signature.size() >> (8 * i) & 0xff
                         : static_cast<unsigned char>(layout::signature[i - length_bytes]);
    const auto byte = decoder_.get<std::uint8_t>("the signature");
    if (decoder_.failed()) return decoder_.error();
    if (byte == expected) continue;
    return invalid("{}: not a FLESnet archive; name a .tsa or .msa file", decoder_.name());
  }
  return {};
}

void ArchiveReader::read_header() {
  format_.library_version = decoder_.get<std::uint16_t>("the archive version");
  if (!decoder_.failed() && (format_.library_version < layout::oldest_library_version ||
                             format_.library_version > layout::newest_library_version)) {
    return decoder_.fail(
        ErrorCode::corrupt,
        fmt::format("archive version {}, readable are {} to {}", format_.library_version,
                    layout::oldest_library_version, layout::newest_library_version));
  }
  const auto sizes = decoder_.get<std::uint32_t>("the type sizes");
  const auto endianness = decoder_.get<std::uint32_t>("the byte order");
  if (sizes != layout::type_sizes || endianness != layout::endianness) {
    decoder_.fail(ErrorCode::corrupt, "written by a machine that is not 64-bit little-endian");
  }
}

std::string ArchiveReader::read_text(std::string_view what) {
  const auto length = decoder_.get<std::uint64_t>(what);
  if (!decoder_.failed() && length > limits_.text_bytes) {
    decoder_.fail(ErrorCode::corrupt, fmt::format("{} of {} bytes, at most {} are accepted", what,
                                                  length, limits_.text_bytes));
  }
  if (decoder_.failed()) return {};
  std::string text(length, '\0');
  decoder_.get_bytes(std::as_writable_bytes(std::span(text)), what);
  return text;
}

void ArchiveReader::read_archive_descriptor() {
  format_.descriptor_version = read_class_info(layout::newest_descriptor, "archive descriptor");
  if (format_.descriptor_version >= 1) {
    const auto type = decoder_.get<std::int32_t>("the archive's type");
    if (!decoder_.failed() && type != 0 && type != 1) {
      return decoder_.fail(ErrorCode::corrupt,
                           fmt::format("archive of type {}, readable are 0 (timeslices) and 1 "
                                       "(microslices)",
                                       type));
    }
    format_.type = static_cast<ArchiveType>(type);
  }
  if (format_.descriptor_version >= 2) {
    const auto compression = decoder_.get<std::int32_t>("the archive's compression");
    if (!decoder_.failed() && compression != 0 && compression != 1) {
      return decoder_.fail(
          ErrorCode::corrupt,
          fmt::format("compression {}, readable are 0 (none) and 1 (zstd)", compression));
    }
    format_.compression = static_cast<ArchiveCompression>(compression);
  }
  format_.time_created = decoder_.get<std::int64_t>("the time");
  format_.host = read_text("the host name");
  format_.user = read_text("the user name");
}

void ArchiveReader::enter_compressed() {
  std::string name = decoder_.name();
  auto [begin, rest] = decoder_.release();
  decoder_ = Decoder(make_zstd_input(std::move(begin), std::move(rest)), std::move(name),
                     "decompressed byte");
}

std::uint32_t ArchiveReader::read_class_info(std::uint32_t newest, std::string_view name) {
  const auto tracking = decoder_.get<std::uint8_t>(name);
  const auto version = decoder_.get<std::uint32_t>(name);
  if (!decoder_.failed() && (tracking != 0 || version > newest)) {
    decoder_.fail(ErrorCode::corrupt,
                  fmt::format("class {} of version {} with tracking {}, readable are versions 0 to "
                              "{} without",
                              name, version, tracking, newest));
  }
  return version;
}

std::uint32_t ArchiveReader::class_version(Class which, std::uint32_t newest,
                                           std::string_view name) {
  auto& version = class_versions_[static_cast<std::size_t>(which)];
  if (!version) version = read_class_info(newest, name);
  return *version;
}

Result<bool> ArchiveReader::next() {
  return read_item(true);
}
Result<bool> ArchiveReader::skip() {
  return read_item(false);
}

Result<bool> ArchiveReader::read_item(bool contents) {
  has_item_ = false;
  if (decoder_.at_end()) {
    if (decoder_.failed()) return decoder_.error();
    return false;
  }
  item_start_ = decoder_.position();
  buffer_.clear();
  if (format_.type == ArchiveType::microslices) {
    read_microslice(contents);
  } else {
    read_timeslice(contents);
  }
  if (decoder_.failed()) {
    Error error = decoder_.error();
    error.message += fmt::format(" (item {}, which starts at {})", items_, item_start_);
    return error;
  }
  ++items_;
  has_item_ = contents;
  return true;
}

void ArchiveReader::read_microslice(bool contents) {
  class_version(Class::storable, 0, "StorableMicroslice");
  class_version(Class::item, 0, "MicrosliceDescriptor");
  microslice_.descriptor = decoder_.get<MicrosliceDescriptor>("the microslice descriptor");
  const auto size = decoder_.get<std::uint64_t>("the content's length");
  if (decoder_.failed()) return;
  if (size != microslice_.descriptor.size) {
    return decoder_.fail(ErrorCode::corrupt,
                         fmt::format("content of {} bytes, its descriptor says {}", size,
                                     std::uint32_t{microslice_.descriptor.size}));
  }
  if (size > limits_.item_bytes) {
    return decoder_.fail(ErrorCode::exhausted, fmt::format("content of {} bytes, the limit is {}",
                                                           size, limits_.item_bytes));
  }
  if (!contents) return decoder_.skip(size, "the content");
  decoder_.append(buffer_, size, "the content");
  microslice_.content = buffer_.view();
}

TimesliceDescriptor ArchiveReader::read_timeslice_descriptor() {
  const auto version = class_version(Class::item, layout::newest_timeslice, "TimesliceDescriptor");
  format_.timeslice_version = version;
  TimesliceDescriptor d;
  constexpr std::string_view what = "the timeslice descriptor";
  d.index = version >= 1 ? decoder_.get<std::uint64_t>(what) : items_;
  if (version >= 2) {
    d.start_time = decoder_.get<std::uint64_t>(what);
    d.duration = decoder_.get<std::uint64_t>(what);
    d.flags = decoder_.get<std::uint32_t>(what);
  }
  d.ts_pos = decoder_.get<std::uint64_t>(what);
  d.num_core_microslices = decoder_.get<std::uint32_t>(what);
  d.num_components = decoder_.get<std::uint32_t>(what);
  return d;
}

void ArchiveReader::read_timeslice(bool contents) {
  class_version(Class::storable, 0, "StorableTimeslice");
  timeslice_.descriptor = read_timeslice_descriptor();
  const std::uint32_t n = timeslice_.descriptor.num_components;
  if (!decoder_.failed() && n > limits_.components) {
    return decoder_.fail(ErrorCode::corrupt, fmt::format("timeslice of {} components, the limit is "
                                                         "{}",
                                                         n, limits_.components));
  }
  // No writer writes one; a tail of zeros, as a crash leaves it, would read as many of them.
  if (!decoder_.failed() && n == 0) {
    return decoder_.fail(ErrorCode::corrupt, "a timeslice without components");
  }
  read_component_data(contents);
  read_component_descriptors(contents);
}

void ArchiveReader::read_component_data(bool contents) {
  class_version(Class::data_list, 0, "list of components' data");
  const auto count = decoder_.get<std::uint64_t>("the number of components' data");
  decoder_.get<std::uint32_t>("the item version");
  if (decoder_.failed()) return;
  if (count != timeslice_.descriptor.num_components) {
    return decoder_.fail(ErrorCode::corrupt,
                         fmt::format("data of {} components, the descriptor says {}", count,
                                     std::uint32_t{timeslice_.descriptor.num_components}));
  }
  data_sizes_.clear();
  std::uint64_t total = 0;
  for (std::uint64_t c = 0; c < count; ++c) {
    const auto size = decoder_.get<std::uint64_t>("the length of a component's data");
    if (decoder_.failed()) return;
    if (size > limits_.item_bytes - total) {
      return decoder_.fail(ErrorCode::exhausted,
                           fmt::format("component {} of {} bytes takes the timeslice over the "
                                       "limit of {}",
                                       c, size, limits_.item_bytes));
    }
    total += size;
    data_sizes_.push_back(size);
    if (contents) {
      decoder_.append(buffer_, size, "a component's data");
    } else {
      decoder_.skip(size, "a component's data");
    }
    if (decoder_.failed()) return;
  }
}

void ArchiveReader::read_component_descriptors(bool contents) {
  class_version(Class::descriptor_list, 0, "list of component descriptors");
  const auto count = decoder_.get<std::uint64_t>("the number of component descriptors");
  const auto item_version = decoder_.get<std::uint32_t>("the item version");
  if (decoder_.failed()) return;
  if (count != data_sizes_.size()) {
    return decoder_.fail(ErrorCode::corrupt, fmt::format("{} component descriptors for the data of "
                                                         "{} components",
                                                         count, data_sizes_.size()));
  }
  components_.clear();
  std::uint64_t at = 0;
  for (std::uint64_t c = 0; c < count; ++c) {
    const auto version =
        class_version(Class::component, layout::newest_component, "TimesliceComponentDescriptor");
    format_.component_version = version;
    format_.component_item_version = item_version;
    constexpr std::string_view what = "a component descriptor";
    ArchivedComponent& component = components_.emplace_back();
    ComponentDescriptor& d = component.descriptor;
    d.ts_num = decoder_.get<std::uint64_t>(what);
    d.offset = decoder_.get<std::uint64_t>(what);
    d.size = decoder_.get<std::uint64_t>(what);
    d.num_microslices = decoder_.get<std::uint64_t>(what);
    if (version >= 1) d.flags = decoder_.get<std::uint32_t>(what);
    if (decoder_.failed()) return;
    if (contents) component.data = buffer_.view().subspan(at, data_sizes_[c]);
    at += data_sizes_[c];
  }
  timeslice_.components = components_;
  if (contents) check_components();
}

void ArchiveReader::check_components() {
  for (std::size_t c = 0; c < components_.size(); ++c) {
    const ComponentDescriptor& d = components_[c].descriptor;
    if (d.size != data_sizes_[c]) {
      return decoder_.fail(ErrorCode::corrupt,
                           fmt::format("component {} has {} bytes, its descriptor says {}", c,
                                       data_sizes_[c], std::uint64_t{d.size}));
    }
    const auto taken_apart = ComponentReader::open(components_[c].data, d.num_microslices);
    if (!taken_apart) {
      return decoder_.fail(ErrorCode::corrupt,
                           fmt::format("component {}: {}", c, taken_apart.error().message));
    }
  }
}

const ArchivedMicroslice& ArchiveReader::microslice() const {
  WEFT_CHECK(has_item_ && format_.type == ArchiveType::microslices);
  return microslice_;
}

const ArchivedTimeslice& ArchiveReader::timeslice() const {
  WEFT_CHECK(has_item_ && format_.type == ArchiveType::timeslices);
  return timeslice_;
}

}  // namespace weft::wire
