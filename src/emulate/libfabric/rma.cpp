// SPDX-License-Identifier: Apache-2.0
#include "emulate/libfabric/rma.hpp"

#include <rdma/fi_rma.h>

#include "emulate/libfabric/one_sided.hpp"
#include "emulate/libfabric/tables.hpp"

namespace weft::emulate::libfabric {
namespace {

Taken<fi_ops_rma> rmas[kMostTables];

/// The first segment of a write, which padding ahead of it repeats.
struct Start {
  const void* from;
  std::size_t bytes;
  void* desc;
  fi_addr_t to;
};

template <class Post>
ssize_t write_behind_link(const OneSided& write, const void* context, const Start& start,
                          Post post) {
  return write_when_due(write, context, start.bytes, post, [&](std::size_t bytes) {
    auto* const ep = const_cast<fid_ep*>(write.endpoint);
    return real_of(ep->rma).write(ep, start.from, bytes, start.desc, start.to, write.address,
                                  write.key, &padding_context);
  });
}

ssize_t write(fid_ep* ep, const void* from, std::size_t bytes, void* desc, fi_addr_t to,
              std::uint64_t address, std::uint64_t key, void* context) {
  return write_behind_link({ep, to, address, key, bytes}, context, {from, bytes, desc, to}, [=] {
    return real_of(ep->rma).write(ep, from, bytes, desc, to, address, key, context);
  });
}

Start start_of(const iovec* from, void** desc, std::size_t count, fi_addr_t to) {
  if (count == 0) return {nullptr, 0, nullptr, to};
  return {from[0].iov_base, from[0].iov_len, desc != nullptr ? desc[0] : nullptr, to};
}

ssize_t write_segments(fid_ep* ep, const iovec* from, void** desc, std::size_t count, fi_addr_t to,
                       std::uint64_t address, std::uint64_t key, void* context) {
  return write_behind_link(
      {ep, to, address, key, total(from, count)}, context, start_of(from, desc, count, to),
      [=] { return real_of(ep->rma).writev(ep, from, desc, count, to, address, key, context); });
}

OneSided of_message(fid_ep* ep, const fi_msg_rma* message) {
  const bool has_target = message->rma_iov_count > 0;
  return {ep, message->addr, has_target ? message->rma_iov[0].addr : 0,
          has_target ? message->rma_iov[0].key : 0, total(message->msg_iov, message->iov_count)};
}

ssize_t write_message(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  return write_behind_link(
      of_message(ep, message), message->context,
      start_of(message->msg_iov, message->desc, message->iov_count, message->addr),
      [=] { return real_of(ep->rma).writemsg(ep, message, flags); });
}

ssize_t write_injected(fid_ep* ep, const void* from, std::size_t bytes, fi_addr_t to,
                       std::uint64_t address, std::uint64_t key) {
  return write_behind_link({ep, to, address, key, bytes}, &padding_context, {}, [=] {
    return real_of(ep->rma).inject(ep, from, bytes, to, address, key);
  });
}

ssize_t write_with_data(fid_ep* ep, const void* from, std::size_t bytes, void* desc,
                        std::uint64_t data, fi_addr_t to, std::uint64_t address, std::uint64_t key,
                        void* context) {
  return write_behind_link({ep, to, address, key, bytes}, context, {from, bytes, desc, to}, [=] {
    return real_of(ep->rma).writedata(ep, from, bytes, desc, data, to, address, key, context);
  });
}

ssize_t read(fid_ep* ep, void* into, std::size_t bytes, void* desc, fi_addr_t from,
             std::uint64_t address, std::uint64_t key, void* context) {
  return read_planned({ep, from, address, key, bytes}, context, [=] {
    return real_of(ep->rma).read(ep, into, bytes, desc, from, address, key, context);
  });
}

ssize_t read_segments(fid_ep* ep, const iovec* into, void** desc, std::size_t count, fi_addr_t from,
                      std::uint64_t address, std::uint64_t key, void* context) {
  return read_planned({ep, from, address, key, total(into, count)}, context, [=] {
    return real_of(ep->rma).readv(ep, into, desc, count, from, address, key, context);
  });
}

ssize_t read_message(fid_ep* ep, const fi_msg_rma* message, std::uint64_t flags) {
  return read_planned(of_message(ep, message), message->context,
                      [=] { return real_of(ep->rma).readmsg(ep, message, flags); });
}

}  // namespace

void take_over_rma(fid_ep* endpoint) {
  if (endpoint->rma == nullptr) return;
  Taken<fi_ops_rma>* const taken = copy_of(rmas, endpoint->rma);
  if (taken == nullptr) return;
  taken->table.write = write;
  taken->table.writev = write_segments;
  taken->table.writemsg = write_message;
  taken->table.inject = write_injected;
  taken->table.writedata = write_with_data;
  taken->table.read = read;
  taken->table.readv = read_segments;
  taken->table.readmsg = read_message;
  endpoint->rma = &taken->table;
}

}  // namespace weft::emulate::libfabric
