// SPDX-License-Identifier: Apache-2.0
// The words between hubs of one job in different parts of a divided simulation. A flight's packets
// go through the network as in any simulation, but its contents at once: they are there before the
// packets can be.
#include <cstring>
#include <type_traits>

#include "base/check.hpp"
#include "sim/fabric/sim_endpoint.hpp"
#include "sim/fabric/sim_hub.hpp"

namespace weft::sim {
namespace {

constexpr int part_shift = 44;  // of a tag; below is a running number

enum class WordKind : std::uint32_t { flight = 1, acknowledgement = 2, quit = 3 };

/// All parts run the same program on machines of one kind: the bytes in memory are the bytes sent.
struct FlightWord {
  WordKind kind = WordKind::flight;
  std::uint32_t flight_kind = 0;
  Process from{}, to{};
  std::uint32_t from_attempt = 0, to_attempt = 0;
  std::uint32_t sequence = 0;
  std::uint32_t spare = 0;
  RemoteRegion region{};
  std::uint64_t region_offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t tag = 0;
};
static_assert(std::has_unique_object_representations_v<FlightWord>);

struct AcknowledgementWord {
  WordKind kind = WordKind::acknowledgement;
  std::uint32_t spare = 0;
  Process from{}, to{};
  std::uint64_t link = 0;
  PicoInstant at{};
};
static_assert(std::has_unique_object_representations_v<AcknowledgementWord>);

struct QuitWord {
  WordKind kind = WordKind::quit;
  std::uint32_t attempt = 0;
  Process from{}, to{};
  std::uint32_t source = 0, sequence = 0;  ///< its place in the order of events
  PicoInstant at{};
};
static_assert(std::has_unique_object_representations_v<QuitWord>);

template <class T>
std::span<const std::byte> bytes_of(const T& word) {
  return std::as_bytes(std::span(&word, 1));
}

template <class T>
T read(std::span<const std::byte>& bytes) {
  WEFT_CHECK(bytes.size() >= sizeof(T), "{} bytes of a word", bytes.size());
  T word;
  std::memcpy(&word, bytes.data(), sizeof word);
  bytes = bytes.subspan(sizeof word);
  return word;
}

}  // namespace

/// The tag by which its message is known there.
std::uint64_t SimHub::hand_over(std::uint32_t f) {
  Flight& flight = flights_[f];
  const std::uint64_t tag =
      foreign_tag | std::uint64_t{network_.part()} << part_shift | next_tag_++;
  const FlightWord word{.flight_kind = static_cast<std::uint32_t>(flight.kind),
                        .from = flight.from,
                        .to = flight.to,
                        .from_attempt = flight.from_attempt,
                        .to_attempt = flight.to_attempt,
                        .sequence = flight.sequence,
                        .region = flight.region,
                        .region_offset = flight.region_offset,
                        .bytes = flight.bytes,
                        .tag = tag};
  if (flight.kind == Flight::Kind::write) flight.detach(options_.copied_bytes);
  network_.tell(hosts_[flight.to.node.value()], user_, PicoInstant::never(),
                {bytes_of(word), flight.data});
  if (flight.leads_on) leading_on_.emplace(tag, flight.from);
  flights_.give_back(f);
  return tag;
}

void SimHub::hand_over_acknowledgement(Process from, Process to, std::uint64_t link,
                                       PicoInstant at) {
  const AcknowledgementWord word{.from = from, .to = to, .link = link, .at = at};
  network_.tell(hosts_[to.node.value()], user_, at, {bytes_of(word)});
}

void SimHub::hand_over_quit(Process from, Process to, std::uint32_t attempt, PicoInstant at) {
  const std::uint32_t source = hosts_[from.node.value()];
  const QuitWord word{.attempt = attempt,
                      .from = from,
                      .to = to,
                      .source = source,
                      .sequence = agents_.engine().next_sequence(source),
                      .at = at};
  network_.tell(hosts_[to.node.value()], user_, at, {bytes_of(word)});
}

std::uint32_t SimHub::take_foreign(std::uint64_t tag) {
  const auto flight = foreign_.extract(tag);
  WEFT_CHECK(!flight.empty(), "nothing is known of flight {:x}", tag);
  return flight.mapped();
}

void SimHub::on_told(std::span<const std::byte> bytes) {
  WordKind kind{};
  WEFT_CHECK(bytes.size() >= sizeof kind, "{} bytes of a word", bytes.size());
  std::memcpy(&kind, bytes.data(), sizeof kind);
  if (kind == WordKind::acknowledgement) {
    const auto word = read<AcknowledgementWord>(bytes);
    if (SimEndpoint* to = find(word.to)) to->acknowledged({word.at, word.from.node, word.link});
    return;
  }
  if (kind == WordKind::quit) {
    const auto word = read<QuitWord>(bytes);
    agents_.engine().schedule_foreign({.time = word.at,
                                       .sequence = word.sequence,
                                       .source = word.source,
                                       .target = agent_,
                                       .kind = EventKind::timer,
                                       .detail = quit,
                                       .payload = make_notice(word.to, word.from, word.attempt)});
    return;
  }
  WEFT_CHECK(kind == WordKind::flight, "a word of kind {}", static_cast<std::uint32_t>(kind));
  const auto word = read<FlightWord>(bytes);
  const std::uint32_t f = flights_.take();
  Flight& flight = flights_[f];
  flight = {.kind = static_cast<Flight::Kind>(word.flight_kind),
            .from = word.from,
            .to = word.to,
            .from_attempt = word.from_attempt,
            .to_attempt = word.to_attempt,
            .sequence = word.sequence,
            .region = word.region,
            .region_offset = word.region_offset,
            .bytes = word.bytes,
            .data = {bytes.begin(), bytes.end()}};
  if (flight.kind == Flight::Kind::write) flight.segments = {flight.data, {}};
  foreign_.emplace(word.tag, f);
}

}  // namespace weft::sim
