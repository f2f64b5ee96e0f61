// SPDX-License-Identifier: Apache-2.0
// Worlds: the initial processes of a job, and those that its processes spawned later. Without I/O.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "process/job_link.hpp"
#include "process/launcher_question.hpp"

namespace weft {

/// Processes that were started together: their MPI_COMM_WORLD.
struct World {
  std::uint32_t first = 0;  ///< rank in the job
  std::uint32_t size = 0;
  std::vector<std::uint32_t> parents;  ///< ranks that spawned it; none of the first world
  std::uint32_t asked_by = 0;          ///< one of them
  std::vector<std::uint32_t> ends;     ///< one past each program's last rank
  std::uint32_t joined = 0;
  bool is_answered = false;  ///< `asked_by` knows that they have joined, or cannot any more
  bool is_refused = false;   ///< the latter
  std::uint32_t alone = 0;   ///< ranks that returned and communicate only within it

  /// Returns the index of the rank's program among the world's programs.
  std::uint32_t program_of(std::uint32_t rank) const;
};

class Worlds {
 public:
  /// Most ranks that a job can add to its initial ones.
  static constexpr std::uint32_t most_spawned = 1000;

  explicit Worlds(std::uint32_t ranks) : worlds_{{.size = ranks, .parents = {}, .ends = {ranks}}} {}

  std::uint32_t room() const { return worlds_.front().size + most_spawned; }
  World& of(std::uint32_t rank);
  const World& of(std::uint32_t rank) const;
  /// Returns why the programs cannot start; empty: they can.
  std::string refusal(const LauncherQuestion& question) const;
  /// Adds a world, whose processes the caller starts.
  const World& add(const LauncherQuestion& question, std::uint32_t asked_by);
  /// Fills in the world's part of a process's description.
  void describe(JobDescription& job, std::uint32_t rank) const;

  /// A process has joined. Returns its world if all have joined and another process waits.
  const World* on_joined(std::uint32_t rank);
  /// A process has ended. Returns its world, once, if a process waits for it in vain.
  const World* on_ended(std::uint32_t rank);
  /// Returns the world if it may leave.
  const World* on_alone(std::uint32_t rank);

  /// Answers about published names.
  LauncherAnswer answer_about_name(const LauncherQuestion& question);

 private:
  std::uint32_t ranks() const { return worlds_.back().first + worlds_.back().size; }

  std::vector<World> worlds_;  // by rank
  std::map<std::string, std::string> names_;
};

}  // namespace weft
