// SPDX-License-Identifier: Apache-2.0
#include "base/listen.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace weft {
namespace {

Descriptor try_one(const addrinfo& where) {
  Descriptor fd(
      ::socket(where.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol));
  if (!fd.open()) return fd;
  const int on = 1, off = 0, backlog = 16;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (where.ai_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(fd.get(), where.ai_addr, where.ai_addrlen) == 0 && ::listen(fd.get(), backlog) == 0) {
    return fd;
  }
  const int error = errno;
  fd.reset();
  errno = error;
  return fd;
}

}  // namespace

Descriptor listen_on(const addrinfo* places) {
  for (const bool is_v6 : {true, false}) {
    for (const addrinfo* place = places; place != nullptr; place = place->ai_next) {
      if ((place->ai_family == AF_INET6) != is_v6) continue;
      Descriptor fd = try_one(*place);
      if (fd.open()) return fd;
    }
  }
  return {};
}

}  // namespace weft
