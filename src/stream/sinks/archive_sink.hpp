// SPDX-License-Identifier: Apache-2.0
// tsa: writes timeslices to FLESnet archives, one file after another.
#pragma once

#include <memory>

#include "stream/uri.hpp"
#include "weft/sink.hpp"

namespace weft {

/// tsa:FILE?zstd[=LEVEL]&bytes=SIZE&items=N. %n in FILE is the compute node's index, %s the number
/// of the file, 0000, 0001, …; a new one starts when `bytes` or `items` are reached. A file has its
/// name only once it is complete. One that existed before the run is refused unless the place says
/// that it replaces files; files that an earlier life of the node finished stay, and numbers go on.
Result<std::unique_ptr<Sink>> make_archive_sink(const Uri& uri, const SinkPlace& place);

}  // namespace weft
