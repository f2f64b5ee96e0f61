// SPDX-License-Identifier: Apache-2.0
// Checkpoints: copies of the values of all containers of a group that outlive a process: in the
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

/// Saves and restores the containers added to it. They must be of its group, outlive it without
/// being moved, and hold the same slices when restored as when saved: a checkpoint of another shape
/// is refused. All ranks make collective calls in the same order, and the calls end on all of them
/// alike: with the first rank's error where there is one. One thread.
class Checkpoint {
 public:
  explicit Checkpoint(const Group& group);
  Checkpoint(Checkpoint&&) noexcept;
  Checkpoint& operator=(Checkpoint&&) noexcept;
  ~Checkpoint();

  /// Called in the same order by all ranks, before saving as before restoring.
  void add(ContainerBase& container);

  /// Each rank writes DIRECTORY/checkpoint-STEP-of-RANK.weft under another name and then renames
  /// it; DIRECTORY exists. When all have, each removes its own older files but the newest of them.
  /// Collective. Errors: those of the file; then nothing was removed.
  ///
  /// In a job that restarts failed processes (`weft run --restart on-failure`), when `resume` or
  /// `newest` of this object was called before, each rank then stores its place among the messages
  /// beside it, history-STEP-of-RANK.weft, and tells the others that they need not keep messages
  /// that it has received. Messages that ranks outside of the group may need are kept. A process
  /// that saves by several objects goes on from the one that it called last. If that file cannot be
  /// written, the next save fails on all ranks. No operations may be under way.
  Result<void> save(const std::string& directory, std::uint64_t step);
  /// The highest step of which every rank has a file; nothing when there is none. Collective. In a
  /// later life of this process that has sent nothing yet: the newest step that it saved in this
  /// run of the job, not collective; `restore` of that step then acts like `resume`. When it has
  /// saved nothing yet, as in its first life.
  Result<std::optional<std::uint64_t>> newest(const std::string& directory) const;
  /// Restores the values of that step. Errors: a file that is missing, damaged (CRC-32C), or of
  /// other containers, partitionings or ranks; values are then as before. Collective.
  Result<void> restore(const std::string& directory, std::uint64_t step);

  /// In a later life of this process: restores values, and place among all messages, of its newest
  /// save; returns its step. The program goes on behind that save; the others need not know.
  /// Nothing in a first life, or when this run of the job has saved nothing yet: the program begins
  /// at its beginning. Nothing with `weft run --restart all` either: use `newest` there. Not
  /// collective, and before anything that sends; the group and its parents were made as before.
  /// Errors: a damaged file; something was sent already.
  Result<std::optional<std::uint64_t>> resume(const std::string& directory);

  /// Each rank keeps its own values and those of the rank before it: memory of twice the
  /// containers, while saving of four times. Replaces the copies saved before, once all ranks have
  /// the new ones. Collective.
  Result<void> save_to_partner(std::uint64_t step);
  /// Restores the values saved and returns their step; `lost` are the ranks whose copies are gone,
  /// such as restarted ones, the same on all ranks. Errors: neighbours that are both lost; nothing
  /// saved. Collective.
  Result<std::uint64_t> restore_from_partner(std::span<const Rank> lost);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft::spmd
