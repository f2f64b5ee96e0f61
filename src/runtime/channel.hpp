// SPDX-License-Identifier: Apache-2.0
// Channel: messages between a launcher and one process that it started, over a Unix stream socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/result.hpp"

namespace weft {

/// A kind byte and text of at most 256 MiB. Owns its socket; move-only. One thread.
class Channel {
 public:
  struct Message {
    char kind = 0;
    std::string text;
  };

  Channel() = default;
  explicit Channel(int socket);
  ~Channel();
  Channel(Channel&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), received_(std::move(other.received_)) {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(received_, other.received_);
    return *this;
  }

  /// Two connected ends.
  static Result<std::pair<Channel, Channel>> pair();

  int descriptor() const { return socket_; }
  bool open() const { return socket_ >= 0; }
  void close();
  /// Blocks until all of it is written. Fails when the other end is gone.
  Result<void> send(char kind, std::string_view text);
  /// The next message, if one is complete. Never blocks. Closes itself when the other end is gone
  /// and all was read, or when it spoke nonsense.
  std::optional<Message> receive();
  /// Blocks until there is a message; an error when the other end is gone.
  Result<Message> wait();

 private:
  std::optional<Message> take();

  int socket_ = -1;
  std::string received_;
};

}  // namespace weft
