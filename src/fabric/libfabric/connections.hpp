// SPDX-License-Identifier: Apache-2.0
// The provider "sockets" reads a header only when all of its 24 bytes are there, and leaves fewer
// in the socket. The kernel accounts for a segment until its last byte was read; with the default
// receive buffer one segment of 64 KiB is enough to leave no window. When such a segment ends
// within a header, the receiver waits for bytes that the sender may not send, for ever. A buffer
// that holds several segments always leaves a window.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace weft::ofi {

/// Gives every socket of this process that is bound to `own` or connected to `peer`, both
/// `sockaddr`s, a receive buffer of several segments. Other bytes than a socket address match
/// nothing. Returns how many sockets there are.
int widen_receive_buffers(std::span<const std::byte> own, std::span<const std::byte> peer);

/// Returns whether a socket of this process is connected to `peer`, a `sockaddr`.
bool has_connection_to(std::span<const std::byte> peer);

/// Calls `with` for each open descriptor of this process.
void for_each_descriptor(const std::function<void(int descriptor)>& with);
/// Returns whether a socket is bound to `own`, a `sockaddr`: the listener and the connections it
/// accepted.
bool is_bound_to(int descriptor, std::span<const std::byte> own);

}  // namespace weft::ofi
