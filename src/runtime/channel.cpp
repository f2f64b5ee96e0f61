// SPDX-License-Identifier: Apache-2.0
#include "runtime/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/make_error.hpp"

namespace weft {
namespace {

constexpr std::size_t header = 5;  // length of the text, kind
constexpr std::uint32_t longest = 256u << 20;

}  // namespace

Channel::Channel(int socket) : socket_(socket) {}

Channel::~Channel() {
  close();
}

void Channel::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return make_error(ErrorCode::exhausted,
                      "cannot make a channel to a process: {}; raise the limit of open files "
                      "(ulimit -n)",
                      std::strerror(errno));
  }
  return std::pair(Channel(ends[0]), Channel(ends[1]));
}

void Channel::enqueue(char kind, std::string_view text) {
  // Forgets written bytes, now and then.
  if (written_ > queued_.size() / 2) {
    queued_.erase(0, written_);
    written_ = 0;
  }
  const auto length = static_cast<std::uint32_t>(text.size());
  char head[header];
  std::memcpy(head, &length, sizeof length);
  head[sizeof length] = kind;
  queued_.append(head, header);
  queued_ += text;
}

void Channel::forget_queued() {
  queued_.clear();
  written_ = 0;
}

/// Writes until nothing is left, or the socket takes no more. False: the other end is gone; its
/// earlier messages can still be received.
bool Channel::write_queued(int flags) {
  while (queued() > 0) {
    const auto n = ::send(socket_, queued_.data() + written_, queued(), MSG_NOSIGNAL | flags);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n <= 0) {
      forget_queued();
      return false;
    }
    written_ += static_cast<std::size_t>(n);
  }
  forget_queued();
  return true;
}

void Channel::post(char kind, std::string_view text) {
  if (!open()) return;
  if (queued() + header + text.size() > most_queued) {
    forget_queued();
    return close();
  }
  enqueue(kind, text);
  flush();
}

void Channel::flush() {
  if (open()) (void)write_queued(MSG_DONTWAIT);
}

Result<void> Channel::send(char kind, std::string_view text) {
  enqueue(kind, text);
  if (open() && write_queued(0)) return {};
  forget_queued();
  return Error{ErrorCode::unavailable, "the process at the other end is gone"};
}

std::optional<Channel::Message> Channel::take() {
  if (received_.size() < header) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, received_.data(), sizeof length);
  if (length > longest) {
    close();
    received_.clear();
    return std::nullopt;
  }
  if (received_.size() - header < length) return std::nullopt;
  Message message{.kind = received_[4], .text = received_.substr(header, length)};
  received_.erase(0, header + length);
  return message;
}

std::optional<Channel::Message> Channel::receive() {
  while (open()) {
    char buffer[64 << 10];
    const auto n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n > 0) {
      received_.append(buffer, static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) close();
    break;
  }
  return take();
}

Result<Channel::Message> Channel::wait() {
  for (;;) {
    if (auto message = receive()) return *std::move(message);
    if (!open()) return Error{ErrorCode::unavailable, "the process at the other end is gone"};
    pollfd fd{.fd = socket_, .events = POLLIN, .revents = 0};
    (void)poll(&fd, 1, -1);
  }
}

}  // namespace weft
