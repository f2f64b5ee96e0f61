// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/channel.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/make_error.hpp"
#include "base/socket_file.hpp"
#include "base/system_error.hpp"

namespace weft::shm {
namespace {

constexpr std::size_t max_name = 64;

struct SocketAddress {
  sockaddr_un storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::string path_of(const Address& address) {
  return fmt::format("{}.{}", address.name, address.compute);
}

// `check_name` has seen to it that the text fits.
SocketAddress to_socket_address(const Address& address) {
  SocketAddress a;
  a.storage.sun_family = AF_UNIX;
  const bool path = address.is_path();
  const std::string text =
      path ? path_of(address) : fmt::format("weft/{}/{}", address.name, address.compute);
  const std::size_t start = path ? 0 : 1;  // an abstract name begins with a zero byte
  const std::size_t length = std::min(text.size(), sizeof(a.storage.sun_path) - start - 1);
  std::memcpy(a.storage.sun_path + start, text.data(), length);
  a.size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + start + length + (path ? 1 : 0));
  return a;
}

std::string display(const Address& address) {
  return address.is_path() ? path_of(address)
                           : fmt::format("{} (compute {})", address.name, address.compute);
}

Descriptor make_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Error system_error(std::string_view what, const Address& address) {
  return make_error(ErrorCode::io, "shm:{}: {}: {}", display(address), what, std::strerror(errno));
}

// A socket file that a killed process left behind: nobody answers there any more.
bool remove_stale(const Address& address) {
  const Descriptor probe = make_socket();
  const SocketAddress a = to_socket_address(address);
  if (::connect(probe.get(), a.get(), a.size) == 0 || errno != ECONNREFUSED) return false;
  return remove_socket_file(path_of(address));
}

}  // namespace

bool belongs_to_us(int socket) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

Result<void> check_name(std::string_view name) {
  constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1 - 6;  // ".4095" and zero
  if (name.find('/') != std::string_view::npos) {
    if (name.size() <= longest_path && name.back() != '/') return {};
    return invalid("shm:{}: a socket path must name a file and have at most {} characters", name,
                   longest_path);
  }
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (!name.empty() && name.size() <= max_name && plain) return {};
  return invalid(
      "shm:{}: the name must be 1 to {} letters, digits, '.', '_' or '-', or a path; example: "
      "shm:monitor",
      name, max_name);
}

Result<Descriptor> listen_at(const Address& address) {
  Descriptor socket = make_socket();
  if (socket.get() < 0) return system_error("cannot make a socket", address);
  const SocketAddress a = to_socket_address(address);
  int bound = ::bind(socket.get(), a.get(), a.size);
  if (bound != 0 && errno == EADDRINUSE && address.is_path() && remove_stale(address)) {
    bound = ::bind(socket.get(), a.get(), a.size);
  }
  if (bound != 0 && errno == EADDRINUSE) {
    return make_error(ErrorCode::unavailable,
                      "shm:{}: another process uses this name; choose another one",
                      display(address));
  }
  if (bound != 0 && address.is_path()) {
    return weft::system_error("create", path_of(address), errno);
  }
  if (bound != 0) return system_error("cannot bind a socket", address);
  if (::listen(socket.get(), 64) != 0) return system_error("cannot listen", address);
  return socket;
}

void unlink_address(const Address& address) {
  if (address.is_path()) remove_socket_file(path_of(address));
}

Result<Descriptor> connect_to(const Address& address) {
  Descriptor socket = make_socket();
  if (socket.get() < 0) return system_error("cannot make a socket", address);
  const SocketAddress a = to_socket_address(address);
  if (::connect(socket.get(), a.get(), a.size) != 0) {
    if (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN) {
      return make_error(ErrorCode::not_found, "shm:{}: no compute node listens there",
                        display(address));
    }
    if (errno != EACCES) return system_error("cannot connect", address);
  } else if (belongs_to_us(socket.get())) {
    return socket;
  }
  return make_error(
      ErrorCode::unauthorised,
      "shm:{}: the compute node belongs to another user; run the consumer as that user",
      display(address));
}

Descriptor accept_from(int listener, bool (*admits)(int socket)) {
  for (int i = 0; i < most_turned_away; ++i) {
    Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0 && (errno == EINTR || errno == ECONNABORTED)) continue;
    if (socket.get() < 0 || admits(socket.get())) return socket;
  }
  errno = EAGAIN;
  return {};
}

Transfer send_message(int socket, std::span<const std::byte> message, int attached) {
  iovec part{const_cast<std::byte*>(message.data()), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (attached >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* const c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &attached, sizeof(int));
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Transfer::done;
    if (errno == EINTR) continue;
    // Too many descriptors on their way counts as a full socket: it passes when they are read.
    const bool full = errno == EAGAIN || errno == ENOBUFS || errno == ETOOMANYREFS;
    return full ? Transfer::would_block : Transfer::closed;
  }
}

Received receive_message(int socket, std::span<std::byte> buffer, bool with_descriptor) {
  iovec part{buffer.data(), buffer.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  if (with_descriptor) {
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  // A peer that closes with messages unread makes the next call fail once, before those that it
  // had sent are delivered: they must not be lost, so ask again.
  ssize_t n = 0;
  bool reset = false;
  do {
    reset = n < 0 && errno == ECONNRESET;
    n = ::recvmsg(socket, &header, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  } while (n < 0 && (errno == EINTR || (errno == ECONNRESET && !reset)));
  Received result;
  if (n <= 0) {
    const bool nothing = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    result.state = nothing ? Transfer::would_block : Transfer::closed;
    return result;
  }
  result.state = Transfer::done;
  result.size = static_cast<std::size_t>(n);
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    // The buffer has room for one descriptor; the kernel drops any further one.
    int fd = -1;
    if (c->cmsg_len >= CMSG_LEN(sizeof(int))) std::memcpy(&fd, CMSG_DATA(c), sizeof(int));
    result.attached = Descriptor(fd);
  }
  return result;
}

}  // namespace weft::shm
