// SPDX-License-Identifier: Apache-2.0
// One-sided writes behind a link. Their target sees nothing of them, so the writer keeps each until
// it would have left: the program is told to try again (-FI_EAGAIN), as by a full queue.
#pragma once

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include "emulate/libfabric/process.hpp"

namespace weft::emulate::libfabric {

/// A write, as far as it has to be known again when it is offered once more.
struct Write {
  const fid_ep* endpoint;
  std::uint64_t address;  ///< at the target
  std::uint64_t key;
  std::uint64_t bytes;

  bool operator==(const Write&) const = default;
};

/// Held by callers of `may_write` and `note_taken`.
extern pthread_mutex_t offering;
/// Whether the provider may have the write now: its last bit has left the link.
bool may_write(const Write& write);
/// The provider has it. `context` is the program's, which its completion will have.
void note_taken(const Write& write, const void* context);

/// When the provider took the write that has completed; `otherwise` where nobody knows any more.
Picoseconds when_taken(const void* context, Picoseconds otherwise);
/// When the program has to offer a write again; 0: none waits.
Picoseconds next_write();

/// Posts a write when it may: `post` hands it to the provider.
template <class Post>
ssize_t write_when_due(const Write& write, const void* context, Post post) {
  if (depth > 0) return post();
  const Entered inside;
  pthread_mutex_lock(&offering);
  ssize_t result = -FI_EAGAIN;
  if (may_write(write)) {
    result = post();
    if (result == 0) note_taken(write, context);
  }
  pthread_mutex_unlock(&offering);
  return result;
}

}  // namespace weft::emulate::libfabric
