// SPDX-License-Identifier: Apache-2.0
// Clusters of real processes: started by a list of addresses and by mpirun, told to stop,
// misconfigured.
#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "cluster_fixture.hpp"

namespace weft {
namespace {

using nlohmann::json;
using testing::AnyOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

TEST_F(cluster, eight_processes_of_a_list_deliver_everything) {
  write_cluster(8, "timeslices = 400\ninputs = 3");
  auto nodes = start_all(8);
  expect_success(nodes);
  const json result = json::parse(nodes[0].output());
  EXPECT_EQ(result["inputs"], 3);
  EXPECT_EQ(result["computes"], 5);
  EXPECT_EQ(result["timeslices_complete"], 400);
  EXPECT_EQ(result["timeslices_lost"], 0);
  EXPECT_EQ(result["checks"]["errors"], 0);
  for (int rank = 1; rank < 8; ++rank) EXPECT_EQ(nodes[rank].output(), "");
}

TEST_F(cluster, rank_0_writes_record_and_report) {
  write_cluster(2, "timeslices = 50");
  std::vector<NodeProcess> nodes;
  const std::string out = (directory_ / "out").string();
  for (int rank = 0; rank < 2; ++rank) nodes.push_back(start_rank(rank, {"--out", out}));
  expect_success(nodes);
  EXPECT_TRUE(fs::exists(out + "/run.json"));
  EXPECT_TRUE(fs::exists(out + "/report.html"));
}

TEST_F(cluster, a_duration_ends_the_stream) {
  write_cluster(4, "duration = \"300ms\"");
  auto nodes = start_all(4);
  expect_success(nodes);
  EXPECT_GT(json::parse(nodes[0].output())["timeslices_complete"], 0);
}

TEST_F(cluster, a_signal_to_any_rank_ends_the_stream_everywhere) {
  for (const auto& [rank, number] : {std::pair(0, SIGINT), std::pair(3, SIGTERM)}) {
    write_cluster(4, "duration = \"10min\"");
    auto nodes = start_all(4);
    expect_all_say(nodes, "the stream has begun");
    nodes[static_cast<std::size_t>(rank)].signal(number);
    expect_end_by(number, static_cast<std::size_t>(rank), nodes);
    const json result = json::parse(nodes[0].output());
    EXPECT_EQ(result["timeslices_lost"], 0);
    EXPECT_EQ(result["checks"]["errors"], 0);
  }
}

TEST_F(cluster, a_rank_that_is_stopped_at_the_end_is_waited_for_as_long_as_stall_timeout_says) {
  write_cluster(4, "duration = \"10min\"\nstall-timeout = \"300ms\"");
  auto nodes = start_all(4);
  expect_all_say(nodes, "the stream has begun");
  nodes[3].signal(SIGSTOP);
  nodes[1].signal(SIGTERM);
  EXPECT_EQ(nodes[0].wait(), 1) << nodes[0].errors();
  EXPECT_THAT(nodes[0].errors(), HasSubstr("node 3 gave no report"));
  EXPECT_EQ(nodes[1].wait(), 128 + SIGTERM) << nodes[1].errors();
  EXPECT_EQ(nodes[2].wait(), 0) << nodes[2].errors();
}

TEST_F(cluster, a_rank_that_never_comes_is_gone_without) {
  write_cluster(4, "timeslices = 50\nstart-timeout = \"1s\"");
  std::vector<NodeProcess> nodes;
  for (const int rank : {0, 1, 2}) nodes.push_back(start_rank(rank));
  expect_success(nodes);
  EXPECT_THAT(nodes[0].errors(), HasSubstr("1 of 4 nodes are missing"));
  EXPECT_EQ(json::parse(nodes[0].output())["timeslices_complete"], 50);
}

TEST_F(cluster, a_wrong_secret_is_refused_and_harms_nothing) {
  write_cluster(4, "timeslices = 50\nstart-timeout = \"2s\"");
  write_secret("wrong", "what somebody else thinks it is");
  auto stranger = start_rank(3, {"--secret-file", (directory_ / "wrong").string()});
  std::vector<NodeProcess> nodes;
  for (const int rank : {0, 1, 2}) nodes.push_back(start_rank(rank));
  expect_success(nodes);
  EXPECT_EQ(json::parse(nodes[0].output())["timeslices_complete"], 50);
  EXPECT_EQ(stranger.wait(), 1);
  EXPECT_THAT(stranger.errors(), HasSubstr("do all nodes have the same job secret"));
  EXPECT_THAT(stranger.errors(), HasSubstr("weft: node 3: no other node answered"));
}

TEST_F(cluster, options_that_differ_are_named) {
  write_cluster(2, "timeslices = 50");
  auto first = start_rank(0);
  // A signal that comes before its handler ends it otherwise.
  ASSERT_TRUE(first.says("waiting for 1 other node")) << first.errors();
  auto second = start_rank(1, {"--schedule", "offset"});
  EXPECT_EQ(second.wait(), 2);
  EXPECT_THAT(second.errors(), HasSubstr("--schedule grant instead of --schedule offset"));
  // The first learned it, too, or lost the second before it could.
  first.signal(SIGTERM);
  EXPECT_THAT(first.wait(), AnyOf(2, 143)) << first.errors();
}

/// A command whose monotonic clock is a day ahead, as another machine's may be.
std::vector<std::string> elsewhere(const std::vector<std::string>& command) {
  std::vector<std::string> words = {"/usr/bin/unshare", "--user",       "--map-root-user", "--time",
                                    "--fork",           "--kill-child", "--monotonic",     "86400"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

class cluster_with_two_clocks : public cluster {
 protected:
  void SetUp() override {
    NodeProcess trial(elsewhere({"/bin/true"}));
    if (trial.wait() != 0) GTEST_SKIP() << "no time namespaces here: " << trial.errors();
  }
  NodeProcess start_elsewhere(int rank) {
    return NodeProcess(elsewhere({WEFT_PROGRAM, "stream", "node", "--config",
                                  (directory_ / "cluster.toml").string(), "--rank",
                                  std::to_string(rank), "--json"}));
  }
};

TEST_F(cluster_with_two_clocks, a_link_is_refused) {
  write_cluster(2, "timeslices = 50\nlink = \"200Mbit,20us\"");
  auto first = start_rank(0);
  auto second = start_elsewhere(1);
  EXPECT_EQ(second.wait(), 2);
  EXPECT_THAT(second.errors(), HasSubstr("weft: --link shapes links by one clock"));
  // The first learned it, too, or lost the second before it could.
  first.signal(SIGTERM);
  EXPECT_THAT(first.wait(), AnyOf(2, 143)) << first.errors();
}

TEST_F(cluster_with_two_clocks, reports_tell_their_times_by_node_0_s) {
  write_cluster(2, "timeslices = 50");
  auto first = start_rank(0);
  auto second = start_elsewhere(1);
  EXPECT_EQ(first.wait(), 0) << first.errors();
  EXPECT_EQ(second.wait(), 0) << second.errors();
  const json result = json::parse(first.output());
  EXPECT_EQ(result["timeslices_complete"], 50);
  EXPECT_LT(result["seconds"].get<double>(), 3600);
}

TEST_F(cluster, a_rank_cannot_be_taken_twice) {
  write_cluster(2, "timeslices = 50");
  auto first = start_rank(0);
  ASSERT_TRUE(first.says("waiting for 1 other node")) << first.errors();
  auto second = start_rank(0);
  EXPECT_EQ(second.wait(), 3);
  EXPECT_THAT(second.errors(), HasSubstr("does a process of this rank run already"));
  auto other = start_rank(1);
  EXPECT_EQ(first.wait(), 0) << first.errors();
  EXPECT_EQ(other.wait(), 0) << other.errors();
}

TEST_F(cluster, a_signal_before_the_stream_ends_the_process) {
  for (const int number : {SIGINT, SIGTERM}) {
    write_cluster(2, "timeslices = 50");
    auto node = start_rank(1);
    ASSERT_TRUE(node.says("waiting for 1 other node")) << node.errors();
    node.signal(number);
    EXPECT_EQ(node.wait(), 128 + number) << node.errors();
  }
}

TEST_F(cluster, on_several_hosts_ranks_find_themselves) {
  NodeProcess trial({WEFT_PROGRAM, "testbed", "run", "--hosts", "2", "--", "/bin/true"});
  if (trial.wait() != 0) GTEST_SKIP() << "no testbed here: " << trial.errors();
  write_config(
      "nodes = [\"10.77.0.1:7000\", \"10.77.0.2:7000\", \"10.77.0.3:7000\"]\n"
      "secret-file = \"secret\"\nsink = [\"check:\"]\ntimeslices = 100\n"
      "data-port = 7100\n");
  NodeProcess job({WEFT_PROGRAM, "testbed", "run", "--hosts", "3", "--no-prefix", "--time-limit",
                   "30s", "--", WEFT_PROGRAM, "stream", "node", "--json", "--config",
                   (directory_ / "cluster.toml").string()});
  EXPECT_EQ(job.wait(), 0) << job.errors();
  const json result = json::parse(job.output());
  EXPECT_EQ(result["timeslices_complete"], 100);
  EXPECT_EQ(result["checks"]["errors"], 0);
}

struct BadConfig {
  const char* name;
  const char* text;
  std::vector<std::string> arguments;
  const char* message;
};
void PrintTo(const BadConfig& bad, std::ostream* out) {
  *out << bad.name;
}

class cluster_config : public cluster, public testing::WithParamInterface<BadConfig> {};

TEST_P(cluster_config, that_is_wrong_gives_one_line_and_exit_code_2) {
  const BadConfig& bad = GetParam();
  write_secret("short", "too short");
  write_secret("open", "what only this cluster knows", 0644);
  write_config(bad.text);
  std::vector<std::string> arguments = bad.arguments;
  arguments.insert(arguments.end(), {"--config", (directory_ / "cluster.toml").string()});
  auto node = start(arguments);
  EXPECT_EQ(node.wait(), 2) << node.errors();
  EXPECT_THAT(node.errors(), HasSubstr(bad.message));
  EXPECT_EQ(node.errors().rfind("weft: ", 0), 0u) << node.errors();
  EXPECT_EQ(std::count(node.errors().begin(), node.errors().end(), '\n'), 1) << node.errors();
  EXPECT_EQ(node.output(), "");
}

TEST_F(cluster, a_missing_config_gives_one_line_and_exit_code_2) {
  auto node = start({"--config", "/nonexistent/cluster.toml"});
  EXPECT_EQ(node.wait(), 2);
  EXPECT_EQ(node.errors(),
            "weft: --config: cannot open '/nonexistent/cluster.toml': No such file or directory; "
            "name one that is there\n");
}

#define WEFT_TWO_NODES "nodes = [\"127.0.0.1:7000\", \"127.0.0.1:7001\"]\n"
#define WEFT_SECRET "secret-file = \"secret\"\n"

const BadConfig bad_configs[] = {
    {"not_toml", "rank = 1\nnodes = [[[\n", {}, "cluster.toml:2: "},
    {"unknown_option",
     WEFT_TWO_NODES "sheduel = \"dfs\"\n",
     {},
     "cluster.toml:2: unknown option '--sheduel'"},
    {"wrong_kind", WEFT_TWO_NODES "inputs = \"many\"\n", {}, "cluster.toml:2: "},
    {"wrong_value", WEFT_TWO_NODES WEFT_SECRET "duration = \"soon\"\n", {"--rank", "0"}, "soon"},
    {"a_section", WEFT_TWO_NODES "[inputs]\nmany = 1\n", {}, "cluster.toml:2: inputs"},
    {"nothing", "", {}, "cluster.toml: there is no setting in it"},
    {"no_secret", WEFT_TWO_NODES, {"--rank", "0"}, "--secret-file is missing"},
    {"missing_secret", WEFT_TWO_NODES "secret-file = \"none\"\n", {"--rank", "0"}, "none"},
    {"short_secret", WEFT_TWO_NODES "secret-file = \"short\"\n", {"--rank", "0"}, "has 9 bytes"},
    {"open_secret", WEFT_TWO_NODES "secret-file = \"open\"\n", {"--rank", "0"}, "chmod 600"},
    {"rank_too_high", WEFT_TWO_NODES WEFT_SECRET, {"--rank", "2"}, "--rank: 2 is not between"},
    {"no_rank", WEFT_TWO_NODES WEFT_SECRET, {}, "nodes 0, 1 of --nodes are all this machine"},
    {"elsewhere",
     "nodes = [\"203.0.113.1:1\", \"203.0.113.2:1\"]\n" WEFT_SECRET,
     {},
     "none of the"},
    {"one_node", "nodes = [\"127.0.0.1:7000\"]\n" WEFT_SECRET, {"--rank", "0"}, "two nodes"},
    {"unknown_host",
     "nodes = [\"127.0.0.1:7000\", \"no-such-host.invalid:1\"]\n" WEFT_SECRET,
     {"--rank", "0"},
     "no-such-host.invalid"},
    {"no_port", "nodes = [\"127.0.0.1:7000\", \"host\"]\n" WEFT_SECRET, {"--rank", "0"}, "'host'"},
    {"too_many_nodes",
     WEFT_TWO_NODES WEFT_SECRET "inputs = 2\ncomputes = 2\n",
     {"--rank", "0"},
     "make 4 nodes, but there are 2"},
    {"no_computes", WEFT_TWO_NODES WEFT_SECRET "inputs = 2\n", {"--rank", "0"}, "--inputs 2"},
    {"unknown_schedule",
     WEFT_TWO_NODES WEFT_SECRET "schedule = \"magic\"\n",
     {"--rank", "0"},
     "magic"},
};

INSTANTIATE_TEST_SUITE_P(by_kind, cluster_config, testing::ValuesIn(bad_configs),
                         [](const auto& info) { return info.param.name; });

class cluster_mpirun : public cluster, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(WEFT_MPIRUN).empty()) {
      GTEST_SKIP() << "mpirun is missing: scripts/install-packages.sh installs openmpi-bin";
    }
  }
  NodeProcess run(int ranks, std::vector<std::string> arguments) {
    std::vector<std::string> command = {
        WEFT_MPIRUN,  "--oversubscribe", "-n",  std::to_string(ranks),
        WEFT_PROGRAM, "stream",          "node"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    // Leaks of libpmix itself are not weft's fault.
    std::ofstream(directory_ / "leaks") << "leak:libpmix\n";
    return NodeProcess(command, {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                 "TMPDIR=" + directory_.string(),
                                 "LSAN_OPTIONS=suppressions=" + (directory_ / "leaks").string()});
  }
};

TEST_P(cluster_mpirun, starts_a_cluster_that_needs_no_list_of_peers) {
  auto job = run(8, {"--inputs", "4", "--computes", "4", "--fabric", GetParam(), "--sink",
                     "check:", "--timeslices", "300", "--json"});
  EXPECT_EQ(job.wait(), 0) << job.errors();
  const json result = json::parse(job.output());
  EXPECT_EQ(result["timeslices_complete"], 300);
  EXPECT_EQ(result["timeslices_lost"], 0);
  EXPECT_EQ(result["checks"]["errors"], 0);
}

INSTANTIATE_TEST_SUITE_P(over, cluster_mpirun,
                         testing::Values("tcp", "libfabric:tcp", "libfabric:shm"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

using cluster_mpirun_alone = cluster_mpirun;

TEST_P(cluster_mpirun_alone, half_of_the_ranks_are_inputs_by_default) {
  auto job = run(5, {"--timeslices", "20", "--json"});
  EXPECT_EQ(job.wait(), 0) << job.errors();
  const json result = json::parse(job.output());
  EXPECT_EQ(result["inputs"], 2);
  EXPECT_EQ(result["computes"], 3);
}

TEST_P(cluster_mpirun_alone, a_wrong_number_of_ranks_is_refused) {
  auto job = run(3, {"--inputs", "4", "--computes", "4", "--timeslices", "20"});
  EXPECT_EQ(job.wait(), 2) << job.errors();
  EXPECT_THAT(job.errors(), HasSubstr("make 8 nodes, but there are 3"));
}

TEST_P(cluster_mpirun_alone, that_is_interrupted_still_gives_the_result) {
  auto job = run(4, {"--duration", "10min", "--sink", "check:", "--json", "--log", "info"});
  ASSERT_TRUE(job.says("[node 0] the stream has begun")) << job.errors();
  job.signal(SIGINT);
  job.wait();  // mpirun has exit codes of its own for this
  const json result = json::parse(job.output());
  EXPECT_EQ(result["timeslices_lost"], 0);
  EXPECT_EQ(result["checks"]["errors"], 0);
}

INSTANTIATE_TEST_SUITE_P(over, cluster_mpirun_alone, testing::Values("tcp"));

}  // namespace
}  // namespace weft
