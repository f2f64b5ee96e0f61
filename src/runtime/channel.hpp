// SPDX-License-Identifier: Apache-2.0
// Channel: messages between a launcher and one process that it started, over a Unix stream socket.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "weft/result.hpp"

namespace weft {

/// A kind byte and text of at most 256 MiB. Owns its socket; move-only. One thread.
class Channel {
 public:
  /// Bytes of messages that wait until the other end reads: hundreds of thousands of addresses.
  static constexpr std::size_t most_queued = 32u << 20;

  struct Message {
    char kind = 0;
    std::string text;
  };

  Channel() = default;
  explicit Channel(int socket);
  ~Channel();
  Channel(Channel&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)),
        received_(std::move(other.received_)),
        queued_(std::move(other.queued_)),
        written_(std::exchange(other.written_, 0)) {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(received_, other.received_);
    std::swap(queued_, other.queued_);
    std::swap(written_, other.written_);
    return *this;
  }

  /// Two connected ends.
  static Result<std::pair<Channel, Channel>> pair();

  int descriptor() const { return socket_; }
  bool open() const { return socket_ >= 0; }
  void close();
  /// Queues a message and writes as much as the socket takes now; `flush` writes the rest. Never
  /// blocks. Closes the channel when more than `most_queued` bytes would wait. Messages queued for
  /// an end that is gone are lost.
  void post(char kind, std::string_view text);
  /// Writes as many queued bytes as the socket takes. Never blocks.
  void flush();
  /// Bytes that wait to be written.
  std::size_t queued() const { return queued_.size() - written_; }
  /// Blocks until the message and those queued before are written. Fails when the other end is
  /// gone.
  Result<void> send(char kind, std::string_view text);
  /// The next message, if one is complete. Never blocks. Closes itself when the other end is gone
  /// and all was read, or when it sent a malformed message.
  std::optional<Message> receive();
  /// Blocks until there is a message; an error when the other end is gone.
  Result<Message> wait();

 private:
  std::optional<Message> take();
  void enqueue(char kind, std::string_view text);
  bool write_queued(int flags);
  void forget_queued();

  int socket_ = -1;
  std::string received_;
  std::string queued_;
  std::size_t written_ = 0;  // of `queued_`, from its front
};

}  // namespace weft
