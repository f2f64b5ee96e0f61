// SPDX-License-Identifier: Apache-2.0
// Worlds: the processes that a job began with, and those that its processes had started since.
// Without I/O.
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
  std::vector<std::uint32_t> parents;  ///< that had it started, by rank; of the first world none
  std::uint32_t asked_by = 0;          ///< one of them
  std::vector<std::uint32_t> ends;     ///< behind each program's last rank
  std::uint32_t joined = 0;
  bool is_answered = false;  ///< `asked_by` knows that they have joined, or cannot any more
  bool is_refused = false;   ///< the latter
  std::uint32_t alone = 0;   ///< have returned, and communicate with none but this world

  /// Returns the index of the rank's program among the world's programs.
  std::uint32_t program_of(std::uint32_t rank) const;
};

class Worlds {
 public:
  /// A job has at most so many ranks more than it began with.
  static constexpr std::uint32_t most_spawned = 1000;

  explicit Worlds(std::uint32_t ranks) : worlds_{{.size = ranks, .parents = {}, .ends = {ranks}}} {}

  std::uint32_t room() const { return worlds_.front().size + most_spawned; }
  World& of(std::uint32_t rank);
  const World& of(std::uint32_t rank) const;
  /// Returns why the programs are not started; empty: they can be.
  std::string refusal(const LauncherQuestion& question) const;
  /// The new world, whose processes are to be started.
  const World& add(const LauncherQuestion& question, std::uint32_t asked_by);
  /// The part of a process's description that its world has.
  void describe(JobDescription& job, std::uint32_t rank) const;

  /// A process has joined. The world, if it was the last one of one that another process waits for.
  const World* on_joined(std::uint32_t rank);
  /// A process has ended. The world, if another process waits for it in vain: told once.
  const World* on_ended(std::uint32_t rank);
  /// The world, if it may leave now.
  const World* on_alone(std::uint32_t rank);

  /// Names that processes give each other.
  LauncherAnswer answer_about_name(const LauncherQuestion& question);

 private:
  std::uint32_t ranks() const { return worlds_.back().first + worlds_.back().size; }

  std::vector<World> worlds_;  // by rank
  std::map<std::string, std::string> names_;
};

}  // namespace weft
