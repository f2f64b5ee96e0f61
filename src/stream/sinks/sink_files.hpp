// SPDX-License-Identifier: Apache-2.0
// Finds files of sinks: those that existed before a run, and those that killed compute nodes left
// unfinished.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/uri.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft {

/// The name of a file that a sink `file:` could not fully reassemble.
inline std::string incomplete_name(const std::string& path, const std::string& run) {
  return path + ".incomplete" + (run.empty() ? "" : "-" + run);
}
/// The paths of a sink's files; "%s" stands for the number in a sequence. Empty for sinks without
/// files.
std::vector<std::string> sink_paths(const Uri& sink, std::uint32_t inputs, std::uint32_t computes);

/// The ordinary files that a run of these sinks may overwrite.
std::vector<OlderFile> find_older_files(std::span<const std::string> sinks, std::uint32_t inputs,
                                        std::uint32_t computes);
/// Returns whether `path` is an ordinary file that is not among `older`.
bool is_of_run(const std::string& path, std::span<const OlderFile> older);

/// An archive that a killed compute node left unfinished.
struct EarlyEnd {
  std::string path;
  std::uint64_t timeslices = 0;
};

/// Gives unfinished files of a killed compute node their names. Call it when no process of the run
/// writes any more. Returns the archives, cut after the last whole timeslice: all that the node
/// delivered. Removes archives without any. Errors name the file that has the data.
Result<std::vector<EarlyEnd>> complete_files(std::span<const std::string> sinks,
                                             const SinkPlace& place);
/// An unfinished archive of these sinks that no process writes any more: its node was killed in an
/// earlier run, or with its launcher.
struct LeftBehind {
  std::string path;
  std::string writer;     ///< the run, or the process, that left it
  std::string free_name;  ///< for the recovered archive, beside that of the next run
};
/// Finds those of one compute node from other runs than that of `place`.
std::vector<LeftBehind> find_left_behind(std::span<const std::string> sinks,
                                         const SinkPlace& place);

}  // namespace weft
