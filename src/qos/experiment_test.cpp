// SPDX-License-Identifier: Apache-2.0
#include "qos/experiment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "qos/calibration.hpp"
#include "qos/kept_track.hpp"
#include "qos/placement.hpp"
#include "qos/scenario_for_test.hpp"
#include "qos/track.hpp"
#include "qos/two_jobs_for_test.hpp"
#include "qos/window.hpp"
#include "sim/scenario/scenario_file.hpp"
#include "sim/topology/builders.hpp"

namespace weft::qos {
namespace {

ExperimentOptions short_experiment() {
  ExperimentOptions options;
  options.scenario = scenario_of(two_jobs);
  options.controller = "algorithm-1";
  options.period = Duration::milliseconds(1);
  options.iterations = 6;
  options.placements = 2;
  return options;
}

TEST(experiment, compares_isolation_default_and_control_for_every_job_and_placement) {
  const auto outcome = run_experiment(short_experiment());
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_EQ(outcome->jobs.size(), 4U);
  for (const JobOutcome& job : outcome->jobs) {
    EXPECT_GT(job.default_work, 0U);
    // Others on the same links do not make a job faster.
    EXPECT_LE(job.default_of_isolation(), 0.0) << job.name;
  }
  EXPECT_EQ(outcome->jobs[0].name, "flood");
  EXPECT_EQ(outcome->jobs[0].kind, "flood-pairs");
  EXPECT_EQ(outcome->jobs[2].placement, 1U);
}

TEST(experiment, does_not_depend_on_how_many_placements_run_at_once) {
  ExperimentOptions options = short_experiment();
  const auto one = run_experiment(options);
  options.threads = 2;
  const auto two = run_experiment(options);
  ASSERT_TRUE(one.ok() && two.ok());
  for (std::size_t i = 0; i < one->jobs.size(); ++i) {
    EXPECT_EQ(one->jobs[i].default_work, two->jobs[i].default_work);
    EXPECT_EQ(one->jobs[i].controlled_work, two->jobs[i].controlled_work);
  }
}

TEST(experiment, finds_the_same_computation_however_many_jobs_it_is_found_for_at_once) {
  ExperimentOptions options = short_experiment();
  std::string text = two_jobs;
  for (std::size_t at; (at = text.find("compute = \"20us\"")) != std::string::npos;) {
    text.replace(at, 16, "computation = 0.5");
  }
  options.scenario = scenario_of(text);
  const auto one = run_experiment(options);
  options.threads = 3;
  const auto three = run_experiment(options);
  ASSERT_TRUE(one.ok() && three.ok());
  for (std::size_t i = 0; i < one->jobs.size(); ++i) {
    EXPECT_EQ(one->jobs[i].isolated_work, three->jobs[i].isolated_work);
    EXPECT_EQ(one->jobs[i].default_work, three->jobs[i].default_work);
  }
}

TEST(experiment, without_a_controller_is_the_default_throughout) {
  ExperimentOptions options = short_experiment();
  options.controller = "none";
  const auto outcome = run_experiment(options);
  ASSERT_TRUE(outcome.ok());
  for (const JobOutcome& job : outcome->jobs) EXPECT_EQ(job.improvement(), 0.0);
}

TEST(experiment, ends_when_it_is_told_to) {
  std::uint64_t all = 0;
  const auto outcome = run_experiment(short_experiment(), [&](std::uint64_t, std::uint64_t of) {
    all = of;
    return false;
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::cancelled);
  EXPECT_EQ(all, 24U);  // on the default level and controlled
}

/// A directory that is gone afterwards.
class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "weft-qos-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Directory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(experiment, counts_the_windows_until_the_levels_changed_last) {
  ExperimentOptions options = short_experiment();
  options.controller = "model-predictive";
  options.predictions = 150;
  const auto outcome = run_experiment(options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  int changed = 0;
  for (const PlacementOutcome& placement : outcome->placements) {
    const std::vector<Level>& levels = placement.levels.level_of;
    if (levels == std::vector<Level>(levels.size(), default_level)) continue;
    ++changed;
    EXPECT_EQ(placement.settled_after, 2U);  // it observes two, and searches at once
  }
  EXPECT_GT(changed, 0);
}

std::string read(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TrackIdentity identity_of(const std::string& text) {
  return nlohmann::json::parse(text).at("experiment").get<TrackIdentity>();
}

class controlled_experiment : public testing::TestWithParam<const char*> {};

TEST_P(controlled_experiment, goes_on_where_it_was_interrupted_with_the_same_result) {
  ExperimentOptions options = short_experiment();
  options.period = Duration::microseconds(300);
  options.placements = 1;
  options.controller = GetParam();
  options.predictions = 200;
  options.iterations = 12;
  const auto whole = run_experiment(options);
  const Directory directory;
  options.directory = directory.path();
  std::uint64_t windows = 0;
  const auto interrupted =
      run_experiment(options, [&](std::uint64_t, std::uint64_t) { return ++windows < 5; });
  ASSERT_FALSE(interrupted.ok());
  const auto resumed = run_experiment(options);
  ASSERT_TRUE(whole.ok() && resumed.ok());
  for (std::size_t j = 0; j < whole->jobs.size(); ++j) {
    EXPECT_EQ(resumed->jobs[j].default_work, whole->jobs[j].default_work);
    EXPECT_EQ(resumed->jobs[j].controlled_work, whole->jobs[j].controlled_work);
    EXPECT_EQ(resumed->jobs[j].isolated_work, whole->jobs[j].isolated_work);
  }
}

TEST(experiment, goes_on_with_what_a_search_found_instead_of_searching_again) {
  const Directory directory;
  ExperimentOptions options = short_experiment();
  options.directory = directory.path();
  options.placements = 1;
  options.controller = "model-predictive";
  options.predictions = 100;
  const auto whole = run_experiment(options);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  const std::string file = directory.path() + "/model-predictive-0.json";
  const std::string text = read(file);
  const TrackIdentity identity = identity_of(text);
  auto kept = kept_track_of(text, identity);
  ASSERT_TRUE(kept.ok());
  ASSERT_EQ(kept->searches.size(), 1U);
  EXPECT_EQ(configuration_of(kept->searches[0].rungs), whole->placements[0].levels);
  // With other levels in its place the windows no longer fit, so it is what counts.
  std::uint8_t& rung = kept->searches[0].rungs[0];
  rung = rung == top_rung ? 0 : top_rung;
  std::ofstream(file) << to_text(identity, *kept);
  const auto other = run_experiment(options);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("chooses other levels for window 3"), std::string::npos)
      << other.error().message;
  // Levels of other processes are none: a search finds the same again.
  kept->searches[0].rungs.pop_back();
  std::ofstream(file) << to_text(identity, *kept);
  const auto again = run_experiment(options);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->jobs[0].controlled_work, whole->jobs[0].controlled_work);
}

INSTANTIATE_TEST_SUITE_P(of, controlled_experiment, testing::Values("climb", "model-predictive"));

TEST(experiment, refuses_windows_of_another_experiment_unless_told_to_replace_them) {
  const Directory directory;
  ExperimentOptions options = short_experiment();
  options.directory = directory.path();
  options.period = Duration::microseconds(200);
  options.iterations = options.placements = 1;
  ASSERT_TRUE(run_experiment(options).ok());
  options.scenario.seed += 1;
  const auto other = run_experiment(options);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(
      other.error().message.find(fmt::format(
          "another experiment left it, with seed={} in place of seed={}; name another directory",
          options.scenario.seed - 1, options.scenario.seed)),
      std::string::npos)
      << other.error().message;
  options.replaces = true;
  EXPECT_TRUE(run_experiment(options).ok());
}

TEST(kept_track, of_another_experiment_is_refused_with_what_differs) {
  const auto error = [](const std::string& text, const TrackIdentity& identity) {
    const auto kept = kept_track_of(text, identity);
    return kept.ok() ? std::string() : kept.error().message;
  };
  const std::string text = to_text({"format=6", "seed=1", "jobs[0].ranks=8"}, {});
  EXPECT_EQ(error(text, {"format=6", "seed=1", "jobs[0].ranks=8"}), "");
  EXPECT_EQ(error(text, {"format=6", "seed=1", "jobs[0].ranks=4"}),
            "another experiment left it, with jobs[0].ranks=8 in place of jobs[0].ranks=4");
  EXPECT_EQ(error(text, {"format=6", "seed=1"}),
            "another experiment left it, with jobs[0].ranks=8");
  EXPECT_EQ(error(text, {"format=6", "seed=1", "jobs[0].ages=2", "jobs[0].ranks=8"}),
            "another experiment left it, without jobs[0].ages=2");
  EXPECT_EQ(error(text, {"format=7", "seed=2"}), "another version of weft left it");
  EXPECT_EQ(error(R"({"fingerprint": "12ab", "windows": []})", {"format=6"}),
            "another version of weft left it");
}

TEST(experiment, refuses_kept_windows_that_were_damaged_and_replaces_them_when_told_to) {
  const Directory directory;
  ExperimentOptions options = short_experiment();
  options.directory = directory.path();
  options.period = Duration::microseconds(200);
  options.iterations = options.placements = 1;
  const auto whole = run_experiment(options);
  ASSERT_TRUE(whole.ok());
  for (const std::string track : {"default", "algorithm-1"}) {
    const std::string file = directory.path() + "/" + track + "-0.json";
    const std::string text = read(file);
    const std::size_t windows = text.find("\"windows\":[");
    ASSERT_NE(windows, std::string::npos);
    const std::size_t figure = text.find_first_of("0123456789", windows);
    const std::size_t end = text.find_first_not_of("0123456789", figure);
    for (const char* damaged :
         {"-3", "9", "0.5", "1e300", "18446744073709551615", "null", "NaN", "[]", "1,1", ""}) {
      std::ofstream(file) << text.substr(0, figure) << damaged << text.substr(end);
      const auto refused = run_experiment(options);
      ASSERT_FALSE(refused.ok()) << track << damaged;
      EXPECT_EQ(refused.error().code, ErrorCode::corrupt) << track << damaged;
      EXPECT_EQ(refused.error().message.find("--out: " + file + ": it"), 0U)
          << refused.error().message;
      EXPECT_TRUE(refused.error().message.ends_with("or simulate its windows anew with --force"));
    }
    options.replaces = true;
    const auto replaced = run_experiment(options);
    ASSERT_TRUE(replaced.ok());
    EXPECT_EQ(replaced->jobs[0].controlled_work, whole->jobs[0].controlled_work);
    options.replaces = false;
    EXPECT_EQ(read(file), text);
  }
}

TEST(experiment, continues_no_windows_with_levels_that_its_controller_would_not_choose) {
  const Directory directory;
  ExperimentOptions options = short_experiment();
  options.directory = directory.path();
  options.placements = 1;
  const auto whole = run_experiment(options);
  ASSERT_TRUE(whole.ok());
  // As if the controller had chosen other levels for the last window.
  const std::string file = directory.path() + "/algorithm-1-0.json";
  const std::string text = read(file);
  const TrackIdentity identity = identity_of(text);
  auto kept = kept_track_of(text, identity);
  ASSERT_TRUE(kept.ok());
  ++kept->windows.back().levels;
  std::ofstream(file) << to_text(identity, *kept);
  const auto refused = run_experiment(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find(
                "this version of algorithm-1 chooses other levels for window 6; name another"),
            std::string::npos)
      << refused.error().message;
  options.replaces = true;
  const auto replaced = run_experiment(options);
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ(replaced->jobs[0].controlled_work, whole->jobs[0].controlled_work);
  options.replaces = false;
  EXPECT_TRUE(run_experiment(options).ok());
}

TEST(experiment, gives_a_job_that_arrives_the_nodes_of_one_that_left) {
  const auto jobs = jobs::workloads_of(
      scenario_of("[network]\ntopology = \"star:10\"\n"
                  "[[jobs]]\nname = \"first\"\nkind = \"workload\"\nranks = 4\nleaves = 3\n"
                  "[[jobs]]\nname = \"other\"\nkind = \"workload\"\nranks = 6\n"
                  "[[jobs]]\nname = \"later\"\nkind = \"workload\"\nranks = 4\narrives = 3\n"));
  ASSERT_TRUE(jobs.ok()) << jobs.error().message;
  EXPECT_EQ(most_processes(*jobs), 10U);
  const Placement placement(*jobs, 10, 5, 1);
  EXPECT_EQ(placement.hosts_of(2), placement.hosts_of(0));
  EXPECT_EQ(placement.in_window(2).back().job, 1U);
  EXPECT_EQ(placement.in_window(3).front().job, 1U);
}

TEST(experiment, names_the_jobs_that_would_arrive_after_its_last_window) {
  ExperimentOptions options = short_experiment();
  options.controller = "none";
  options.placements = 1;
  options.scenario = scenario_of(std::string(two_jobs) + "arrives = 6\n");
  const auto outcome = run_experiment(options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->jobs.size(), 1U);
  EXPECT_EQ(outcome->absent, std::vector<std::string>{"all"});
}

TEST(experiment, finds_how_long_a_job_computes_from_the_share_that_it_shall) {
  const sim::Scenario scenario = scenario_of(two_jobs);
  jobs::WorkloadJob job{
      .name = "pair", .pattern = {.ranks = 2, .least_compute = 1}, .computation = 0.5};
  const auto found = calibrate(job, scenario, {0, 9}, 2, PicoDuration::milliseconds(2));
  ASSERT_TRUE(found.ok()) << found.error().message;
  // 64 KiB at 4 GB/s both ways at once, announced and asked for: some 20 us.
  EXPECT_GT(job.pattern.compute, PicoDuration::microseconds(16));
  EXPECT_LT(job.pattern.compute, PicoDuration::microseconds(24));
}

TEST(window, adds_the_headers_of_the_scenario_to_messages) {
  sim::Scenario scenario = scenario_of(two_jobs);
  const auto jobs = jobs::workloads_of(scenario);
  const auto program = sim::make_pattern((*jobs)[0].pattern);
  const std::vector<PlacedJob> placed = {{.job = &(*jobs)[0],
                                          .program = program->get(),
                                          .hosts = {0, 4, 8, 12, 1, 5, 9, 13},
                                          .noise_seed = 1}};
  const auto work = [&](std::uint32_t header_bytes) {
    scenario.fabric.header_bytes = header_bytes;
    const auto done = run_window(scenario, placed, nullptr, 2, PicoDuration::milliseconds(1));
    EXPECT_TRUE(done.ok());
    return done.ok() ? done->front().work() : 0;
  };
  EXPECT_LT(work(100'000), work(32));
}

TEST(window, knows_what_links_carried_by_place_and_level) {
  const sim::Scenario scenario = scenario_of(two_jobs);
  const auto jobs = jobs::workloads_of(scenario);
  const auto program = sim::make_pattern((*jobs)[0].pattern);
  const std::vector<PlacedJob> placed = {{.job = &(*jobs)[0],
                                          .program = program->get(),
                                          .hosts = {0, 4, 8, 12, 1, 5, 9, 13},
                                          .noise_seed = 1}};
  NetworkLoads loads;
  const Configuration raised{.level_of = std::vector<Level>(8, 1), .weight_of = {1, 2}};
  ASSERT_TRUE(run_window(scenario, placed, &raised, 2, PicoDuration::milliseconds(1), &loads).ok());
  std::vector<std::string> places;
  for (const PlaceLoad& load : loads.places) places.push_back(load.links);
  EXPECT_EQ(places,
            (std::vector<std::string>{"from hosts", "up 1 to 2", "down 2 to 1", "to hosts"}));
  EXPECT_EQ(loads.places[0].by_level[0], 0.0);
  EXPECT_GT(loads.places[0].by_level[1], 0.1);
  EXPECT_LT(loads.places[0].by_level[1], 1.0);
  ASSERT_FALSE(loads.links.empty());
  double from_hosts = 0;
  for (const LinkLoad& link : loads.links) {
    if (loads.vertices[link.from].height == 0) from_hosts += link.by_level[1] / 16;
  }
  EXPECT_NEAR(from_hosts, loads.places[0].by_level[1], 1e-9) << "the mean of 16 equal links";
}

TEST(experiment, refuses_what_cannot_be) {
  ExperimentOptions options = short_experiment();
  options.controller = "best-of-all";
  EXPECT_EQ(run_experiment(options).error().message,
            "no controller is called 'best-of-all': there are best, algorithm-1, climb, "
            "model-predictive, none");
  options = short_experiment();
  options.scenario.topology = "star:10";
  options.scenario.router.clear();
  EXPECT_EQ(
      run_experiment(options).error().message,
      "test.toml:7: the jobs have 16 processes at once and the network 10 hosts: use a larger "
      "topology, fewer copies or fewer ranks");
}

TEST(example_scenarios, are_experiments_whose_jobs_fit) {
  std::size_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(WEFT_EXAMPLES)) {
    if (!file.path().filename().string().starts_with("qos-")) continue;
    ++found;
    SCOPED_TRACE(file.path().string());
    const auto scenario = sim::read_scenario(file.path().string());
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const auto options = options_of(*scenario);
    ASSERT_TRUE(options.ok()) << options.error().message;
    const auto jobs = jobs::workloads_of(*scenario);
    ASSERT_TRUE(jobs.ok()) << jobs.error().message;
    const auto topology = sim::make_topology(scenario->topology);
    ASSERT_TRUE(topology.ok()) << topology.error().message;
    EXPECT_LE(most_processes(*jobs), topology->hosts());
  }
  EXPECT_GE(found, 16U);
}

TEST(window, a_job_on_a_heavier_level_gets_more_of_a_link_that_it_shares) {
  const sim::Scenario scenario = scenario_of(
      "[network]\ntopology = \"star:4\"\npreset = \"ib-qdr\"\n[[jobs]]\nkind = \"workload\"\n");
  const jobs::WorkloadJob job{
      .name = "pair", .pattern = {.ranks = 2, .messages = 8}, .eager_bytes = 1 << 20};
  const auto program = sim::make_pattern(job.pattern);
  // Both pairs meet on the link to host 2.
  const std::vector<PlacedJob> placed = {
      {.job = &job, .program = program->get(), .hosts = {0, 2}, .noise_seed = 1},
      {.job = &job, .program = program->get(), .hosts = {1, 2}, .noise_seed = 2}};
  const Configuration raised{.level_of = {0, 0, 1, 1}, .weight_of = {1, 8}};
  const auto alike = run_window(scenario, placed, nullptr, 16, PicoDuration::milliseconds(20));
  const auto apart = run_window(scenario, placed, &raised, 16, PicoDuration::milliseconds(20));
  ASSERT_TRUE(alike.ok() && apart.ok());
  const auto work = [](const WindowWork& w, std::size_t j) { return w[j].work(); };
  EXPECT_NEAR(static_cast<double>(work(*alike, 0)), static_cast<double>(work(*alike, 1)),
              0.05 * static_cast<double>(work(*alike, 0)));
  EXPECT_GT(work(*apart, 1), 2 * work(*apart, 0));
}

/// Writes a trace whose first rank computes for 1 ms and sends to `peer`; the second receives.
void write_trace(const std::filesystem::path& file, std::uint32_t ranks, std::uint32_t peer,
                 int computes_ns = 1'000'000) {
  std::ofstream out(file);
  out << "num_ranks " << ranks << "\nrank 0 {\nc: calc " << computes_ns << "\ns: send 64b to "
      << peer << " tag 0\ns requires c\n}\nrank 1 {\nr: recv 64b from 0 tag 0\n}\n";
  for (std::uint32_t r = 2; r < ranks; ++r) out << "rank " << r << " {\nc: calc 1\n}\n";
}

TEST(experiments, refuse_traces_that_do_not_fit_with_the_line_of_their_name) {
  const Directory directory;
  const std::filesystem::path at = directory.path();
  write_trace(at / "two.goal", 2, 1);
  write_trace(at / "three.goal", 3, 1);
  write_trace(at / "nobody.goal", 2, 7);
  const auto error = [&](const std::string& other) {
    const auto scenario = sim::parse_scenario(
        "[network]\ntopology = \"star:4\"\n[[jobs]]\nname = \"a\"\nkind = \"trace\"\n"
        "file = [\n  \"two.goal\",\n  \"" +
            other + "\",\n]\n",
        (at / "test.toml").string());
    if (!scenario) return scenario.error().message;
    const auto jobs = jobs::workloads_of(*scenario);
    return jobs ? std::string() : jobs.error().message.substr(at.string().size() + 1);
  };
  EXPECT_EQ(error("two.goal"), "");
  EXPECT_EQ(error("three.goal"),
            "test.toml:8: jobs[0].file[1] = three.goal: three.goal has 3 ranks and two.goal 2; "
            "traces of one job have the same");
  EXPECT_NE(error("nobody.goal").find("test.toml:8: jobs[0].file[1] = nobody.goal: "),
            std::string::npos);
  EXPECT_NE(error("nobody.goal").find("rank 7 does not exist: num_ranks is 2; use 0 to 1"),
            std::string::npos);
}

/// The error of an experiment whose only job replays that trace of the directory.
std::string error_with_trace(const Directory& directory, const std::string& file, Duration period) {
  auto options = options_of(
      scenario_of("[network]\ntopology = \"star:4\"\n[[jobs]]\nname = \"a\"\nkind = \"trace\"\n"
                  "file = \"" +
                      file + "\"\n",
                  directory.path() + "/test.toml"));
  EXPECT_TRUE(options.ok());
  options->period = period;
  options->iterations = options->placements = 1;
  const auto outcome = run_experiment(*options);
  return outcome.ok() ? std::string() : outcome.error().message;
}

TEST(experiment, refuses_windows_that_are_too_short_for_an_iteration) {
  const Directory directory;
  write_trace(std::filesystem::path(directory.path()) / "two.goal", 2, 1);
  EXPECT_EQ(error_with_trace(directory, "two.goal", Duration::microseconds(500)),
            "job a: no iteration ends within 0.5 ms; use a longer period, less computation or a "
            "shorter trace");
}

TEST(experiment, names_a_job_whose_ranks_wait_for_each_other) {
  const Directory directory;
  std::ofstream(directory.path() + "/crossed.goal")
      << "num_ranks 2\nrank 0 {\nr: recv 1b from 1\ns: send 1b to 1\ns requires r\n}\n"
      << "rank 1 {\nr: recv 1b from 0\ns: send 1b to 0\ns requires r\n}\n";
  EXPECT_EQ(error_with_trace(directory, "crossed.goal", Duration::milliseconds(5)),
            "job a: its ranks wait for messages that nobody sends");
}

TEST(experiment, without_any_job_is_refused) {
  ExperimentOptions options = short_experiment();
  for (auto& entry : options.scenario.jobs) entry.options.push_back({"arrives", {"6"}});
  EXPECT_EQ(run_experiment(options).error().message,
            "no job arrives within 6 iterations: use at least 7, or an earlier 'arrives'");
}

TEST(experiment, refuses_windows_of_a_trace_that_has_changed_since) {
  const Directory directory;
  const auto trace = std::filesystem::path(directory.path()) / "two.goal";
  const auto outcome_of = [&](std::uint32_t iterations) {
    auto scenario = sim::parse_scenario(
        "[network]\ntopology = \"star:4\"\n[[jobs]]\nname = \"a\"\nkind = \"trace\"\n"
        "file = \"two.goal\"\n",
        directory.path() + "/test.toml");
    auto options = options_of(std::move(scenario).value()).value();
    options.period = Duration::milliseconds(20);
    options.iterations = iterations;
    options.placements = 1;
    options.directory = directory.path() + "/windows";
    std::filesystem::create_directory(options.directory);
    return run_experiment(options);
  };
  write_trace(trace, 2, 1);
  ASSERT_TRUE(outcome_of(1).ok());
  EXPECT_TRUE(outcome_of(2).ok());
  write_trace(trace, 2, 1, 1'000'001);
  const auto changed = outcome_of(3);
  ASSERT_FALSE(changed.ok());
  EXPECT_NE(changed.error().message.find("with checksum of the traces of a="), std::string::npos)
      << changed.error().message;
}

TEST(experiments, repeat_traces_beside_workloads) {
  auto scenario = sim::read_scenario(WEFT_EXAMPLES "/qos-traces.toml");
  ASSERT_TRUE(scenario.ok()) << scenario.error().message;
  auto options = options_of(std::move(scenario).value());
  ASSERT_TRUE(options.ok()) << options.error().message;
  options->period = Duration::milliseconds(2);
  options->iterations = 2;
  options->placements = 1;
  options->predictions = 100;  // the search is not the matter, and takes long with sanitizers
  const auto outcome = run_experiment(*options);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  ASSERT_EQ(outcome->jobs.size(), 3U);
  EXPECT_EQ(outcome->jobs[0].kind, "../traces/ring-8.goal");
  // A repetition computes 3 · 0.1 ms, and is never sooner than that.
  EXPECT_GT(outcome->jobs[0].isolated_work, 2 * 2U);
  EXPECT_LE(outcome->jobs[0].isolated_work, 2 * 7U);
  EXPECT_LE(outcome->jobs[0].default_work, outcome->jobs[0].isolated_work);
}

}  // namespace
}  // namespace weft::qos
