// SPDX-License-Identifier: Apache-2.0
// pattern: microslices of chosen sizes whose content verifies (see pattern.hpp).
#pragma once

#include <memory>

#include "stream/sources/feed.hpp"
#include "stream/uri.hpp"
#include "weft/source.hpp"

namespace weft {

/// Keys: size, sizes (constant, uniform, poisson, or a file with one size per line), hit, duration,
/// count, fill, and loop and stride, which it handles itself.
Result<std::unique_ptr<MicrosliceFeed>> make_pattern_feed(const Uri& uri, const SourcePlace& place);

}  // namespace weft
