// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_program.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "jobs/ranks_jobs.hpp"
#include "process/simulated/program_faults.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

sim::Scenario star() {
  sim::Scenario scenario;
  scenario.topology = "star:16";
  scenario.programs.restart_after = Duration::microseconds(50);
  return scenario;
}

JobDescription job_of(std::uint32_t processes, bool restart = false) {
  return {.nodes = processes,
          .nodes_here = processes,
          .incarnation = Incarnation(1),
          .retain = restart,
          .timeout = restart ? Duration::max() : Duration::seconds(10),
          .most_restarts = 100};
}

struct Told {
  Result<SimulatedOutcome> outcome;
  std::vector<std::string> lines;
};

Told simulate(const sim::Scenario& scenario, const JobDescription& job, const Program& program,
              std::span<const sim::JobBeside> beside = {}) {
  std::vector<std::string> lines;
  auto outcome = simulate_lives(
      scenario, job, linked_lives(program, {}),
      [&](const std::string& line) { lines.push_back(line); }, beside);
  return {std::move(outcome), std::move(lines)};
}

/// In a message of so many bytes.
std::uint64_t pass_on(Communicator& world, std::uint64_t value, std::size_t bytes = sizeof value) {
  const std::uint32_t self = world.rank().value(), n = world.size();
  std::vector<std::byte> outgoing(bytes), incoming(bytes);
  std::memcpy(outgoing.data(), &value, sizeof value);
  std::uint64_t got = 0;
  const auto sends = world.start_send(Rank((self + 1) % n), Tag(1), outgoing);
  const auto receives = world.start_receive(Rank((self + n - 1) % n), Tag(1), incoming);
  const auto sent = world.wait(sends);
  const auto received = world.wait(receives);
  if (!sent.ok() || !received.ok()) {
    throw std::runtime_error(!sent.ok() ? sent.error().message : received.error().message);
  }
  std::memcpy(&got, incoming.data(), sizeof got);
  return got;
}

/// Each rank passes on the value that it receives, and adds the results to `sums`.
Program ring(std::vector<std::uint64_t>& sums, int rounds, std::size_t bytes = 8) {
  return [&sums, rounds, bytes](Process& process, std::span<const std::string>) {
    const std::uint32_t self = process.world().rank().value();
    std::uint64_t value = self + 1, sum = 0;
    for (int i = 0; i < rounds; ++i) {
      process.compute(Duration::microseconds(1));
      value = pass_on(process.world(), value, bytes);
      sum = sum * 31 + value;
    }
    sums[self] = sum;
    return 0;
  };
}

TEST(simulated_program, runs_in_as_many_processes_as_said) {
  std::vector<std::uint64_t> sums(5);
  const auto told = simulate(star(), job_of(5), ring(sums, 1));
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(told.outcome->code, 0);
  EXPECT_EQ(told.outcome->report.processes, 5u);
  EXPECT_THAT(sums, ElementsAre(5, 1, 2, 3, 4));
  EXPECT_TRUE(told.lines.empty());
}

TEST(simulated_program, loses_nothing_over_paged_memory_with_any_adapter) {
  std::vector<std::uint64_t> expected(5);
  ASSERT_TRUE(simulate(star(), job_of(5), ring(expected, 20)).outcome.ok());
  for (const char* device : {"connectx-4", "connectx-5", "connectx-6", "adaptive", "ideal"}) {
    sim::Scenario scenario = star();
    scenario.fabric.reliable.emplace();
    scenario.fabric.reliable->device = *net::rc::device_profile(device);
    scenario.fabric.reliable->adapter.paged = true;
    for (const bool large : {false, true}) {
      scenario.fabric.reliable->sends_paged = large;
      std::vector<std::uint64_t> sums(5);
      const auto told = simulate(scenario, job_of(5), ring(sums, 20, large ? 100'000 : 8));
      ASSERT_TRUE(told.outcome.ok()) << device << ": " << told.outcome.error().message;
      EXPECT_EQ(sums, expected) << device;
    }
  }
}

TEST(simulated_program, runs_alone) {
  std::vector<std::uint64_t> sums(1);
  const auto told = simulate(star(), job_of(1), ring(sums, 3));
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(sums[0], 1u * 31 * 31 + 31 + 1);
}

TEST(simulated_program, takes_the_same_time_and_events_with_the_same_seed) {
  sim::Scenario scenario = star();
  scenario.noise = {.every = Duration::microseconds(20), .mean = Duration::microseconds(2)};
  scenario.clocks = {.offset = Duration::milliseconds(5), .drift_per_million = 50};
  scenario.programs.crashes = 3;
  scenario.programs.crash_within = Duration::microseconds(50);
  const auto run = [&](std::uint64_t seed) {
    scenario.seed = seed;
    std::vector<std::uint64_t> sums(6);
    const auto told = simulate(scenario, job_of(6, true), ring(sums, 20));
    EXPECT_TRUE(told.outcome.ok()) << told.outcome.error().message;
    return to_json(told.outcome->report);
  };
  const std::string once = run(7);
  EXPECT_EQ(run(7), once);
  EXPECT_NE(run(8), once);
}

TEST(simulated_program, lets_time_pass_for_what_it_computes_and_no_other) {
  Duration before{}, after{};
  const auto told = simulate(star(), job_of(2), [&](Process& process, auto) {
    if (process.world().rank() != Rank(0)) return 0;
    before = process.elapsed();
    process.compute(Duration::milliseconds(3));
    after = process.elapsed();
    return 0;
  });
  ASSERT_TRUE(told.outcome.ok());
  EXPECT_GE(after - before, Duration::milliseconds(3));
  EXPECT_LT(after - before, Duration::microseconds(3'010));
  EXPECT_EQ(told.outcome->report.ranks[0].sum().computing, PicoDuration::milliseconds(3));
  EXPECT_EQ(told.outcome->report.ranks[1].sum().computing, PicoDuration{});
}

TEST(simulated_program, takes_the_hosts_time_when_it_is_to_be_measured) {
  sim::Scenario scenario = star();
  scenario.programs.measure_compute = true;
  const auto told = simulate(scenario, job_of(1), [](Process&, auto) {
    volatile double sum = 0;
    for (int i = 0; i < 100'000; ++i) sum = sum + i;
    return 0;
  });
  ASSERT_TRUE(told.outcome.ok());
  EXPECT_GT(told.outcome->report.ranks[0].sum().computing, PicoDuration{});
}

TEST(simulated_program, sees_time_go_on_while_it_looks_at_nothing_else) {
  const auto told = simulate(star(), job_of(2), [](Process& process, auto) {
    while (process.elapsed() < Duration::microseconds(30)) {
    }
    return 0;
  });
  ASSERT_TRUE(told.outcome.ok());
  EXPECT_GE(told.outcome->report.simulated, Duration::microseconds(30));
}

TEST(simulated_program, gets_messages_while_it_only_asks_for_them) {
  std::array<char, 3> got{};
  const auto told = simulate(star(), job_of(2), [&](Process& process, auto) {
    Communicator& world = process.world();
    if (world.rank() == Rank(0)) {
      process.compute(Duration::microseconds(20));
      const auto sends = world.start_send(Rank(1), Tag(0), std::as_bytes(std::span("abc", 3)));
      return world.wait(sends).ok() ? 0 : 1;
    }
    const auto receives =
        world.start_receive(Rank(0), Tag(0), std::as_writable_bytes(std::span(got)));
    while (!world.is_done(receives)) {
    }
    return world.wait(receives).ok() ? 0 : 1;
  });
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(told.outcome->code, 0);
  EXPECT_EQ(std::string(got.data(), 3), "abc");
}

TEST(simulated_program, is_told_apart_in_phases) {
  const auto told = simulate(star(), job_of(3), [](Process& process, auto) {
    process.phase("first");
    process.compute(Duration::microseconds(5));
    process.phase("second");
    (void)pass_on(process.world(), 1);
    process.phase("first");
    process.compute(Duration::microseconds(5));
    return 0;
  });
  ASSERT_TRUE(told.outcome.ok());
  const auto& phases = told.outcome->report.ranks[1].phases();
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_EQ(phases[0].name, "program");
  EXPECT_EQ(phases[1].name, "first");
  EXPECT_EQ(phases[1].computing, PicoDuration::microseconds(10));
  EXPECT_EQ(phases[1].messages, 0u);
  EXPECT_EQ(phases[2].name, "second");
  EXPECT_GT(phases[2].messages, 0u);
  EXPECT_GT(phases[2].bytes, 0u);
  EXPECT_EQ(phases[3].name, "leave");
}

TEST(simulated_program, shares_hosts_as_the_scenario_says) {
  sim::Scenario scenario = star();
  scenario.programs.per_host = 4;
  std::vector<std::uint64_t> sums(64);
  const auto told = simulate(scenario, job_of(64), ring(sums, 2));
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(sums[1], 1u * 31 + 64);
  scenario.programs.per_host = 3;
  EXPECT_THAT(simulate(scenario, job_of(64), ring(sums, 2)).outcome.error().message,
              HasSubstr("need 22 hosts, and there are 16; write per-host = 4 in [programs]"));
}

TEST(simulated_program, exchanges_messages_within_a_host_faster_than_over_the_network) {
  // Ranks 0 and 1 share a host when they are placed in blocks, ranks 0 and 2 when in turn.
  const auto takes = [](bool in_turn, std::uint32_t other) {
    sim::Scenario scenario = star();
    scenario.network.host_link.latency = PicoDuration::microseconds(1);
    scenario.programs.per_host = 2;
    scenario.programs.in_turn = in_turn;
    Duration took{};
    const auto told = simulate(scenario, job_of(4), [&](Process& process, auto) {
      Communicator& world = process.world();
      std::vector<std::byte> bytes(1000);
      if (world.rank() == Rank(other)) {
        const auto sends = world.start_send(Rank(0), Tag(1), bytes);
        return world.wait(sends).ok() ? 0 : 1;
      }
      if (world.rank() != Rank(0)) return 0;
      const Duration from = process.elapsed();
      const auto receives = world.start_receive(Rank(other), Tag(1), bytes);
      const bool received = world.wait(receives).ok();
      took = process.elapsed() - from;
      return received ? 0 : 1;
    });
    EXPECT_TRUE(told.outcome.ok() && told.outcome->code == 0);
    return took;
  };
  EXPECT_LT(takes(false, 1), takes(false, 2));
  EXPECT_LT(takes(true, 2), takes(true, 1));
  EXPECT_EQ(takes(true, 2), takes(false, 1));
}

struct Alive {
  explicit Alive(int& n) : n_(n) { ++n_; }
  ~Alive() { --n_; }
  int& n_;
};

TEST(simulated_program, is_started_anew_with_the_next_life_when_it_dies) {
  sim::Scenario scenario = star();
  scenario.faults = {"at=20us kill host2", "at=20us kill host0", "at=200us kill host2"};
  std::vector<std::uint64_t> sums(4), undisturbed(4);
  ASSERT_TRUE(simulate(star(), job_of(4), ring(undisturbed, 200)).outcome.ok());
  std::vector<std::uint32_t> lives(4);
  int alive = 0;
  const Program program = ring(sums, 200);
  const auto told = simulate(scenario, job_of(4, true), [&](Process& process, auto arguments) {
    const Alive one(alive);
    lives[process.world().rank().value()] = process.incarnation().value();
    return program(process, arguments);
  });
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(told.outcome->code, 0);
  EXPECT_EQ(sums, undisturbed);
  EXPECT_THAT(lives, ElementsAre(2, 1, 3, 1));
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(told.outcome->report.crashes, 3u);
  EXPECT_EQ(told.outcome->report.restarts, 3u);
  ASSERT_EQ(told.lines.size(), 3u);
  EXPECT_EQ(told.lines[0], "rank 2 was ended by signal 9 (Killed); starting it anew");
}

TEST(simulated_program, is_missed_when_it_dies_for_good) {
  sim::Scenario scenario = star();
  scenario.faults = {"at=20us kill host2"};
  std::vector<std::uint64_t> sums(4);
  std::string error;
  const auto told = simulate(scenario, job_of(4), [&](Process& process, auto arguments) {
    try {
      return ring(sums, 200)(process, arguments);
    } catch (const std::exception& e) {
      error = e.what();
      return 1;
    }
  });
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(told.outcome->code, 137);
  EXPECT_THAT(error, HasSubstr("rank 2 was gone for 10 s"));
}

TEST(simulated_program, takes_the_others_with_it_when_it_fails) {
  const auto told = simulate(star(), job_of(3), [](Process& process, auto) {
    if (process.world().rank() == Rank(1)) return 7;
    (void)pass_on(process.world(), 1);
    return 0;
  });
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(told.outcome->code, 7);
  EXPECT_THAT(told.lines, ElementsAre("rank 1 ended with code 7"));
}

TEST(simulated_program, is_started_anew_when_it_fails) {
  int lives = 0;
  const auto told = simulate(star(), job_of(2, true), [&](Process& process, auto) {
    if (process.world().rank() == Rank(1) && ++lives < 4) return 7;
    (void)pass_on(process.world(), 1);
    return 0;
  });
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(told.outcome->code, 0);
  EXPECT_EQ(lives, 4);
  EXPECT_EQ(told.outcome->report.crashes, 0u);
}

TEST(simulated_program, that_waits_for_what_nobody_sends_is_named) {
  const auto told = simulate(star(), job_of(3), [](Process& process, auto) {
    std::array<std::byte, 1> got{};
    if (process.world().rank() != Rank(1)) return 0;
    Communicator& world = process.world();
    return world.wait(world.start_receive(Rank(0), Tag(9), got)).ok() ? 0 : 1;
  });
  ASSERT_FALSE(told.outcome.ok());
  EXPECT_EQ(told.outcome.error().message,
            "nothing happens any more, and 3 processes wait for messages: ranks 0, 1, 2");
}

TEST(simulated_program, that_does_not_end_is_ended) {
  sim::Scenario scenario = star();
  scenario.programs.limit = Duration::milliseconds(2);
  const auto told = simulate(scenario, job_of(2), [](Process& process, auto) {
    for (;;) process.compute(Duration::microseconds(100));
    return 0;
  });
  ASSERT_FALSE(told.outcome.ok());
  EXPECT_THAT(told.outcome.error().message, HasSubstr("0.002 simulated seconds"));
}

TEST(simulated_program, needs_all_that_is_sent) {
  sim::Scenario scenario = star();
  scenario.fabric.copied_bytes = 64;
  const auto told = simulate(scenario, job_of(2), [](Process&, auto) { return 0; });
  ASSERT_FALSE(told.outcome.ok());
}

// A fault that meets a dead process, or one that has left, is no error.
TEST(simulated_program, outlives_everything_that_may_happen_to_hosts) {
  sim::Scenario scenario = star();
  scenario.all_lossy = true;
  scenario.faults = {"at=5us link-down host1 for=30us",
                     "at=10us slow host2 1Gbit for=100us",
                     "at=15us stop host3 for=40us",
                     "at=20us kill host3",
                     "at=21us kill host3",
                     "at=30us loss host0 10% for=50us",
                     "at=40us clock host1 +5ms",
                     "at=60us partition host0,host1|host2,host3 for=20us",
                     "at=9s kill host0"};
  std::vector<std::uint64_t> sums(4), undisturbed(4);
  ASSERT_TRUE(simulate(star(), job_of(4), ring(undisturbed, 50)).outcome.ok());
  const auto told = simulate(scenario, job_of(4, true), ring(sums, 50));
  ASSERT_TRUE(told.outcome.ok()) << told.outcome.error().message;
  EXPECT_EQ(sums, undisturbed);
}

TEST(program_faults, draw_one_to_as_many_crashes_as_said) {
  sim::Scenario scenario = star();
  scenario.programs.crashes = 3;
  const std::vector<std::uint32_t> hosts = {0, 1, 2, 3, 4};
  std::array<int, 4> counts{};
  int at_once = 0;
  for (scenario.seed = 1; scenario.seed <= 500; ++scenario.seed) {
    const auto crashes = draw_crashes(scenario, hosts);
    ASSERT_GE(crashes.size(), 1u);
    ASSERT_LE(crashes.size(), 3u);
    ++counts[crashes.size()];
    for (std::size_t i = 0; i < crashes.size(); ++i) {
      EXPECT_LT(crashes[i].host, 5u);
      at_once += i > 0 && crashes[i].at == crashes[i - 1].at ? 1 : 0;
    }
  }
  for (const std::size_t n : {1u, 2u, 3u}) EXPECT_GT(counts[n], 100) << n;
  EXPECT_GT(at_once, 50);
  scenario.programs.crashes = 0;
  EXPECT_TRUE(draw_crashes(scenario, hosts).empty());
}

TEST(program_faults, crash_hosts_as_a_whole_where_processes_share_them) {
  sim::Scenario scenario = star();
  scenario.programs.crashes = 4;
  const std::vector<std::uint32_t> hosts = {0, 1, 2, 0, 1, 2};
  const auto whole_hosts = [&] {
    int count = 0;
    for (scenario.seed = 1; scenario.seed <= 500; ++scenario.seed) {
      const auto crashes = draw_crashes(scenario, hosts);
      for (std::size_t i = 1; i < crashes.size(); ++i) {
        const bool other = crashes[i].host == (crashes[i - 1].host + 3) % 6;
        count += other && crashes[i].at == crashes[i - 1].at ? 1 : 0;
      }
    }
    return count;
  };
  const int by_chance = whole_hosts();
  scenario.programs.per_host = 2;
  EXPECT_GT(whole_hosts(), 2 * by_chance);
}

/// Parsed from the words of a file, with a network of 16 hosts and two levels.
sim::Scenario with_jobs(const std::string& rest) {
  auto scenario = sim::parse_scenario(
      "[network]\ntopology = \"fat-tree:16,levels=2,radix=8,taper=4\"\npreset = \"ib-edr\"\n"
      "[[levels]]\nweight = 1\n[[levels]]\nweight = 8\n" +
          rest,
      "here.toml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return *scenario;
}

const std::string all_to_all =
    "[[jobs]]\nname = \"beside\"\nkind = \"workload\"\npattern = \"all-to-all\"\nranks = 8\n"
    "placement = \"random:1\"\n";

struct Together {
  Told told;
  std::vector<sim::RanksJobFigures> beside;
};

Together run_beside(const std::string& jobs, const Program& program) {
  sim::Scenario scenario = with_jobs(jobs);
  jobs::RanksJobs others;
  const auto taken = others.take_beside_program(scenario);
  EXPECT_TRUE(taken.ok()) << taken.error().message;
  Together together{.told = simulate(scenario, job_of(8), program, others.beside()), .beside = {}};
  for (const auto& run : others.runs()) together.beside.push_back(run.figures);
  return together;
}

TEST(program_beside_jobs, computes_the_same_and_takes_longer) {
  const std::string here = "[placement]\nkind = \"random:2\"\n";
  std::vector<std::uint64_t> alone(8), sums(8);
  const auto quiet = run_beside(here, ring(alone, 20, 100'000));
  ASSERT_TRUE(quiet.told.outcome.ok()) << quiet.told.outcome.error().message;
  const auto busy = run_beside(here + all_to_all, ring(sums, 20, 100'000));
  ASSERT_TRUE(busy.told.outcome.ok()) << busy.told.outcome.error().message;
  EXPECT_EQ(sums, alone);
  EXPECT_GT(busy.told.outcome->report.simulated, quiet.told.outcome->report.simulated);
  ASSERT_EQ(busy.beside.size(), 1u);
  EXPECT_GT(busy.beside[0].least_iterations, 0u);
  EXPECT_FALSE(busy.beside[0].ended);
  // A level with a greater share brings the program nearer to its time alone.
  std::vector<std::uint64_t> raised(8);
  const auto ahead =
      run_beside(here + "[programs]\nlevel = 1\n" + all_to_all, ring(raised, 20, 100'000));
  ASSERT_TRUE(ahead.told.outcome.ok()) << ahead.told.outcome.error().message;
  EXPECT_EQ(raised, alone);
  EXPECT_LT(ahead.told.outcome->report.simulated, busy.told.outcome->report.simulated);
}

TEST(program_beside_jobs, is_outlived_by_a_job_with_an_end_of_its_own) {
  std::vector<std::uint64_t> sums(8);
  const auto done = run_beside(all_to_all + "iterations = 50\n", ring(sums, 1));
  ASSERT_TRUE(done.told.outcome.ok()) << done.told.outcome.error().message;
  ASSERT_EQ(done.beside.size(), 1u);
  EXPECT_TRUE(done.beside[0].ended);
  EXPECT_EQ(done.beside[0].least_iterations, 50u);
  EXPECT_GT(done.beside[0].elapsed_s, done.told.outcome->report.simulated.to_seconds());
}

TEST(program_beside_jobs, is_the_same_every_time) {
  std::vector<std::uint64_t> sums(8);
  const auto once = run_beside(all_to_all, ring(sums, 5));
  const auto again = run_beside(all_to_all, ring(sums, 5));
  ASSERT_TRUE(once.told.outcome.ok()) << once.told.outcome.error().message;
  EXPECT_EQ(to_json(once.told.outcome->report), to_json(again.told.outcome->report));
  EXPECT_EQ(once.beside[0].messages, again.beside[0].messages);
}

TEST(program_beside_jobs, ends_with_the_code_of_a_program_that_fails) {
  const auto failed =
      run_beside(all_to_all, [](Process& process, std::span<const std::string>) -> int {
        if (process.world().rank() == Rank(3)) return 7;
        (void)pass_on(process.world(), 1);
        return 0;
      });
  ASSERT_TRUE(failed.told.outcome.ok()) << failed.told.outcome.error().message;
  EXPECT_EQ(failed.told.outcome->code, 7);
}

TEST(program_beside_jobs, refuses_jobs_that_cannot_be_with_the_fix) {
  const auto refusal = [](const std::string& rest) {
    sim::Scenario scenario = with_jobs(rest);
    jobs::RanksJobs others;
    const auto taken = others.take_beside_program(scenario);
    if (!taken) return taken.error().message;
    std::vector<std::uint64_t> sums(8);
    const auto told = simulate(scenario, job_of(8), ring(sums, 1), others.beside());
    return told.outcome ? std::string() : told.outcome.error().message;
  };
  EXPECT_THAT(refusal("[[jobs]]\ninputs = 2\ncomputes = 2\n"),
              HasSubstr("here.toml:8: a stream does not run beside a program"));
  EXPECT_THAT(refusal("[[jobs]]\nkind = \"work\"\nranks = 2\n"), HasSubstr("workload or trace"));
  EXPECT_THAT(refusal("[[jobs]]\nkind = \"workload\"\nranks = 12\n"),
              HasSubstr("the 8 free hosts"));
  EXPECT_EQ(refusal("[job]\ninputs = 2\ncomputes = 2\n"), "");  // of weft stream
}

}  // namespace
}  // namespace weft
