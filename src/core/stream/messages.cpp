// SPDX-License-Identifier: Apache-2.0
#include "core/stream/messages.hpp"

namespace weft::stream {
namespace {

void put_type(MessageType type, wire::Writer& out) {
  out.put(static_cast<std::uint8_t>(type));
}

/// A reader placed behind the type byte; bad when the type differs.
wire::Reader body(std::span<const std::byte> bytes, MessageType type) {
  if (message_type(bytes) != type) {
    wire::Reader bad(std::span<const std::byte>{});
    (void)bad.get<std::uint8_t>();
    return bad;
  }
  return wire::Reader(bytes.subspan(1));
}

void put_set(const IndexSet& set, wire::Writer& out) {
  for (const auto word : set.words()) out.put(word);
}

IndexSet get_set(std::uint32_t size, wire::Reader& in) {
  IndexSet set(size);
  for (std::size_t w = 0; w < set.words().size(); ++w) set.assign_word(w, in.get<std::uint64_t>());
  return set;
}

template <class T>
std::optional<T> only_if(const wire::Reader& in, T value) {
  if (!in.done()) return std::nullopt;
  return value;
}

}  // namespace

MessageType message_type(std::span<const std::byte> bytes) {
  return bytes.empty() ? MessageType{} : static_cast<MessageType>(bytes[0]);
}

void encode(const Hello& m, wire::Writer& out) {
  put_type(MessageType::hello, out);
  for (const auto& region : {m.data, m.descriptors}) {
    out.put(region.key);
    out.put(region.base);
    out.put(region.length);
  }
  out.put(m.view);
}

void encode(const Written& m, wire::Writer& out) {
  put_type(MessageType::written, out);
  out.put(m.view);
  out.put(m.descriptors);
  out.put(m.ended.value());
}

void encode(const Credit& m, wire::Writer& out) {
  put_type(MessageType::credit, out);
  out.put(m.view);
  out.put(m.received);
  out.put(m.released);
  out.put(m.released_bytes);
}

void encode(const GivenUp& m, wire::Writer& out) {
  put_type(MessageType::given_up, out);
  out.put(m.view);
  out.put(m.below.value());
}

void encode(const Prepare& m, wire::Writer& out) {
  put_type(MessageType::prepare, out);
  out.put(m.number);
  out.put(m.asked.ticks());
  out.put(m.base);
  put_set(m.inputs, out);
  put_set(m.computes, out);
  put_set(m.forgotten, out);
}

void encode(const Promise& m, wire::Writer& out) {
  put_type(MessageType::promise, out);
  out.put(m.number);
  out.put(m.next.value());
  out.put(static_cast<std::uint32_t>(m.remembers));
  out.put(static_cast<std::uint32_t>(m.done.size()));
  for (const DoneBelow& d : m.done) {
    out.put(d.compute);
    out.put(d.below.value());
  }
}

void encode(const View& m, wire::Writer& out) {
  put_type(MessageType::view, out);
  out.put(m.number);
  out.put(m.asked.ticks());
  out.put(m.first.value());
  out.put(m.end.value());
  out.put(m.repeated_below.value());
  out.put(m.doubtful_below.value());
  out.put(static_cast<std::uint32_t>(m.unsure));
  put_set(m.inputs, out);
  put_set(m.computes, out);
  put_set(m.forgotten, out);
  out.put(static_cast<std::uint32_t>(m.done.size()));
  for (const std::uint64_t word : m.done) out.put(word);
}

void encode(const Suspect& m, wire::Writer& out) {
  put_type(MessageType::suspect, out);
  out.put(m.node.value());
  out.put(m.view);
}

void encode_bare(MessageType type, wire::Writer& out) {
  put_type(type, out);
}

void encode_schedule(std::uint32_t view, std::span<const std::byte> payload, wire::Writer& out) {
  put_type(MessageType::schedule, out);
  out.put(view);
  out.put_bytes(payload);
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
  wire::Reader in = body(bytes, MessageType::hello);
  Hello m;
  for (auto* region : {&m.data, &m.descriptors}) {
    region->key = in.get<std::uint64_t>();
    region->base = in.get<std::uint64_t>();
    region->length = in.get<std::uint64_t>();
  }
  m.view = in.get<std::uint32_t>();
  return only_if(in, m);
}

std::optional<Written> decode_written(std::span<const std::byte> bytes) {
  wire::Reader in = body(bytes, MessageType::written);
  Written m;
  m.view = in.get<std::uint32_t>();
  m.descriptors = in.get<std::uint64_t>();
  m.ended = TimesliceIndex(in.get<std::uint64_t>());
  return only_if(in, m);
}

std::optional<Credit> decode_credit(std::span<const std::byte> bytes) {
  wire::Reader in = body(bytes, MessageType::credit);
  Credit m;
  m.view = in.get<std::uint32_t>();
  m.received = in.get<std::uint64_t>();
  m.released = in.get<std::uint64_t>();
  m.released_bytes = in.get<std::uint64_t>();
  return only_if(in, m);
}

std::optional<GivenUp> decode_given_up(std::span<const std::byte> bytes) {
  wire::Reader in = body(bytes, MessageType::given_up);
  GivenUp m;
  m.view = in.get<std::uint32_t>();
  m.below = TimesliceIndex(in.get<std::uint64_t>());
  return only_if(in, m);
}

std::optional<Prepare> decode_prepare(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::prepare);
  Prepare m;
  m.number = in.get<std::uint32_t>();
  m.asked = Instant(in.get<std::int64_t>());
  m.base = in.get<std::uint32_t>();
  m.inputs = get_set(roster.inputs, in);
  m.computes = get_set(roster.computes, in);
  m.forgotten = get_set(roster.computes, in);
  return only_if(in, std::move(m));
}

std::optional<Promise> decode_promise(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::promise);
  Promise m;
  m.number = in.get<std::uint32_t>();
  m.next = TimesliceIndex(in.get<std::uint64_t>());
  m.remembers = in.get<std::uint32_t>() != 0;
  const auto count = in.get<std::uint32_t>();
  if (count > roster.computes) return std::nullopt;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    DoneBelow d;
    d.compute = in.get<std::uint32_t>();
    d.below = TimesliceIndex(in.get<std::uint64_t>());
    if (d.compute >= roster.computes) return std::nullopt;
    m.done.push_back(d);
  }
  return only_if(in, std::move(m));
}

std::optional<View> decode_view(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::view);
  View m;
  m.number = in.get<std::uint32_t>();
  m.asked = Instant(in.get<std::int64_t>());
  m.first = TimesliceIndex(in.get<std::uint64_t>());
  m.end = TimesliceIndex(in.get<std::uint64_t>());
  m.repeated_below = TimesliceIndex(in.get<std::uint64_t>());
  m.doubtful_below = TimesliceIndex(in.get<std::uint64_t>());
  m.unsure = in.get<std::uint32_t>() != 0;
  m.inputs = get_set(roster.inputs, in);
  m.computes = get_set(roster.computes, in);
  m.forgotten = get_set(roster.computes, in);
  const auto words = in.get<std::uint32_t>();
  if (m.number == 0 || words > max_done_words(roster)) return std::nullopt;
  for (std::uint32_t i = 0; i < words && in.ok(); ++i) m.done.push_back(in.get<std::uint64_t>());
  return only_if(in, std::move(m));
}

std::optional<Suspect> decode_suspect(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::suspect);
  Suspect m;
  m.node = NodeId(in.get<std::uint32_t>());
  m.view = in.get<std::uint32_t>();
  if (m.node.value() >= roster.nodes()) return std::nullopt;
  return only_if(in, m);
}

std::optional<ScheduleMessage> decode_schedule(std::span<const std::byte> bytes) {
  wire::Reader in = body(bytes, MessageType::schedule);
  ScheduleMessage m;
  m.view = in.get<std::uint32_t>();
  m.payload = in.get_bytes(in.left());
  if (m.payload.size() > schedule::Message::capacity) return std::nullopt;
  return only_if(in, m);
}

}  // namespace weft::stream
