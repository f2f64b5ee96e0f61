// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "core/stream/messages.hpp"
#include "runtime/memory/mirrored_ring.hpp"
#include "stream/node/admission.hpp"
#include "stream/node/ring_sizes.hpp"
#include "stream/node/schedules.hpp"
#include "weft/stream.hpp"

namespace weft {
namespace {

/// Counts and sizes that the format of a contribution or the address space cannot hold.
Result<void> check_sizes(const StreamOptions& o) {
  if (o.microslices_per_timeslice == 0) {
    return invalid("--microslices-per-timeslice: 0 makes empty timeslices; use 1 or more");
  }
  const std::uint64_t microslices = stream::microslices_per_contribution(o);
  if (microslices > stream::microslice_count_mask) {
    return invalid(
        "--microslices-per-timeslice {} with --overlap {}: a contribution holds at most {} "
        "microslices; use fewer, larger ones",
        o.microslices_per_timeslice, o.overlap_microslices, stream::microslice_count_mask);
  }
  if (o.descriptors == 0 || o.descriptors > 1 << 20) {
    return invalid("--descriptors: {} is not between 1 and 1048576", o.descriptors);
  }
  // A slot of the sink's queue lists the components of a timeslice.
  if (o.sink_depth == 0 || o.sink_depth > (1U << 22) / o.inputs) {
    return invalid("--sink-depth: {} is not between 1 and {}", o.sink_depth, (1U << 22) / o.inputs);
  }
  const auto too_much = [](std::string_view option, ByteCount value) {
    return invalid("{}: {} are not between 1 B and {}; use {}", option, to_text(value),
                   to_text(largest_ring), value == ByteCount{} ? "more" : "less");
  };
  const std::uint64_t rings = std::max<std::uint64_t>(o.inputs, o.computes + 1);
  if (o.buffer == ByteCount{} || o.buffer > largest_ring) return too_much("--buffer", o.buffer);
  if (o.buffer.value() > largest_ring.value() / rings) {
    return invalid(
        "--buffer: {} for each of {} pairs of a node are more than {}; use a smaller buffer",
        to_text(o.buffer), rings, to_text(largest_ring));
  }
  if (o.input_buffer > largest_ring) return too_much("--input-buffer", o.input_buffer);
  if (stream::microslice_ring_bytes(o) > largest_ring) {
    return invalid(
        "--descriptors: {} contributions of {} microslices for each of {} compute nodes are more "
        "than an input node can keep; use fewer",
        o.descriptors, microslices, o.computes);
  }
  return {};
}

}  // namespace

Result<void> stream::check_nodes(const StreamOptions& o) {
  if (o.inputs == 0 || o.inputs > most_nodes) {
    return invalid("--inputs: {} is not between 1 and {}", o.inputs, most_nodes);
  }
  if (o.computes == 0 || o.computes > most_nodes) {
    return invalid("--computes: {} is not between 1 and {}", o.computes, most_nodes);
  }
  return {};
}

Result<void> check_options(const StreamOptions& o) {
  if (auto good = stream::check_nodes(o); !good) return good;
  if (auto good = check_sizes(o); !good) return good;
  const bool nobody_looks =
      !o.make_sink && std::all_of(o.sinks.begin(), o.sinks.end(), [](const std::string& sink) {
        return sink.starts_with("null:");
      });
  if (o.one_ring && !nobody_looks) {
    return invalid("--one-ring: contents are lost where all pairs share a ring; use --sink null:");
  }
  const auto too_short = [](std::string_view option, Duration value) {
    return invalid("{}: {} is too short: use 1ms or more", option, to_text(value));
  };
  constexpr Duration shortest = Duration::milliseconds(1);
  if (o.stall_timeout < shortest) return too_short("--stall-timeout", o.stall_timeout);
  if (o.start_timeout < shortest) return too_short("--start-timeout", o.start_timeout);
  if (o.timeslices == 0 && o.duration == Duration{} && o.source.starts_with("pattern:") &&
      !o.make_source && o.source.find("count=") == std::string::npos) {
    return invalid("a pattern never ends: say --timeslices N or --duration S");
  }
  return stream::check_schedule(o);
}

}  // namespace weft
