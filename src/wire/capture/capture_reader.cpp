// SPDX-License-Identifier: Apache-2.0
#include "wire/capture/capture_reader.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "wire/capture/big_endian.hpp"

namespace weft::wire {
namespace {

using Bytes = std::span<const std::byte>;
__extension__ using Wide = unsigned __int128;

constexpr std::size_t piece = 1 << 20;             // read at a time
constexpr std::uint32_t longest_packet = 4 << 20;  // none is longer, even if a file says so
constexpr std::size_t most_interfaces = 4096;
constexpr std::uint64_t ns_per_s = 1'000'000'000;

constexpr std::uint32_t section_block = 0x0A0D'0D0A;
constexpr std::uint32_t interface_block = 1;
constexpr std::uint32_t packet_block = 2;
constexpr std::uint32_t simple_block = 3;
constexpr std::uint32_t enhanced_block = 6;

Error truncated() {
  return corrupt("truncated: the file ends within it");
}

std::uint32_t little(Bytes bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The link type of an ERF record's contents; 0 for types that we do not read.
std::uint32_t link_of_erf(unsigned type) {
  switch (type & 0x7FU) {
    case 2:
    case 11:
    case 16:
    case 20:
      return static_cast<std::uint32_t>(LinkType::ethernet);
    case 21:
      return static_cast<std::uint32_t>(LinkType::infiniband);
    case 22:
    case 23:
      return static_cast<std::uint32_t>(LinkType::raw_ip);
    default:
      return 0;
  }
}

/// Formats that are taken for captures by mistake, and what to do about them.
struct Foreign {
  std::string_view magic;
  const char* is;
};
using namespace std::string_view_literals;
constexpr Foreign foreign[] = {
    {"\x1F\x8B"sv, "compressed by gzip; decompress it first: gunzip"},
    {"\x28\xB5\x2F\xFD"sv, "compressed by zstd; decompress it first: zstd -d"},
    {"\xFD\x37zXZ\0"sv, "compressed by xz; decompress it first: unxz"},
    {"BZh"sv, "compressed by bzip2; decompress it first: bunzip2"},
    {"\x04\x22\x4D\x18"sv, "compressed by lz4; decompress it first: lz4 -d"},
    {"PK\x03\x04"sv, "a ZIP archive; unpack it first: unzip"},
    {"snoop\0\0\0"sv, "a capture of snoop; convert it first: editcap -F pcap"},
    {"GMBU"sv, "a capture of Network Monitor; convert it first: editcap -F pcap"},
    {"\x34\xCD\xB2\xA1"sv, "pcap as patched by Kuznetzov; convert it first: editcap -F pcap"},
    {"\xA1\xB2\xCD\x34"sv, "pcap as patched by Kuznetzov; convert it first: editcap -F pcap"},
};

/// The format that the file has instead, if that is known.
const char* foreign_format(Bytes head) {
  for (const Foreign& one : foreign) {
    if (head.size() < one.magic.size()) continue;
    if (std::memcmp(head.data(), one.magic.data(), one.magic.size()) == 0) return one.is;
  }
  return nullptr;
}

/// Returns whether a record of ERF may begin so, about a year apart from `first_second` at most.
bool may_be_erf(Bytes head, std::uint32_t first_second) {
  constexpr std::uint32_t year = 1U << 25;
  const unsigned type = static_cast<unsigned>(head[8]) & 0x7FU;
  const unsigned length = get_u16(head, 10);
  const std::uint32_t apart = little(head, 4) - first_second;
  return type > 0 && type <= 48 && length >= 16 && (apart < year || -apart < year);
}

/// A pipe without a writer opens as well: the reader waits for one where it can be stopped.
std::FILE* open_without_waiting(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return nullptr;
  std::FILE* const stream = ::fcntl(file, F_SETFL, O_RDONLY) == 0 ? ::fdopen(file, "rb") : nullptr;
  if (stream == nullptr) ::close(file);
  return stream;
}

}  // namespace

Result<CaptureReader> CaptureReader::open(const std::string& path, IsStopped is_stopped) {
  std::FILE* const stream =
      is_stopped ? open_without_waiting(path) : std::fopen(path.c_str(), "rbe");
  if (!stream) return system_error("open", path, errno);
  return open(stream, path, std::move(is_stopped));
}

Result<CaptureReader> CaptureReader::open(std::FILE* stream, const std::string& name,
                                          IsStopped is_stopped) {
  CaptureReader reader(stream, std::move(is_stopped));
  if (auto good = reader.recognise(name); !good) {
    // A pipe that looks like no capture may only have had no time to send one.
    if (!reader.is_stopped()) return std::move(good).error();
    reader.format_ = Format::unknown;
  }
  return reader;
}

bool CaptureReader::fill(std::size_t bytes) {
  if (end_ - at_ >= bytes) return true;
  if (at_ > 0) {
    before_ += at_;
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    end_ -= at_;
    at_ = 0;
  }
  if (buffer_.size() < bytes + piece) buffer_.resize(bytes + piece);
  while (end_ < bytes) {
    const std::size_t got = read_some(std::span(buffer_).subspan(end_));
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

/// Reads the bytes there are: a program that still captures into a pipe has not written more yet.
std::size_t CaptureReader::read_some(std::span<std::byte> into) {
  const int file = ::fileno(stream_.get());
  if (file < 0) return std::fread(into.data(), 1, into.size(), stream_.get());  // in memory
  for (;;) {
    if (is_stopped_ && !waits_for_more(file)) return 0;
    const ssize_t got = ::read(file, into.data(), into.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    failure_ = errno;
    return 0;
  }
}

/// Until there is something to read, or the end; false: somebody wants an end.
bool CaptureReader::waits_for_more(int file) {
  constexpr int look_every_ms = 100;
  for (;;) {
    if (is_stopped()) return false;
    pollfd ready{file, POLLIN, 0};
    // An error is for `read` to tell.
    if (::poll(&ready, 1, look_every_ms) > 0) return true;
  }
}

Bytes CaptureReader::take(std::size_t bytes) {
  const Bytes taken = Bytes(buffer_).subspan(at_, bytes);
  at_ += bytes;
  return taken;
}

Result<void> CaptureReader::skip(std::uint64_t bytes) {
  while (bytes > 0) {
    if (at_ == end_ && !fill(1)) return truncated();
    const std::uint64_t now = std::min<std::uint64_t>(bytes, end_ - at_);
    at_ += now;
    bytes -= now;
  }
  return {};
}

std::uint32_t CaptureReader::u32(Bytes from, std::size_t at) const {
  return swapped_ ? get_u32(from, at) : little(from, at);
}
std::uint16_t CaptureReader::u16(Bytes from, std::size_t at) const {
  const std::uint16_t big = get_u16(from, at);
  return swapped_ ? big : static_cast<std::uint16_t>(big << 8 | big >> 8);
}

Result<void> CaptureReader::recognise(const std::string& name) {
  const bool readable = fill(4);
  if (!readable && failure_ != 0) return system_error("read", name, failure_);
  if (end_ == 0) {
    return invalid("'{}' is empty: the capture has not been written, or not to the disk yet", name);
  }
  const std::uint32_t magic = readable ? little(Bytes(buffer_), 0) : 0;
  if (magic == section_block) {
    format_ = Format::pcapng;
    return {};
  }
  for (const bool swapped : {false, true}) {
    const std::uint32_t seen = swapped ? __builtin_bswap32(magic) : magic;
    if (seen != 0xA1B2'C3D4 && seen != 0xA1B2'3C4D) continue;
    if (!fill(24)) break;
    format_ = Format::pcap;
    swapped_ = swapped;
    tick_ns_ = seen == 0xA1B2'3C4D ? 1 : 1'000;
    link_ = u32(take(24), 20) & 0x0FFF'FFFF;  // above: whether frames keep their checksum
    return {};
  }
  fill(16);
  if (const char* const is = foreign_format(Bytes(buffer_).first(end_))) {
    return invalid("'{}' is {}", name, is);
  }
  if (looks_like_erf()) {
    format_ = Format::erf;
    link_ = static_cast<std::uint32_t>(LinkType::erf);
    return {};
  }
  return invalid(
      "'{}' is no packet capture: it begins neither as pcap, nor as pcapng, nor as ERF does; name "
      "a file that tcpdump, Wireshark or ibdump wrote",
      name);
}

/// ERF has no magic number: its first records must make sense, and one alone must hold what we
/// read.
bool CaptureReader::looks_like_erf() {
  constexpr int records = 8;
  std::size_t at = 0;
  for (int n = 0; n < records; ++n) {
    if (!fill(at + 16)) {
      const bool is_known = n > 0 && link_of_erf(static_cast<unsigned>(buffer_[8])) != 0;
      return is_known || n > 2;
    }
    const Bytes head = Bytes(buffer_).subspan(at, 16);
    if (!may_be_erf(head, little(Bytes(buffer_), 4))) return false;
    at += get_u16(head, 10);
  }
  return true;
}

Result<bool> CaptureReader::next(CapturedFrame& frame) {
  begin_ = before_ + at_;
  if (format_ == Format::unknown) return false;
  Result<bool> got = format_ == Format::pcap     ? next_pcap(frame)
                     : format_ == Format::pcapng ? next_pcapng(frame)
                                                 : next_erf(frame);
  if (!got || !*got) {
    if (is_stopped()) return false;  // what looks truncated goes on
    if (failure_ != 0) return make_error(ErrorCode::io, "cannot read: {}", std::strerror(failure_));
    return got;
  }
  if (frame.link == LinkType::erf) {
    if (auto good = unwrap_erf(frame); !good) return std::move(good).error();
  }
  frame.number = ++packets_;
  return true;
}

Result<bool> CaptureReader::next_pcap(CapturedFrame& frame) {
  if (!fill(16)) {
    if (end_ == at_) return false;
    return truncated();
  }
  const Bytes head = take(16);
  frame.time_ns = u32(head, 0) * ns_per_s + u32(head, 4) * tick_ns_;
  const std::uint32_t kept = u32(head, 8);
  frame.original = u32(head, 12);
  if (kept > longest_packet) return corrupt("{} bytes long, more than a packet", kept);
  if (!fill(kept)) return truncated();
  frame.bytes = take(kept);
  frame.link = static_cast<LinkType>(link_);
  return true;
}

Result<void> CaptureReader::read_section() {
  // The byte order is in it, and so must be known before its length.
  if (!fill(12)) return truncated();
  const std::uint32_t order = little(Bytes(buffer_), at_ + 8);
  if (order != 0x1A2B'3C4D && order != 0x4D3C'2B1A) return corrupt("a section without byte order");
  swapped_ = order == 0x4D3C'2B1A;
  interfaces_.clear();
  return {};
}

Result<bool> CaptureReader::next_pcapng(CapturedFrame& frame) {
  for (;;) {
    begin_ = before_ + at_;
    if (!fill(8)) {
      if (end_ == at_) return false;
      return truncated();
    }
    if (little(Bytes(buffer_), at_) == section_block) {
      if (auto good = read_section(); !good) return std::move(good).error();
    }
    const Bytes head = take(8);
    const std::uint32_t type = u32(head, 0), length = u32(head, 4);
    if (length < 12 || length % 4 != 0) return corrupt("a block of {} bytes", length);
    const bool known = type == interface_block || type == packet_block || type == simple_block ||
                       type == enhanced_block;
    if (!known) {
      if (auto good = skip(length - 8); !good) return std::move(good).error();
      continue;
    }
    if (length > longest_packet) return corrupt("a block of {} bytes", length);
    if (!fill(length - 8)) return truncated();
    const Bytes body = take(length - 8).first(length - 12);
    if (type == interface_block) {
      if (body.size() < 8) return corrupt("an interface without a link type");
      if (interfaces_.size() == most_interfaces) return corrupt("more than 4096 interfaces");
      read_interface(body);
      continue;
    }
    return read_block(type, body, frame);
  }
}

void CaptureReader::read_interface(Bytes body) {
  Interface made;
  made.link = u16(body, 0);
  for (std::size_t at = 8; at + 4 <= body.size();) {
    const std::uint16_t code = u16(body, at), length = u16(body, at + 2);
    at += 4;
    if (code == 0 || length > body.size() - at) break;
    if (code == 9 && length == 1) {
      const auto value = static_cast<std::uint8_t>(body[at]);
      made.binary_ticks = value >= 0x80;
      made.ticks_per_second_log = std::min(value & 0x7FU, made.binary_ticks ? 63U : 19U);
    } else if (code == 14 && length == 8) {
      const std::uint64_t low = u32(body, at + (swapped_ ? 4 : 0));
      const std::uint64_t high = u32(body, at + (swapped_ ? 0 : 4));
      made.offset_s = static_cast<std::int64_t>(high << 32 | low);
    }
    at += (length + 3U) / 4 * 4;
  }
  if (interfaces_.empty() && link_ == 0) link_ = made.link;
  interfaces_.push_back(made);
}

Result<bool> CaptureReader::read_block(std::uint32_t type, Bytes body, CapturedFrame& frame) {
  const bool simple = type == simple_block;
  if (body.size() < (simple ? 4U : 20U)) return corrupt("a block too short for a packet");
  std::uint32_t interface = 0, kept = 0;
  frame.time_ns = 0;
  if (simple) {
    frame.original = u32(body, 0);
    body = body.subspan(4);
    kept = static_cast<std::uint32_t>(std::min<std::size_t>(frame.original, body.size()));
  } else {
    interface = type == packet_block ? u16(body, 0) : u32(body, 0);
    kept = u32(body, 12);
    frame.original = u32(body, 16);
  }
  if (interface >= interfaces_.size()) {
    return corrupt("of interface {}, which the file does not describe", interface);
  }
  const Interface& from = interfaces_[interface];
  if (!simple) {
    const Wide ticks = static_cast<std::uint64_t>(u32(body, 4)) << 32 | u32(body, 8);
    Wide per_second = 1;
    for (std::uint32_t i = 0; i < from.ticks_per_second_log; ++i)
      per_second *= from.binary_ticks ? 2 : 10;
    frame.time_ns = static_cast<std::uint64_t>(ticks * ns_per_s / per_second) +
                    static_cast<std::uint64_t>(from.offset_s) * ns_per_s;
    body = body.subspan(20);
  }
  if (kept > body.size()) return truncated();
  frame.bytes = body.first(kept);
  frame.link = static_cast<LinkType>(from.link);
  return true;
}

Result<bool> CaptureReader::next_erf(CapturedFrame& frame) {
  if (!fill(16)) {
    if (end_ == at_) return false;
    return truncated();
  }
  const std::size_t length = get_u16(Bytes(buffer_), at_ + 10);
  if (length < 16) return corrupt("a record of {} bytes", length);
  if (!fill(length)) return truncated();
  frame.bytes = take(length);
  frame.original = static_cast<std::uint32_t>(length);
  frame.link = LinkType::erf;
  return true;
}

Result<void> CaptureReader::unwrap_erf(CapturedFrame& frame) const {
  const Bytes record = frame.bytes;
  if (record.size() < 16) return corrupt("too short for an ERF record");
  // Seconds since 1970 and a binary fraction, little-endian; everything else is big-endian.
  const Wide fraction = little(record, 0);
  frame.time_ns =
      little(record, 4) * ns_per_s + static_cast<std::uint64_t>(fraction * ns_per_s >> 32);
  const auto type = static_cast<unsigned>(record[8]);
  const std::size_t length = std::min<std::size_t>(get_u16(record, 10), record.size());
  frame.original = get_u16(record, 14);
  std::size_t at = 16;
  for (bool more = type >= 0x80; more;) {
    if (at + 8 > length) return corrupt("truncated: the record ends within its extension headers");
    more = static_cast<unsigned>(record[at]) >= 0x80;
    at += 8;
  }
  frame.link = static_cast<LinkType>(link_of_erf(type));
  if (frame.link == LinkType::ethernet) at += 2;  // offset and padding
  const std::size_t held = length > at ? length - at : 0;
  frame.bytes =
      record.subspan(std::min(at, record.size()), std::min<std::size_t>(held, frame.original));
  return {};
}

}  // namespace weft::wire
