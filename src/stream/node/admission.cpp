// SPDX-License-Identifier: Apache-2.0
#include "stream/node/admission.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "base/descriptor_limit.hpp"
#include "base/existing_file.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "core/stream/messages.hpp"
#include "runtime/memory/mirrored_ring.hpp"
#include "stream/sinks/sink_files.hpp"
#include "stream/sources/pieces.hpp"
#include "stream/uri.hpp"
#include "weft/timeslice.hpp"

namespace weft::stream {
namespace {

namespace fs = std::filesystem;

/// The memory and descriptors of a node's process, besides its rings.
constexpr std::uint64_t bytes_of_a_process = 4 << 20;
constexpr std::uint64_t descriptors_of_a_process = 64;
/// Sources and sinks that may block have a thread of their own.
constexpr std::uint64_t threads_of_a_process = 2;
/// So many nodes for each core still take turns quickly.
constexpr std::uint64_t processes_of_a_core = 8;
/// Files of a directory that are looked at; it is read whole soon anyway.
constexpr std::size_t most_files = 1'000'000;

void add_file(const std::string& path, std::vector<std::string>& files) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return files.push_back(path);
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    if (files.size() == most_files) return;
    files.push_back(at->path().string());
  }
}

/// The files that the source reads, as far as names tell.
std::vector<std::string> files_read(const StreamOptions& options) {
  std::vector<std::string> files;
  const auto uri = Uri::parse(options.source);
  if (!uri || options.make_source || uri->scheme() == "pattern") return files;
  const std::uint32_t inputs = has_placeholder(uri->path(), 'i') ? options.inputs : 1;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    for (std::uint32_t n = 0; files.size() < most_files; ++n) {
      const std::string file = expand_placeholders(
          uri->path(), {{'i', std::to_string(i)}, {'s', fmt::format("{:04}", n)}});
      if (::access(file.c_str(), F_OK) != 0) break;
      add_file(file, files);
      if (!has_placeholder(uri->path(), 's')) break;
    }
  }
  return files;
}

/// One name for each place of a file that may not be there yet. A link in the place of the file is
/// not followed, since the file replaces it.
std::string resolved(const std::string& path) {
  const fs::path named(path);
  std::error_code error;
  const fs::path directory =
      fs::weakly_canonical(named.has_parent_path() ? named.parent_path() : fs::path("."), error);
  return error ? path : (directory / named.filename()).string();
}

/// The first files that a sink writes.
std::vector<std::string> files_written(const Uri& uri, const StreamOptions& options) {
  std::vector<std::string> files = sink_paths(uri, options.inputs, options.computes);
  if (uri.scheme() != "tsa") return files;
  for (std::string& file : files) file = expand_placeholders(file, {{'s', "0000"}});
  return files;
}

Result<void> check_file(const std::string& path, const Uri& uri, const StreamOptions& options) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) {
    return invalid("--sink: {}", uri.error("is a directory; name a file in it").message);
  }
  if (S_ISREG(status.st_mode) && !options.replaces_files) return exists_error(path);
  return {};
}

/// Refuses a pipe as the source of several nodes: each would get the bytes that the others left.
Result<void> check_pipe(const StreamOptions& options) {
  if (options.make_source || options.inputs < 2) return {};
  const auto uri = Uri::parse(options.source);
  if (!uri || uri->scheme() == "pattern" || has_placeholder(uri->path(), 'i')) return {};
  struct stat status {};
  if (::stat(uri->path().c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return {};
  return invalid(
      "--source {}: is a pipe, and {} input nodes would read it; name a file, or a pipe for each "
      "of them with %i",
      options.source, options.inputs);
}

/// A sink file: puts together what a source file: cut, so both must cut alike.
Result<void> check_pieces(const StreamOptions& options, const Uri& sink) {
  const auto source = Uri::parse(options.source);
  if (sink.scheme() != "file" || options.make_source || !source) return {};
  if (options.skip_when_sink_is_slow) {
    return invalid("--skip-when-slow: would leave holes in the file of --sink {}; leave it out",
                   sink.text());
  }
  if (source->scheme() == "pattern" || source->scheme() == "pcap") {
    return invalid(
        "--sink {}: puts together the pieces of a source file:, but --source is {}; name a sink "
        "tsa:, exec: or check:",
        sink.text(), options.source);
  }
  if (source->scheme() != "file") return {};
  const auto read = piece_size(*source);
  const auto written = piece_size(sink);
  const auto stride = source->number("stride", 1, 0, UINT64_MAX);
  if (read && written && *read != *written) {
    return invalid(
        "--sink {}: --source cuts pieces of {} and the sink puts together pieces of {}; "
        "give both the same cut=",
        sink.text(), to_text(*read), to_text(*written));
  }
  if (stride && *stride > 1) {
    return invalid("--sink {}: --source skips pieces; leave out its stride={}", sink.text(),
                   *stride);
  }
  if (options.inputs > 1 &&
      has_placeholder(source->path(), 'i') != has_placeholder(sink.path(), 'i')) {
    return invalid(
        "--sink {}: --source and sink must both have a file for each input (%i in the "
        "path), or neither",
        sink.text());
  }
  return {};
}

std::uint64_t read_number(const char* path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;
}

}  // namespace

JobFiles files_of(const StreamOptions& options) {
  JobFiles files{.read = files_read(options), .written = {}};
  if (options.make_sink) return files;
  for (const std::string& text : options.sinks) {
    const auto uri = Uri::parse(text);
    if (!uri || (uri->scheme() != "tsa" && uri->scheme() != "file")) continue;
    for (std::string& path : files_written(*uri, options)) {
      if (!path.empty()) files.written.push_back(std::move(path));
    }
  }
  return files;
}

Result<void> check_files(const StreamOptions& options) {
  if (auto good = check_pipe(options); !good) return good;
  if (options.make_sink) return {};
  std::vector<std::string> inputs;
  std::set<std::string> written;
  for (const std::string& text : options.sinks) {
    if (!text.starts_with("tsa:") && !text.starts_with("file:")) continue;
    const auto uri = Uri::parse(text);
    if (!uri) return uri.error();
    if (inputs.empty()) inputs = files_read(options);
    for (const std::string& path : files_written(*uri, options)) {
      if (path.empty()) break;  // the sink itself reports the missing part
      if (auto good = refuse_own_input(inputs, path); !good) return good;
      if (auto good = check_file(path, *uri, options); !good) return good;
      if (written.insert(resolved(path)).second) continue;
      return invalid("--sink {}: another sink writes '{}' too; name another file", text, path);
    }
    if (auto good = check_pieces(options, *uri); !good) return good;
  }
  return {};
}

JobNeeds needs_of(const StreamOptions& o, NodesRun run) {
  const std::uint64_t ring = ring_size_for(o.buffer).value();
  const std::uint64_t rings = o.one_ring ? 1 : o.inputs;
  const std::uint64_t compute =
      rings * ring + std::uint64_t{o.inputs} * o.descriptors * sizeof(ContributionDescriptor);
  const std::uint64_t room = o.input_buffer != ByteCount{} ? o.input_buffer.value()
                                                           : o.buffer.value() * (o.computes + 1ULL);
  const std::uint64_t microslices =
      o.descriptors * (o.computes + 1ULL) *
      (std::uint64_t{o.microslices_per_timeslice} + o.overlap_microslices);
  const std::uint64_t input =
      (o.one_ring ? std::min(room, ring) : room) + microslices * sizeof(MicrosliceDescriptor);
  const std::uint64_t nodes = std::uint64_t{o.inputs} + o.computes;
  JobNeeds needs{.bytes = o.computes * compute + o.inputs * input};
  if (run == NodesRun::in_processes) {
    needs.bytes += nodes * bytes_of_a_process;
    needs.descriptors = nodes + descriptors_of_a_process;
    needs.mappings = 2 * rings;
    needs.processes += nodes;
    needs.threads += nodes * threads_of_a_process;
  } else {
    needs.descriptors = nodes + descriptors_of_a_process;  // a memory file each
    needs.mappings = 2 * (rings * o.computes + o.inputs);
  }
  return needs;
}

MachineLimits limits_of_this_machine() {
  MachineLimits limits;
  limits.bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                 static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  limits.descriptors = most_descriptors();
  struct rlimit threads {};
  limits.threads = ::getrlimit(RLIMIT_NPROC, &threads) == 0
                       ? threads.rlim_cur
                       : std::numeric_limits<std::uint64_t>::max();
  for (const char* file :
       {"/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max", "/sys/fs/cgroup/pids.max"}) {
    limits.threads = std::min(limits.threads, read_number(file, limits.threads));
  }
  limits.mappings = read_number("/proc/sys/vm/max_map_count", 65530);
  return limits;
}

Result<void> check_needs(const StreamOptions& o, NodesRun run, const MachineLimits& limits) {
  const JobNeeds needs = needs_of(o, run);
  const std::string job = fmt::format("--inputs {} --computes {}", o.inputs, o.computes);
  if (needs.bytes > limits.bytes) {
    return invalid(
        "{}: they and rings of --buffer {} take {}, and this machine has {}; use fewer nodes, a "
        "smaller --buffer{}",
        job, to_text(o.buffer), to_text(ByteCount(needs.bytes)), to_text(ByteCount(limits.bytes)),
        o.one_ring ? "" : " or --one-ring");
  }
  if (needs.descriptors > limits.descriptors) {
    return too_few_descriptors(job, needs.descriptors, limits.descriptors, "nodes");
  }
  if (needs.mappings > limits.mappings) {
    return invalid(
        "{}: their rings take {} memory mappings of a process, and the system grants {} "
        "(vm.max_map_count); use fewer nodes or --one-ring",
        job, needs.mappings, limits.mappings);
  }
  if (needs.threads > limits.threads) {
    return invalid(
        "{}: their {} processes have {} threads, and the system grants {}; use fewer nodes, raise "
        "ulimit -u, or simulate them (--fabric sim:SCENARIO.toml)",
        job, needs.processes, needs.threads, limits.threads);
  }
  return {};
}

Result<void> admit(const StreamOptions& o, NodesRun run) {
  if (auto good = check_needs(o, run, limits_of_this_machine()); !good) return good;
  raise_descriptor_limit(needs_of(o, run).descriptors);
  return {};
}

std::string crowd_notice(const StreamOptions& o, unsigned cores) {
  const std::uint64_t processes = needs_of(o, NodesRun::in_processes).processes;
  if (processes <= processes_of_a_core * cores) return {};
  return fmt::format(
      "starting {} processes on {} core{}: they take turns, and the figures are this machine's "
      "rather than a network's; --fabric sim:SCENARIO.toml has all nodes in one process",
      processes, cores, cores == 1 ? "" : "s");
}

}  // namespace weft::stream
