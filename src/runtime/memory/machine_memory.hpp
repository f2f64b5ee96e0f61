// SPDX-License-Identifier: Apache-2.0
// How much memory there is for this process's machine.
#pragma once

#include "weft/ids.hpp"

namespace weft {

/// Returns the machine's memory, or the limit of this process's control group if that is less.
ByteCount memory_of_this_machine();

}  // namespace weft
