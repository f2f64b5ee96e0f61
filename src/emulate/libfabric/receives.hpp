// SPDX-License-Identifier: Apache-2.0
// Receives as their program posts them. A message that came before its receive waits in the
// provider, where no look sees it, and completes when the receive is posted, however long ago it
// came. A probe completes too, and leaves the message where it is.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include "emulate/policy/clock.hpp"

namespace weft::emulate::libfabric {

/// A receive, by its context.
struct PostedReceive {
  Picoseconds posted;  ///< 0: nobody knows any more, as it was long ago
  bool is_probe;       ///< the message is received later, by another one
};
PostedReceive receive_of(const void* context);

/// Puts the functions that post receives into copies of an endpoint's tables.
void take_over_receives(fi_ops_msg& table);
void take_over_receives(fi_ops_tagged& table);

}  // namespace weft::emulate::libfabric
