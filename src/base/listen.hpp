// SPDX-License-Identifier: Apache-2.0
// Opens a listening TCP socket, for all servers in weft.
#pragma once

#include <netdb.h>

#include "base/descriptor.hpp"

namespace weft {

/// Listens on the first free one of `places`, IPv6 before IPv4; non-blocking, closed on exec. The
/// IPv6 wildcard address accepts IPv4 clients as well. Reuses a port whose last owner has just
/// ended. Not open on failure; errno has the reason of the last try.
Descriptor listen_on(const addrinfo* places);

}  // namespace weft
