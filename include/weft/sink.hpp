// SPDX-License-Identifier: Apache-2.0
// Sink: the receiver of a compute node's timeslices. Write one to analyse timeslices in the compute
// process (examples/sink.cpp is 60 lines).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/result.hpp"
#include "weft/timeslice.hpp"

namespace weft {

/// The results of a sink, for the run's summary and exit code.
struct SinkSummary {
  std::uint64_t timeslices = 0;
  std::uint64_t bytes = 0;
  std::uint64_t dropped = 0;  ///< no consumer was there, had room, or gave them back
  std::uint64_t errors = 0;   ///< anything a check found wrong; makes the run fail
  std::string first_error;
  std::uint64_t incomplete = 0;  ///< of the timeslices: flagged as missing something
  std::uint64_t repeated = 0;    ///< of the timeslices: flagged as repeated
};

/// Keeps one timeslice's memory from being used again; destroying it gives the memory back.
/// Move-only, allocates nothing. May be released by any thread, in any order between timeslices.
class HeldTimeslice {
 public:
  /// Called exactly once per handle, perhaps on another thread than the one that made it.
  using Release = void (*)(void* owner, TimesliceIndex timeslice) noexcept;

  HeldTimeslice() = default;
  /// `owner` must outlive the handle.
  HeldTimeslice(Release release, void* owner, TimesliceIndex timeslice)
      : release_(release), owner_(owner), timeslice_(timeslice) {}
  ~HeldTimeslice() { release(); }
  HeldTimeslice(HeldTimeslice&& other) noexcept
      : release_(std::exchange(other.release_, nullptr)),
        owner_(other.owner_),
        timeslice_(other.timeslice_) {}
  HeldTimeslice& operator=(HeldTimeslice&& other) noexcept {
    if (this != &other) {
      release();
      release_ = std::exchange(other.release_, nullptr);
      owner_ = other.owner_;
      timeslice_ = other.timeslice_;
    }
    return *this;
  }

  /// Gives the memory back now; further calls do nothing.
  void release() {
    if (const Release r = std::exchange(release_, nullptr)) r(owner_, timeslice_);
  }
  explicit operator bool() const { return release_ != nullptr; }

 private:
  Release release_ = nullptr;
  void* owner_ = nullptr;
  TimesliceIndex timeslice_{};
};

/// Consumes timeslices one after another.
///
/// Threads: weft calls `consume` and `finish` from the sink's own thread, never concurrently, since
/// they may block; the timeslice is released when `consume` returns. A slow sink causes
/// back-pressure. Where `blocks()` is false weft calls them from the thread that communicates.
class Sink {
 public:
  virtual ~Sink() = default;
  /// An error ends the run with that message.
  virtual Result<void> consume(const TimesliceView& timeslice) = 0;
  /// The driver calls this one. A sink that keeps timeslices for longer than the call (to hand them
  /// to other processes, say) overrides it: the components' data stay valid until `held` is
  /// released, the view itself only until the call returns. All must be released by the time
  /// `finish` returns.
  virtual Result<void> consume_held(const TimesliceView& timeslice, HeldTimeslice held) {
    const HeldTimeslice until_return = std::move(held);
    return consume(timeslice);
  }
  /// Makes a call that blocks in another thread return soon, with error cancelled if its work is
  /// not done; later calls do the same. For a run that is being stopped. Any thread.
  virtual void interrupt() {}
  /// Tells the sink that the run shall end now. The sink no longer waits for consumers that have
  /// not come, and counts a timeslice that no consumer takes as dropped. Timeslices may still
  /// follow. Any thread.
  virtual void stop_waiting() {}
  /// Flushes and closes; nothing follows. Called once, from the same thread.
  virtual Result<void> finish() { return {}; }
  /// A simulation kills the node: the sink leaves its files as a killed process would. Nothing
  /// follows but the destructor. Called from the same thread.
  virtual void leave() {}
  /// Returns whether `consume` or `finish` may wait or take longer than a microsecond. A sink of
  /// which neither is true returns false: each timeslice is then spared two switches of threads.
  /// Such a sink releases each timeslice before `consume` or `consume_held` returns. Always the
  /// same.
  virtual bool blocks() const { return true; }
  virtual SinkSummary summary() const = 0;
};

/// An ordinary file as it was before the run.
struct OlderFile {
  std::string path;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t modified_ns = 0;  ///< since 1970
};

/// The place of a sink within the job.
struct SinkPlace {
  std::uint32_t compute = 0;   ///< index of this compute node
  std::uint32_t computes = 1;  ///< number of compute nodes
  std::uint32_t inputs = 1;
  std::uint32_t microslices_per_timeslice = 1;
  std::uint64_t seed = 0;  ///< the run's, so that check: knows what pattern: made
  /// The sink may write over files that existed before the run; otherwise it refuses them.
  bool replaces_files = false;
  /// An earlier life of this compute node took part in the run: the files that it wrote stay.
  bool restarted = false;
  /// Tells unfinished files of this run from those of other runs; may be empty.
  std::string run{};
  /// The files that existed before the run and that the sink may write over: a restarted node takes
  /// every other file of its names for the output of its earlier life.
  std::span<const OlderFile> older_files{};
};

/// Opens a sink by URI: scheme:path?key=value&…
///   check:                             verifies pattern, CRC-32C, order and completeness
///   tsa:FILE?zstd&bytes=1GiB&items=N   FLESnet archive, rotated; %n compute index, %s sequence
///   file:PATH?cut=64KiB                the bytes that source file: cut, together again
///   null:   exec:PROGRAM ARGS          throw away; one program per timeslice, data on stdin
///   shm:NAME                           consumer processes, see weft/consumer.hpp
/// Errors name the URI part that is wrong.
Result<std::unique_ptr<Sink>> open_sink(std::string_view uri, const SinkPlace& place);

/// Opens all of them as one sink that hands each timeslice to each of them, in order. The summary
/// counts timeslices and bytes once and adds up drops and errors. No URI is the same as null:.
Result<std::unique_ptr<Sink>> open_sinks(std::span<const std::string> uris, const SinkPlace& place);

}  // namespace weft
