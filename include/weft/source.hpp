// SPDX-License-Identifier: Apache-2.0
// Source: the origin of an input node's microslices. Write one to feed weft from a detector, a
// telescope or a file format of your own (examples/source.cpp is 50 lines).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "weft/result.hpp"
#include "weft/time.hpp"
#include "weft/timeslice.hpp"

namespace weft {

/// The input node's buffer as a source sees it. Contents are contiguous even across the ring's end.
class MicrosliceWriter {
 public:
  virtual ~MicrosliceWriter() = default;
  /// Room for the content of one microslice of `size` bytes, or an empty span (data() == nullptr)
  /// when the buffer is full: return from `produce` and try again when called next. A `size` that
  /// can never fit is a configuration error and aborts; see `capacity`.
  virtual std::span<std::byte> reserve(std::size_t size) = 0;
  /// Publishes the microslice whose content was written to the last reserved span. `offset` and
  /// `size` of the descriptor are set here.
  virtual void commit(MicrosliceDescriptor descriptor) = 0;
  /// Largest content that `reserve` can ever grant, bytes.
  virtual std::size_t capacity() const = 0;
};

/// When the driver calls `Source::produce` next.
struct SourceState {
  bool ended = false;            ///< no microslice will follow
  Instant again_at = Instant{};  ///< call again no earlier (now or past: as soon as there is room)
  int descriptor = -1;  ///< when ≥ 0: also call again when it becomes readable; it may be
                        ///< another one each time, and is not looked at otherwise
};

/// Produces microslices in order, number 0, 1, 2, … Called from the node's one driver thread: it
/// must not block and should return after about a millisecond of work.
class Source {
 public:
  virtual ~Source() = default;
  virtual Result<SourceState> produce(Instant now, MicrosliceWriter& out) = 0;
  /// Goes on from microslice number `first`: a node joined a running stream, or nobody waits any
  /// more for what lies between. Seldom back. A source that cannot seek keeps its position and only
  /// changes the numbers; the default does that.
  virtual Result<void> seek(std::uint64_t first) {
    (void)first;
    return {};
  }
};

/// The place of a source within the job.
struct SourcePlace {
  std::uint32_t input = 0;   ///< index of this input node
  std::uint32_t inputs = 1;  ///< number of input nodes
  std::uint32_t microslices_per_timeslice = 1;
  std::uint64_t seed = 0;
  /// A thread of its own reads files, archives and captures, at most so many bytes ahead; 0: the
  /// thread that calls `produce` reads them and waits for the disk.
  ByteCount read_ahead{};
};

/// Opens a source by URI: scheme:path?key=value&…
///   pattern:?size=64KiB&sizes=constant|uniform|poisson|FILE     verifiable payload (sink check:)
///   msa:FILE, tsa:FILE                                         FLESnet archives
///   file:PATH?cut=64KiB   pcap:FILE?cut=10ms                   any bytes, cut by size or time
/// Common keys: rate=native|x2.5|100Hz|max, loop=N, stride=N; %i in a path is the input's index.
/// Errors name the URI part that is wrong.
Result<std::unique_ptr<Source>> open_source(std::string_view uri, const SourcePlace& place);

}  // namespace weft
