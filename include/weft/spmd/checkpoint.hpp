// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the values of all containers of a group, kept where they outlive a process: in the
// memory of another rank, or in files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/result.hpp"
#include "weft/spmd/container.hpp"

namespace weft::spmd {

/// Saves and restores containers that it is told of. They must be of its group, outlive it without
/// being moved, and hold the same slices when restored as when saved: a checkpoint of another shape
/// is refused. What is said to be collective is called by all ranks in the same order, and ends on
/// all of them alike: with the first rank's error where there is one. One thread.
class Checkpoint {
 public:
  explicit Checkpoint(const Group& group);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  /// In the same order by all ranks, before saving as before restoring.
  void add(ContainerBase& container);

  /// Each rank writes DIRECTORY/checkpoint-STEP-of-RANK.weft, which exists, beside its place and
  /// then moves it there. When all have, each removes its own older ones but the one before.
  /// Collective. Errors: those of the file; then nothing was removed.
  ///
  /// In a job that starts anew what fails (`weft run --restart on-failure`), when `resume` or
  /// `newest` was called of this object before, each rank then stores its place among the messages
  /// beside it, history-STEP-of-RANK.weft, and tells the others that they need not keep what it has
  /// received so far. What ranks outside of the group may ask for is kept for them. A process that
  /// saves by several objects goes on from the one that it called last. If that file cannot be
  /// written, the next save fails on all ranks. No operations may be under way.
  Result<void> save(const std::string& directory, std::uint64_t step);
  /// The highest step of which every rank has a file; nothing when there is none. Collective. In a
  /// later life of this process that has sent nothing yet: the newest step that it saved in this
  /// run of the job, not collective; `restore` of that step then does as `resume`. When it has
  /// saved nothing yet, as in its first life.
  Result<std::optional<std::uint64_t>> newest(const std::string& directory) const;
  /// The values as they were. Errors: a file that is not there, damaged (CRC-32C), or of other
  /// containers, partitionings or ranks; values are then as before. Collective.
  Result<void> restore(const std::string& directory, std::uint64_t step);

  /// In a later life of this process: values, and place among all messages, as of its newest save;
  /// its step. The program goes on behind that save; the others need not know. Nothing in a first
  /// life, and when this run of the job has saved nothing yet: the program begins at its beginning.
  /// Not collective, and before anything that sends; the group and its parents were made as before.
  /// Errors: a damaged file; something was sent already.
  Result<std::optional<std::uint64_t>> resume(const std::string& directory);

  /// Each rank keeps its own values and those of the rank before it: memory of twice the
  /// containers, while saving of four times. Replaces what was saved so before, once all have the
  /// new. Collective.
  Result<void> save_to_partner(std::uint64_t step);
  /// Values, and step, as they were saved; `lost` are the ranks that keep nothing any more, such as
  /// restarted ones; known to all. Errors: neighbours that are both lost; nothing saved.
  /// Collective.
  Result<std::uint64_t> restore_from_partner(std::span<const Rank> lost);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::spmd
