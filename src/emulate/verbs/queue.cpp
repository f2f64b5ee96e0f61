// SPDX-License-Identifier: Apache-2.0
#include "emulate/verbs/queue.hpp"

#include <stdlib.h>
#include <time.h>

#include <algorithm>

#include "emulate/verbs/connection.hpp"

namespace weft::emulate::verbs {
namespace {

struct Held {
  ibv_wc completion;
  Picoseconds due;
};

/// A completion queue: the adapter's completions that the program may not see yet, by due time.
struct Queue {
  const void* handle;
  Fifo<Held> held;
  Picoseconds looked;
  bool sleeps;  ///< the program asked to be notified, and polls once more before it sleeps

  void release() { held.release(); }
};
HandleTable<Queue, 1'024> queues;

struct Context {
  const ibv_context* handle;
  ibv_context_ops real;
  CreateExtendedQueue* create_cq_ex;  ///< nullptr: the provider has none
};

constexpr unsigned kMostContexts = 64;
Context contexts[kMostContexts];

const ibv_context_ops& real_of(const ibv_context* context) {
  for (const Context& one : contexts) {
    if (one.handle == context) return one.real;
  }
  return contexts[0].real;
}

/// Mostly at the end; one of another queue pair may have to go before others.
void hold(Queue& queue, const Held& held) {
  if (!queue.held.push(held)) return;
  for (std::size_t i = queue.held.size() - 1; i > 0; --i) {
    if (queue.held[i - 1].due <= queue.held[i].due) break;
    std::swap(queue.held[i - 1], queue.held[i]);
  }
}

/// Takes the adapter's completions. Returns its error, or 0.
int fill(Queue& queue, ibv_cq* handle) {
  constexpr int kAtOnce = 16;
  ibv_wc completions[kAtOnce];
  for (;;) {
    const int count = real_of(handle->context).poll_cq(handle, kAtOnce, completions);
    const Picoseconds seen = process.block->clock.now();
    for (int i = 0; i < count; ++i) {
      Connection* const connection = find_connection(handle->context, completions[i].qp_num);
      const Picoseconds due =
          connection == nullptr ? seen : due_time(*connection, completions[i], queue.looked, seen);
      hold(queue, {completions[i], due});
    }
    queue.looked = seen;
    if (count < kAtOnce) return std::min(count, 0);
  }
}

int take(Queue& queue, int wanted, ibv_wc* completions) {
  int taken = 0;
  const Picoseconds now = process.block->clock.now();
  while (taken < wanted && !queue.held.empty() && queue.held[0].due <= now) {
    completions[taken++] = queue.held[0].completion;
    queue.held.pop();
  }
  return taken;
}

/// For a program that sleeps next: the adapter has notified it already of the held completions.
void wait_for(Picoseconds due) {
  constexpr Picoseconds kLateWaking = 80'000'000;
  const Picoseconds left = due - process.block->clock.now() - kLateWaking;
  if (left > 0) {
    const timespec nap{left / 1'000'000'000'000, left / 1'000 % 1'000'000'000};
    ::nanosleep(&nap, nullptr);
  }
  while (process.block->clock.now() < due) {
  }
}

int poll_cq(ibv_cq* handle, int wanted, ibv_wc* completions) {
  for (;;) {
    Picoseconds next = 0;
    {
      const Locked locked;
      Queue* const queue = queues.add(handle);
      if (queue == nullptr) return real_of(handle->context).poll_cq(handle, wanted, completions);
      const int error = fill(*queue, handle);
      const int taken = take(*queue, wanted, completions);
      if (taken > 0) return taken;
      if (error < 0) return error;
      if (!queue->sleeps || queue->held.empty() || wanted <= 0) {
        queue->sleeps = false;
        return 0;
      }
      next = queue->held[0].due;
    }
    wait_for(next);
  }
}

int req_notify_cq(ibv_cq* handle, int solicited_only) {
  {
    const Locked locked;
    if (Queue* const queue = queues.add(handle)) queue->sleeps = true;
  }
  return real_of(handle->context).req_notify_cq(handle, solicited_only);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  CreateExtendedQueue* real = nullptr;
  {
    const Locked locked;
    for (const Context& one : contexts) {
      if (one.handle == context) real = one.create_cq_ex;
    }
  }
  return create_extended_queue(real, context, attributes);
}

Work work_of(const ibv_send_wr& request) {
  Work work{request.wr_id, 0, Way::message, false, (request.send_flags & IBV_SEND_SIGNALED) != 0};
  for (int i = 0; i < request.num_sge; ++i) work.bytes += request.sg_list[i].length;
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE:
      work.way = Way::write;
      break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      work.is_atomic = true;
      [[fallthrough]];
    case IBV_WR_RDMA_READ:
      work.way = Way::read;
      break;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_BIND_MW:
      work.way = Way::local;
      break;
    default:
      break;
  }
  return work;
}

/// Takes back the operations that the provider refused: `bad` and those behind it.
void take_back_from(Connection& connection, const ibv_send_wr* bad) {
  for (const ibv_send_wr* one = bad; one != nullptr; one = one->next) {
    take_back(connection, work_of(*one));
  }
}

int post_send(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  // The adapter's own lock orders the operations of several threads; stamps need the same order.
  const Locked locked;
  Connection* const connection = make_connection(pair->context, pair->qp_num);
  if (connection != nullptr) {
    for (const ibv_send_wr* one = requests; one != nullptr; one = one->next) {
      begin(*connection, work_of(*one));
    }
  }
  const int code = real_of(pair->context).post_send(pair, requests, bad);
  if (code != 0 && connection != nullptr) take_back_from(*connection, *bad);
  return code;
}

}  // namespace

void take_over(ibv_context* context) {
  if (is_taken(context)) return;
  const Locked locked;
  for (Context& one : contexts) {
    if (one.handle != nullptr) continue;
    one = {context, context->ops, nullptr};
    verbs_context* const extended = verbs_get_ctx(context);
    if (extended != nullptr && extended->create_cq_ex != nullptr) {
      one.create_cq_ex = extended->create_cq_ex;
      extended->create_cq_ex = create_cq_ex;
    }
    context->ops.poll_cq = poll_cq;
    context->ops.req_notify_cq = req_notify_cq;
    context->ops.post_send = post_send;
    return;
  }
}

bool is_taken(const ibv_context* context) {
  const Locked locked;
  return std::any_of(contexts, contexts + kMostContexts,
                     [&](const Context& one) { return one.handle == context; });
}

void leave(const ibv_context* context) {
  const Locked locked;
  for (Context& one : contexts) {
    if (one.handle == context) one = {};
  }
}

void drop_queue(const ibv_cq* handle) {
  drop_extended_queue(handle);
  const Locked locked;
  queues.drop(handle);
}

}  // namespace weft::emulate::verbs
