// SPDX-License-Identifier: Apache-2.0
// The sinks, by the schemes of their URIs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stream/uri.hpp"
#include "weft/sink.hpp"

namespace weft {

// tsa: writes timeslices to FLESnet archives, one file after another.

/// tsa:FILE?zstd[=LEVEL]&bytes=SIZE&items=N. %n in FILE is the compute node's index, %s the number
/// of the file, 0000, 0001, …; a new one starts when `bytes` or `items` are reached. A file has its
/// name only once it is complete. One that existed before the run is refused unless the place says
/// that it replaces files; files that an earlier life of the node finished stay, and numbers go on.
Result<std::unique_ptr<Sink>> make_archive_sink(const Uri& uri, const SinkPlace& place);

// file: puts the pieces that the source file: cut together again.

/// file:PATH?cut=SIZE with the source's cut. All compute nodes write into the one PATH, each piece
/// at its offset, and it has its name once all of them are done. A file that has the name already
/// is refused unless the place says that it replaces files; a restarted node goes on. With %i in
/// PATH there is one file per input, for a source that has %i too. A piece that never came is a
/// hole of zeros, and an error.
Result<std::unique_ptr<Sink>> make_file_sink(const Uri& uri, const SinkPlace& place);

// exec: runs a program per timeslice.

/// `command` is everything after "exec:": a program and its arguments, separated by spaces, quoted
/// with '…' or "…" or a backslash where they contain some; no shell. Each run reads one timeslice
/// as an archive of one item (.tsa, uncompressed) on standard input and finds WEFT_TIMESLICE and
/// WEFT_COMPUTE in its environment; its output goes to weft's standard error. It need not read its
/// input. An exit code other than 0 counts as an error.
Result<std::unique_ptr<Sink>> make_exec_sink(std::string_view command, const SinkPlace& place);

/// Splits a command as described above. The error names the quote that is not closed.
Result<std::vector<std::string>> split_command(std::string_view command);

}  // namespace weft
