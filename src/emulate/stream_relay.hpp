// SPDX-License-Identifier: Apache-2.0
// StreamRelay: a link between a client and a server that speak by Unix-domain stream sockets. It
// listens in the server's place and carries the bytes of each connection, both ways, when they are
// due.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <vector>

#include "net/paced_link.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::emulate {

/// One thread's. All connections share one link a direction.
class StreamRelay {
 public:
  struct Counters {
    std::uint64_t chunks = 0;  ///< read at once
    std::uint64_t bytes = 0;
    std::uint64_t connections = 0;
  };

  /// Listens at `listen`, a path, and connects to `connect` for each client. Error (io): names the
  /// path.
  static Result<StreamRelay> make(const std::string& listen, const std::string& connect,
                                  const LinkShape& shape);
  StreamRelay(StreamRelay&& other) noexcept;
  StreamRelay& operator=(StreamRelay&&) = delete;
  ~StreamRelay();

  /// Carries the bytes that are there, then sleeps until there are more, some fall due, or `also`
  /// is readable.
  void turn(int also);
  const Counters& counters() const { return counters_; }

 private:
  struct Chunk {
    Instant due;
    std::vector<std::byte> bytes;  ///< none: the end
    std::size_t written = 0;
  };
  struct Direction {
    std::deque<Chunk> held;
    bool at_end = false;  ///< nothing more can be read
    bool shut = false;    ///< the relay has passed the end to the other side
    bool stuck = false;   ///< the receiver's socket is full
  };
  struct Connection {
    std::array<int, 2> sockets{-1, -1};   ///< the client's, the server's
    std::array<Direction, 2> directions;  ///< by where it comes from
  };

  StreamRelay(int listener, std::string connect, const LinkShape& shape);
  void accept_all();
  void take(Connection& connection, std::size_t from);
  void release(Connection& connection, std::size_t from);
  void await(int also);
  bool may_read(const Connection& connection, std::size_t from, Instant now) const;

  int listener_;
  std::string connect_;
  std::array<net::PacedLink, 2> links_;
  std::list<Connection> connections_;
  std::vector<std::byte> buffer_;
  Counters counters_;
};

}  // namespace weft::emulate
