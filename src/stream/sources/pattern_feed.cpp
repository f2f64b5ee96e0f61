// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/crc32c.hpp"
#include "base/make_error.hpp"
#include "base/rng.hpp"
#include "base/system_error.hpp"
#include "base/units.hpp"
#include "stream/sources/pattern.hpp"

namespace weft {
namespace {

constexpr std::uint64_t smallest = sizeof(PatternHeader);
constexpr std::uint64_t largest = std::uint64_t{1} << 30;
constexpr std::uint64_t largest_file = 64u << 20;
constexpr std::size_t most_file_sizes = 1'000'000;

enum class Sizes { constant, uniform, poisson, file };

struct Settings {
  Sizes sizes = Sizes::constant;
  std::uint64_t size = 64 << 10;
  std::uint64_t hit = 1;
  std::vector<std::uint64_t> file_sizes;
  std::uint64_t duration_ns = 100'000;
  std::uint64_t count = UINT64_MAX;
  std::uint64_t stride = 1;
  bool fill = true;
};

/// Every microslice follows from seed, channel and number alone, so that any number can be next.
class PatternFeed final : public MicrosliceFeed {
 public:
  PatternFeed(Settings settings, const SourcePlace& place)
      : settings_(std::move(settings)),
        place_(place),
        channel_rng_(Rng(place.seed).split(place.input)) {}

  Result<std::optional<NextMicroslice>> peek() override {
    if (sequence_ >= settings_.count) return std::optional<NextMicroslice>{};
    if (!peeked_) {
      peeked_ = NextMicroslice{size_of(sequence_ * settings_.stride),
                               sequence_ * settings_.stride * settings_.duration_ns};
    }
    return peeked_;
  }
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override {
    write_pattern({.seed = place_.seed,
                   .timeslice = sequence_ / place_.microslices_per_timeslice,
                   .sequence = sequence_,
                   .channel = place_.input},
                  settings_.fill, content);
    MicrosliceDescriptor descriptor;
    descriptor.equipment_id = static_cast<std::uint16_t>(place_.input);
    descriptor.system_id = system_pattern;
    descriptor.system_version = 1;
    if (settings_.fill) {
      descriptor.flags = bit(MicrosliceFlag::crc_valid);
      descriptor.crc = crc32c(content);
    }
    jump(sequence_ + 1);
    return descriptor;
  }
  Result<void> drop() override {
    jump(sequence_ + 1);
    return {};
  }
  Result<void> rewind() override {
    jump(0);
    return {};
  }
  bool jump(std::uint64_t n) override {
    sequence_ = n;
    peeked_.reset();
    return true;
  }

 private:
  std::uint64_t size_of(std::uint64_t number) const {
    if (settings_.sizes == Sizes::constant) return settings_.size;
    if (settings_.sizes == Sizes::file) {
      // Channels start at different lines, else all of them would be large at the same time.
      const std::uint64_t lines = settings_.file_sizes.size();
      return settings_.file_sizes[(number + Rng(channel_rng_).below(lines)) % lines];
    }
    Rng rng = channel_rng_.split(number);
    const std::uint64_t drawn =
        settings_.sizes == Sizes::uniform
            ? settings_.size / 2 + rng.below(settings_.size / 2 * 2 + 1)
            : settings_.hit * rng.poisson(static_cast<double>(settings_.size) /
                                          static_cast<double>(settings_.hit));
    return std::clamp(drawn, smallest, largest);
  }

  Settings settings_;
  SourcePlace place_;
  Rng channel_rng_;
  std::uint64_t sequence_ = 0;
  std::optional<NextMicroslice> peeked_;
};

/// One size per line, units as on the command line; '#' starts a comment.
Result<std::vector<std::uint64_t>> read_sizes(const std::string& path) {
  const auto text = read_text_file(path, largest_file);
  if (!text) {
    return Error{text.error().code, fmt::format("{}; sizes is constant, uniform, poisson or a file",
                                                text.error().message)};
  }
  std::istringstream file(*text);
  std::vector<std::uint64_t> sizes;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    const auto last = line.find_last_not_of(" \t\r");
    if (last == std::string::npos) continue;
    line.resize(last + 1);
    const auto size = parse_byte_count(line);
    if (!size || size->value() < smallest || size->value() > largest ||
        sizes.size() == most_file_sizes) {
      return invalid("{}:{}: '{}' must be a size from {} bytes to 1 GiB, at most {} lines", path,
                     number, line.substr(0, 40), smallest, most_file_sizes);
    }
    sizes.push_back(size->value());
  }
  if (sizes.empty()) {
    return invalid("'{}' holds no sizes", path);
  }
  return sizes;
}

Result<void> read_size_keys(const Uri& uri, const SourcePlace& place, Settings& settings) {
  auto size = uri.bytes("size", ByteCount(settings.size), ByteCount(smallest), ByteCount(largest));
  if (!size) return std::move(size).error();
  settings.size = size->value();
  auto hit = uri.bytes("hit", ByteCount(1), ByteCount(1), *size);
  if (!hit) return std::move(hit).error();
  settings.hit = hit->value();
  const std::string sizes = uri.get("sizes", "constant");
  if (sizes == "uniform") {
    settings.sizes = Sizes::uniform;
  } else if (sizes == "poisson") {
    settings.sizes = Sizes::poisson;
  } else if (sizes != "constant") {
    settings.sizes = Sizes::file;
    auto read = read_sizes(expand_placeholders(sizes, {{'i', std::to_string(place.input)}}));
    if (!read) {
      return Error{read.error().code, uri.key_error("sizes", read.error().message).message};
    }
    settings.file_sizes = std::move(*read);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MicrosliceFeed>> make_pattern_feed(const Uri& uri,
                                                          const SourcePlace& place) {
  if (!uri.path().empty()) {
    return uri.error(
        fmt::format("'{}' after 'pattern:' means nothing; keys follow a '?'", uri.path()));
  }
  if (auto known = uri.allow(
          {"size", "sizes", "hit", "duration", "count", "fill", "rate", "loop", "stride"});
      !known) {
    return std::move(known).error();
  }
  Settings settings;
  if (auto read = read_size_keys(uri, place, settings); !read) return std::move(read).error();
  const auto duration = uri.duration("duration", Duration::microseconds(100));
  if (!duration) return duration.error();
  settings.duration_ns = static_cast<std::uint64_t>(duration->to_nanoseconds());
  const auto count = uri.number("count", 0, 1, UINT64_MAX / 2);
  if (!count) return count.error();
  const auto loop = uri.number("loop", 1, 0, 1'000'000'000);
  if (!loop) return loop.error();
  const auto stride = uri.number("stride", 1, 1, 1'000'000'000);
  if (!stride) return stride.error();
  settings.stride = *stride;
  if (*count > 0 && *loop > 0) {
    settings.count = *count > UINT64_MAX / *loop ? UINT64_MAX : *count * *loop;
  }
  const std::string fill = uri.get("fill", "full");
  if (fill != "full" && fill != "header") return uri.key_error("fill", "must be full or header");
  settings.fill = fill == "full";
  return std::unique_ptr<MicrosliceFeed>(std::make_unique<PatternFeed>(std::move(settings), place));
}

}  // namespace weft
