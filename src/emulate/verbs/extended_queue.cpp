// SPDX-License-Identifier: Apache-2.0
// ibv_create_cq_ex: completion queues that a program reads field by field. The module polls them as
// ordinary ones, which providers allow, holds their completions, and answers from those.
#include <errno.h>

#include "emulate/verbs/connection.hpp"
#include "emulate/verbs/queue.hpp"

namespace weft::emulate::verbs {
namespace {

/// The fields that an ibv_wc has; it has no time stamps and the like.
constexpr std::uint64_t kKnownFields =
    IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP |
    IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | IBV_WC_EX_WITH_DLID_PATH_BITS;

/// A program reads an extended queue with one thread at a time, between start_poll and end_poll.
struct ExtendedQueue {
  const void* handle;
  ibv_wc current;  ///< the completion that the program reads

  void release() {}
};
HandleTable<ExtendedQueue, 1'024> extended_queues;

ibv_wc& current(ibv_cq_ex* handle) {
  const Locked locked;
  return extended_queues.find(handle)->current;
}

int next_poll(ibv_cq_ex* handle) {
  ibv_wc& completion = current(handle);
  const int count = ibv_poll_cq(ibv_cq_ex_to_cq(handle), 1, &completion);
  if (count == 0) return ENOENT;
  if (count < 0) return EIO;
  handle->wr_id = completion.wr_id;
  handle->status = completion.status;
  return 0;
}

int start_poll(ibv_cq_ex* handle, ibv_poll_cq_attr* attributes) {
  return attributes != nullptr && attributes->comp_mask != 0 ? EINVAL : next_poll(handle);
}

void end_poll(ibv_cq_ex* /*handle*/) {}

void take_over(ibv_cq_ex& queue) {
  queue.start_poll = start_poll;
  queue.next_poll = next_poll;
  queue.end_poll = end_poll;
  queue.read_opcode = [](ibv_cq_ex* handle) { return current(handle).opcode; };
  queue.read_vendor_err = [](ibv_cq_ex* handle) { return current(handle).vendor_err; };
  queue.read_byte_len = [](ibv_cq_ex* handle) { return current(handle).byte_len; };
  queue.read_imm_data = [](ibv_cq_ex* handle) { return current(handle).imm_data; };
  queue.read_qp_num = [](ibv_cq_ex* handle) { return current(handle).qp_num; };
  queue.read_src_qp = [](ibv_cq_ex* handle) { return current(handle).src_qp; };
  queue.read_wc_flags = [](ibv_cq_ex* handle) { return current(handle).wc_flags; };
  queue.read_slid = [](ibv_cq_ex* handle) { return std::uint32_t{current(handle).slid}; };
  queue.read_sl = [](ibv_cq_ex* handle) { return current(handle).sl; };
  queue.read_dlid_path_bits = [](ibv_cq_ex* handle) { return current(handle).dlid_path_bits; };
}

}  // namespace

ibv_cq_ex* create_extended_queue(CreateExtendedQueue* create, ibv_context* context,
                                 ibv_cq_init_attr_ex* attributes) {
  if ((attributes->wc_flags & ~kKnownFields) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  ibv_cq_ex* const made = create(context, attributes);
  const Locked locked;
  if (made != nullptr && extended_queues.add(made) != nullptr) take_over(*made);
  return made;
}

void drop_extended_queue(const ibv_cq* handle) {
  const Locked locked;
  extended_queues.drop(handle);
}

}  // namespace weft::emulate::verbs
