// SPDX-License-Identifier: Apache-2.0
#include "emulate/libfabric/receives.hpp"

#include <atomic>

#include "emulate/libfabric/process.hpp"
#include "emulate/libfabric/tables.hpp"

namespace weft::emulate::libfabric {
namespace {

/// The receives posted last: an older one of the same place is forgotten. Any number of threads.
struct Place {
  std::atomic<const void*> context;
  std::atomic<Picoseconds> posted;
  std::atomic<bool> is_probe;
};
constexpr unsigned kPlacesBits = 12;
Place places[1U << kPlacesBits];

Place& place_of(const void* context) {
  const auto mixed = reinterpret_cast<std::uintptr_t>(context) * 0x9E3779B97F4A7C15U;
  return places[mixed >> (64U - kPlacesBits)];
}

/// `post` hands the receive to the provider, which may complete it at once.
template <class Post>
ssize_t post_noted(const void* context, std::uint64_t flags, Post post) {
  const bool is_native = process.block->pair_count == 0 && process.block->knobs.is_native();
  if (depth > 0 || is_native) return post();
  const Entered inside;
  Place& place = place_of(context);
  place.context.store(nullptr, std::memory_order_release);
  place.posted.store(process.block->clock.now(), std::memory_order_relaxed);
  place.is_probe.store((flags & (FI_PEEK | FI_DISCARD)) == FI_PEEK, std::memory_order_relaxed);
  place.context.store(context, std::memory_order_release);
  return post();
}

ssize_t receive(fid_ep* ep, void* into, std::size_t bytes, void* desc, fi_addr_t from,
                void* context) {
  return post_noted(context, 0,
                    [=] { return real_of(ep->msg).recv(ep, into, bytes, desc, from, context); });
}

ssize_t receive_segments(fid_ep* ep, const iovec* into, void** desc, std::size_t count,
                         fi_addr_t from, void* context) {
  return post_noted(context, 0,
                    [=] { return real_of(ep->msg).recvv(ep, into, desc, count, from, context); });
}

ssize_t receive_message(fid_ep* ep, const fi_msg* message, std::uint64_t flags) {
  return post_noted(message->context, flags,
                    [=] { return real_of(ep->msg).recvmsg(ep, message, flags); });
}

ssize_t tagged_receive(fid_ep* ep, void* into, std::size_t bytes, void* desc, fi_addr_t from,
                       std::uint64_t tag, std::uint64_t ignore, void* context) {
  return post_noted(context, 0, [=] {
    return real_of(ep->tagged).recv(ep, into, bytes, desc, from, tag, ignore, context);
  });
}

ssize_t tagged_receive_segments(fid_ep* ep, const iovec* into, void** desc, std::size_t count,
                                fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                                void* context) {
  return post_noted(context, 0, [=] {
    return real_of(ep->tagged).recvv(ep, into, desc, count, from, tag, ignore, context);
  });
}

ssize_t tagged_receive_message(fid_ep* ep, const fi_msg_tagged* message, std::uint64_t flags) {
  return post_noted(message->context, flags,
                    [=] { return real_of(ep->tagged).recvmsg(ep, message, flags); });
}

}  // namespace

PostedReceive receive_of(const void* context) {
  const Place& place = place_of(context);
  if (place.context.load(std::memory_order_acquire) != context) return {0, false};
  return {place.posted.load(std::memory_order_relaxed),
          place.is_probe.load(std::memory_order_relaxed)};
}

void take_over_receives(fi_ops_msg& table) {
  table.recv = receive;
  table.recvv = receive_segments;
  table.recvmsg = receive_message;
}

void take_over_receives(fi_ops_tagged& table) {
  table.recv = tagged_receive;
  table.recvv = tagged_receive_segments;
  table.recvmsg = tagged_receive_message;
}

}  // namespace weft::emulate::libfabric
