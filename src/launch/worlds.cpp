// SPDX-License-Identifier: Apache-2.0
#include "launch/worlds.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/mpi_launcher.hpp"

namespace weft {

std::uint32_t World::program_of(std::uint32_t rank) const {
  return static_cast<std::uint32_t>(std::upper_bound(ends.begin(), ends.end(), rank) -
                                    ends.begin());
}

const World& Worlds::of(std::uint32_t rank) const {
  return *std::find_if(worlds_.begin(), worlds_.end(),
                       [&](const World& w) { return rank < w.first + w.size; });
}
World& Worlds::of(std::uint32_t rank) {
  return const_cast<World&>(std::as_const(*this).of(rank));
}

std::string Worlds::refusal(const LauncherQuestion& question) const {
  std::uint64_t wanted = 0;
  for (const SpawnedProgram& program : question.programs) {
    wanted += program.processes;
    const std::string file = find_program(program.command.front()).string();
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none) || ::access(file.c_str(), X_OK) != 0) {
      return fmt::format(
          "'{}' is no program that can be started; give a path, or a name that is "
          "found in PATH",
          program.command.front());
    }
  }
  if (question.programs.empty()) return "no program";
  if (ranks() + wanted <= room()) return {};
  return fmt::format(
      "{} processes more are too many: a job has at most {} beyond those that weft "
      "run began with, those that have ended among them",
      wanted, most_spawned);
}

const World& Worlds::add(const LauncherQuestion& question, std::uint32_t asked_by) {
  World world{.first = ranks(), .parents = question.parents, .asked_by = asked_by, .ends = {}};
  for (const SpawnedProgram& program : question.programs) {
    world.size += program.processes;
    world.ends.push_back(world.first + world.size);
  }
  worlds_.push_back(std::move(world));
  return worlds_.back();
}

void Worlds::describe(JobDescription& job, std::uint32_t rank) const {
  const World& world = of(rank);
  job.nodes = world.size;
  job.first = NodeId(world.first);
  job.parents = world.parents;
  job.appnum = world.program_of(rank);
  job.room = room();
}

const World* Worlds::on_joined(std::uint32_t rank) {
  World& world = of(rank);
  if (++world.joined < world.size || world.parents.empty() || world.is_answered) return nullptr;
  world.is_answered = true;
  return &world;
}

const World* Worlds::on_ended(std::uint32_t rank) {
  World& world = of(rank);
  if (world.parents.empty() || world.is_answered) return nullptr;
  world.is_answered = world.is_refused = true;
  return &world;
}

const World* Worlds::on_alone(std::uint32_t rank) {
  World& world = of(rank);
  return ++world.alone == world.size ? &world : nullptr;
}

LauncherAnswer Worlds::answer_about_name(const LauncherQuestion& question) {
  const auto found = names_.find(question.name);
  const bool is_there = found != names_.end();
  if (question.kind == LauncherQuestion::Kind::publish) {
    if (is_there) return {.refusal = fmt::format("'{}' is published already", question.name)};
    names_.emplace(question.name, question.value);
    return {};
  }
  if (!is_there) return {.refusal = fmt::format("'{}' is not published", question.name)};
  LauncherAnswer answer{.value = found->second};
  if (question.kind == LauncherQuestion::Kind::unpublish) names_.erase(found);
  return answer;
}

}  // namespace weft
