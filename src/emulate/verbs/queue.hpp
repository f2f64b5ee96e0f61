// SPDX-License-Identifier: Apache-2.0
// The functions that take the place of a provider's in a context: posting and polling.
#pragma once

#include <infiniband/verbs.h>

namespace weft::emulate::verbs {

/// Puts the module's functions into the context's table. Once for each context.
void take_over(ibv_context* context);
bool is_taken(const ibv_context* context);
void leave(const ibv_context* context);
/// The queue is gone, and what it held.
void drop_queue(const ibv_cq* queue);

/// Puts the module's functions into an extended queue pair (ibv_wr_…).
void take_over(ibv_qp_ex* pair);
void leave(const ibv_qp_ex* pair);

}  // namespace weft::emulate::verbs
