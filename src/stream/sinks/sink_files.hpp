// SPDX-License-Identifier: Apache-2.0
// The files of sinks from outside: those that existed before a run, and those that killed compute
// nodes left unfinished.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stream/uri.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft {

/// What a file becomes that a sink file: could not put together as it was cut.
inline std::string incomplete_name(const std::string& path, const std::string& run) {
  return path + ".incomplete" + (run.empty() ? "" : "-" + run);
}
/// The paths of a sink's files; "%s" stands for the number of one in a row. Empty for sinks that
/// write none.
std::vector<std::string> sink_paths(const Uri& sink, std::uint32_t inputs, std::uint32_t computes);

/// The ordinary files that a run of these sinks may write over.
std::vector<OlderFile> find_older_files(std::span<const std::string> sinks, std::uint32_t inputs,
                                        std::uint32_t computes);
/// Returns whether there is an ordinary file of that name, and none of `older` is the same.
bool is_of_run(const std::string& path, std::span<const OlderFile> older);

/// An archive that a killed compute node did not live to finish.
struct EarlyEnd {
  std::string path;
  std::uint64_t timeslices = 0;
};

/// Gives the files that a killed compute node left unfinished their names. Call it when no process
/// of the run writes any more. Archives keep their whole timeslices, which are all that the node
/// delivered, and are returned; one without any is removed. Errors name the file that has the data.
Result<std::vector<EarlyEnd>> complete_files(std::span<const std::string> sinks,
                                             const SinkPlace& place);
/// An unfinished archive of these sinks that no process writes any more: its node was killed in an
/// earlier run, or with its launcher.
struct LeftBehind {
  std::string path;
  std::string writer;     ///< the run, or the process, that left it
  std::string free_name;  ///< for the archive that is made of it, beside that of the next run
};
/// Looks for those of one compute node that are not of the run of `place`.
std::vector<LeftBehind> find_left_behind(std::span<const std::string> sinks,
                                         const SinkPlace& place);

}  // namespace weft
