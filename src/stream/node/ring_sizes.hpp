// SPDX-License-Identifier: Apache-2.0
// Computes the sizes of a node's rings from the options of the job.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/memory/machine_memory.hpp"
#include "weft/stream.hpp"
#include "weft/timeslice.hpp"

namespace weft::stream {

/// Returns the number of microslices in a contribution: core and overlap.
inline std::uint64_t microslices_per_contribution(const StreamOptions& o) {
  return std::uint64_t{o.microslices_per_timeslice} + o.overlap_microslices;
}

/// Returns the size of an input node's buffer for contents: the option's, or by default the rings
/// of all its pairs and one ring more.
inline ByteCount input_buffer_bytes(const StreamOptions& o) {
  if (o.input_buffer != ByteCount{}) return o.input_buffer;
  return o.buffer * (std::uint64_t{o.computes} + 1);
}

/// Returns the size of an input node's ring of microslice descriptors, enough for all microslices
/// that its buffer may hold. Options that passed `check_options` do not overflow the product.
inline ByteCount microslice_ring_bytes(const StreamOptions& o) {
  return ByteCount(sizeof(MicrosliceDescriptor)) * o.descriptors * (std::uint64_t{o.computes} + 1) *
         microslices_per_contribution(o);
}

/// Returns StreamOptions::touched_buffers for processes of which so many, at least 1, are on this
/// machine. It is all of most nodes' buffers. The processes together take a second at most, and a
/// sixteenth of the memory for each kind of buffer.
inline ByteCount touched_before_start(std::uint32_t nodes_here) {
  const ByteCount all =
      std::min(ByteCount::gib(1), ByteCount(memory_of_this_machine().value() / 16));
  return std::min(ByteCount::mib(64), ByteCount(all.value() / nodes_here));
}

}  // namespace weft::stream
