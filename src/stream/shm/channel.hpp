// SPDX-License-Identifier: Apache-2.0
// Unix seqpacket sockets that carry small messages and memory files between a compute node's shm
// sink and its consumers. The end of the other process, however it came, shows as end of file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/memory/mirrored_ring.hpp"
#include "weft/result.hpp"

namespace weft::shm {

/// The address at which compute node `compute` of `name` listens. A name with a '/' is a path (the
/// file is PATH.COMPUTE), otherwise an abstract one of 1 … 64 letters, digits, '.', '_' and '-'.
struct Address {
  std::string name;
  std::uint32_t compute = 0;

  bool is_path() const { return name.find('/') != std::string::npos; }
};
/// Errors: invalid_argument, which says why the name is wrong.
Result<void> check_name(std::string_view name);

/// Errors: unavailable when another process uses the name.
Result<Descriptor> listen_at(const Address& address);
/// Removes the file of `listen_at`.
void unlink_address(const Address& address);
/// Errors: not_found when nobody listens, unauthorised when the listener is another user's.
Result<Descriptor> connect_to(const Address& address);
/// Returns whether the process at the other end runs as this one's user.
bool belongs_to_us(int socket);

/// How many connections one call of `accept_from` closes at most.
constexpr int most_turned_away = 16;
/// The next connection that `admits` lets in, not blocking. The others are closed unread, at most
/// `most_turned_away` of them: others that connect all the time must not keep the caller. −1 with
/// EAGAIN when there is none, or none among those; the listener then stays readable.
Descriptor accept_from(int listener, bool (*admits)(int socket) = belongs_to_us);

enum class Transfer : std::uint8_t { done, would_block, closed };
/// Sends one message, with a memory file when `attached` ≥ 0. Never blocks, never raises SIGPIPE.
Transfer send_message(int socket, std::span<const std::byte> message, int attached = -1);

struct Received {
  Transfer state = Transfer::closed;
  std::size_t size = 0;  ///< larger than the buffer: the message was cut
  Descriptor attached;   ///< a descriptor that came with the message, if the caller wants one
};
/// Receives one message, not blocking. Descriptors that come unasked never enter this process.
Received receive_message(int socket, std::span<std::byte> buffer, bool with_descriptor);

}  // namespace weft::shm
