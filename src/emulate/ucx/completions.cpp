// SPDX-License-Identifier: Apache-2.0
// Completions that are shown later than the transport has them.
#include <stdlib.h>

#include <algorithm>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {

struct DeferredCompletion {
  Waiting waiting;
  uct_completion_t inner;  ///< the one that the transport is given
  uct_completion_t* user;
  Picoseconds travel;  ///< from the transport's completion until it may be seen
};

namespace {

void invoke(uct_completion_t* user, ucs_status_t status) {
  if (status != UCS_OK && user->status == UCS_OK) user->status = status;
  if (--user->count == 0) user->func(user);
}

void show(Waiting* waiting) {
  auto* deferred = reinterpret_cast<DeferredCompletion*>(waiting);
  uct_completion_t* const user = deferred->user;
  const ucs_status_t status = deferred->inner.status;
  const Picoseconds due = waiting->due;
  Worker& worker = *waiting->interface->worker;
  ::free(deferred);
  deliver(worker, due, [&] { invoke(user, status); });
}

void drop(Waiting* waiting) {
  auto* deferred = reinterpret_cast<DeferredCompletion*>(waiting);
  uct_completion_t* const user = deferred->user;
  ::free(deferred);
  invoke(user, UCS_ERR_CANCELED);
}

void wait_until_due(DeferredCompletion* deferred) {
  Picoseconds& due = deferred->waiting.due;
  if (deferred->travel > 0) due = std::max(due, process.block->clock.now() + deferred->travel);
  if (!deferred->waiting.interface->worker->waiting.push(&deferred->waiting)) {
    show(&deferred->waiting);
  }
}

/// The transport has completed the operation: its completion waits until it is due.
void on_completed(uct_completion_t* inner) {
  wait_until_due(reinterpret_cast<DeferredCompletion*>(reinterpret_cast<char*>(inner) -
                                                       offsetof(DeferredCompletion, inner)));
}

}  // namespace

DeferredCompletion* defer(Interface& interface, uct_completion_t* user, Picoseconds due) {
  auto* deferred = static_cast<DeferredCompletion*>(::malloc(sizeof(DeferredCompletion)));
  if (deferred == nullptr) return nullptr;
  deferred->waiting = {show, drop, &interface, due, 0};
  deferred->inner.func = on_completed;
  deferred->inner.count = 1;
  deferred->inner.status = UCS_OK;
  deferred->user = user;
  deferred->travel = 0;
  return deferred;
}

uct_completion_t* completion_of(DeferredCompletion* deferred) {
  return &deferred->inner;
}

void set_due(DeferredCompletion* deferred, const Answer& answer) {
  deferred->waiting.due = answer.due;
  deferred->travel = answer.travel;
}

ucs_status_t settle(DeferredCompletion* deferred, ucs_status_t status) {
  if (status == UCS_OK) {
    wait_until_due(deferred);
    return UCS_INPROGRESS;
  }
  if (status != UCS_INPROGRESS) ::free(deferred);
  return status;
}

}  // namespace weft::emulate::ucx
