// SPDX-License-Identifier: Apache-2.0
// msa: and tsa: the microslices of FLESnet archives.
#pragma once

#include <memory>

#include "stream/sources/feed.hpp"
#include "stream/uri.hpp"
#include "weft/source.hpp"

namespace weft {

/// For both schemes. %i in the path is the input's index; %s counts files 0000, 0001, … of one
/// recording, as the tsa: sink writes them. Of a timeslice archive, input i gets the core
/// microslices of component i; if a component misses some that others have, empty ones flagged
/// data_error stand for them, so that the inputs keep in step.
Result<std::unique_ptr<MicrosliceFeed>> make_archive_feed(const Uri& uri, const SourcePlace& place);

}  // namespace weft
