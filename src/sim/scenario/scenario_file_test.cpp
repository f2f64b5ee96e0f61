// SPDX-License-Identifier: Apache-2.0
#include "sim/scenario/scenario_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace weft::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* whole = R"(seed = 7
duration = "3ms"
faults = ["at=2ms kill host3", "at=4ms restart host3"]

[network]
topology = "fat-tree:64,radix=16"
router = "adaptive"
preset = "ib-edr"
host-link = {rate = "40Gbit", latency = "25ns"}
local-link = {latency = "50ns"}
mtu = 2048
packet-overhead = "30B"
buffer = "64KiB"
reserve = "16KiB"
switch-delay = "120ns"
cut-through = false
output-queues = true
host-overhead = "400ns"
injection-gap = "80ns"
retransmit-after = "50us"
interleaved-messages = 4
second-turn-probability = 0.25

[[levels]]
weight = 7
[[levels]]
priority = 1
weight = 2

[placement]
kind = "random:5"

[fabric]
copied-bytes = 4096
header = 24
acknowledgement = "2us"
death-notice = "5ms"

[clocks]
offset = "10ms"
drift-ppm = 50

[noise]
every = "1ms"
mean = "30us"

[[traffic]]
pattern = "incast"
load = 0.25
message = "64KiB"
level = 1
start = "1ms"
end = "2ms"

[random-faults]
links-slow-per-s = 0.5
mean-length = "2ms"
until = "50ms"

[job]
inputs = 32
schedule = "dfs"
sink = ["check:", "null:"]
restart = true
)";

TEST(scenario_file, says_everything_about_the_network) {
  const auto s = parse_scenario(whole, "dir/whole.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->name, "dir/whole.toml");
  EXPECT_EQ(s->topology, "fat-tree:64,radix=16");
  EXPECT_EQ(s->router, "adaptive");
  const NetworkOptions& n = s->network;
  EXPECT_EQ(n.host_link.rate, Bandwidth::bits_per_second(40'000'000'000));
  EXPECT_EQ(n.host_link.latency, PicoDuration::nanoseconds(25));
  EXPECT_EQ(n.local_link.rate, network_preset("ib-edr")->local_link.rate);
  EXPECT_EQ(n.local_link.latency, PicoDuration::nanoseconds(50));
  EXPECT_EQ(n.global_link.latency, network_preset("ib-edr")->global_link.latency);
  EXPECT_EQ(n.mtu, 2048u);
  EXPECT_EQ(n.packet_overhead, 30u);
  EXPECT_EQ(n.buffer_bytes, 65536u);
  EXPECT_EQ(n.reserve_bytes, 16384u);
  EXPECT_EQ(n.switch_delay, PicoDuration::nanoseconds(120));
  EXPECT_FALSE(n.cut_through);
  EXPECT_TRUE(n.output_queues);
  EXPECT_EQ(n.host_overhead, PicoDuration::nanoseconds(400));
  EXPECT_EQ(n.injection_gap, PicoDuration::nanoseconds(80));
  EXPECT_EQ(n.retransmit_after, PicoDuration::microseconds(50));
  EXPECT_EQ(n.interleaved_messages, 4u);
  EXPECT_EQ(n.second_turn_probability, 0.25);
  ASSERT_EQ(n.levels.size(), 2u);
  EXPECT_EQ(n.levels[0].weight, 7);
  EXPECT_EQ(n.levels[1].priority, 1);
}

TEST(scenario_file, says_what_happens_in_the_network) {
  const auto s = parse_scenario(whole, "whole.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->seed, 7u);
  EXPECT_EQ(s->duration, Duration::milliseconds(3));
  EXPECT_THAT(s->faults, ElementsAre("at=2ms kill host3", "at=4ms restart host3"));
  EXPECT_EQ(s->placement.kind, PlacementKind::random);
  EXPECT_EQ(s->placement.seed, 5u);
  EXPECT_EQ(s->fabric.copied_bytes, 4096u);
  EXPECT_EQ(s->fabric.header_bytes, 24u);
  EXPECT_EQ(s->fabric.acknowledgement, Duration::microseconds(2));
  EXPECT_EQ(s->fabric.death_notice, Duration::milliseconds(5));
  EXPECT_EQ(s->clocks.offset, Duration::milliseconds(10));
  EXPECT_EQ(s->clocks.drift_per_million, 50);
  EXPECT_EQ(s->noise.mean, Duration::microseconds(30));
  ASSERT_EQ(s->traffic.size(), 1u);
  EXPECT_EQ(s->traffic[0].pattern, TrafficPattern::incast);
  EXPECT_EQ(s->traffic[0].load, 0.25);
  EXPECT_EQ(s->traffic[0].message_bytes, 65536u);
  EXPECT_EQ(s->traffic[0].level, 1);
  EXPECT_EQ(s->traffic[0].start, PicoInstant() + PicoDuration::milliseconds(1));
  EXPECT_EQ(s->traffic[0].end, PicoInstant() + PicoDuration::milliseconds(2));
  EXPECT_EQ(s->random_faults.links_slow_per_s, 0.5);
  EXPECT_EQ(s->random_faults.until, Duration::milliseconds(50));
}

TEST(scenario_file, keeps_the_jobs_options_as_text) {
  const auto s = parse_scenario(whole, "whole.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  ASSERT_TRUE(s->has_single_job());
  const std::vector<JobOption>& options = s->jobs[0].options;
  ASSERT_EQ(options.size(), 4u);
  EXPECT_EQ(options[0].name, "inputs");
  EXPECT_THAT(options[0].values, ElementsAre("32"));
  EXPECT_EQ(options[1].name, "restart");
  EXPECT_THAT(options[1].values, ElementsAre("true"));
  EXPECT_THAT(options[3].values, ElementsAre("check:", "null:"));
  EXPECT_GT(options[0].line, 50u);
}

TEST(scenario_file, has_jobs_beside_each_other) {
  const auto s = parse_scenario(R"([network]
topology = "star:16"
lossy = ["host3", "host4--switch0"]
[[levels]]
weight = 7
changes = [{at = "5ms", weight = 1}, {at = "1ms", priority = 2}]
[[levels]]
[[levels.changes]]
at = "2ms"
weight = 3
[job]
inputs = 2
[[jobs]]
name = "noisy-1"
start = "2ms"
level = 1
placement = "random:4"
inputs = 3
[[jobs]]
computes = 4
)",
                                "s.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_FALSE(s->has_single_job());
  ASSERT_EQ(s->jobs.size(), 3u);
  EXPECT_EQ(s->jobs[0].name, "job");
  EXPECT_EQ(s->jobs[1].name, "noisy-1");
  EXPECT_EQ(s->jobs[1].key, "jobs[0]");
  EXPECT_EQ(s->jobs[1].start, Duration::milliseconds(2));
  EXPECT_EQ(s->jobs[1].level, 1);
  EXPECT_EQ(s->jobs[1].placement->seed, 4u);
  ASSERT_EQ(s->jobs[1].options.size(), 1u);
  EXPECT_EQ(s->jobs[1].options[0].name, "inputs");
  EXPECT_EQ(s->jobs[2].name, "job1");
  EXPECT_FALSE(s->jobs[2].placement);
  EXPECT_THAT(s->lossy, ElementsAre("host3", "host4--switch0"));
  EXPECT_FALSE(s->all_lossy);
  ASSERT_EQ(s->level_changes.size(), 3u);
  EXPECT_EQ(s->level_changes[0].at, Duration::milliseconds(1));
  EXPECT_EQ(s->level_changes[0].priority, 2);
  EXPECT_FALSE(s->level_changes[0].weight);
  EXPECT_EQ(s->level_changes[1].level, 1);
  EXPECT_EQ(s->level_changes[2].weight, 1);
}

TEST(scenario_file, says_how_programs_are_simulated) {
  const auto s = parse_scenario(R"([network]
topology = "star:4"
[programs]
stack = "256KiB"
per-host = 8
ranks = "round-robin"
compute = "measured"
compute-scale = 0.5
restart-after = "2ms"
crashes = 3
crash-within = "5ms"
limit = "9s"
)",
                                "s.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->programs.stack, ByteCount::kib(256));
  EXPECT_EQ(s->programs.per_host, 8u);
  EXPECT_TRUE(s->programs.in_turn);
  EXPECT_TRUE(s->programs.measure_compute);
  EXPECT_EQ(s->programs.compute_scale, 0.5);
  EXPECT_EQ(s->programs.restart_after, Duration::milliseconds(2));
  EXPECT_EQ(s->programs.crashes, 3u);
  EXPECT_EQ(s->programs.crash_within, Duration::milliseconds(5));
  EXPECT_EQ(s->programs.limit, Duration::seconds(9));
}

TEST(scenario_file, files_are_looked_for_from_its_directory) {
  const auto s = parse_scenario(
      "[network]\ntopology = \"file:net.toml\"\n[placement]\nkind = \"file:/etc/hosts.list\"\n",
      "some/where/s.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->topology, "file:some/where/net.toml");
  EXPECT_EQ(s->placement.path, "/etc/hosts.list");
}

TEST(scenario_file, later_errors_get_the_line_of_their_key) {
  const auto s = parse_scenario(whole, "w.toml");
  ASSERT_TRUE(s.ok());
  const Error error{ErrorCode::invalid_argument, "load is wrong"};
  EXPECT_EQ(s->located("network.router", error).message,
            "w.toml:7: network.router = adaptive: load is wrong");
  EXPECT_THAT(s->located("traffic[0]", error).message, StartsWith("w.toml:49: "));
  EXPECT_EQ(s->located("nothing", error).message, "w.toml: load is wrong");
  EXPECT_EQ(Scenario().located("network.router", error).message, "load is wrong");
}

struct Mistake {
  const char* name;
  const char* text;
  const char* line;
  const char* word;
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}
class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, are_refused_with_their_line) {
  const auto s = parse_scenario(GetParam().text, "s.toml");
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(s.error().message, StartsWith(std::string("s.toml:") + GetParam().line + ": "));
  EXPECT_THAT(s.error().message, HasSubstr(GetParam().word));
  EXPECT_EQ(s.error().message.find('\n'), std::string::npos);
}

#define NET "[network]\ntopology = \"star:4\"\n"
INSTANTIATE_TEST_SUITE_P(
    scenario_file, Mistakes,
    testing::Values(
        Mistake{"no_toml", "seed = = 1\n", "1", "value"},
        Mistake{"no_network", "seed = 1\n", "1", "[network]"},
        Mistake{"no_topology", "\n[network]\nmtu = 1024\n", "2", "topology"},
        Mistake{"unknown_section", NET "[netwerk]\n", "3", "netwerk"},
        Mistake{"unknown_key", NET "speed = 3\n", "3", "host-link"},
        Mistake{"unknown_key_of_link", NET "host-link = {latenzy = \"1ns\"}\n", "3", "latenzy"},
        Mistake{"topology", "[network]\ntopology = \"cube:4\"\n", "2", "cube"},
        Mistake{"topology_of_wrong_kind", "[network]\ntopology = 4\n", "2", "quotes"},
        Mistake{"preset", NET "preset = \"token-ring\"\n", "3", "aries"},
        Mistake{"negative_rate", NET "host-link = {rate = \"-1Gbit\"}\n", "3", "-1Gbit"},
        Mistake{"rate_without_unit", NET "host-link = {rate = 100}\n", "3", "unit"},
        Mistake{"rate_of_zero", NET "host-link = {rate = \"0Gbit\"}\n", "3", "rate = 0Gbit"},
        Mistake{"latency_of_zero", NET "local-link = {latency = \"0ns\"}\n", "3", "latency = 0ns"},
        Mistake{"negative_delay", NET "switch-delay = \"-1ns\"\n", "3", "-1ns"},
        Mistake{"long_delay", NET "switch-delay = \"2s\"\n", "3", "delay"},
        Mistake{"negative_buffer", NET "buffer = -1\n", "3", "-1"},
        Mistake{"small_buffer", NET "mtu = 4096\nbuffer = 100\n", "4", "buffer = 100"},
        Mistake{"cut_through", NET "cut-through = \"yes\"\n", "3", "true"},
        Mistake{"levels_of_wrong_kind", NET "[levels]\nweight = 1\n", "3", "[[levels]]"},
        Mistake{"weight", NET "[[levels]]\nweight = 0\n", "4", "255"},
        Mistake{"placement", NET "[placement]\nkind = \"anywhere\"\n", "4", "anywhere"},
        Mistake{"drift", NET "[clocks]\ndrift-ppm = -1\n", "4", "drift-ppm"},
        Mistake{"drift_that_is_no_number", NET "[clocks]\ndrift-ppm = nan\n", "4", "drift-ppm"},
        Mistake{"noise_without_length", NET "[noise]\nevery = \"1ms\"\nmean = \"0\"\n", "5",
                "mean"},
        Mistake{"pattern", NET "[[traffic]]\npattern = \"random\"\n", "4", "permutation"},
        Mistake{"load", NET "[[traffic]]\nload = 0\n", "4", "load = 0:"},
        Mistake{"negative_load", NET "[[traffic]]\nload = -0.5\n", "4", "load"},
        Mistake{"level", NET "[[traffic]]\nlevel = 1\n", "4", "[[levels]]"},
        Mistake{"end", NET "[[traffic]]\nstart = \"2ms\"\nend = \"1ms\"\n", "3", "start"},
        Mistake{"faults", "faults = \"at=1s kill host3\"\n" NET, "1", "list"},
        Mistake{"fault_of_wrong_kind", "faults = [3]\n" NET, "1", "quotes"},
        Mistake{"random_faults", NET "[random-faults]\ncrashes-per-s = -1\n", "4", "crashes-per-s"},
        Mistake{"stack", NET "[programs]\nstack = 4096\n", "4", "64KiB"},
        Mistake{"compute", NET "[programs]\ncompute = \"guessed\"\n", "4", "measured"},
        Mistake{"seed", "seed = -1\n" NET, "1", "seed"},
        Mistake{"duration", "duration = \"0\"\n" NET, "1", "duration"},
        Mistake{"job_of_wrong_kind", NET "[job]\ninputs = {}\n", "4", "job.inputs"},
        Mistake{"empty_job", NET "[job]\n", "3", "inputs"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(scenario_file, settings_go_before_what_the_file_says) {
  const std::vector<std::string> settings{"network.router=minimal",
                                          "network.mtu=1024",
                                          "network.cut-through=true",
                                          "network.host-link.rate=\"10Gbit\"",
                                          "noise.every=3ms",
                                          "seed=9",
                                          "faults=[\"at=1ms kill host2\"]",
                                          "clocks.drift-ppm=7",
                                          "traffic=[{pattern=\"uniform\", load=0.1}]"};
  const auto s = parse_scenario(whole, "whole.toml", settings);
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->router, "minimal");
  EXPECT_EQ(s->network.mtu, 1024u);
  EXPECT_TRUE(s->network.cut_through);
  EXPECT_EQ(s->network.host_link.rate, Bandwidth::bits_per_second(10'000'000'000));
  EXPECT_EQ(s->network.host_link.latency, PicoDuration::nanoseconds(25));
  EXPECT_EQ(s->noise.every, Duration::milliseconds(3));
  EXPECT_EQ(s->noise.mean, Duration::microseconds(30));
  EXPECT_EQ(s->clocks.drift_per_million, 7);
  EXPECT_EQ(s->seed, 9u);
  EXPECT_THAT(s->faults, ElementsAre("at=1ms kill host2"));
  ASSERT_EQ(s->traffic.size(), 1u);
  EXPECT_EQ(s->traffic[0].pattern, TrafficPattern::uniform);
}

TEST(scenario_file, settings_of_very_many_parts_are_refused) {
  std::string setting = "a=1";
  for (int i = 0; i < 40'000; ++i) setting.insert(0, "a.");
  const std::vector<std::string> settings{setting};
  const auto s = parse_scenario(whole, "whole.toml", settings);
  ASSERT_FALSE(s);
  EXPECT_THAT(s.error().message, HasSubstr("the key has more than 64 parts"));
}

TEST(scenario_file, settings_add_sections) {
  const std::vector<std::string> settings{"noise.every=1ms", "noise.mean=50us", "job.inputs=3"};
  const auto s = parse_scenario("[network]\ntopology = \"star:4\"\n", "s.toml", settings);
  ASSERT_TRUE(s.ok()) << s.error().message;
  EXPECT_EQ(s->noise.mean, Duration::microseconds(50));
  ASSERT_EQ(s->jobs[0].options.size(), 1u);
  EXPECT_THAT(s->jobs[0].options[0].values, ElementsAre("3"));
}

TEST(scenario_file, a_wrong_setting_is_named) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"network.router", "network.router=minimal"},
      {"=3", "network.router=minimal"},
      {"network.=3", "dot"},
      {"network.speed=3", "unknown key 'speed'"},
      {"netwerk.speed=3", "unknown key 'netwerk'"},
      {"network.mtu=many", "network.mtu"},
      {"network.mtu=100\nseed = 3", "network.mtu"},
      {"network.mtu.x=1", "'mtu' is no section"},
      {"network.host-link.latenzy=1ns", "latenzy"},
      {"network.preset=token-ring", "aries"},
      {"network.buffer=100", "must hold a packet"},
      {"network.topology=cube:4", "cube"},
      {"noise.mean=0", "mean"},
      {"seed=-1", "seed"},
  };
  for (const auto& [setting, word] : mistakes) {
    const std::vector<std::string> settings{setting};
    const auto s = parse_scenario(whole, "whole.toml", settings);
    ASSERT_FALSE(s.ok()) << setting;
    EXPECT_EQ(s.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(s.error().message, StartsWith(one_line("--set " + settings[0] + ": ")));
    EXPECT_THAT(s.error().message, HasSubstr(word)) << setting;
  }
}

/// Every key of every section, and values that none of them takes.
TEST(scenario_file, text_that_is_no_toml_is_told_what_a_scenario_is) {
  const auto s = parse_scenario("root:x:0:0:root:/root:/bin/sh\n", "passwd");
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, StartsWith("passwd:1: "));
  EXPECT_THAT(s.error().message,
              HasSubstr("name a scenario: a TOML file like those in examples/scenarios"));
}

TEST(scenario_file, every_key_refuses_what_is_wrong_with_its_line_and_value) {
  const std::pair<const char*, std::vector<const char*>> sections[] = {
      {"network",
       {"topology", "router", "preset", "host-link", "local-link", "global-link", "mtu",
        "packet-overhead", "buffer", "reserve", "switch-delay", "cut-through", "host-overhead",
        "injection-gap", "retransmit-after", "interleaved-messages"}},
      {"placement", {"kind"}},
      {"fabric", {"copied-bytes", "acknowledgement", "death-notice", "transport"}},
      {"clocks", {"offset", "drift-ppm"}},
      {"noise", {"every", "mean"}},
      {"random-faults",
       {"links-down-per-s", "links-slow-per-s", "pauses-per-s", "crashes-per-s", "mean-length",
        "until"}},
      {"programs",
       {"stack", "per-host", "ranks", "compute", "compute-scale", "restart-after", "crashes",
        "crash-within", "limit"}},
      {"job", {"name", "start", "level", "placement"}},
  };
  for (const auto& [section, keys] : sections) {
    for (const char* key : keys) {
      for (const char* value : {"-1", "nan", "[[]]", "{a = {}}", "1979-05-27"}) {
        const bool is_network = std::string(section) == "network";
        std::string text = is_network && std::string(key) == "topology"
                               ? "[network]\n\n"
                               : "[network]\ntopology = \"star:4\"\n";
        if (!is_network)
          text = "[network]\ntopology = \"star:4\"\n[" + std::string(section) + "]\n";
        text += std::string(key) + " = " + value + "\n";
        const auto s = parse_scenario(text, "s.toml");
        ASSERT_FALSE(s.ok()) << text;
        const std::string line = is_network ? "3" : "4";
        EXPECT_THAT(s.error().message, StartsWith("s.toml:" + line + ": " + section + "." + key))
            << text;
        EXPECT_EQ(s.error().message.find('\n'), std::string::npos);
      }
    }
  }
}

TEST(scenario_file, what_is_not_in_the_file_is_missed_with_the_line_of_its_section) {
  const auto s =
      parse_scenario("[network]\ntopology = \"star:4\"\n[noise]\nevery = \"1ms\"\n", "s.toml");
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, StartsWith("s.toml:3: noise.mean is 0: "));
}

TEST(scenario_file, what_is_in_no_section_of_the_file_is_missed_with_its_name) {
  const std::string text = "network.topology = \"star:4\"\nnoise.every = \"1ms\"\n";
  const auto s = parse_scenario(text, "s.toml");
  ASSERT_FALSE(s.ok());
  EXPECT_THAT(s.error().message, StartsWith("s.toml:"));
}

TEST(scenario_file, a_missing_file_is_named) {
  const auto s = read_scenario("/no/such.toml");
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, ErrorCode::not_found);
  EXPECT_THAT(s.error().message, HasSubstr("/no/such.toml"));
  EXPECT_THAT(read_scenario("/").error().message,
              HasSubstr("cannot read '/': Is a directory; name a file; a scenario is a TOML file"));
  EXPECT_THAT(read_scenario("/dev/zero").error().message,
              HasSubstr("use a smaller one; a scenario is a TOML file like those in examples"));
}

TEST(scenario_file, of_a_fabric_is_no_pipe_since_several_read_it) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string text = "network.topology = \"star:4\"\n";
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), std::ssize(text));
  ::close(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_THAT(read_fabric_scenario(path).error().message,
              HasSubstr("'" + path + "' is no regular file, and a fabric's scenario is read more"));
  EXPECT_TRUE(read_scenario(path).ok());
  ::close(ends[0]);
}

TEST(scenario_file, reads_reliable_connections_and_refuses_what_adapters_cannot) {
  const std::string network = "[network]\ntopology = \"star:4\"\n[fabric]\ntransport = \"rc\"\n";
  const auto s = parse_scenario(network + R"(device = "connectx-4"
memory = "paged"
send-memory = "paged"
prefetch = true
rnr-delay = "10us"
ack-timeout = 13
retries = 3
dummy-after = "600us"
)",
                                "s.toml");
  ASSERT_TRUE(s.ok()) << s.error().message;
  const ReliableOptions& r = *s->fabric.reliable;
  EXPECT_EQ(r.device.name, "connectx-4");
  EXPECT_TRUE(r.adapter.paged && r.prefetch && r.sends_paged);
  EXPECT_EQ(r.adapter.rnr_timer, 1);
  EXPECT_EQ(r.adapter.ack_timeout, 13);
  EXPECT_EQ(r.adapter.retry_count, 3);
  EXPECT_EQ(r.dummy_after, Duration::microseconds(600));
  EXPECT_FALSE(parse_scenario("[network]\ntopology = \"star:4\"", "s.toml")->fabric.reliable);
  const std::pair<const char*, const char*> mistakes[] = {
      {"device = \"connectx-9\"", "s.toml:5: fabric.device = connectx-9: "},
      {"memory = \"swapped\"", "s.toml:5: fabric.memory = swapped: "},
      {"memory = \"paged\"\ndevice = \"connectx-3\"", "s.toml:5: fabric.memory = paged: "},
      {"send-memory = \"paged\"", "s.toml:5: fabric.send-memory = paged: "},
      {"rnr-delay = \"1s\"", "s.toml:5: fabric.rnr-delay = 1s: "},
      {"[noise]\n[network.x]", "s.toml:"},
  };
  for (const auto& [text, message] : mistakes) {
    const auto refused = parse_scenario(network + text, "s.toml");
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(refused.error().message, StartsWith(message));
  }
  const auto small = parse_scenario(
      "[network]\ntopology = \"star:4\"\nmtu = 128\n[fabric]\n"
      "transport = \"rc\"",
      "s.toml");
  EXPECT_THAT(small.error().message, HasSubstr("needs 256 or more"));
}

}  // namespace
}  // namespace weft::sim
