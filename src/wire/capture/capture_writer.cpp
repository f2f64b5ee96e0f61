// SPDX-License-Identifier: Apache-2.0
#include "wire/capture/capture_writer.hpp"

#include <array>
#include <string_view>

#include "wire/capture/big_endian.hpp"
#include "wire/codec.hpp"

namespace weft::wire {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::uint32_t longest_kept = 262'144;

}  // namespace

CaptureFormat capture_format_of(const std::string& path) {
  if (path.ends_with(".pcapng")) return CaptureFormat::pcapng;
  return path.ends_with(".erf") ? CaptureFormat::erf : CaptureFormat::pcap;
}

Result<CaptureWriter> CaptureWriter::create(const std::string& path, CaptureFormat format,
                                            LinkType link) {
  auto file = WholeFile::create(path);
  if (!file) return std::move(file).error();
  CaptureWriter made(std::move(file).value(), format, link);
  std::array<std::byte, 64> head{};
  Writer w(head);
  if (format == CaptureFormat::pcap) {
    w.put(std::uint32_t{0xA1B2'3C4D});
    w.put(std::uint16_t{2});
    w.put(std::uint16_t{4});
    w.put(std::uint64_t{0});
    w.put(longest_kept);
    w.put(static_cast<std::uint32_t>(link));
  } else if (format == CaptureFormat::pcapng) {
    w.put(std::uint32_t{0x0A0D'0D0A});
    w.put(std::uint32_t{28});
    w.put(std::uint32_t{0x1A2B'3C4D});
    w.put(std::uint16_t{1});
    w.put(std::uint16_t{0});
    w.put(~std::uint64_t{0});
    w.put(std::uint32_t{28});
    w.put(std::uint32_t{1});  // interface, with times in nanoseconds
    w.put(std::uint32_t{32});
    w.put(static_cast<std::uint16_t>(link));
    w.put(std::uint16_t{0});
    w.put(longest_kept);
    w.put(std::uint32_t{0x0001'0009});
    w.put(std::uint32_t{9});
    w.put(std::uint32_t{0});
    w.put(std::uint32_t{32});
  }
  if (auto good = made.file_.write(text_of(w.view())); !good) return std::move(good).error();
  return made;
}

Result<void> CaptureWriter::write(std::uint64_t time_ns, std::span<const std::byte> bytes,
                                  std::uint32_t original) {
  const auto kept = static_cast<std::uint32_t>(bytes.size());
  const std::uint64_t seconds = time_ns / 1'000'000'000, ns = time_ns % 1'000'000'000;
  std::array<std::byte, 32> head{};
  std::string_view tail;
  Writer w(head);
  std::array<std::byte, 8> numbers{};
  if (format_ == CaptureFormat::pcap) {
    w.put(static_cast<std::uint32_t>(seconds));
    w.put(static_cast<std::uint32_t>(ns));
    w.put(kept);
    w.put(original);
  } else if (format_ == CaptureFormat::pcapng) {
    const std::uint32_t padding = (4 - kept % 4) % 4;
    const std::uint32_t length = 32 + kept + padding;
    w.put(std::uint32_t{6});
    w.put(length);
    w.put(std::uint32_t{0});
    w.put(static_cast<std::uint32_t>(time_ns >> 32));
    w.put(static_cast<std::uint32_t>(time_ns));
    w.put(kept);
    w.put(original);
    Writer end(numbers);
    for (std::uint32_t i = 0; i < padding; ++i) end.put(std::byte{});
    end.put(length);
    tail = text_of(end.view());
  } else {
    const bool ethernet = link_ == LinkType::ethernet;
    w.put(static_cast<std::uint32_t>(((ns << 32) + 999'999'999) / 1'000'000'000));
    w.put(static_cast<std::uint32_t>(seconds));
    BigEndianWriter big(numbers);
    big.u8(ethernet ? 2 : 21);
    big.u8(0x04);  // of varying length
    big.u16(static_cast<std::uint16_t>(16 + (ethernet ? 2 : 0) + kept));
    big.u16(0);
    big.u16(static_cast<std::uint16_t>(original));
    w.put_bytes(numbers);
    if (ethernet) w.put(std::uint16_t{0});
  }
  if (auto good = file_.write(text_of(w.view())); !good) return good;
  if (auto good = file_.write(text_of(bytes)); !good) return good;
  return file_.write(tail);
}

}  // namespace weft::wire
