// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket, as servers of this tree open theirs.
#pragma once

#include <netdb.h>

#include "base/descriptor.hpp"

namespace weft {

/// On the first of `places` that can be had, IPv6 before IPv4; non-blocking, closed on exec. The
/// IPv6 address of all interfaces takes IPv4 clients as well. A port whose last owner has just
/// ended can be had. Not open on failure; errno has the reason of the last try.
Descriptor listen_on(const addrinfo* places);

}  // namespace weft
