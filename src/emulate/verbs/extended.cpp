// SPDX-License-Identifier: Apache-2.0
// ibv_wr_…: operations that a program builds by calls on an extended queue pair. They count, and
// are stamped, when it completes the batch.
#include "emulate/verbs/connection.hpp"
#include "emulate/verbs/queue.hpp"

namespace weft::emulate::verbs {
namespace {

struct Pair {
  const void* handle;
  ibv_qp_ex real;    ///< the provider's functions
  Fifo<Work> batch;  ///< since ibv_wr_start

  void release() { batch.release(); }
};
HandleTable<Pair, 4'096> pairs;

Pair& pair_of(const ibv_qp_ex* handle) {
  return *pairs.find(handle);
}

Pair& add(ibv_qp_ex* handle, Way way, bool is_atomic = false) {
  Pair& pair = pair_of(handle);
  const bool is_signaled = (handle->wr_flags & IBV_SEND_SIGNALED) != 0;
  const std::uint64_t bytes = is_atomic ? sizeof(std::uint64_t) : 0;
  pair.batch.push({handle->wr_id, bytes, way, is_atomic, is_signaled});
  return pair;
}

/// Data of the operation that is being built; those of atomic operations are counted already.
Pair& add_bytes(const ibv_qp_ex* handle, std::uint64_t bytes) {
  Pair& pair = pair_of(handle);
  if (pair.batch.empty()) return pair;
  Work& work = pair.batch[pair.batch.size() - 1];
  if (!work.is_atomic) work.bytes += bytes;
  return pair;
}

void wr_start(ibv_qp_ex* handle) {
  Pair& pair = pair_of(handle);
  pair.real.wr_start(handle);
  pair.batch.pop(pair.batch.size());
}

void wr_abort(ibv_qp_ex* handle) {
  Pair& pair = pair_of(handle);
  pair.batch.pop(pair.batch.size());
  pair.real.wr_abort(handle);
}

int wr_complete(ibv_qp_ex* handle) {
  Pair& pair = pair_of(handle);
  const Locked locked;
  Connection* const connection = make_connection(handle->qp_base.context, handle->qp_base.qp_num);
  for (std::size_t i = 0; connection != nullptr && i < pair.batch.size(); ++i) {
    begin(*connection, pair.batch[i]);
  }
  const int code = pair.real.wr_complete(handle);
  for (std::size_t i = 0; code != 0 && connection != nullptr && i < pair.batch.size(); ++i) {
    take_back(*connection, pair.batch[i]);
  }
  pair.batch.pop(pair.batch.size());
  return code;
}

void wr_send(ibv_qp_ex* handle) {
  add(handle, Way::message).real.wr_send(handle);
}
void wr_send_imm(ibv_qp_ex* handle, __be32 data) {
  add(handle, Way::message).real.wr_send_imm(handle, data);
}
void wr_send_inv(ibv_qp_ex* handle, std::uint32_t key) {
  add(handle, Way::message).real.wr_send_inv(handle, key);
}
void wr_rdma_write(ibv_qp_ex* handle, std::uint32_t key, std::uint64_t address) {
  add(handle, Way::write).real.wr_rdma_write(handle, key, address);
}
void wr_rdma_write_imm(ibv_qp_ex* handle, std::uint32_t key, std::uint64_t address, __be32 data) {
  add(handle, Way::message).real.wr_rdma_write_imm(handle, key, address, data);
}
void wr_rdma_read(ibv_qp_ex* handle, std::uint32_t key, std::uint64_t address) {
  add(handle, Way::read).real.wr_rdma_read(handle, key, address);
}
void wr_atomic_cmp_swp(ibv_qp_ex* handle, std::uint32_t key, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) {
  add(handle, Way::read, true).real.wr_atomic_cmp_swp(handle, key, address, compare, swap);
}
void wr_atomic_fetch_add(ibv_qp_ex* handle, std::uint32_t key, std::uint64_t address,
                         std::uint64_t value) {
  add(handle, Way::read, true).real.wr_atomic_fetch_add(handle, key, address, value);
}
void wr_local_inv(ibv_qp_ex* handle, std::uint32_t key) {
  add(handle, Way::local).real.wr_local_inv(handle, key);
}
void wr_bind_mw(ibv_qp_ex* handle, ibv_mw* window, std::uint32_t key,
                const ibv_mw_bind_info* info) {
  add(handle, Way::local).real.wr_bind_mw(handle, window, key, info);
}

void wr_set_sge(ibv_qp_ex* handle, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
  add_bytes(handle, length).real.wr_set_sge(handle, key, address, length);
}
void wr_set_sge_list(ibv_qp_ex* handle, std::size_t count, const ibv_sge* list) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += list[i].length;
  add_bytes(handle, bytes).real.wr_set_sge_list(handle, count, list);
}
void wr_set_inline_data(ibv_qp_ex* handle, void* address, std::size_t length) {
  add_bytes(handle, length).real.wr_set_inline_data(handle, address, length);
}
void wr_set_inline_data_list(ibv_qp_ex* handle, std::size_t count, const ibv_data_buf* list) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += list[i].length;
  add_bytes(handle, bytes).real.wr_set_inline_data_list(handle, count, list);
}

/// Operations that the queue pair was not made for have no function.
template <class Function>
void replace(Function*& function, Function* own) {
  if (function != nullptr) function = own;
}

}  // namespace

void take_over(ibv_qp_ex* handle) {
  const Locked locked;
  if (pairs.find(handle) != nullptr) return;
  Pair* const pair = pairs.add(handle);
  if (pair == nullptr) return;
  pair->real = *handle;
  replace(handle->wr_start, wr_start);
  replace(handle->wr_abort, wr_abort);
  replace(handle->wr_complete, wr_complete);
  replace(handle->wr_send, wr_send);
  replace(handle->wr_send_imm, wr_send_imm);
  replace(handle->wr_send_inv, wr_send_inv);
  replace(handle->wr_rdma_write, wr_rdma_write);
  replace(handle->wr_rdma_write_imm, wr_rdma_write_imm);
  replace(handle->wr_rdma_read, wr_rdma_read);
  replace(handle->wr_atomic_cmp_swp, wr_atomic_cmp_swp);
  replace(handle->wr_atomic_fetch_add, wr_atomic_fetch_add);
  replace(handle->wr_local_inv, wr_local_inv);
  replace(handle->wr_bind_mw, wr_bind_mw);
  replace(handle->wr_set_sge, wr_set_sge);
  replace(handle->wr_set_sge_list, wr_set_sge_list);
  replace(handle->wr_set_inline_data, wr_set_inline_data);
  replace(handle->wr_set_inline_data_list, wr_set_inline_data_list);
}

void leave(const ibv_qp_ex* handle) {
  const Locked locked;
  pairs.drop(handle);
}

}  // namespace weft::emulate::verbs
