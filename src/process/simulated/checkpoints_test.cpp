// SPDX-License-Identifier: Apache-2.0
// Checkpoints of programs whose processes die: what others keep for a later life, and where that
// one goes on.
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

/// What a rank computes, with the checkpoint that has it.
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
  const auto outcome = simulate_program(scenario, job, guarded, {}, [](const std::string&) {});
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

/// Passes values around a ring, and saves what came of it. `begin` says from where it goes on.
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

TEST(checkpoints_of_programs, that_nobody_goes_on_from_let_nobody_forget_anything) {
  expect_same_results_when_killed(
      [](spmd::Checkpoint&, const std::string&) { return std::uint64_t{0}; });
}

}  // namespace
}  // namespace weft
