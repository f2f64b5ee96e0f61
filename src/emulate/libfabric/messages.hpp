// SPDX-License-Identifier: Apache-2.0
// Messages on their way out, and what their receivers know of them. Messages of libfabric have no
// room for a stamp, and completions tell no sender: a sender leaves a note in memory that both
// share, and the receiver finds it by the message's length and tag.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

#include "emulate/libfabric/process.hpp"
#include "emulate/libfabric/receives.hpp"

namespace weft::emulate::libfabric {

/// Takes over an endpoint that was enabled: its messages leave notes from now on. Not thread-safe.
void take_over_messages(fid_ep* endpoint);
/// A receiver's look at its completions: the one before began at `looked`, and did not find the
/// message that this one has found at `seen`.
struct Look {
  Picoseconds looked;
  Picoseconds seen;
};
/// A process that looks this often sees a message about when it comes: a look at a provider is some
/// calls of the kernel.
inline constexpr Picoseconds kLooksOften = 20'000'000;
/// Returns when a message that arrived, or the probe that found it, may be seen. Messages of one
/// sender stay in order.
Picoseconds due_of_message(const NoteKey& key, const PostedReceive& receive, const Look& look);

}  // namespace weft::emulate::libfabric
