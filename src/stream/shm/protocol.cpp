// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/protocol.hpp"

#include <bit>
#include <cstring>

#include "base/check.hpp"
#include "wire/codec.hpp"

namespace weft::shm {
namespace {

constexpr std::uint32_t magic = 0x3148'5357;  // "WSH1": the protocol and its version

enum class Type : std::uint32_t { hello = 1, release, leave, welcome, refusal, file, offer, end };

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> as_bytes(std::string_view text, std::size_t limit) {
  return std::as_bytes(std::span(text)).first(std::min(text.size(), limit));
}

/// The fields in their order. `v` is a wire::Writer or a wire::Reader.
constexpr auto table_fields = [](auto& v, auto& table) {
  v.fields(table.file, table.ring_offset, table.ring_size, table.position, table.size);
};

void put(wire::Writer& out, const Hello& m) {
  const auto group = as_bytes(m.group, max_group_name);
  out.fields(Type::hello, magic, static_cast<std::uint32_t>(m.policy), m.depth,
             static_cast<std::uint32_t>(group.size()));
  out.put_bytes(group);
}
void put(wire::Writer& out, const Release& m) {
  out.fields(Type::release, m.delivery);
}
void put(wire::Writer& out, const Leave&) {
  out.put(Type::leave);
}
void put(wire::Writer& out, const Welcome& m) {
  out.fields(Type::welcome, magic, m.compute, m.computes);
}
void put(wire::Writer& out, const Refusal& m) {
  const auto reason = as_bytes(m.reason, max_reason);
  out.fields(Type::refusal, static_cast<std::uint32_t>(reason.size()));
  out.put_bytes(reason);
}
void put(wire::Writer& out, const FileNotice& m) {
  out.fields(Type::file, m.number);
}
void put(wire::Writer& out, const Offer& m) {
  out.fields(Type::offer, m.delivery, m.missed, static_cast<std::uint32_t>(m.repeated ? 1 : 0));
  table_fields(out, m.table);
}
void put(wire::Writer& out, const End&) {
  out.put(Type::end);
}

template <class Message>
std::size_t encode_any(const Message& message, MessageBuffer out) {
  wire::Writer writer(out);
  std::visit([&](const auto& m) { put(writer, m); }, message);
  return writer.size();
}

std::optional<Hello> get_hello(wire::Reader& in) {
  const bool known = in.get<std::uint32_t>() == magic;
  std::uint32_t policy = 0, depth = 0, length = 0;
  in.fields(policy, depth, length);
  const auto group = in.get_bytes(length);
  if (!known || !in.done() || policy > static_cast<std::uint32_t>(GroupPolicy::skip) ||
      depth == 0 || depth > max_depth || length == 0 || length > max_group_name) {
    return std::nullopt;
  }
  return Hello{static_cast<GroupPolicy>(policy), depth, as_text(group)};
}

std::optional<Welcome> get_welcome(wire::Reader& in) {
  const bool known = in.get<std::uint32_t>() == magic;
  Welcome m;
  in.fields(m.compute, m.computes);
  if (!known || !in.done() || m.computes > max_computes || m.compute >= m.computes) {
    return std::nullopt;
  }
  return m;
}

std::optional<Refusal> get_refusal(wire::Reader& in) {
  const auto length = in.get<std::uint32_t>();
  const auto reason = in.get_bytes(length);
  if (!in.done() || length > max_reason) return std::nullopt;
  return Refusal{as_text(reason)};
}

std::optional<FileNotice> get_file(wire::Reader& in) {
  const auto number = in.get<std::uint32_t>();
  if (!in.done() || number == table_file || number >= max_files) return std::nullopt;
  return FileNotice{number};
}

std::optional<Offer> get_offer(wire::Reader& in) {
  Offer m;
  in.fields(m.delivery, m.missed);
  const auto repeated = in.get<std::uint32_t>();
  m.repeated = repeated == 1;
  table_fields(in, m.table);
  if (!in.done() || repeated > 1 || !plausible(m.table)) return std::nullopt;
  return m;
}

}  // namespace

std::size_t encode(const FromConsumer& message, MessageBuffer out) {
  return encode_any(message, out);
}

std::size_t encode(const FromSink& message, MessageBuffer out) {
  return encode_any(message, out);
}

std::optional<FromConsumer> decode_from_consumer(std::span<const std::byte> bytes) {
  wire::Reader in(bytes);
  switch (static_cast<Type>(in.get<std::uint32_t>())) {
    case Type::hello:
      return get_hello(in);
    case Type::release: {
      const Release m{in.get<std::uint64_t>()};
      if (in.done()) return m;
      return std::nullopt;
    }
    case Type::leave:
      if (in.done()) return Leave{};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<FromSink> decode_from_sink(std::span<const std::byte> bytes) {
  wire::Reader in(bytes);
  switch (static_cast<Type>(in.get<std::uint32_t>())) {
    case Type::welcome:
      return get_welcome(in);
    case Type::refusal:
      return get_refusal(in);
    case Type::file:
      return get_file(in);
    case Type::offer:
      return get_offer(in);
    case Type::end:
      if (in.done()) return End{};
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

TimesliceHeader header_of(const TimesliceView& timeslice) {
  TimesliceHeader header;
  header.index = timeslice.index.value();
  header.start_time = timeslice.start_time;
  header.duration = timeslice.duration;
  header.flags = timeslice.flags;
  header.num_core_microslices = timeslice.num_core_microslices;
  header.components = static_cast<std::uint32_t>(timeslice.components.size());
  return header;
}

void write_header(std::span<std::byte> table, const TimesliceHeader& header) {
  WEFT_CHECK(table.size() >= sizeof(header));
  std::memcpy(table.data(), &header, sizeof(header));
}

void write_entry(std::span<std::byte> table, std::size_t component, const ComponentEntry& entry) {
  WEFT_CHECK(table.size() >= table_size(component + 1));
  std::memcpy(table.data() + table_size(component), &entry, sizeof(entry));
}

std::optional<TimesliceHeader> read_header(std::span<const std::byte> table) {
  TimesliceHeader header;
  if (table.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, table.data(), sizeof(header));
  if (table.size() != table_size(header.components)) return std::nullopt;
  return header;
}

ComponentEntry read_entry(std::span<const std::byte> table, std::size_t component) {
  WEFT_CHECK(table.size() >= table_size(component + 1));
  ComponentEntry entry;
  std::memcpy(&entry, table.data() + table_size(component), sizeof(entry));
  return entry;
}

bool plausible(const Piece& piece) {
  constexpr std::uint64_t largest = std::uint64_t{1} << 44;
  return std::has_single_bit(piece.ring_size) && piece.ring_size <= largest &&
         piece.size <= piece.ring_size && piece.position < 2 * piece.ring_size &&
         piece.size <= 2 * piece.ring_size - piece.position;
}

}  // namespace weft::shm
