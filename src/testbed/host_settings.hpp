// SPDX-License-Identifier: Apache-2.0
// Settings inside of each host other than those of ip and tc: TCP's behaviour and the interface's
// offloads.
#pragma once

#include <string>

#include "testbed/options.hpp"
#include "testbed/spaces.hpp"
#include "weft/result.hpp"

namespace weft::testbed {

/// Applies them to all hosts; the interfaces must exist. Returns the congestion control that the
/// hosts got: the kernel refuses others than reno (and those that the machine allows) to non-root
/// users.
Result<std::string> apply_host_settings(const Spaces& spaces, const TestbedOptions& options);

/// Returns when the links of the hosts [first, last) carry traffic, which the kernel sees to some
/// time after they were switched on; at most five seconds.
Result<void> await_links(const Spaces& spaces, std::uint32_t first, std::uint32_t last);

}  // namespace weft::testbed
