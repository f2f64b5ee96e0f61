// SPDX-License-Identifier: Apache-2.0
// One-sided writes behind a link. Their target sees nothing of them, so the writer keeps each until
// it would have left: the module returns -FI_EAGAIN to the program, as a full queue does.
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
/// Returns whether the provider may have the write now: its last bit has left the link.
bool may_write(const Write& write);
/// The provider has it. `context` is the program's, which its completion will have.
void note_taken(const Write& write, const void* context);

/// Returns when the provider took the write that has completed; `otherwise` where nobody knows any
/// more.
Picoseconds when_taken(const void* context, Picoseconds otherwise);
/// Returns when the program has to offer a write again; 0: none waits.
Picoseconds next_write();

/// The context of writes that are padding (paper 3); their completions are not the program's.
extern fi_context padding_context;
/// Writes below this are not preceded by padding: it would go in as many small pieces.
inline constexpr std::size_t kLeastPadded = 1'024;
/// Bytes of padding, at most `most`, that go ahead of the next write: the write's own bytes, to
/// where they go anyway. 0: none is due. Likewise under `offering`.
std::size_t padding_due(const fid_ep* endpoint, std::size_t most);
void note_padding(const fid_ep* endpoint, std::size_t bytes);

/// Posts a write when it may: `post` hands it to the provider. `pad` hands it as many of the first
/// `most` bytes as it is given.
template <class Post, class Pad>
ssize_t write_when_due(const Write& write, const void* context, std::size_t most, Post post,
                       Pad pad) {
  if (depth > 0) return post();
  const Entered inside;
  pthread_mutex_lock(&offering);
  ssize_t result = -FI_EAGAIN;
  if (may_write(write)) {
    result = 0;
    while (const std::size_t bytes = result == 0 ? padding_due(write.endpoint, most) : 0) {
      result = pad(bytes);
      if (result == 0) note_padding(write.endpoint, bytes);
    }
    if (result == 0) result = post();
    if (result == 0) note_taken(write, context);
  }
  pthread_mutex_unlock(&offering);
  return result;
}

}  // namespace weft::emulate::libfabric
