// SPDX-License-Identifier: Apache-2.0
// Processes that are stopped, killed and started again while a stream runs. Nothing is lost: a
// timeslice that cannot be complete is delivered with a flag.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

// 4 inputs are hosts 0 to 3, 3 computes hosts 4 to 6. A stream of 2000 timeslices takes two seconds
// or four, because the sources are paced; the index of a timeslice tells whether it came after a
// fault.
constexpr int timeslices = 2000;
constexpr int well_after_the_fault = 1700;

bool is_slow(std::string_view fabric) {
  return fabric.starts_with("libfabric");
}

std::vector<std::string> paced_job(std::string_view fabric, const std::string& schedule,
                                   int count = timeslices) {
  // libfabric takes longer to connect everybody, and two seconds at least to miss a peer.
  const bool slow = is_slow(fabric);
  const auto source = fmt::format("pattern:?size=16KiB&rate={}Hz", slow ? 500 : 1000);
  return by_schedule({"stream",          "local",  "--inputs",       "4",
                      "--computes",      "3",      "--fabric",       std::string(fabric),
                      "--source",        source,   "--timeslices",   fmt::format("{}", count),
                      "--sink",          "check:", "--peer-timeout", slow ? "2s" : "1s",
                      "--start-timeout", "10s",    "--no-limit",     "--json"},
                     schedule, 64);
}

Ended run_with(std::vector<std::string> arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_weft(std::move(arguments), 40);
}

struct Place {
  const char* name;
  const char* fabric;
  const char* schedule;
};
void PrintTo(const Place& value, std::ostream* out) {
  *out << value.name;
}

class Faults : public testing::TestWithParam<Place> {
 protected:
  /// With `fault` ("kill host5") while the stream runs, well before its middle.
  Ended run(const std::string& fault, std::vector<std::string> more = {},
            int count = timeslices) const {
    more.insert(
        more.end(),
        {"--fault", fmt::format("at={}ms {}", is_slow(GetParam().fabric) ? 2500 : 700, fault)});
    return run_with(paced_job(GetParam().fabric, GetParam().schedule, count), more);
  }
};

/// Indices of the timeslices that one compute node built, as DIR/run.json has them.
std::vector<std::uint64_t> built_by(int compute, const ScratchDirectory& directory) {
  std::vector<std::uint64_t> indices;
  const auto record = nlohmann::json::parse(read_file(directory / "run.json"), nullptr, false);
  if (!record.is_object()) return indices;
  for (const auto& sample : record["series"]["timeslices"]) {
    if (sample["compute"] == compute) indices.push_back(sample["index"]);
  }
  return indices;
}

std::size_t late_ones(const std::vector<std::uint64_t>& indices) {
  return static_cast<std::size_t>(std::count_if(indices.begin(), indices.end(),
                                                [](auto i) { return i > well_after_the_fault; }));
}

TEST_P(Faults, input_that_is_stopped_for_a_while_costs_nothing) {
  expect_all_complete(run("stop host1 for=500ms"));
}

TEST_P(Faults, compute_that_is_stopped_for_a_while_costs_nothing) {
  expect_all_complete(run("stop host5 for=500ms"));
}

TEST_P(Faults, compute_that_is_killed_costs_nothing) {
  const Ended ended = run("kill host5");
  expect_nothing_lost(ended);
  EXPECT_EQ(figures_of(ended).incomplete, 0u) << "others have to take over\n" << ended.describe();
}

TEST_P(Faults, input_that_is_killed_is_flagged) {
  const Ended ended = run("kill host1");
  expect_nothing_lost(ended);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.incomplete, 0u) << ended.describe();
  EXPECT_EQ(f.complete + f.incomplete, static_cast<std::uint64_t>(timeslices)) << ended.describe();
}

TEST_P(Faults, first_input_that_is_killed_is_flagged) {
  const Ended ended = run("kill host0");
  expect_nothing_lost(ended);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.incomplete, 0u) << ended.describe();
  EXPECT_EQ(f.complete + f.incomplete, static_cast<std::uint64_t>(timeslices)) << ended.describe();
}

TEST_P(Faults, input_that_is_started_again_completes_timeslices_again) {
  const Ended ended = run("kill host2", {"--restart"});
  expect_nothing_lost(ended);
  // Dead for good it would have been part of the first quarter only.
  EXPECT_GT(figures_of(ended).complete, timeslices / 2u) << ended.describe();
}

TEST_P(Faults, compute_that_is_started_again_builds_timeslices_again) {
  ScratchDirectory directory;
  // On a busy machine a node takes seconds to begin.
  const Ended ended = run("kill host6", {"--restart", "--out", directory.path()}, 2 * timeslices);
  expect_nothing_lost(ended);
  EXPECT_GT(late_ones(built_by(2, directory)), 0u) << ended.describe();
}

INSTANTIATE_TEST_SUITE_P(stream, Faults,
                         testing::Values(Place{"tcp_grant", "tcp", "grant"},
                                         Place{"tcp_dfs", "tcp", "dfs"},
                                         Place{"libfabric_tcp_grant", "libfabric:tcp", "grant"},
                                         Place{"libfabric_tcp_dfs", "libfabric:tcp", "dfs"}),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(stream_faults, engines_may_be_killed_until_one_is_left) {
  const Ended ended = run_with(paced_job("tcp", "dfs"), {"--fault", "at=600ms kill host4",
                                                         "--fault", "at=1200ms kill host5"});
  expect_nothing_lost(ended);
  EXPECT_EQ(figures_of(ended).incomplete, 0u) << ended.describe();
}

TEST(stream_faults, only_engine_may_be_killed) {
  const Ended ended =
      run_with(paced_job("tcp", "dfs"), {"--engines", "1", "--fault", "at=700ms kill host4"});
  expect_nothing_lost(ended);
  EXPECT_EQ(figures_of(ended).incomplete, 0u) << ended.describe();
}

TEST(stream_faults, stopped_and_killed_at_full_speed_over_unix_sockets) {
  const Ended ended = run_weft({"stream",         "local",
                                "--inputs",       "3",
                                "--computes",     "3",
                                "--fabric",       "tcp:unix",
                                "--sink",         "check:",
                                "--duration",     "3s",
                                "--peer-timeout", "1s",
                                "--no-limit",     "--json",
                                "--fault",        "at=500ms stop host0 for=300ms",
                                "--fault",        "at=1s stop host4 for=300ms",
                                "--fault",        "at=2s kill host3"});
  expect_nothing_lost(ended);
}

TEST(stream_faults, slower_link_and_faster_again_loses_nothing) {
  for (const char* schedule : {"dfs", "grant"}) {
    expect_all_complete(
        run_weft(by_schedule({"stream", "local", "--inputs", "3", "--computes", "3", "--link",
                              "200Mbit,20us", "--sink", "check:", "--duration", "3s", "--no-limit",
                              "--json", "--fault", "at=1s slow host1 50Mbit for=1s"},
                             schedule, 32)));
  }
}

TEST(stream_faults, all_computes_lost_is_an_error_and_no_hang) {
  const Ended ended =
      run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                "check:", "--duration", "3s", "--peer-timeout", "1s", "--no-limit", "--json",
                "--fault", "at=500ms kill host2", "--fault", "at=700ms kill host3"},
               30);
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 1) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_NE(ended.errors.find("weft: "), std::string::npos) << ended.describe();
}

TEST(stream_faults, process_that_stays_stopped_counts_as_dead) {
  for (const char* host : {"host1", "host5"}) {
    const Ended ended =
        run_with(paced_job("tcp", "grant"), {"--fault", std::string("at=700ms stop ") + host});
    EXPECT_FALSE(ended.hung) << ended.describe();
    EXPECT_EQ(ended.orphans, 0u) << ended.describe();
    EXPECT_EQ(figures_of(ended).lost, 0u) << ended.describe();
    EXPECT_EQ(figures_of(ended).errors, 0u) << ended.describe();
    EXPECT_GT(figures_of(ended).complete, 0u) << ended.describe();
  }
}

TEST(stream_faults, node_may_be_killed_and_started_again_many_times) {
  std::vector<std::string> faults{"--restart"};
  for (int i = 0; i < 8; ++i) {
    faults.insert(faults.end(),
                  {"--fault", fmt::format("at={}ms kill host{}", 500 + 200 * i, 4 + i % 3)});
  }
  const Ended ended = run_with(paced_job("tcp", "grant"), faults);
  expect_nothing_lost(ended);
  EXPECT_EQ(figures_of(ended).incomplete, 0u) << ended.describe();
}

/// The first process that another one started, once there is one.
pid_t first_child(const WeftProcess& job) {
  const auto list = fmt::format("/proc/{0}/task/{0}/children", job.pid());
  pid_t child = 0;
  while (std::filesystem::exists(list) && !(std::istringstream(read_file(list)) >> child)) {
  }
  return child;
}

/// As far as it exists: a process that opens things one after the other.
void wait_for_open_files(pid_t process, std::ptrdiff_t count) {
  std::error_code gone;
  while (!gone) {
    const std::filesystem::directory_iterator files(fmt::format("/proc/{}/fd", process), gone);
    if (!gone && std::distance(begin(files), end(files)) >= count) return;
  }
}

TEST(stream_faults, first_input_that_is_killed_while_the_job_starts_holds_nobody_up) {
  for (const std::ptrdiff_t files : {0, 8, 11, 13, 15}) {
    SCOPED_TRACE(fmt::format("killed with {} files open", files));
    WeftProcess job({"stream", "local", "--inputs", "3", "--computes", "2", "--source",
                     "pattern:?size=4KiB&rate=1kHz", "--timeslices", "1000", "--sink",
                     "check:", "--restart", "--no-limit", "--json", "--start-timeout", "10s"});
    const pid_t input = first_child(job);
    ASSERT_GT(input, 0);
    wait_for_open_files(input, files);
    (void)::kill(input, SIGKILL);
    expect_nothing_lost(job.wait(30));
  }
}

TEST(stream_faults, node_that_is_killed_while_the_job_starts_is_not_waited_for) {
  for (const std::ptrdiff_t files : {0, 8, 13}) {
    SCOPED_TRACE(fmt::format("killed with {} files open", files));
    WeftProcess job({"stream", "local", "--inputs", "3", "--computes", "2", "--source",
                     "pattern:?size=4KiB&rate=1kHz", "--timeslices", "1000", "--sink",
                     "check:", "--no-limit", "--json", "--start-timeout", "10min"});
    const pid_t input = first_child(job);
    ASSERT_GT(input, 0);
    wait_for_open_files(input, files);
    (void)::kill(input, SIGKILL);
    const Ended ended = job.wait(60);
    expect_good_end(ended);
    const Figures f = figures_of(ended);
    EXPECT_EQ(f.complete + f.incomplete, 1000u) << ended.describe();
    EXPECT_EQ(f.lost + f.errors, 0u) << ended.describe();
  }
}

TEST(stream_faults, compute_that_is_killed_leaves_a_whole_archive_and_a_word) {
  const std::string simulated = "sim:" WEFT_SCENARIOS "/star-100mbit.toml";
  for (const std::string& fabric : {std::string("tcp"), simulated}) {
    ScratchDirectory directory;
    const bool is_simulated = fabric == simulated;
    // A piece of a KiB for each of two inputs in a timeslice, of which there are 1,000 a second.
    write_file(directory / "in", std::string((is_simulated ? 50 : 1500) * 2048, 'x'));
    const Ended ended =
        run_weft({"stream",         "local",
                  "--inputs",       "2",
                  "--computes",     "2",
                  "--fabric",       fabric,
                  "--source",       "file:" + (directory / "in") + "?cut=1KiB&rate=1kHz",
                  "--sink",         "tsa:" + (directory / "%n.tsa"),
                  "--sink",         "file:" + (directory / "out") + "?cut=1KiB",
                  "--peer-timeout", is_simulated ? "5ms" : "1s",
                  "--fault",        fmt::format("at={}ms kill host3", is_simulated ? 20 : 700),
                  "--no-limit",     "--json"});
    expect_nothing_lost(ended);
    EXPECT_NE(ended.errors.find("1.tsa' ends early, with the "), std::string::npos)
        << ended.describe();
    for (const char* name : {"0.tsa", "1.tsa"}) {
      const Ended checked = run_weft({"archive", "check", directory / name});
      EXPECT_EQ(checked.code, 0) << checked.describe();
    }
    EXPECT_EQ(sha256_of(directory / "out"), sha256_of(directory / "in"));
    const auto files = std::filesystem::directory_iterator(directory.path());
    EXPECT_EQ(std::distance(begin(files), end(files)), 4) << "nothing else is left";
  }
}

/// A killed node does not tell what it built since its last word. Input nodes know the timeslices.
TEST(stream_faults, bytes_are_those_of_all_timeslices_a_killed_computes_own_too) {
  const std::string simulated = "sim:" WEFT_SCENARIOS "/star-100mbit.toml";
  for (const std::string& fabric : {std::string("tcp"), simulated}) {
    const bool is_simulated = fabric == simulated;
    const auto job = [&](int count, const std::vector<std::string>& more) {
      std::vector<std::string> arguments{"stream",         "local",
                                         "--inputs",       "2",
                                         "--computes",     "2",
                                         "--fabric",       fabric,
                                         "--source",       "pattern:?size=1000&rate=1kHz",
                                         "--sink",         "check:",
                                         "--timeslices",   std::to_string(count),
                                         "--peer-timeout", is_simulated ? "5ms" : "1s",
                                         "--no-limit",     "--json"};
      return run_with(std::move(arguments), more);
    };
    const Ended small = job(10, {});
    expect_all_complete(small);
    const std::uint64_t each = small.json().value("bytes", std::uint64_t{0}) / 10;
    EXPECT_GT(each, 2000u) << small.describe();
    for (const char* more : {"", "--restart"}) {
      std::vector<std::string> arguments{
          "--fault", fmt::format("at={}ms kill host3", is_simulated ? 20 : 300)};
      if (*more != 0) arguments.emplace_back(more);
      const Ended ended = job(is_simulated ? 60 : 1500, arguments);
      expect_all_complete(ended);
      EXPECT_EQ(ended.json().value("bytes", std::uint64_t{0}), figures_of(ended).complete * each)
          << ended.describe();
    }
  }
}

Ended run_with_killed(std::vector<int> hosts) {
  std::vector<std::string> arguments{
      "stream",     "local",      "--inputs",   "2",
      "--computes", "2",          "--source",   "pattern:?size=1000&rate=1kHz",
      "--sink",     "check:",     "--duration", "3s",
      "--restart",  "--no-limit", "--json"};
  for (const int host : hosts) {
    arguments.insert(arguments.end(), {"--fault", fmt::format("at=2s kill host{}", host)});
  }
  return run_weft(std::move(arguments), 40);
}

TEST(stream_faults, stream_that_no_node_remembers_is_not_taken_for_the_one_that_follows) {
  const Ended ended = run_with_killed({0, 1, 2, 3});
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_EQ(ended.code, 1) << ended.describe();
  EXPECT_NE(ended.output.find("began it anew"), std::string::npos) << ended.describe();
  expect_nothing_lost(run_with_killed({0, 2, 3}));
}

TEST(stream_faults, all_inputs_lost_is_an_error_and_no_hang) {
  const Ended ended =
      run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                "check:", "--duration", "3s", "--peer-timeout", "1s", "--no-limit", "--json",
                "--fault", "at=500ms kill host0", "--fault", "at=700ms kill host1"},
               30);
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 1) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_NE(ended.errors.find("weft: "), std::string::npos) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e
