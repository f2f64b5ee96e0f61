// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/crc32c.hpp"
#include "stream/sources/pattern.hpp"
#include "stream/sources/pieces.hpp"

namespace weft {
namespace {

constexpr std::uint64_t endless = std::uint64_t{1} << 62;

class FileFeed final : public MicrosliceFeed {
 public:
  /// `total` counts the repetitions of the files' bytes.
  FileFeed(FileList files, PieceGrid grid, std::uint64_t total, std::uint64_t stride,
           const SourcePlace& place)
      : files_(std::move(files)), grid_(grid), total_(total), stride_(stride), place_(place) {
    const std::uint64_t in_timeslice = place.microslices_per_timeslice;
    const std::uint64_t strides = (grid_.rows(total_) + stride_ - 1) / stride_;
    count_ = (strides + in_timeslice - 1) / in_timeslice * in_timeslice;
  }

  Result<std::optional<NextMicroslice>> peek() override {
    if (sequence_ >= count_) return std::optional<NextMicroslice>{};
    return std::optional(
        NextMicroslice{grid_.size(total_, row(), column()), grid_.row_offset(row())});
  }
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override {
    if (auto read = read_looped(grid_.offset(row(), column()), content); !read) {
      return std::move(read).error();
    }
    MicrosliceDescriptor descriptor;
    descriptor.equipment_id = static_cast<std::uint16_t>(place_.input);
    descriptor.system_id = system_file;
    descriptor.system_version = 1;
    descriptor.flags = bit(MicrosliceFlag::crc_valid);
    descriptor.crc = crc32c(content);
    ++sequence_;
    return descriptor;
  }
  Result<void> drop() override {
    ++sequence_;
    return {};
  }
  Result<void> rewind() override {
    sequence_ = 0;
    return {};
  }
  bool jump(std::uint64_t n) override {
    sequence_ = n;
    return true;
  }

 private:
  std::uint64_t row() const { return sequence_ * stride_; }
  std::uint32_t column() const { return grid_.inputs == 1 ? 0 : place_.input; }

  Result<void> read_looped(std::uint64_t offset, std::span<std::byte> content) {
    while (!content.empty()) {
      const std::uint64_t at = offset % files_.total();
      const auto part = content.first(std::min<std::uint64_t>(content.size(), files_.total() - at));
      if (auto read = files_.read(at, part); !read) return read;
      offset += part.size();
      content = content.subspan(part.size());
    }
    return {};
  }

  FileList files_;
  PieceGrid grid_;
  std::uint64_t total_;
  std::uint64_t stride_;
  SourcePlace place_;
  std::uint64_t count_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace

Result<std::unique_ptr<MicrosliceFeed>> make_file_feed(const Uri& uri, const SourcePlace& place) {
  if (auto known = uri.allow({"cut", "rate", "loop", "stride"}); !known) {
    return std::move(known).error();
  }
  if (auto path = uri.need_path("the file or directory"); !path) return std::move(path).error();
  const auto cut = piece_size(uri);
  if (!cut) return cut.error();
  const auto loop = uri.number("loop", 1, 0, 1'000'000'000);
  if (!loop) return loop.error();
  const auto stride = uri.number("stride", 1, 1, 1'000'000'000);
  if (!stride) return stride.error();
  const bool own_file = has_placeholder(uri.path(), 'i');
  const std::string path = expand_placeholders(uri.path(), {{'i', std::to_string(place.input)}});
  auto files = FileList::open(path);
  if (!files) return uri.error(files.error().message, files.error().code);
  std::error_code none;
  if (files->total() == 0 && std::filesystem::is_directory(path, none)) {
    return uri.error(
        fmt::format("no ordinary file below the directory '{}' has a byte in it; name "
                    "a directory with files, or a file",
                    path));
  }
  const std::uint64_t once = files->total();
  const bool forever = once > 0 && (*loop == 0 || once > endless / *loop);
  const std::uint64_t total = forever ? endless : once * *loop;
  const PieceGrid grid{.cut = cut->value(), .inputs = own_file ? 1 : place.inputs};
  return std::unique_ptr<MicrosliceFeed>(
      std::make_unique<FileFeed>(std::move(*files), grid, total, *stride, place));
}

}  // namespace weft
