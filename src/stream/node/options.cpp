// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/units.hpp"
#include "runtime/memory/mirrored_ring.hpp"
#include "stream/node/schedules.hpp"
#include "weft/stream.hpp"

namespace weft {
namespace {

Error wrong(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

}  // namespace

Result<void> check_options(const StreamOptions& o) {
  constexpr std::uint32_t most_nodes = 8192;
  if (o.inputs == 0 || o.inputs > most_nodes) {
    return wrong(fmt::format("--inputs: {} is not between 1 and {}", o.inputs, most_nodes));
  }
  if (o.computes == 0 || o.computes > most_nodes) {
    return wrong(fmt::format("--computes: {} is not between 1 and {}", o.computes, most_nodes));
  }
  if (o.microslices_per_timeslice == 0) {
    return wrong("--microslices-per-timeslice: 0 makes empty timeslices; use 1 or more");
  }
  if (o.descriptors == 0 || o.descriptors > 1 << 20) {
    return wrong(fmt::format("--descriptors: {} is not between 1 and 1048576", o.descriptors));
  }
  if (o.buffer == ByteCount{} || o.buffer > ByteCount::gib(4)) {
    return wrong(fmt::format("--buffer: {} bytes is not between 1 and 4 GiB", o.buffer.value()));
  }
  const bool nobody_looks =
      !o.make_sink && std::all_of(o.sinks.begin(), o.sinks.end(), [](const std::string& sink) {
        return sink.starts_with("null:");
      });
  if (o.one_ring && !nobody_looks) {
    return wrong("--one-ring: contents are lost where all pairs share a ring; use --sink null:");
  }
  if (o.stall_timeout < Duration::milliseconds(1)) {
    return wrong(
        fmt::format("--stall-timeout: {} is too short: use 1ms or more", to_text(o.stall_timeout)));
  }
  if (o.sink_depth == 0) return wrong("--sink-depth: 0 lets nothing pass; use 1 or more");
  if (o.timeslices == 0 && o.duration == Duration{} && o.source.starts_with("pattern:") &&
      !o.make_source && o.source.find("count=") == std::string::npos) {
    return wrong("a pattern never ends: say --timeslices N or --duration S");
  }
  return stream::check_schedule(o);
}

}  // namespace weft
