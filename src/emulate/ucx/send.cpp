// SPDX-License-Identifier: Apache-2.0
// Active messages on their way out: a stamp in front of each.
#include <string.h>

#include <algorithm>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {
namespace {

constexpr std::size_t kMostIov = 16;

/// The stamp of a message that goes out now. A message that was refused for want of resources and
/// comes again has paid its link already, and its sender has spun.
Stamp stamp(Interface& interface, Endpoint& endpoint, std::size_t bytes) {
  if (is_native()) return {0, 0};
  const Picoseconds now = process.block->clock.now();
  SenderLag& lag = interface.worker->lag;
  const Picoseconds unhindered = now - lag.value();
  const bool is_again = endpoint.refused && endpoint.refused_size == bytes;
  Plan plan = endpoint.refused_plan;
  if (!is_again) {
    plan = plan_message(*process.block, process.rank, endpoint.peer,
                        started(*interface.worker, unhindered), bytes);
  }
  endpoint.refused = false;
  endpoint.refused_plan = plan;
  endpoint.refused_size = bytes;
  if (is_spinning()) {
    if (!is_again) spin_until(std::max(now, plan.departure) + plan.latency);
    return {0, 0};
  }
  const Stamp mark = emulate::pack({.sent = now,
                                    .rank = process.rank,
                                    .lag = lag.value(),
                                    .drain = plan.departure - unhindered});
  // Its own links delay this message, and all of it the next ones.
  lag.sent(process.send_cost +
           links_between(*process.block, process.rank, endpoint.peer) * process.link_cost);
  return mark;
}

ucs_status_t sent(Interface& interface, Endpoint& endpoint, ucs_status_t status,
                  Operation operation, std::size_t bytes) {
  if (status == UCS_ERR_NO_RESOURCE) {
    endpoint.refused = true;
    interface.worker->refused = true;
  } else if (!UCS_STATUS_IS_ERR(status)) {
    process.record->count(operation, bytes);
    owe_padding(endpoint.debt, bytes);
  }
  return status;
}

ucs_status_t am_short(uct_ep_h handle, std::uint8_t id, std::uint64_t header, const void* payload,
                      unsigned length) {
  Interface& interface = interface_of_endpoint(handle);
  Endpoint& endpoint = endpoint_of(interface, handle);
  if (length + kStampBytes > interface.scratch_bytes) return UCS_ERR_INVALID_PARAM;
  if (const ucs_status_t paid = pay_by_messages(interface, handle, endpoint); paid != UCS_OK) {
    return paid;
  }
  const Stamp mark = stamp(interface, endpoint, sizeof header + length);
  char* const out = interface.scratch;
  ::memcpy(out, &mark.rest, sizeof mark.rest);
  ::memcpy(out + sizeof mark.rest, &header, sizeof header);
  ::memcpy(out + kStampBytes, payload, length);
  const ucs_status_t status = interface.real.ep_am_short(
      handle, id, mark.sent, out, static_cast<unsigned>(length + kStampBytes));
  return sent(interface, endpoint, status, op_am_short, sizeof header + length);
}

ucs_status_t am_short_iov(uct_ep_h handle, std::uint8_t id, const uct_iov_t* iov,
                          std::size_t count) {
  Interface& interface = interface_of_endpoint(handle);
  Endpoint& endpoint = endpoint_of(interface, handle);
  if (count >= kMostIov) return UCS_ERR_INVALID_PARAM;
  if (const ucs_status_t paid = pay_by_messages(interface, handle, endpoint); paid != UCS_OK) {
    return paid;
  }
  const std::size_t bytes = bytes_of(iov, count);
  Stamp mark = stamp(interface, endpoint, bytes);
  uct_iov_t with_stamp[kMostIov];
  with_stamp[0] = {};
  with_stamp[0].buffer = &mark;
  with_stamp[0].length = kStampBytes;
  with_stamp[0].count = 1;
  ::memcpy(with_stamp + 1, iov, count * sizeof *iov);
  const ucs_status_t status = interface.real.ep_am_short_iov(handle, id, with_stamp, count + 1);
  return sent(interface, endpoint, status, op_am_short, bytes);
}

/// A packer of the upper layer, with the interface and endpoint of its message.
struct Packing {
  Interface* interface;
  Endpoint* endpoint;
  uct_pack_callback_t call;
  void* argument;
};

std::size_t pack_with_stamp(void* destination, void* argument) {
  const auto& packing = *static_cast<Packing*>(argument);
  auto* const out = static_cast<char*>(destination);
  const std::size_t bytes = packing.call(out + kStampBytes, packing.argument);
  const Stamp mark = stamp(*packing.interface, *packing.endpoint, bytes);
  ::memcpy(out, &mark, kStampBytes);
  return bytes + kStampBytes;
}

ssize_t am_bcopy(uct_ep_h handle, std::uint8_t id, uct_pack_callback_t pack, void* argument,
                 unsigned flags) {
  Interface& interface = interface_of_endpoint(handle);
  Endpoint& endpoint = endpoint_of(interface, handle);
  if (const ucs_status_t paid = pay_by_messages(interface, handle, endpoint); paid != UCS_OK) {
    return paid;
  }
  Packing packing{&interface, &endpoint, pack, argument};
  const ssize_t packed = interface.real.ep_am_bcopy(handle, id, pack_with_stamp, &packing, flags);
  if (packed < 0) {
    if (packed == UCS_ERR_NO_RESOURCE) interface.worker->refused = true;
    return packed;
  }
  const ssize_t bytes = packed - static_cast<ssize_t>(kStampBytes);
  sent(interface, endpoint, UCS_OK, op_am_bcopy, static_cast<std::size_t>(bytes));
  return bytes;
}

ucs_status_t am_zcopy(uct_ep_h handle, std::uint8_t id, const void* header, unsigned header_length,
                      const uct_iov_t* iov, std::size_t count, unsigned flags,
                      uct_completion_t* completion) {
  Interface& interface = interface_of_endpoint(handle);
  Endpoint& endpoint = endpoint_of(interface, handle);
  if (header_length + kStampBytes > interface.scratch_bytes) return UCS_ERR_INVALID_PARAM;
  if (const ucs_status_t paid = pay_by_messages(interface, handle, endpoint); paid != UCS_OK) {
    return paid;
  }
  const std::size_t bytes = header_length + bytes_of(iov, count);
  const Stamp mark = stamp(interface, endpoint, bytes);
  ::memcpy(interface.scratch, &mark, kStampBytes);
  if (header_length > 0) ::memcpy(interface.scratch + kStampBytes, header, header_length);
  const ucs_status_t status = interface.real.ep_am_zcopy(
      handle, id, interface.scratch, static_cast<unsigned>(header_length + kStampBytes), iov, count,
      flags, completion);
  return sent(interface, endpoint, status, op_am_zcopy, bytes);
}

}  // namespace

void take_over_messages(uct_iface_ops_t& table) {
  table.ep_am_short = am_short;
  table.ep_am_short_iov = am_short_iov;
  table.ep_am_bcopy = am_bcopy;
  table.ep_am_zcopy = am_zcopy;
}

}  // namespace weft::emulate::ucx
