// SPDX-License-Identifier: Apache-2.0
// The two ways of moving bytes over one libfabric provider that are compared: libfabric itself, and
// weft's adapter over it. Each contestant is one end; the other end is in another process.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "measuring.hpp"

namespace weft::bench {

/// Exchanges a line of text with the other process while setting up.
struct Exchange : Channel {
  std::string operator()(const std::string& line) const {
    say(line);
    return hear();
  }
};

class Contestant {
 public:
  virtual ~Contestant() = default;
  /// Writes `count` times `size` bytes into the other end's memory, at most 16 at a time, and
  /// returns when the other end has said that all of it is in place.
  virtual void push(std::size_t count, std::size_t size) = 0;
  /// The other end of `push`.
  void absorb() {
    await_message();
    send();
    settle();
  }
  /// `count` round trips of 8 bytes; `pong` is the other end.
  void ping(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      send();
      await_message();
    }
  }
  void pong(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      await_message();
      send();
    }
    settle();
  }

 protected:
  virtual void send() = 0;
  virtual void await_message() = 0;
  /// Polls until the last messages have left.
  virtual void settle() = 0;
};

inline constexpr std::size_t kInFlight = 16;
// Looks at the queue by which sent messages have left.
inline constexpr int kSettle = 64;
inline constexpr std::size_t kMemory = std::size_t{16} << 20;

/// Plain libfabric: fi_write, fi_inject and fi_cq_read in the tightest loop. With
/// `delivery_complete` its writes ask for the same completion as the adapter's.
std::unique_ptr<Contestant> make_raw(const std::string& provider, bool active,
                                     const Exchange& exchange, bool delivery_complete);
std::unique_ptr<Contestant> make_adapter(const std::string& provider, bool active,
                                         const Exchange& exchange);

/// One-way microseconds for 8 bytes by the packaged fi_pingpong, half a round trip each; negative
/// when the program is missing or does not work with the provider.
double packaged_pingpong(const std::string& provider, std::size_t count, bool pinned);

}  // namespace weft::bench
