// SPDX-License-Identifier: Apache-2.0
// file: puts the pieces that the source file: cut together again.
#pragma once

#include <memory>

#include "stream/uri.hpp"
#include "weft/sink.hpp"

namespace weft {

/// file:PATH?cut=SIZE with the source's cut. All compute nodes write into the one PATH, each piece
/// at its offset, and it has its name once all of them are done. A file that has the name already
/// is refused unless the place says that it replaces files; a restarted node goes on. With %i in
/// PATH there is one file per input, for a source that has %i too. A piece that never came is a
/// hole of zeros, and an error.
Result<std::unique_ptr<Sink>> make_file_sink(const Uri& uri, const SinkPlace& place);

}  // namespace weft
