// SPDX-License-Identifier: Apache-2.0
#include "launch/worlds.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

LauncherQuestion spawn(std::vector<SpawnedProgram> programs) {
  return {.programs = std::move(programs), .parents = {1, 0}, .name = {}, .value = {}};
}

TEST(worlds, a_spawned_world_follows_all_earlier_ranks_and_knows_its_parents_and_programs) {
  Worlds worlds(3);
  worlds.add(spawn({{.command = {"sh"}, .processes = 2}}), 1);
  worlds.add(spawn({{.command = {"sh"}, .processes = 1}, {.command = {"ls"}, .processes = 3}}), 4);
  JobDescription job;
  worlds.describe(job, 2);
  EXPECT_EQ(job.nodes, 3U);
  EXPECT_EQ(job.first, NodeId(0));
  EXPECT_TRUE(job.parents.empty());
  worlds.describe(job, 6);
  EXPECT_EQ(job.nodes, 4U);
  EXPECT_EQ(job.first, NodeId(5));
  EXPECT_EQ(job.parents, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(job.appnum, 1U);
  EXPECT_EQ(job.room, 3 + Worlds::most_spawned);
}

TEST(worlds, the_parent_is_answered_when_the_last_process_has_joined) {
  Worlds worlds(1);
  EXPECT_EQ(worlds.on_joined(0), nullptr);
  worlds.add(spawn({{.command = {"sh"}, .processes = 2}}), 0);
  EXPECT_EQ(worlds.on_joined(2), nullptr);
  const World* world = worlds.on_joined(1);
  ASSERT_NE(world, nullptr);
  EXPECT_EQ(world->asked_by, 0U);
}

TEST(worlds, the_parent_is_answered_once_when_a_process_ends_before_all_have_joined) {
  Worlds worlds(1);
  EXPECT_EQ(worlds.on_ended(0), nullptr);
  worlds.add(spawn({{.command = {"sh"}, .processes = 2}}), 0);
  EXPECT_EQ(worlds.on_joined(1), nullptr);
  EXPECT_NE(worlds.on_ended(1), nullptr);
  EXPECT_EQ(worlds.on_ended(2), nullptr);
}

TEST(worlds, a_world_may_leave_when_all_of_it_is_alone) {
  Worlds worlds(1);
  worlds.add(spawn({{.command = {"sh"}, .processes = 2}}), 0);
  EXPECT_EQ(worlds.on_alone(1), nullptr);
  EXPECT_EQ(worlds.on_alone(2)->first, 1U);
}

TEST(worlds, programs_that_are_not_there_and_too_many_processes_are_refused) {
  Worlds worlds(1);
  EXPECT_EQ(worlds.refusal(spawn({{.command = {"sh"}, .processes = Worlds::most_spawned}})), "");
  EXPECT_NE(worlds.refusal(spawn({{.command = {"sh"}, .processes = Worlds::most_spawned + 1}}))
                .find("too many"),
            std::string::npos);
  for (const char* program : {"/no/such", "/tmp", ""}) {
    EXPECT_NE(worlds.refusal(spawn({{.command = {program}, .processes = 1}}))
                  .find(std::string("'") + program + "'"),
              std::string::npos);
  }
}

TEST(worlds, a_name_is_found_from_its_publication_to_its_end) {
  Worlds worlds(1);
  using Kind = LauncherQuestion::Kind;
  const auto ask = [&](Kind kind) {
    return worlds.answer_about_name(
        {.kind = kind, .programs = {}, .parents = {}, .name = "ocean", .value = "a port"});
  };
  EXPECT_EQ(ask(Kind::lookup).refusal, "'ocean' is not published");
  EXPECT_EQ(ask(Kind::publish).refusal, "");
  EXPECT_EQ(ask(Kind::publish).refusal, "'ocean' is published already");
  EXPECT_EQ(ask(Kind::lookup).value, "a port");
  EXPECT_EQ(ask(Kind::unpublish).refusal, "");
  EXPECT_EQ(ask(Kind::lookup).refusal, "'ocean' is not published");
}

}  // namespace
}  // namespace weft
