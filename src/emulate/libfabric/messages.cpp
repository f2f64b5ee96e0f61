// SPDX-License-Identifier: Apache-2.0
#include "emulate/libfabric/messages.hpp"

#include <rdma/fi_domain.h>
#include <rdma/fi_tagged.h>
#include <stdlib.h>

#include <algorithm>

#include "emulate/libfabric/addresses.hpp"
#include "emulate/libfabric/tables.hpp"
#include "emulate/policy/least_times.hpp"

namespace weft::emulate::libfabric {
namespace {

Taken<fi_ops_msg> messages[kMostTables];
Taken<fi_ops_tagged> tagged_messages[kMostTables];

bool is_spinning() {
  return process.block->knobs.method.load(std::memory_order_relaxed) ==
         static_cast<std::uint32_t>(Method::spin);
}

/// A message that a program offers.
struct Message {
  const fid_ep* endpoint;
  fi_addr_t to;
  NoteKey key;

  bool operator==(const Message&) const = default;
};

/// A message that has its note, until the provider takes it: a program offers a message again that
/// was refused for want of resources, and that pays its link once.
struct Draft {
  bool is_there;
  bool has_note;
  Message message;
  unsigned rank;
  std::uint64_t number;
  std::uint64_t prepaid;  ///< bytes of messages to the same peer that the program gave up
  Picoseconds departure;  ///< those bytes have left their links
};
/// The last refused message to each peer; peers that share a place forget each other's.
constexpr unsigned kDraftsBits = 8;
thread_local Draft* drafts __attribute__((tls_model("initial-exec"))) = nullptr;

bool is_to_same(const Message& a, const Message& b) {
  return a.endpoint == b.endpoint && a.to == b.to;
}

void give_up(Draft& draft) {
  if (!draft.is_there) return;
  draft.is_there = false;
  draft.prepaid += draft.message.key.bytes;
  if (draft.has_note) process.block->notes[draft.rank].take_back(draft.number);
}

/// The place of drafts to that peer; nullptr when nothing was ever refused.
Draft* draft_to(const Message& message) {
  if (drafts == nullptr) return nullptr;
  const auto mixed =
      (reinterpret_cast<std::uintptr_t>(message.endpoint) ^ message.to) * 0x9E3779B97F4A7C15U;
  Draft& place = drafts[mixed >> (64U - kDraftsBits)];
  if (!is_to_same(place.message, message)) {
    give_up(place);
    place = {};
    place.message = message;
  }
  return &place;
}

Draft begin(const Message& message, Draft* before) {
  ControlBlock& block = *process.block;
  Draft draft = before != nullptr ? *before : Draft{};
  const unsigned rank = rank_of(message.endpoint, message.to);
  const std::uint64_t paid = std::min(draft.prepaid, message.key.bytes);
  draft.prepaid -= paid;
  const Picoseconds now = block.clock.now();
  Plan plan = plan_message(block, process.rank, rank, now, message.key.bytes - paid);
  if (paid > 0) plan.departure = std::max(plan.departure, draft.departure);
  if (rank >= kMostRanks) process.record->count_unplaced();
  draft.is_there = true;
  draft.message = message;
  draft.rank = rank;
  draft.departure = plan.departure;
  draft.has_note = rank < kMostRanks && !is_spinning();
  if (draft.has_note) {
    draft.number =
        block.notes[rank].add(message.key, {now, plan.departure, plan.latency, process.rank});
  } else if (is_spinning()) {
    const Picoseconds there = plan.departure + plan.latency;
    while (block.clock.now() < there) {
    }
  }
  return draft;
}

/// Keeps what a refused message has paid; false when there is no memory.
bool keep(const Draft& draft) {
  if (drafts == nullptr) {
    drafts = static_cast<Draft*>(::calloc(1U << kDraftsBits, sizeof(Draft)));
  }
  Draft* const place = draft_to(draft.message);
  if (place != nullptr) *place = draft;
  return place != nullptr;
}

/// `post` hands the message to the provider.
template <class Post>
ssize_t send_noted(const Message& message, Post post) {
  const bool is_native = process.block->pair_count == 0 && process.block->knobs.is_native();
  if (depth > 0 || is_native) return post();
  const Entered inside;
  Draft* const before = draft_to(message);
  const bool is_again = before != nullptr && before->is_there && before->message == message;
  if (before != nullptr && !is_again) give_up(*before);
  Draft draft = is_again ? *before : begin(message, before);
  const ssize_t result = post();
  if (result != 0) {
    if (result != -FI_EAGAIN) give_up(draft);
    if (!keep(draft)) give_up(draft);
  } else if (before != nullptr) {
    *before = draft;
    before->is_there = false;
  }
  return result;
}

// ---- without tags
ssize_t send(fid_ep* ep, const void* from, std::size_t bytes, void* desc, fi_addr_t to,
             void* context) {
  return send_noted({ep, to, {bytes, 0, 0}},
                    [=] { return real_of(ep->msg).send(ep, from, bytes, desc, to, context); });
}

ssize_t send_segments(fid_ep* ep, const iovec* from, void** desc, std::size_t count, fi_addr_t to,
                      void* context) {
  return send_noted({ep, to, {total(from, count), 0, 0}},
                    [=] { return real_of(ep->msg).sendv(ep, from, desc, count, to, context); });
}

ssize_t send_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  return send_noted({ep, message->addr, {total(message->msg_iov, message->iov_count), 0, 0}},
                    [=] { return real_of(ep->msg).sendmsg(ep, message, flags); });
}

ssize_t send_injected(fid_ep* ep, const void* from, std::size_t bytes, fi_addr_t to) {
  return send_noted({ep, to, {bytes, 0, 0}},
                    [=] { return real_of(ep->msg).inject(ep, from, bytes, to); });
}

ssize_t send_with_data(fid_ep* ep, const void* from, std::size_t bytes, void* desc,
                       std::uint64_t data, fi_addr_t to, void* context) {
  return send_noted({ep, to, {bytes, 0, 0}}, [=] {
    return real_of(ep->msg).senddata(ep, from, bytes, desc, data, to, context);
  });
}

ssize_t inject_with_data(fid_ep* ep, const void* from, std::size_t bytes, std::uint64_t data,
                         fi_addr_t to) {
  return send_noted({ep, to, {bytes, 0, 0}},
                    [=] { return real_of(ep->msg).injectdata(ep, from, bytes, data, to); });
}

// ---- with tags
ssize_t tagged_send(fid_ep* ep, const void* from, std::size_t bytes, void* desc, fi_addr_t to,
                    std::uint64_t tag, void* context) {
  return send_noted({ep, to, {bytes, tag, 1}}, [=] {
    return real_of(ep->tagged).send(ep, from, bytes, desc, to, tag, context);
  });
}

ssize_t tagged_segments(fid_ep* ep, const iovec* from, void** desc, std::size_t count, fi_addr_t to,
                        std::uint64_t tag, void* context) {
  return send_noted({ep, to, {total(from, count), tag, 1}}, [=] {
    return real_of(ep->tagged).sendv(ep, from, desc, count, to, tag, context);
  });
}

ssize_t tagged_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
  const std::uint64_t bytes = total(message->msg_iov, message->iov_count);
  return send_noted({ep, message->addr, {bytes, message->tag, 1}},
                    [=] { return real_of(ep->tagged).sendmsg(ep, message, flags); });
}

ssize_t tagged_injected(fid_ep* ep, const void* from, std::size_t bytes, fi_addr_t to,
                        std::uint64_t tag) {
  return send_noted({ep, to, {bytes, tag, 1}},
                    [=] { return real_of(ep->tagged).inject(ep, from, bytes, to, tag); });
}

ssize_t tagged_with_data(fid_ep* ep, const void* from, std::size_t bytes, void* desc,
                         std::uint64_t data, fi_addr_t to, std::uint64_t tag, void* context) {
  return send_noted({ep, to, {bytes, tag, 1}}, [=] {
    return real_of(ep->tagged).senddata(ep, from, bytes, desc, data, to, tag, context);
  });
}

ssize_t tagged_inject_with_data(fid_ep* ep, const void* from, std::size_t bytes, std::uint64_t data,
                                fi_addr_t to, std::uint64_t tag) {
  return send_noted({ep, to, {bytes, tag, 1}},
                    [=] { return real_of(ep->tagged).injectdata(ep, from, bytes, data, to, tag); });
}

// ---- at the receiver
/// How long messages are on the way natively.
LeastTimes natives;

Picoseconds due_of(const SentNote& note, std::uint64_t bytes, const PostedReceive& receive,
                   const Look& look) {
  const bool was_hidden = receive.posted > look.looked;
  if (!was_hidden && look.seen - look.looked <= kLooksOften) {
    natives.note(bytes, look.seen - note.sent);
  }
  const Picoseconds arrived = arrival({.sent = note.sent,
                                       .native = natives.least(bytes),
                                       .looked = look.looked,
                                       .seen = look.seen,
                                       .posted = receive.posted},
                                      kLooksOften);
  return std::max(arrived, note.departure) + note.latency;
}

/// When the last message of each rank is due; the last place is that of unknown senders.
std::atomic<Picoseconds> last_due[kMostRanks + 1];

/// Lets no message of a sender be due before an earlier one.
Picoseconds in_order(std::uint64_t sender, Picoseconds due) {
  std::atomic<Picoseconds>& last = last_due[std::min<std::uint64_t>(sender, kMostRanks)];
  const Picoseconds later = std::max(last.load(std::memory_order_relaxed), due);
  last.store(later, std::memory_order_relaxed);
  return later;
}

}  // namespace

void take_over_messages(fid_ep* endpoint) {
  if (endpoint->msg != nullptr) {
    if (Taken<fi_ops_msg>* const taken = copy_of(messages, endpoint->msg)) {
      taken->table.send = send;
      taken->table.sendv = send_segments;
      taken->table.sendmsg = send_message;
      taken->table.inject = send_injected;
      taken->table.senddata = send_with_data;
      taken->table.injectdata = inject_with_data;
      take_over_receives(taken->table);
      endpoint->msg = &taken->table;
    }
  }
  if (endpoint->tagged == nullptr) return;
  if (Taken<fi_ops_tagged>* const taken = copy_of(tagged_messages, endpoint->tagged)) {
    taken->table.send = tagged_send;
    taken->table.sendv = tagged_segments;
    taken->table.sendmsg = tagged_message;
    taken->table.inject = tagged_injected;
    taken->table.senddata = tagged_with_data;
    taken->table.injectdata = tagged_inject_with_data;
    take_over_receives(taken->table);
    endpoint->tagged = &taken->table;
  }
}

Picoseconds due_of_message(const NoteKey& key, const PostedReceive& receive, const Look& look) {
  ControlBlock& block = *process.block;
  if (is_spinning()) return look.seen;  // its sender has waited
  const Picoseconds latency = block.knobs.latency.load(std::memory_order_relaxed);
  SentNotes& notes = block.notes[process.rank % kMostRanks];
  SentNote note{};
  if (receive.is_probe) {
    // What nobody knows of pays when it is received.
    return notes.read(key, note) ? due_of(note, key.bytes, receive, look) : look.seen;
  }
  if (!notes.take(key, note)) {
    // A message of an unknown sender passes the link in when it is seen.
    process.record->count_unplaced();
    SharedLink& link = block.links[(2 * process.rank + 1) % kMostLinks];
    const std::uint64_t rate = block.knobs.rate.load(std::memory_order_relaxed);
    const Picoseconds left = link.send(look.seen, key.bytes, rate).departure;
    return in_order(kMostRanks, left + latency);
  }
  return in_order(note.sender, due_of(note, key.bytes, receive, look));
}

}  // namespace weft::emulate::libfabric
