// SPDX-License-Identifier: Apache-2.0
// One-sided operations behind links. The target of a write sees nothing of it, so the writer keeps
// each until it leaves: the module returns -FI_EAGAIN to the program, as a full queue does. Writes
// to one peer leave in order, and keep none to another from leaving. Reads go to the provider at
// once, and their completions wait.
#pragma once

#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "emulate/libfabric/messages.hpp"
#include "emulate/libfabric/process.hpp"

namespace weft::emulate::libfabric {

/// A write or a read, as far as it has to be known again when it is offered once more.
struct OneSided {
  const fid_ep* endpoint;
  fi_addr_t peer;
  std::uint64_t address;  ///< at the peer
  std::uint64_t key;
  std::uint64_t bytes;

  bool operator==(const OneSided&) const = default;
};

/// Held by callers of all functions but `due_of_completed` and `next_write`.
extern pthread_mutex_t offering;

/// Returns whether the provider is to be given the write now: it takes the provider's own time from
/// now on until its last bit has left the links.
bool may_write(const OneSided& write);
/// The provider was given the write at `given`, which may_write allowed, and has it now. `context`
/// is the program's, which its completion will have; `&padding_context`: it will have none.
void note_written(const OneSided& write, const void* context, Picoseconds given);
/// The provider was given the read at `given`, and has it now. One that it refuses pays no link.
void note_read(const OneSided& read, const void* context, Picoseconds given);

/// Returns when the completion with that context may be seen, which `look` found; `otherwise` where
/// nobody knows of it any more.
Picoseconds due_of_completed(const void* context, const Look& look, Picoseconds otherwise);
/// Returns when the program has to offer a write again; 0: none waits.
Picoseconds next_write();

/// The context of writes that are padding (paper 3); their completions are not the program's.
extern fi_context padding_context;
/// Writes below this are not preceded by padding: it would go in as many small pieces.
inline constexpr std::size_t kLeastPadded = 1'024;
/// Bytes of padding, at most `most`, that go ahead of the next write: the write's own bytes, to
/// where they go anyway. 0: none is due.
std::size_t padding_due(const fid_ep* endpoint, std::size_t most);
void note_padding(const fid_ep* endpoint, std::size_t bytes);

/// Posts a write when it may: `post` hands it to the provider. `pad` hands it as many of the first
/// `most` bytes as it is given.
template <class Post, class Pad>
ssize_t write_when_due(const OneSided& write, const void* context, std::size_t most, Post post,
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
    const Picoseconds given = process.block->clock.now();
    if (result == 0) result = post();
    if (result == 0) note_written(write, context, given);
  }
  pthread_mutex_unlock(&offering);
  return result;
}

/// Posts a read at once.
template <class Post>
ssize_t read_planned(const OneSided& read, const void* context, Post post) {
  if (depth > 0) return post();
  const Entered inside;
  pthread_mutex_lock(&offering);
  const Picoseconds given = process.block->clock.now();
  const ssize_t result = post();
  if (result == 0) note_read(read, context, given);
  pthread_mutex_unlock(&offering);
  return result;
}

}  // namespace weft::emulate::libfabric
