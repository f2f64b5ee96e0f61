// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/make_error.hpp"
#include "wire/archive/component.hpp"
#include "wire/archive/reader.hpp"

namespace weft {
namespace {

using wire::ArchiveReader;
using wire::ArchiveType;
using wire::ComponentReader;

/// The files of one recording, one after another.
class Recording {
 public:
  Recording(std::string path, ArchiveType type) : path_(std::move(path)), type_(type) {}

  /// The reader with the next item read, or nullptr at the end of the last file.
  Result<ArchiveReader*> next() {
    for (;;) {
      if (!reader_) {
        const auto opened = open_file();
        if (!opened) return opened.error();
        if (!*opened) return nullptr;
      }
      const auto more = reader_->next();
      if (!more) return more.error();
      if (*more) return &*reader_;
      reader_.reset();
      ++file_;
    }
  }
  void rewind() {
    reader_.reset();
    file_ = 0;
  }
  Result<void> can_go_back() const { return can_be_read_again(path_of(0)); }

 private:
  std::string path_of(std::uint64_t file) const {
    return expand_placeholders(path_, {{'s', fmt::format("{:04}", file)}});
  }
  /// False when there is no further file.
  Result<bool> open_file() {
    const bool numbered = has_placeholder(path_, 's');
    const std::string path = path_of(file_);
    if (file_ > 0 && (!numbered || access(path.c_str(), F_OK) != 0)) return false;
    auto reader = ArchiveReader::open(path);
    if (!reader) return std::move(reader).error();
    if (reader->type() != type_) {
      return invalid("'{}' holds {}; open it as {}:", path, to_text(reader->type()),
                     reader->type() == ArchiveType::timeslices ? "tsa" : "msa");
    }
    reader_ = std::move(*reader);
    return true;
  }

  std::string path_;
  ArchiveType type_;
  std::uint64_t file_ = 0;
  std::optional<ArchiveReader> reader_;
};

/// The microslices of a component that belong to the timeslice itself, not to the overlap.
struct CoreRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
};

CoreRange core_of(const wire::TimesliceDescriptor& timeslice, const ComponentReader& component) {
  const std::uint64_t n = component.num_microslices();
  if (timeslice.duration == 0) {
    const std::uint64_t core = timeslice.num_core_microslices;
    return {0, core == 0 ? n : std::min(core, n)};
  }
  const auto is_core = [&](std::uint64_t m) {
    return component.descriptor(m).index - timeslice.start_time < timeslice.duration;
  };
  CoreRange range;
  while (range.begin < n && !is_core(range.begin)) ++range.begin;
  range.end = range.begin;
  while (range.end < n && is_core(range.end)) ++range.end;
  return range;
}

class ArchiveFeed final : public MicrosliceFeed {
 public:
  ArchiveFeed(Recording recording, ArchiveType type, const SourcePlace& place)
      : recording_(std::move(recording)), type_(type), place_(place) {}

  Result<std::optional<NextMicroslice>> peek() override {
    while (!current_) {
      const auto more = load();
      if (!more) return more.error();
      if (!*more) return std::optional<NextMicroslice>{};
    }
    return std::optional(NextMicroslice{current_->content.size(), current_->descriptor.index});
  }
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override {
    if (!content.empty()) {
      std::memcpy(content.data(), current_->content.data(), content.size());
    }
    const MicrosliceDescriptor descriptor = current_->descriptor;
    current_.reset();
    return descriptor;
  }
  Result<void> drop() override {
    current_.reset();
    return {};
  }
  Result<void> rewind() override {
    current_.reset();
    component_.reset();
    recording_.rewind();
    return {};
  }
  Result<void> can_go_back() const override { return recording_.can_go_back(); }

 private:
  /// Makes another microslice the current one, or only a step toward it; false at the end.
  Result<bool> load() {
    if (component_ && position_ < padded_) {
      load_from_component();
      return true;
    }
    const auto reader = recording_.next();
    if (!reader) return reader.error();
    if (!*reader) return false;
    if (type_ == ArchiveType::microslices) {
      const auto& item = (*reader)->microslice();
      current_ = wire::MicrosliceView{item.descriptor, item.content};
      return true;
    }
    if (auto entered = enter((*reader)->timeslice(), (*reader)->name()); !entered) {
      return std::move(entered).error();
    }
    return true;
  }

  Result<void> enter(const wire::ArchivedTimeslice& timeslice, const std::string& name) {
    if (place_.input >= timeslice.components.size()) {
      return invalid(
          "'{}': timeslice {} has {} components, one per input; there is none for input {}", name,
          std::uint64_t{timeslice.descriptor.index}, timeslice.components.size(), place_.input);
    }
    position_ = padded_ = 0;
    std::uint64_t times_from = 0;
    for (std::size_t c = 0; c < timeslice.components.size(); ++c) {
      const auto& component = timeslice.components[c];
      const auto reader =
          ComponentReader::open(component.data, component.descriptor.num_microslices);
      if (!reader) return reader.error();
      const CoreRange core = core_of(timeslice.descriptor, *reader);
      if (c == place_.input) {
        component_ = *reader;
        core_ = core;
      }
      if (core.size() > padded_) {
        padded_ = core.size();
        times_from = c;
        times_core_ = core;
      }
    }
    if (padded_ > 0) {
      const auto& component = timeslice.components[times_from];
      times_ = *ComponentReader::open(component.data, component.descriptor.num_microslices);
    }
    return {};
  }

  void load_from_component() {
    if (position_ < core_.size()) {
      current_ = component_->microslice(core_.begin + position_);
    } else {
      MicrosliceDescriptor descriptor = times_->descriptor(times_core_.begin + position_);
      descriptor.flags = bit(MicrosliceFlag::data_error);
      descriptor.equipment_id = static_cast<std::uint16_t>(place_.input);
      descriptor.crc = descriptor.size = 0;
      current_ = wire::MicrosliceView{descriptor, {}};
    }
    ++position_;
  }

  Recording recording_;
  ArchiveType type_;
  SourcePlace place_;
  std::optional<wire::MicrosliceView> current_;
  // The components of the present timeslice; valid until the recording's next item.
  std::optional<ComponentReader> component_;  ///< this input's
  std::optional<ComponentReader> times_;      ///< of the component with most core microslices
  CoreRange core_;
  CoreRange times_core_;
  std::uint64_t position_ = 0;
  std::uint64_t padded_ = 0;
};

}  // namespace

Result<std::unique_ptr<MicrosliceFeed>> make_archive_feed(const Uri& uri,
                                                          const SourcePlace& place) {
  if (auto known = uri.allow({"rate", "loop", "stride"}); !known) return std::move(known).error();
  if (auto path = uri.need_path("the archive"); !path) return std::move(path).error();
  const auto type = uri.scheme() == "msa" ? ArchiveType::microslices : ArchiveType::timeslices;
  auto feed = std::make_unique<ArchiveFeed>(
      Recording(expand_placeholders(uri.path(), {{'i', std::to_string(place.input)}}), type), type,
      place);
  // A missing or damaged file is a mistake on the command line: say so now, not in mid-run.
  if (const auto first = feed->peek(); !first) return first.error();
  return std::unique_ptr<MicrosliceFeed>(std::move(feed));
}

}  // namespace weft
