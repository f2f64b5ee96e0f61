// SPDX-License-Identifier: Apache-2.0
// One-sided operations and flushes. The bytes move at once, as UCT has no way to keep them; the
// completion, by which an upper layer learns of it, comes when an emulated network would bring it.
#include <algorithm>
#include <type_traits>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {
namespace {

constexpr std::size_t kRequestBytes = 0;  // a request to read weighs nothing beside its answer

/// The answer to a request of `request` bytes out and `answer` bytes back.
Answer round_trip(Interface& interface, Endpoint& endpoint, std::size_t request,
                  std::size_t answer) {
  ControlBlock& block = *process.block;
  const Picoseconds now = block.clock.now();
  const Picoseconds from = started(*interface.worker, now);
  const RoundTrip trip =
      plan_round_trip(from, request, answer, [&](bool is_answer, Picoseconds ready, auto bytes) {
        return is_answer ? plan_message(block, endpoint.peer, process.rank, ready, bytes)
                         : plan_message(block, process.rank, endpoint.peer, ready, bytes);
      });
  return {trip.due, trip.travel};
}

/// An operation whose answer brings bytes: it completes a round trip later, or blocks for one.
/// `call` is given the completion to pass on.
template <class Call>
ucs_status_t fetch(uct_ep_h handle, Operation operation, std::size_t bytes,
                   uct_completion_t* completion, Call call) {
  Interface& interface = interface_of_endpoint(handle);
  Endpoint& endpoint = endpoint_of(interface, handle);
  if (is_native()) {
    const ucs_status_t status = call(interface, completion);
    if (!UCS_STATUS_IS_ERR(status)) process.record->count(operation, bytes);
    return status;
  }
  const bool waits = completion == nullptr || is_spinning();
  DeferredCompletion* const deferred = waits ? nullptr : defer(interface, completion, 0);
  if (!waits && deferred == nullptr) return UCS_ERR_NO_MEMORY;
  // The link is charged when the transport has taken the operation, so that one that it refuses
  // does not pay twice.
  const ucs_status_t status = call(interface, waits ? completion : completion_of(deferred));
  if (UCS_STATUS_IS_ERR(status)) return waits ? status : settle(deferred, status);
  process.record->count(operation, bytes);
  owe_padding(endpoint.reads_debt, bytes);
  const Answer answer = round_trip(interface, endpoint, kRequestBytes, bytes);
  if (waits) {
    spin_until(std::max(answer.due, process.block->clock.now() + answer.travel));
    return status;
  }
  set_due(deferred, answer);
  return settle(deferred, status);
}

/// An operation that is over for its caller at once, and acknowledged a round trip later.
template <class Call>
std::invoke_result_t<Call, Interface&> push(uct_ep_h handle, Operation operation, std::size_t bytes,
                                            Call call) {
  Interface& interface = interface_of_endpoint(handle);
  Endpoint& endpoint = endpoint_of(interface, handle);
  if (const ucs_status_t paid = pay_by_messages(interface, handle, endpoint); paid != UCS_OK) {
    return paid;
  }
  const auto status = call(interface);
  if (status < 0) return status;
  if (bytes == 0) bytes = static_cast<std::size_t>(status);  // a packer says how many
  process.record->count(operation, bytes);
  if (is_native()) return status;
  owe_padding(endpoint.debt, bytes);
  const Picoseconds due = round_trip(interface, endpoint, bytes, 0).due;
  if (is_spinning()) spin_until(due);
  endpoint.acked = std::max(endpoint.acked, due);
  interface.acked = std::max(interface.acked, due);
  return status;
}

ucs_status_t put_short(uct_ep_h ep, const void* buffer, unsigned length, std::uint64_t address,
                       uct_rkey_t key) {
  return push(ep, op_put, length, [&](Interface& interface) {
    return interface.real.ep_put_short(ep, buffer, length, address, key);
  });
}

ssize_t put_bcopy(uct_ep_h ep, uct_pack_callback_t pack, void* argument, std::uint64_t address,
                  uct_rkey_t key) {
  return push(ep, op_put, 0, [&](Interface& interface) {
    return interface.real.ep_put_bcopy(ep, pack, argument, address, key);
  });
}

ucs_status_t put_zcopy(uct_ep_h ep, const uct_iov_t* iov, std::size_t count, std::uint64_t address,
                       uct_rkey_t key, uct_completion_t* completion) {
  return push(ep, op_put, bytes_of(iov, count), [&](Interface& interface) {
    return interface.real.ep_put_zcopy(ep, iov, count, address, key, completion);
  });
}

ucs_status_t get_short(uct_ep_h ep, void* buffer, unsigned length, std::uint64_t address,
                       uct_rkey_t key) {
  return fetch(ep, op_get, length, nullptr, [&](Interface& interface, uct_completion_t*) {
    return interface.real.ep_get_short(ep, buffer, length, address, key);
  });
}

ucs_status_t get_bcopy(uct_ep_h ep, uct_unpack_callback_t unpack, void* argument,
                       std::size_t length, std::uint64_t address, uct_rkey_t key,
                       uct_completion_t* completion) {
  return fetch(ep, op_get, length, completion, [&](Interface& interface, uct_completion_t* inner) {
    const ucs_status_t paid =
        pay_by_copied_reads(interface, ep, endpoint_of(interface, ep), {length, address, key});
    if (paid != UCS_OK) return paid;
    return interface.real.ep_get_bcopy(ep, unpack, argument, length, address, key, inner);
  });
}

ucs_status_t get_zcopy(uct_ep_h ep, const uct_iov_t* iov, std::size_t count, std::uint64_t address,
                       uct_rkey_t key, uct_completion_t* completion) {
  return fetch(ep, op_get, bytes_of(iov, count), completion,
               [&](Interface& interface, uct_completion_t* inner) {
                 const ucs_status_t paid =
                     pay_by_reads(interface, ep, endpoint_of(interface, ep), {iov, address, key});
                 if (paid != UCS_OK) return paid;
                 return interface.real.ep_get_zcopy(ep, iov, count, address, key, inner);
               });
}

ucs_status_t swap64(uct_ep_h ep, std::uint64_t compare, std::uint64_t swap, std::uint64_t address,
                    uct_rkey_t key, std::uint64_t* result, uct_completion_t* completion) {
  return fetch(ep, op_atomic, sizeof *result, completion,
               [&](Interface& interface, uct_completion_t* inner) {
                 return interface.real.ep_atomic_cswap64(ep, compare, swap, address, key, result,
                                                         inner);
               });
}

ucs_status_t swap32(uct_ep_h ep, std::uint32_t compare, std::uint32_t swap, std::uint64_t address,
                    uct_rkey_t key, std::uint32_t* result, uct_completion_t* completion) {
  return fetch(ep, op_atomic, sizeof *result, completion,
               [&](Interface& interface, uct_completion_t* inner) {
                 return interface.real.ep_atomic_cswap32(ep, compare, swap, address, key, result,
                                                         inner);
               });
}

ucs_status_t fetch64(uct_ep_h ep, unsigned opcode, std::uint64_t value, std::uint64_t* result,
                     std::uint64_t address, uct_rkey_t key, uct_completion_t* completion) {
  return fetch(
      ep, op_atomic, sizeof value, completion, [&](Interface& interface, uct_completion_t* inner) {
        return interface.real.ep_atomic64_fetch(ep, opcode, value, result, address, key, inner);
      });
}

ucs_status_t fetch32(uct_ep_h ep, unsigned opcode, std::uint32_t value, std::uint32_t* result,
                     std::uint64_t address, uct_rkey_t key, uct_completion_t* completion) {
  return fetch(
      ep, op_atomic, sizeof value, completion, [&](Interface& interface, uct_completion_t* inner) {
        return interface.real.ep_atomic32_fetch(ep, opcode, value, result, address, key, inner);
      });
}

ucs_status_t post64(uct_ep_h ep, unsigned opcode, std::uint64_t value, std::uint64_t address,
                    uct_rkey_t key) {
  return push(ep, op_atomic, sizeof value, [&](Interface& interface) {
    return interface.real.ep_atomic64_post(ep, opcode, value, address, key);
  });
}

ucs_status_t post32(uct_ep_h ep, unsigned opcode, std::uint32_t value, std::uint64_t address,
                    uct_rkey_t key) {
  return push(ep, op_atomic, sizeof value, [&](Interface& interface) {
    return interface.real.ep_atomic32_post(ep, opcode, value, address, key);
  });
}

/// A flush is over when the last acknowledgement would be there.
template <class Call>
ucs_status_t flush(Interface& interface, Picoseconds acked, unsigned flags,
                   uct_completion_t* completion, Call call) {
  process.record->count(op_flush, 0);
  const bool waits =
      acked != 0 && (flags & UCT_FLUSH_FLAG_CANCEL) == 0 && acked > process.block->clock.now();
  if (!waits) return call(completion);
  if (completion == nullptr) {
    const ucs_status_t status = call(completion);
    return status == UCS_OK ? UCS_INPROGRESS : status;
  }
  DeferredCompletion* const deferred = defer(interface, completion, acked);
  if (deferred == nullptr) return UCS_ERR_NO_MEMORY;
  return settle(deferred, call(completion_of(deferred)));
}

ucs_status_t ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t* completion) {
  Interface& interface = interface_of_endpoint(ep);
  return flush(interface, endpoint_of(interface, ep).acked, flags, completion,
               [&](uct_completion_t* inner) { return interface.real.ep_flush(ep, flags, inner); });
}

ucs_status_t iface_flush(uct_iface_h handle, unsigned flags, uct_completion_t* completion) {
  Interface& interface = *interface_of(handle);
  return flush(interface, interface.acked, flags, completion, [&](uct_completion_t* inner) {
    return interface.real.iface_flush(handle, flags, inner);
  });
}

}  // namespace

void take_over_memory(uct_iface_ops_t& table) {
  table.ep_put_short = put_short;
  table.ep_put_bcopy = put_bcopy;
  table.ep_put_zcopy = put_zcopy;
  table.ep_get_short = get_short;
  table.ep_get_bcopy = get_bcopy;
  table.ep_get_zcopy = get_zcopy;
  table.ep_atomic_cswap64 = swap64;
  table.ep_atomic_cswap32 = swap32;
  table.ep_atomic64_fetch = fetch64;
  table.ep_atomic32_fetch = fetch32;
  table.ep_atomic64_post = post64;
  table.ep_atomic32_post = post32;
  table.ep_flush = ep_flush;
  table.iface_flush = iface_flush;
}

}  // namespace weft::emulate::ucx
