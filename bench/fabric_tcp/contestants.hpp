// SPDX-License-Identifier: Apache-2.0
// The two ways of moving bytes between two processes that are compared.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fabric/tcp/socket.hpp"
#include "measuring.hpp"
#include "weft/fabric.hpp"

namespace weft::bench {

/// How a side waits for the other.
enum class Waiting {
  spinning,  ///< tries again and again
  sleeping,  ///< tries, sleeps in poll(2), tries again, as an event loop does
  blocking,  ///< in send and recv: plain sockets only, and of use for one peer only
};

/// One side of a connection between two processes. The active side calls `push` and `ping`, the
/// passive one `absorb` and `pong` with the same arguments.
class Contestant {
 public:
  virtual ~Contestant() = default;
  /// Moves `count` times `size` bytes; returns when the passive side has them all.
  virtual void push(std::size_t count, std::size_t size, Waiting waiting) = 0;
  virtual void absorb(std::size_t count, std::size_t size, Waiting waiting) = 0;
  /// `count` round trips of 8 bytes.
  virtual void ping(std::size_t count, Waiting waiting) = 0;
  virtual void pong(std::size_t count, Waiting waiting) = 0;
};

/// Memory that is read from or written to in turn, larger than one transfer.
using Memory = std::vector<std::byte>;

/// Sockets with the options of the TCP fabric, send and recv, nothing else.
std::unique_ptr<Contestant> make_plain(bool active, const std::string& listen,
                                       const Channel& channel, Memory& memory);
/// The TCP fabric: one-sided writes and messages.
std::unique_ptr<Contestant> make_fabric(bool active, const std::string& listen,
                                        const Channel& channel, Memory& memory);

}  // namespace weft::bench
