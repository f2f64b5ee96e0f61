// SPDX-License-Identifier: Apache-2.0
// The functions that take the place of a provider's in a context: posting and polling.
#pragma once

#include <infiniband/verbs.h>

namespace weft::emulate::verbs {

/// Puts the module's functions into the context's table. Once for each context.
void take_over(ibv_context* context);
bool is_taken(const ibv_context* context);
void leave(const ibv_context* context);
/// The queue is gone, and its held completions with it.
void drop_queue(const ibv_cq* queue);

/// A queue that is read field by field (ibv_create_cq_ex), made by the provider's `create` and
/// taken over. nullptr and EOPNOTSUPP for fields that cannot be held, which programs do without.
using CreateExtendedQueue = ibv_cq_ex*(ibv_context*, ibv_cq_init_attr_ex*);
ibv_cq_ex* create_extended_queue(CreateExtendedQueue* create, ibv_context* context,
                                 ibv_cq_init_attr_ex* attributes);
void drop_extended_queue(const ibv_cq* handle);

/// Puts the module's functions into an extended queue pair (ibv_wr_…).
void take_over(ibv_qp_ex* pair);
void leave(const ibv_qp_ex* pair);

}  // namespace weft::emulate::verbs
