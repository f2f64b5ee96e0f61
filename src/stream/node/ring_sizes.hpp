// SPDX-License-Identifier: Apache-2.0
// How large a node's rings are, from the options of the job.
#pragma once

#include <cstdint>

#include "weft/stream.hpp"
#include "weft/timeslice.hpp"

namespace weft::stream {

/// Microslices that a contribution holds: the timeslice's own and the overlap.
inline std::uint64_t microslices_per_contribution(const StreamOptions& o) {
  return std::uint64_t{o.microslices_per_timeslice} + o.overlap_microslices;
}

/// Contents that an input node keeps, unless an option says otherwise: as much as all its pairs
/// hold, and one of them more.
inline ByteCount input_buffer_bytes(const StreamOptions& o) {
  if (o.input_buffer != ByteCount{}) return o.input_buffer;
  return o.buffer * (std::uint64_t{o.computes} + 1);
}

/// Descriptors of the microslices in them, of at most as many as there may be. Options that passed
/// `check_options` do not overflow.
inline ByteCount microslice_ring_bytes(const StreamOptions& o) {
  return ByteCount(sizeof(MicrosliceDescriptor)) * o.descriptors * (std::uint64_t{o.computes} + 1) *
         microslices_per_contribution(o);
}

}  // namespace weft::stream
