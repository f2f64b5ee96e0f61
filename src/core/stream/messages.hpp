// SPDX-License-Identifier: Apache-2.0
// The messages between stream nodes, and the contribution descriptor that input nodes write into
// the compute node's memory. All little-endian; docs/formats.md has the tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/stream/roster.hpp"
#include "core/stream/view.hpp"
#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "wire/codec.hpp"

namespace weft::stream {

#pragma pack(push, 1)
/// Describes one contribution in the pair's ring (paper 1, section IV: 20 bytes, written by itself
/// after the content).
struct ContributionDescriptor {
  std::uint64_t timeslice = 0;
  std::uint32_t position = 0;     ///< low 32 bits of the absolute position in the data ring
  std::uint32_t size = 0;         ///< bytes: microslice descriptors and contents
  std::uint32_t microslices = 0;  ///< low 24 bits: count; high 8 bits: ContributionFlag
};
#pragma pack(pop)
static_assert(sizeof(ContributionDescriptor) == 20);

enum class ContributionFlag : std::uint32_t {
  missing_microslices = 1u << 24,  ///< the source ended inside this timeslice
  repeated = 1u << 25,             ///< sent before to a compute node that failed
};
constexpr std::uint32_t microslice_count_mask = (1u << 24) - 1;
/// Bytes of a contribution at most: its descriptor counts them in 32 bits, and fabrics write 1 GiB
/// at once. Rings may be larger.
constexpr std::size_t largest_contribution = std::size_t{1} << 30;

enum class MessageType : std::uint8_t {
  hello = 1,      ///< compute → input: where to write
  written = 2,    ///< input → compute: SYNC, how much has been written
  credit = 3,     ///< compute → input: SYNC, how much was received and may be overwritten
  schedule = 4,   ///< either way: the schedule's own
  prepare = 5,    ///< leader → members: a view is about to change
  promise = 6,    ///< member → leader: stopped, and the timeslices known to be done
  view = 7,       ///< leader → all
  suspect = 8,    ///< any → leader: this node lost its connection to that one
  bye = 9,        ///< either way: nothing more will come from me
  given_up = 10,  ///< compute → input: which contributions it no longer waits for
  probe = 11,     ///< input → compute: nothing was heard of you for long; are you there?
  present = 12,   ///< compute → input: the answer
};

/// The longest message when a job has `nodes` nodes: a view.
constexpr std::size_t max_message_bytes(const Roster& roster) {
  return 2048 + roster.nodes() / 4 + std::size_t{16} * roster.computes;
}
/// Returns how many words of View::done a message can hold. An input node has no more timeslices
/// under way than their bits: others would be built again.
constexpr std::size_t max_done_words(const Roster& roster) {
  return 192 + std::size_t{2} * roster.computes;
}

struct Hello {
  RemoteRegion data;         ///< the pair's data ring
  RemoteRegion descriptors;  ///< the pair's descriptor ring, 20 bytes an entry
  std::uint32_t view = 0;    ///< the view that the pair's counts begin with
};
struct Written {
  std::uint32_t view = 0;
  std::uint64_t descriptors = 0;                 ///< how many so far in this view
  TimesliceIndex ended = TimesliceIndex::max();  ///< this input contributes to none from here on
};
struct Credit {
  std::uint32_t view = 0;
  std::uint64_t received = 0;        ///< descriptors seen so far (the acknowledgement)
  std::uint64_t released = 0;        ///< descriptors whose timeslice was consumed: tickets
  std::uint64_t released_bytes = 0;  ///< ring position up to which may be overwritten
};
/// The compute node has handed over its timeslices below `below`, some without a contribution of
/// this input node: those that have not arrived are not waited for.
struct GivenUp {
  std::uint32_t view = 0;
  TimesliceIndex below{};
};
struct Prepare {
  std::uint32_t number = 0;  ///< of the view to come
  /// By the leader's clock. A new life counts from the beginning, and may ask with a number of the
  /// life before.
  Instant asked{};
  std::uint32_t base = 0;  ///< of the view that it follows
  IndexSet inputs;
  IndexSet computes;
  IndexSet forgotten;  ///< see View
};
/// Whether the view is what the question led to.
inline bool comes_of(const View& view, const Prepare& question) {
  return view.number == question.number && view.asked == question.asked;
}
/// Whether a node that stands by a question turns down another one.
inline bool beats(const Prepare& question, const Prepare& other) {
  return other.number < question.number ||
         (other.number == question.number && other.asked != question.asked);
}
/// The number with which a node that stands by a question of a node that is gone turns down one of
/// `asker`, who asks again when it hears of a higher number than its own. A new life of the node
/// that is gone may have asked with the very same number.
inline std::uint32_t number_to_beat(const Prepare& question, NodeId asked_by, NodeId asker) {
  return asked_by == asker ? question.number + 1 : question.number;
}
/// All timeslices that `compute` owns in the base view and that are below `below` are done.
struct DoneBelow {
  std::uint32_t compute = 0;
  TimesliceIndex below{};
};
struct Promise {
  std::uint32_t number = 0;
  /// One past the newest timeslice that this input node started, or this compute node delivered.
  TimesliceIndex next{};
  std::vector<DoneBelow> done;  ///< compute node: itself; input node: the forgotten ones
  /// This life of the node knows of every view that any life of it took part in.
  bool remembers = false;
  /// It takes part in the view that the question builds on, and is not its member by name only.
  bool takes_part = false;
};
struct Suspect {
  NodeId node{};
  std::uint32_t view = 0;  ///< in which it was missed; later views are not concerned
};

MessageType message_type(std::span<const std::byte> bytes);  ///< 0 cast when empty

void encode(const Hello& m, wire::Writer& out);
void encode(const Written& m, wire::Writer& out);
void encode(const Credit& m, wire::Writer& out);
void encode(const GivenUp& m, wire::Writer& out);
void encode(const Prepare& m, wire::Writer& out);
void encode(const Promise& m, wire::Writer& out);
void encode(const View& m, wire::Writer& out);
void encode(const Suspect& m, wire::Writer& out);
/// One that is its type and nothing else: bye, probe, present.
void encode_bare(MessageType type, wire::Writer& out);
/// `view`: the number of the view by whose grid the payload speaks.
void encode_schedule(std::uint32_t view, std::span<const std::byte> payload, wire::Writer& out);

// Decoders answer nothing when the bytes are not exactly such a message of this job's size.
std::optional<Hello> decode_hello(std::span<const std::byte> bytes);
std::optional<Written> decode_written(std::span<const std::byte> bytes);
std::optional<Credit> decode_credit(std::span<const std::byte> bytes);
std::optional<GivenUp> decode_given_up(std::span<const std::byte> bytes);
std::optional<Prepare> decode_prepare(std::span<const std::byte> bytes, const Roster& roster);
std::optional<Promise> decode_promise(std::span<const std::byte> bytes, const Roster& roster);
std::optional<View> decode_view(std::span<const std::byte> bytes, const Roster& roster);
std::optional<Suspect> decode_suspect(std::span<const std::byte> bytes, const Roster& roster);

struct ScheduleMessage {
  std::uint32_t view = 0;
  std::span<const std::byte> payload;  ///< in place
};
std::optional<ScheduleMessage> decode_schedule(std::span<const std::byte> bytes);
/// Bytes that a schedule message adds to its payload.
constexpr std::size_t schedule_header = 5;

}  // namespace weft::stream
