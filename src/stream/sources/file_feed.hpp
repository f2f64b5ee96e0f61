// SPDX-License-Identifier: Apache-2.0
// file: any file, or every file below a directory, cut into pieces (see pieces.hpp).
#pragma once

#include <memory>

#include "stream/sources/feed.hpp"
#include "stream/uri.hpp"
#include "weft/source.hpp"

namespace weft {

/// Keys: cut, and loop and stride, which it handles itself. With %i in the path each input reads
/// its own file; without, the pieces of one are dealt to all inputs in turn. All inputs yield the
/// same number of microslices, a multiple of a timeslice's; the surplus is empty.
Result<std::unique_ptr<MicrosliceFeed>> make_file_feed(const Uri& uri, const SourcePlace& place);

}  // namespace weft
