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

// The members of a view, or of one to come.
template <class M>
void put_members(const M& m, wire::Writer& out) {
  for (const IndexSet* set : {&m.inputs, &m.computes, &m.forgotten}) {
    for (const auto word : set->words()) out.put(word);
  }
}

template <class M>
void get_members(const Roster& roster, wire::Reader& in, M& m) {
  m.inputs = IndexSet(roster.inputs);
  m.computes = IndexSet(roster.computes);
  m.forgotten = IndexSet(roster.computes);
  for (IndexSet* set : {&m.inputs, &m.computes, &m.forgotten}) {
    for (std::size_t w = 0; w < set->words().size(); ++w) {
      set->assign_word(w, in.get<std::uint64_t>());
    }
  }
}

/// No stream gets as far: rounds from here on would not fit into a TimesliceIndex.
constexpr TimesliceIndex furthest(std::uint64_t{1} << 62);

template <class T>
std::optional<T> only_if(const wire::Reader& in, T value) {
  if (!in.done()) return std::nullopt;
  return value;
}

// The fields of each message in their order, as far as all have the same size. `v` is a
// wire::Writer or a wire::Reader.
constexpr auto hello_fields = [](auto& v, auto& m) { v.fields(m.data, m.descriptors, m.view); };
constexpr auto written_fields = [](auto& v, auto& m) { v.fields(m.view, m.descriptors, m.ended); };
constexpr auto credit_fields = [](auto& v, auto& m) {
  v.fields(m.view, m.received, m.released, m.released_bytes);
};
constexpr auto given_up_fields = [](auto& v, auto& m) { v.fields(m.view, m.below); };
constexpr auto prepare_fields = [](auto& v, auto& m) { v.fields(m.number, m.asked, m.base); };
constexpr auto promise_fields = [](auto& v, auto& m) { v.fields(m.number, m.next); };
constexpr std::uint32_t promise_remembers = 1, promise_takes_part = 2;
constexpr auto done_fields = [](auto& v, auto& d) { v.fields(d.compute, d.below); };
constexpr auto view_fields = [](auto& v, auto& m) {
  v.fields(m.number, m.asked, m.first, m.end, m.repeated_below, m.doubtful_below);
};
constexpr auto suspect_fields = [](auto& v, auto& m) { v.fields(m.node, m.view); };

template <class M, class Fields>
void encode_as(MessageType type, const M& m, const Fields& fields, wire::Writer& out) {
  put_type(type, out);
  fields(out, m);
}

template <class M, class Fields>
std::optional<M> decode_as(MessageType type, const Fields& fields,
                           std::span<const std::byte> bytes) {
  wire::Reader in = body(bytes, type);
  M m;
  fields(in, m);
  return only_if(in, m);
}

}  // namespace

MessageType message_type(std::span<const std::byte> bytes) {
  return bytes.empty() ? MessageType{} : static_cast<MessageType>(bytes[0]);
}

void encode(const Hello& m, wire::Writer& out) {
  encode_as(MessageType::hello, m, hello_fields, out);
}

void encode(const Written& m, wire::Writer& out) {
  encode_as(MessageType::written, m, written_fields, out);
}

void encode(const Credit& m, wire::Writer& out) {
  encode_as(MessageType::credit, m, credit_fields, out);
}

void encode(const GivenUp& m, wire::Writer& out) {
  encode_as(MessageType::given_up, m, given_up_fields, out);
}

void encode(const Prepare& m, wire::Writer& out) {
  encode_as(MessageType::prepare, m, prepare_fields, out);
  put_members(m, out);
}

void encode(const Promise& m, wire::Writer& out) {
  encode_as(MessageType::promise, m, promise_fields, out);
  out.put((m.remembers ? promise_remembers : 0) | (m.takes_part ? promise_takes_part : 0));
  out.put(static_cast<std::uint32_t>(m.done.size()));
  for (const DoneBelow& d : m.done) done_fields(out, d);
}

void encode(const View& m, wire::Writer& out) {
  encode_as(MessageType::view, m, view_fields, out);
  out.put(static_cast<std::uint32_t>(m.unsure));
  put_members(m, out);
  out.put(static_cast<std::uint32_t>(m.done.size()));
  for (const std::uint64_t word : m.done) out.put(word);
}

void encode(const Suspect& m, wire::Writer& out) {
  encode_as(MessageType::suspect, m, suspect_fields, out);
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
  return decode_as<Hello>(MessageType::hello, hello_fields, bytes);
}

std::optional<Written> decode_written(std::span<const std::byte> bytes) {
  return decode_as<Written>(MessageType::written, written_fields, bytes);
}

std::optional<Credit> decode_credit(std::span<const std::byte> bytes) {
  return decode_as<Credit>(MessageType::credit, credit_fields, bytes);
}

std::optional<GivenUp> decode_given_up(std::span<const std::byte> bytes) {
  return decode_as<GivenUp>(MessageType::given_up, given_up_fields, bytes);
}

std::optional<Prepare> decode_prepare(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::prepare);
  Prepare m;
  prepare_fields(in, m);
  get_members(roster, in, m);
  return only_if(in, std::move(m));
}

std::optional<Promise> decode_promise(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::promise);
  Promise m;
  promise_fields(in, m);
  if (m.next > furthest) return std::nullopt;
  const auto flags = in.get<std::uint32_t>();
  m.remembers = (flags & promise_remembers) != 0;
  m.takes_part = (flags & promise_takes_part) != 0;
  const auto count = in.get<std::uint32_t>();
  if (count > roster.computes) return std::nullopt;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    DoneBelow d;
    done_fields(in, d);
    if (d.compute >= roster.computes) return std::nullopt;
    m.done.push_back(d);
  }
  return only_if(in, std::move(m));
}

std::optional<View> decode_view(std::span<const std::byte> bytes, const Roster& roster) {
  wire::Reader in = body(bytes, MessageType::view);
  View m;
  view_fields(in, m);
  if (m.first > furthest) return std::nullopt;
  m.unsure = in.get<std::uint32_t>() != 0;
  get_members(roster, in, m);
  const auto words = in.get<std::uint32_t>();
  if (m.number == 0 || words > max_done_words(roster)) return std::nullopt;
  for (std::uint32_t i = 0; i < words && in.ok(); ++i) m.done.push_back(in.get<std::uint64_t>());
  return only_if(in, std::move(m));
}

std::optional<Suspect> decode_suspect(std::span<const std::byte> bytes, const Roster& roster) {
  const auto m = decode_as<Suspect>(MessageType::suspect, suspect_fields, bytes);
  if (!m || m->node.value() >= roster.nodes()) return std::nullopt;
  return m;
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
