// SPDX-License-Identifier: Apache-2.0
// The name of this process's monotonic clock (runtime/clock.hpp).
#pragma once

#include <string>

namespace weft {

/// Two processes for which this is the same have the same monotonic clock: those of one machine,
/// unless a container gave one of them a clock of its own (time_namespaces(7)). At most 200 bytes.
std::string host_clock_name();

}  // namespace weft
