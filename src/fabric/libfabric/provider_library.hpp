// SPDX-License-Identifier: Apache-2.0
// libfabric is loaded when it is first used, not when the program starts: libraries that it brings
// along calibrate a clock while they are loaded, which takes a fifth of a second, and on a busy
// machine now and then much longer. Its calls (fi_getinfo and so on) are defined here and hand
// over.
#pragma once

#include <string>

#include "weft/result.hpp"

namespace weft::ofi {

/// Loads it, unless that was done. A launcher does so before it forks nodes that need it. Errors:
/// not_found with the dynamic linker's message.
Result<void> load_library();

/// Checks whether the loaded library has a provider of that name at all, as users write it ("tcp",
/// "verbs"). Opening an endpoint shows its abilities.
Result<void> check_provider(const std::string& name);

}  // namespace weft::ofi
