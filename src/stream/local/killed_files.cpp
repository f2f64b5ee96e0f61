// SPDX-License-Identifier: Apache-2.0
#include "stream/local/killed_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/log.hpp"
#include "stream/node/stream_node.hpp"
#include "stream/sinks/sink_files.hpp"
#include "stream/uri.hpp"
#include "wire/archive/byte_output.hpp"

namespace weft::stream {

namespace {

/// Whether an earlier process with the same number left a file with the name of that run.
bool has_left_files(const StreamOptions& options, const std::string& run) {
  for (const std::string& text : options.sinks) {
    const auto uri = Uri::parse(text);
    if (!uri || uri->scheme() != "file") continue;
    for (const std::string& path : sink_paths(*uri, options.inputs, options.computes)) {
      const auto exists = [](const std::string& name) { return ::access(name.c_str(), F_OK) == 0; };
      if (exists(incomplete_name(path, run))) return true;
      if (exists(wire::FileOutput::unfinished(path, run))) return true;
    }
  }
  for (std::uint32_t c = 0; c < options.computes; ++c) {
    SinkPlace place = sink_place(options, c, false);
    place.run.clear();
    for (const LeftBehind& file : find_left_behind(options.sinks, place)) {
      if (file.writer == run || file.writer.starts_with(run + "-")) return true;
    }
  }
  return false;
}

}  // namespace

void begin_files(StreamOptions& options) {
  // One process at a time has that number on this host; in a container each may be number 1.
  options.run = fmt::format("{}", ::getpid());
  for (int n = 2; !options.make_sink && has_left_files(options, options.run); ++n) {
    options.run = fmt::format("{}-{}", ::getpid(), n);
  }
  if (!options.replaces_files || options.make_sink) return;
  options.older_files = find_older_files(options.sinks, options.inputs, options.computes);
}

Result<void> complete_killed_files(const StreamOptions& options) {
  Result<void> first;
  if (options.make_sink) return first;
  for (std::uint32_t c = 0; c < options.computes; ++c) {
    auto ends = complete_files(options.sinks, sink_place(options, c, false));
    if (!ends) {
      if (first) first = std::move(ends).error();
      continue;
    }
    for (const EarlyEnd& end : *ends) {
      spdlog::warn(
          "compute node {} did not live to the end: '{}' ends early, with the {} timeslice{} that "
          "it delivered",
          c, end.path, end.timeslices, end.timeslices == 1 ? "" : "s");
    }
  }
  return first;
}

void tell_of_files_left_behind(const StreamOptions& options, std::uint32_t compute) {
  if (options.make_sink) return;
  for (const auto& file : find_left_behind(options.sinks, sink_place(options, compute, false))) {
    spdlog::warn(
        "an earlier run did not live to finish '{}'; to keep what is whole in it: weft archive "
        "recover '{}' --out '{}'",
        file.path, file.path, file.free_name);
  }
}

}  // namespace weft::stream
