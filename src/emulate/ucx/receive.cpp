// SPDX-License-Identifier: Apache-2.0
// Active messages on their way in: handed up when they are due, kept until then.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {
namespace {

constexpr unsigned kMostAtOnce = 64;            // so that a poll ends
constexpr Picoseconds kWorthWaiting = 150'000;  // less than going round once more would take
constexpr Picoseconds kRest = 1'000'000;        // a sender's ten messages or so

/// A message that waits. Behind it, as UCT lays a descriptor out: a pointer to `releaser`, the
/// headroom, the data.
struct HeldMessage {
  Waiting waiting;
  Handler* handler;
  std::uint32_t length;
  uct_recv_desc_t releaser;
};

struct FreeMessages {
  static constexpr std::size_t kSmall = 512;  // bytes of a message that is kept for reuse
  static constexpr unsigned kMost = 4096;
  void* first = nullptr;
  unsigned count = 0;
};
thread_local FreeMessages free_messages __attribute__((tls_model("initial-exec")));

char* data_of(HeldMessage* message, std::size_t headroom) {
  return reinterpret_cast<char*>(message + 1) + sizeof(void*) + headroom;
}

HeldMessage* allocate(std::size_t headroom, std::size_t length) {
  const std::size_t all = sizeof(HeldMessage) + sizeof(void*) + headroom + length;
  if (all <= FreeMessages::kSmall && free_messages.first != nullptr) {
    auto* message = static_cast<HeldMessage*>(free_messages.first);
    ::memcpy(&free_messages.first, message, sizeof(void*));
    --free_messages.count;
    return message;
  }
  return static_cast<HeldMessage*>(::malloc(std::max(all, FreeMessages::kSmall)));
}

void free_message(HeldMessage* message, std::size_t headroom) {
  const std::size_t all = sizeof(HeldMessage) + sizeof(void*) + headroom + message->length;
  if (all > FreeMessages::kSmall || free_messages.count >= FreeMessages::kMost) {
    ::free(message);
    return;
  }
  ::memcpy(static_cast<void*>(message), &free_messages.first, sizeof(void*));
  free_messages.first = message;
  ++free_messages.count;
}

/// The upper layer is done with a message that it kept.
void release_held(uct_recv_desc_t* self, void* /*descriptor*/) {
  auto* message = reinterpret_cast<HeldMessage*>(reinterpret_cast<char*>(self) -
                                                 offsetof(HeldMessage, releaser));
  ::free(message);
}

void hand_up(Waiting* waiting) {
  auto* message = reinterpret_cast<HeldMessage*>(waiting);
  Interface& interface = *waiting->interface;
  const Handler& handler = *message->handler;
  char* const data = data_of(message, interface.headroom);
  uct_recv_desc_t* const releaser = &message->releaser;
  ::memcpy(data - interface.headroom - sizeof(void*), &releaser, sizeof(void*));
  ucs_status_t status = UCS_OK;
  deliver(*interface.worker, waiting->due, [&] {
    status = handler.call(handler.argument, data, message->length, UCT_CB_PARAM_FLAG_DESC);
  });
  if (status != UCS_INPROGRESS) free_message(message, interface.headroom);
}

void drop_held(Waiting* waiting) {
  ::free(reinterpret_cast<HeldMessage*>(waiting));
}

/// False when there is no memory: the message has to go up at once.
bool keep(Handler& handler, const char* data, std::size_t length, Picoseconds due) {
  Interface& interface = *handler.interface;
  HeldMessage* message = allocate(interface.headroom, length);
  if (message == nullptr) return false;
  message->waiting = {hand_up, drop_held, &interface, due, 0};
  message->handler = &handler;
  message->length = static_cast<std::uint32_t>(length);
  message->releaser.cb = release_held;
  ::memcpy(data_of(message, interface.headroom), data, length);
  if (interface.worker->waiting.push(&message->waiting)) return true;
  ::free(message);
  return false;
}

/// Returns the native time of messages of this size on this interface: the least seen, or the least
/// of all sizes where no poll has begun with one of this size.
Picoseconds native_time(Interface& interface, std::size_t length, Picoseconds took) {
  Picoseconds& least = interface.native[std::min<unsigned>(
      kSizeClasses - 1, 64U - static_cast<unsigned>(__builtin_clzll(length | 1U)))];
  if (took > 0 && (least == 0 || took < least)) least = took;
  const bool is_least = interface.least_native == 0 || least < interface.least_native;
  if (least > 0 && is_least) interface.least_native = least;
  return least > 0 ? least : interface.least_native;
}

/// `is_first`: the first message that a poll found, seen at `now` itself.
Picoseconds due_time(Interface& interface, const Sending& sending, std::size_t length,
                     Picoseconds now, bool is_first) {
  const auto& [sent, from, lag, drain] = sending;
  const Knobs& knobs = process.block->knobs;
  const Picoseconds native = native_time(interface, length, is_first ? now - sent : 0);
  const Picoseconds arrived = arrival({.sent = sent,
                                       .native = native,
                                       .looked = interface.worker->in_vain,
                                       .seen = std::max(now, sent + native)}) -
                              lag;
  // The emulation's own cost on the way here: holding, and the sender's time for its links.
  const Picoseconds own = knobs.overhead.load(std::memory_order_relaxed) +
                          links_between(*process.block, from, process.rank) * process.link_cost;
  const Picoseconds due = emulate::due({.sent = sent - lag,
                                        .arrived = arrived,
                                        .drained = sent - lag + drain,
                                        .shortest = interface.least_native,
                                        .own = own,
                                        .latency = added_latency(from, process.rank)});
  // A sender's messages stay in order, also when a knob was turned between them.
  Picoseconds& last = interface.last_due[std::min(from, kMostRanks - 1)];
  last = std::max(last, due);
  interface.latest_due = std::max(interface.latest_due, due);
  return last;
}

/// A descriptor whose data begin behind the stamp: the transport's own begins before it.
void release_shifted(uct_recv_desc_t* /*self*/, void* descriptor) {
  void* const real = static_cast<char*>(descriptor) - kStampBytes;
  uct_recv_desc_t* const releaser = uct_recv_desc(real);
  releaser->cb(releaser, real);
}
uct_recv_desc_t shifted_releaser = {release_shifted};

ucs_status_t on_message(void* argument, void* raw, std::size_t raw_length, unsigned flags) {
  Handler& handler = *static_cast<Handler*>(argument);
  Interface& interface = *handler.interface;
  if (raw_length < kStampBytes) return UCS_OK;  // from no module of weft: cannot be
  Stamp stamp;
  ::memcpy(&stamp, raw, kStampBytes);
  char* const data = static_cast<char*>(raw) + kStampBytes;
  const std::size_t length = raw_length - kStampBytes;
  Worker& worker = *interface.worker;
  Picoseconds due = 0;
  if (stamp.sent != 0 || !worker.waiting.empty()) {
    // All messages of a poll share one look at the clock, which costs as much as the rest of this.
    const bool is_first = worker.polled == 0;
    if (is_first) worker.polled = process.block->clock.now();
    const Picoseconds now = worker.polled;
    due = stamp.sent != 0 ? due_time(interface, unpack(stamp), length, now, is_first)
                          : std::max(now, interface.latest_due);
    if ((due > now || !worker.waiting.empty()) && keep(handler, data, length, due)) {
      return UCS_OK;
    }
  }
  ucs_status_t status = UCS_OK;
  if (due == 0) {
    status = handler.call(handler.argument, data, length, flags);
  } else {
    deliver(worker, due, [&] { status = handler.call(handler.argument, data, length, flags); });
  }
  if (status == UCS_INPROGRESS) {
    // Behind the stamp there is as much room as the upper layer was promised, and it finds the
    // descriptor's pointer in front of that.
    uct_recv_desc_t* const releaser = &shifted_releaser;
    ::memcpy(data - interface.headroom - sizeof(void*), &releaser, sizeof(void*));
  }
  return status;
}

}  // namespace

ucs_status_t set_handler(Interface& interface, std::uint8_t id, uct_am_callback_t call,
                         void* argument, std::uint32_t flags) {
  using SetHandler =
      ucs_status_t (*)(uct_iface_h, std::uint8_t, uct_am_callback_t, void*, std::uint32_t);
  static const auto real = reinterpret_cast<SetHandler>(real_function("uct_iface_set_am_handler"));
  if (id >= kAmIds || call == nullptr) return real(interface.handle, id, call, argument, flags);
  if (id == kPaddingId) interface.padding_bytes = 0;  // it is the upper layer's, after all
  interface.handlers[id] = {call, argument, &interface};
  return real(interface.handle, id, on_message, &interface.handlers[id], flags);
}

namespace {

/// Waits a while before the transports are looked at again, and tells the time then. Each look at
/// a queue that a peer is writing into takes the cache line from that peer, whose burst would be
/// slower than towards a program that is busy with its messages. Only for a program that looks
/// without pause and has nothing left to send, and so short that nothing that arrives meanwhile can
/// be due.
Picoseconds rest(const Worker& worker, Picoseconds now) {
  if (worker.refused || now - worker.left > 2 * kPolling) return now;
  const Picoseconds latency = process.block->knobs.latency.load(std::memory_order_relaxed);
  const Picoseconds until =
      std::min(now + std::min(kRest, latency / 2), worker.waiting.next_due() - kWorthWaiting);
  while (now < until) now = process.block->clock.now();
  return now;
}

}  // namespace

unsigned progress(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  const bool in_vain = worker.polled == 0;
  worker.polled = 0;
  if (worker.waiting.empty()) {
    if (is_native()) return 0;
    const Picoseconds now = process.block->clock.now();
    if (in_vain) {
      worker.lag.looked_in_vain(now - worker.looked);
      worker.in_vain = now;
    }
    worker.looked = now;
    worker.left = now;
    return 0;
  }
  Picoseconds now = process.block->clock.now();
  const bool is_due = worker.waiting.next_due() <= now;
  if (in_vain) {
    if (!is_due) worker.lag.looked_in_vain(now - worker.looked);
    worker.in_vain = now;
  }
  worker.looked = now;
  if (!is_due) now = rest(worker, now);
  worker.refused = false;
  worker.left = now;
  unsigned count = 0;
  while (!worker.waiting.empty() && worker.waiting.next_due() <= now + kWorthWaiting &&
         count < kMostAtOnce) {
    while (now < worker.waiting.next_due()) now = process.block->clock.now();
    Waiting* const waiting = worker.waiting.pop();
    waiting->release(waiting);
    ++count;
  }
  return count;
}

}  // namespace weft::emulate::ucx
