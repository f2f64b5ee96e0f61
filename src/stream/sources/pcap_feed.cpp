// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "base/crc32c.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "stream/sources/pattern.hpp"
#include "wire/capture/capture_reader.hpp"

namespace weft {
namespace {

constexpr std::uint64_t largest_microslice = 256 << 20;
constexpr std::uint64_t longest_gap = 1'000'000;  // empty microslices in a row

struct Packet {
  PacketHeader header;
  std::span<const std::byte> bytes;  ///< the reader's, until the next packet is read
  std::uint64_t number = 0;
};

/// A capture file, packet by packet, which can be opened anew.
class Capture {
 public:
  explicit Capture(std::string path) : path_(std::move(path)) {}

  Result<void> open() { return hold(wire::CaptureReader::open(path_)); }
  /// Takes `stream` over.
  Result<void> open(std::FILE* stream) { return hold(wire::CaptureReader::open(stream, path_)); }

  /// False at the end.
  Result<bool> next(Packet& packet) {
    wire::CapturedFrame frame;
    const auto more = reader_->next(frame);
    if (!more) {
      return corrupt("'{}': packet {}: {}", path_, packets_, more.error().message);
    }
    if (!*more) return false;
    packet.header.time = frame.time_ns;
    packet.header.captured = static_cast<std::uint32_t>(frame.bytes.size());
    packet.header.original = frame.original;
    packet.bytes = frame.bytes;
    packet.number = packets_++;
    return true;
  }
  std::uint32_t link_type() const { return reader_->link_type(); }
  const std::string& path() const { return path_; }

 private:
  Result<void> hold(Result<wire::CaptureReader> reader) {
    if (!reader) return std::move(reader).error();
    reader_.emplace(std::move(reader).value());
    packets_ = 0;
    return {};
  }

  std::string path_;
  std::optional<wire::CaptureReader> reader_;
  std::uint64_t packets_ = 0;
};

class PcapFeed final : public MicrosliceFeed {
 public:
  PcapFeed(std::string path, PacketCut cut, std::uint32_t dealt_to, std::uint32_t input)
      : capture_(std::move(path)), cut_(cut), dealt_to_(dealt_to), input_(input) {}

  Capture& capture() { return capture_; }

  Result<std::optional<NextMicroslice>> peek() override {
    if (!assembled_) {
      auto made = cut_.time_ns > 0 ? assemble_by_time() : assemble_by_size();
      if (!made) return std::move(made).error();
      if (!*made) return std::optional<NextMicroslice>{};
      assembled_ = true;
    }
    return std::optional(NextMicroslice{content_.size(), index_});
  }
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override {
    if (!content.empty()) std::memcpy(content.data(), content_.data(), content.size());
    MicrosliceDescriptor descriptor;
    descriptor.equipment_id = static_cast<std::uint16_t>(input_);
    descriptor.system_id = system_packets;
    descriptor.system_version = static_cast<std::uint8_t>(capture_.link_type());
    descriptor.flags = bit(MicrosliceFlag::crc_valid);
    descriptor.crc = crc32c(content_);
    assembled_ = false;
    return descriptor;
  }
  Result<void> drop() override {
    assembled_ = false;
    return {};
  }
  Result<void> rewind() override {
    assembled_ = started_ = has_packet_ = false;
    return capture_.open();
  }
  Result<void> can_go_back() const override { return can_be_read_again(capture_.path()); }

 private:
  /// Makes `packet_` the next packet, unless it still is; false at the end of the capture.
  Result<bool> look_at_packet() {
    if (has_packet_) return true;
    auto more = capture_.next(packet_);
    if (!more) return more;
    has_packet_ = *more;
    return *more;
  }

  /// Every input reads all packets: the windows must be the same for all.
  Result<bool> assemble_by_time() {
    content_.clear();
    auto more = look_at_packet();
    if (!more || !*more) return more;
    if (!started_) {
      window_start_ = packet_.header.time;
      started_ = true;
    }
    index_ = window_start_;
    window_start_ += cut_.time_ns;
    // A packet whose time went backwards belongs to the window it was captured in.
    while (packet_.header.time < window_start_) {
      if (auto added = add_packet(); !added) return std::move(added).error();
      more = look_at_packet();
      if (!more) return more;
      if (!*more) return true;
    }
    if ((packet_.header.time - window_start_) / cut_.time_ns > longest_gap) {
      return invalid(
          "'{}': packet {} comes {} after the one before it, more than a million times cut={}; cut "
          "by size or in longer times",
          capture_.path(), packet_.number,
          to_text(duration_of(packet_.header.time - window_start_)),
          to_text(duration_of(cut_.time_ns)));
    }
    return true;
  }

  Result<bool> assemble_by_size() {
    content_.clear();
    for (;;) {
      auto more = look_at_packet();
      if (!more) return more;
      if (!*more) return !content_.empty();
      const std::uint64_t size = sizeof(PacketHeader) + packet_.bytes.size();
      const bool ours = packet_.number % dealt_to_ == input_ % dealt_to_;
      if (ours && !content_.empty() && content_.size() + size > cut_.bytes) return true;
      if (ours && content_.empty()) index_ = packet_.header.time;
      if (auto added = add_packet(); !added) return std::move(added).error();
    }
  }

  Result<void> add_packet() {
    has_packet_ = false;
    if (packet_.number % dealt_to_ != input_ % dealt_to_) return {};
    const std::uint64_t size = sizeof(PacketHeader) + packet_.bytes.size();
    if (content_.size() + size > largest_microslice) {
      return invalid("'{}': more than {} of packets within cut={}; cut in shorter times or by size",
                     capture_.path(), to_text(ByteCount(largest_microslice)),
                     to_text(duration_of(cut_.time_ns)));
    }
    const auto header = std::as_bytes(std::span(&packet_.header, 1));
    content_.insert(content_.end(), header.begin(), header.end());
    content_.insert(content_.end(), packet_.bytes.begin(), packet_.bytes.end());
    return {};
  }

  static Duration duration_of(std::uint64_t ns) {
    return Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX)));
  }

  Capture capture_;
  PacketCut cut_;
  std::uint32_t dealt_to_;
  std::uint32_t input_;
  Packet packet_;
  bool has_packet_ = false;
  bool started_ = false;
  std::uint64_t window_start_ = 0;
  std::vector<std::byte> content_;
  std::uint64_t index_ = 0;
  bool assembled_ = false;
};

Result<PacketCut> read_cut(const Uri& uri) {
  const std::string text = uri.get("cut", "10ms");
  if (const auto time = parse_duration(text); time && *time > Duration{}) {
    return PacketCut{.time_ns = static_cast<std::uint64_t>(time->to_nanoseconds())};
  }
  const auto bytes = parse_byte_count(text);
  if (bytes && bytes->value() > 0 && bytes->value() <= largest_microslice) {
    return PacketCut{.bytes = bytes->value()};
  }
  return uri.key_error("cut", "must be a time, as 10ms, or a size up to 256 MiB, as 64KiB");
}

}  // namespace

Result<std::unique_ptr<MicrosliceFeed>> make_pcap_feed(const Uri& uri, const SourcePlace& place) {
  if (auto known = uri.allow({"cut", "rate", "loop", "stride"}); !known) {
    return std::move(known).error();
  }
  if (auto path = uri.need_path("the capture"); !path) return std::move(path).error();
  const auto cut = read_cut(uri);
  if (!cut) return cut.error();
  const bool own_file = has_placeholder(uri.path(), 'i');
  auto feed = std::make_unique<PcapFeed>(
      expand_placeholders(uri.path(), {{'i', std::to_string(place.input)}}), *cut,
      own_file ? 1 : place.inputs, place.input);
  if (auto opened = feed->capture().open(); !opened) return std::move(opened).error();
  return std::unique_ptr<MicrosliceFeed>(std::move(feed));
}

Result<std::unique_ptr<MicrosliceFeed>> make_pcap_feed(std::FILE* stream, PacketCut cut,
                                                       const SourcePlace& place) {
  auto feed = std::make_unique<PcapFeed>("capture", cut, place.inputs, place.input);
  if (auto opened = feed->capture().open(stream); !opened) return std::move(opened).error();
  return std::unique_ptr<MicrosliceFeed>(std::move(feed));
}

}  // namespace weft
