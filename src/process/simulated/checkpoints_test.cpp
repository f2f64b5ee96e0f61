// SPDX-License-Identifier: Apache-2.0
// Checkpoints of programs whose processes die: the messages that others keep for a later life, and
// the place at which that one goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "process/simulated/simulated_program.hpp"
#include "weft/spmd.hpp"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Directory {
 public:
  Directory() {
    std::string pattern = testing::TempDir() + "weft-checkpoints-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr std::uint64_t rounds = 400;
constexpr std::uint64_t rounds_per_save = 10;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}
void require(const Result<void>& result) {
  if (!result.ok()) throw std::runtime_error(result.error().message);
}

void send(Communicator& world, std::uint32_t to, std::uint64_t value) {
  require(world.wait(world.start_send(Rank(to), Tag(1), std::as_bytes(std::span(&value, 1)))));
}
std::uint64_t receive(Communicator& world, std::uint32_t from) {
  std::uint64_t value = 0;
  const auto room = std::as_writable_bytes(std::span(&value, 1));
  require(world.wait(world.start_receive(Rank(from), Tag(1), room)));
  return value;
}

/// The value that a rank computes, with its checkpoint.
struct Saved {
  explicit Saved(const spmd::Group& group)
      : value(group, spmd::Space(group.size())), checkpoint(group) {
    require(value.initialise(spmd::block(value.space(), group.size()), 1));
    checkpoint.add(value);
  }
  std::uint64_t& own() { return value.values()[0]; }
  spmd::Container<std::uint64_t> value;
  spmd::Checkpoint checkpoint;
};

/// Runs three processes, and kills that of a host when they are halfway through.
struct Told {
  int code = -1;
  std::string error;
  std::uint64_t restarts = 0;
};
Told run(const Program& program, const std::vector<std::string>& faults) {
  sim::Scenario scenario;
  scenario.topology = "star:4";
  scenario.programs.restart_after = Duration::microseconds(50);
  scenario.programs.limit = Duration::seconds(1);
  scenario.faults = faults;
  const JobDescription job{.nodes = 3,
                           .nodes_here = 3,
                           .incarnation = Incarnation(1),
                           .retain = true,
                           .run = "this run",
                           .timeout = Duration::max(),
                           .most_restarts = 3};
  Told told;
  const Program guarded = [&](Process& process, std::span<const std::string> arguments) {
    try {
      return program(process, arguments);
    } catch (const std::runtime_error& e) {
      if (told.error.empty() &&
          std::string(e.what()).find("has been killed") == std::string::npos) {
        told.error = e.what();
      }
      return 1;
    }
  };
  const auto outcome =
      simulate_lives(scenario, job, linked_lives(guarded, {}), [](const std::string&) {});
  if (!outcome.ok()) {
    told.error += outcome.error().message;
    return told;
  }
  told.code = outcome->code;
  told.restarts = outcome->report.restarts;
  return told;
}

std::string kill(std::uint32_t host) {
  return "at=300us kill host" + std::to_string(host);
}

TEST(checkpoints_of_programs, of_some_ranks_keep_what_the_others_may_ask_for) {
  std::vector<std::uint64_t> results(3);
  for (const bool dies : {false, true}) {
    const Directory directory;
    const Program program = [&](Process& process, auto) {
      Communicator& world = process.world();
      const std::uint32_t self = world.rank().value();
      const spmd::Group all(world);
      const Rank members[] = {Rank(0), Rank(1)};
      const spmd::Group some = all.subgroup(members);
      std::uint64_t result = 0;
      if (self == 2) {
        for (std::uint64_t i = 0; i < rounds; ++i) {
          result = result * 3 + receive(world, 0);
          send(world, 1, result);
        }
      } else {
        Saved saved(some);
        const auto step = require(saved.checkpoint.resume(directory.path()));
        for (std::uint64_t i = step.value_or(0); i < rounds; ++i) {
          process.compute(Duration::microseconds(2));
          if (self == 0) send(world, 2, saved.own() += i);
          if (self == 1) saved.own() ^= receive(world, 2);
          if ((i + 1) % rounds_per_save == 0) {
            require(saved.checkpoint.save(directory.path(), i + 1));
          }
        }
        result = saved.own();
      }
      if (dies) {
        EXPECT_EQ(results[self], result) << "rank " << self;
      } else {
        results[self] = result;
      }
      return 0;
    };
    const Told told = run(program, dies ? std::vector{kill(2)} : std::vector<std::string>());
    EXPECT_EQ(told.code, 0) << told.error;
    EXPECT_EQ(told.restarts, dies ? 1u : 0u);
  }
}

/// Passes values around a ring, and saves the results. `begin` says where it goes on.
template <class Begin>
Program ring(const std::string& directory, std::vector<std::uint64_t>& results, Begin begin) {
  return [&directory, &results, begin](Process& process, auto) {
    Communicator& world = process.world();
    const std::uint32_t self = world.rank().value(), n = world.size();
    Saved saved{spmd::Group(world)};
    for (std::uint64_t i = begin(saved.checkpoint, directory); i < rounds; ++i) {
      process.compute(Duration::microseconds(2));
      send(world, (self + 1) % n, saved.own());
      saved.own() = saved.own() * 3 + receive(world, (self + n - 1) % n) + i + self;
      if ((i + 1) % rounds_per_save == 0) require(saved.checkpoint.save(directory, i + 1));
    }
    results[self] = saved.own();
    return 0;
  };
}

template <class Begin>
void expect_same_results_when_killed(Begin begin) {
  std::vector<std::uint64_t> undisturbed(3), results(3);
  const Directory calm, other;
  ASSERT_EQ(run(ring(calm.path(), undisturbed, begin), {}).code, 0);
  const Told told = run(ring(other.path(), results, begin), {kill(1)});
  EXPECT_EQ(told.code, 0) << told.error;
  EXPECT_EQ(told.restarts, 1u);
  EXPECT_EQ(results, undisturbed);
}

TEST(checkpoints_of_programs, are_gone_on_from_by_a_process_that_resumes) {
  expect_same_results_when_killed([](spmd::Checkpoint& checkpoint, const std::string& directory) {
    return require(checkpoint.resume(directory)).value_or(0);
  });
}

TEST(checkpoints_of_programs, are_gone_on_from_by_a_process_that_restores_the_newest) {
  expect_same_results_when_killed([](spmd::Checkpoint& checkpoint, const std::string& directory) {
    const auto step = require(checkpoint.newest(directory));
    if (step) require(checkpoint.restore(directory, *step));
    return step.value_or(0);
  });
}

// Between a rank's first file and its history it waits for the others: a life that is killed there
// leaves a file of which the first one knew nothing when it asked for the newest.
TEST(checkpoints_of_programs, of_a_rank_killed_while_it_saves_do_not_change_what_it_says) {
  bool is_between = false;
  std::vector<Duration> saving;  // of rank 1, when it began and when it was done
  const auto program = [&](const std::string& directory) -> Program {
    return [&, directory](Process& process, auto) {
      Communicator& world = process.world();
      const std::uint32_t self = world.rank().value(), n = world.size();
      const std::string of_rank = "-1-of-" + std::to_string(self) + ".weft";
      is_between = is_between || (std::filesystem::exists(directory + "/checkpoint" + of_rank) &&
                                  !std::filesystem::exists(directory + "/history" + of_rank));
      Saved saved{spmd::Group(world)};
      const auto step = require(saved.checkpoint.newest(directory));
      if (step) require(saved.checkpoint.restore(directory, *step));
      for (std::uint64_t i = step.value_or(0); i < 2; ++i) {
        process.compute(Duration::microseconds(2));
        send(world, (self + 1) % n, saved.own());
        saved.own() = saved.own() * 3 + receive(world, (self + n - 1) % n) + i + self;
        if (self == 1) saving.push_back(process.elapsed());
        require(saved.checkpoint.save(directory, i + 1));
        if (self == 1) saving.push_back(process.elapsed());
      }
      EXPECT_EQ(saved.own(), self == 0 ? 19u : self == 1 ? 21u : 26u);
      return 0;
    };
  };
  const Directory calm;
  ASSERT_EQ(run(program(calm.path()), {}).code, 0);
  ASSERT_GE(saving.size(), 2u);
  const Duration begun = saving[0], step = (saving[1] - saving[0]) / 4;
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const Directory other;
    const std::string at = std::to_string((begun + step * quarter).ticks());
    const Told told = run(program(other.path()), {"at=" + at + "ns kill host1"});
    EXPECT_EQ(told.code, 0) << at << " ns: " << told.error;
    EXPECT_EQ(told.restarts, 1u) << at << " ns";
  }
  EXPECT_TRUE(is_between);
}

TEST(checkpoints_of_programs, that_nobody_goes_on_from_let_nobody_forget_anything) {
  expect_same_results_when_killed(
      [](spmd::Checkpoint&, const std::string&) { return std::uint64_t{0}; });
}

}  // namespace
}  // namespace weft
