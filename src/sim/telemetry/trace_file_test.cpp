// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/trace_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/engine/agent.hpp"
#include "sim/routing/routers.hpp"
#include "sim/telemetry/recorder.hpp"
#include "sim/topology/builders.hpp"
#include "sim/traffic/traffic.hpp"

namespace weft::sim {
namespace {

using nlohmann::json;

constexpr std::int64_t us = 1'000'000;  // ps

class TraceFileTest : public testing::Test {
 protected:
  TraceFileTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-trace-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~TraceFileTest() override { std::filesystem::remove_all(directory_); }
  std::string path() const { return directory_ + "/trace.json"; }
  json read() const {
    std::ostringstream text;
    text << std::ifstream(path()).rdbuf();
    return json::parse(text.str());  // strict; throws
  }

  std::string directory_;
};

/// Checks the format's requirements on every event.
void check_event(const json& event) {
  ASSERT_TRUE(event["ph"].is_string()) << event;
  const std::string phase = event["ph"];
  ASSERT_NE(std::string("XMCbei").find(phase), std::string::npos) << event;
  ASSERT_TRUE(event["ts"].is_number() && event["ts"] >= 0) << event;
  ASSERT_TRUE(event["pid"].is_number_unsigned() && event["tid"].is_number_unsigned()) << event;
  ASSERT_TRUE(event["name"].is_string()) << event;
  if (phase == "X") {
    ASSERT_TRUE(event["dur"].is_number() && event["dur"] >= 0) << event;
  }
  if (phase == "b" || phase == "e") {
    ASSERT_TRUE(event["id"].is_string() && event["cat"].is_string()) << event;
  }
  if (phase == "C" || phase == "M") {
    ASSERT_TRUE(event["args"].is_object()) << event;
  }
}

TEST_F(TraceFileTest, events_have_what_the_format_asks_for) {
  auto trace = TraceFile::create(path());
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  trace->name_process(1, "a \"quoted\" \\ name\n");
  trace->name_track(1, 2, "track \xc3\xa4");
  trace->slice(1, 2, "slice", PicoInstant(1'234'567), PicoInstant(2'000'001));
  trace->span(1, 2, "kind", "span", PicoInstant(5), PicoInstant(us), R"({"bytes":7})");
  trace->counter(3, 1, "queue", PicoInstant(us), "bytes", 4096);
  EXPECT_FALSE(std::filesystem::exists(path()));
  ASSERT_TRUE(trace->finish().ok());
  const json j = read();
  ASSERT_EQ(j["traceEvents"].size(), 6u);
  for (const json& event : j["traceEvents"]) check_event(event);
  EXPECT_EQ(j["traceEvents"][0]["args"]["name"], "a \"quoted\" \\ name\n");
  EXPECT_DOUBLE_EQ(j["traceEvents"][2]["ts"], 1.234567);
  EXPECT_DOUBLE_EQ(j["traceEvents"][2]["dur"], 0.765434);
  EXPECT_EQ(j["traceEvents"][3]["args"]["bytes"], 7);
  EXPECT_EQ(j["traceEvents"][3]["id"], j["traceEvents"][4]["id"]);
  EXPECT_EQ(j["traceEvents"][5]["args"]["bytes"], 4096);
  EXPECT_EQ(j["otherData"]["events"], 4);
  EXPECT_TRUE(j["otherData"]["cut_at_us"].is_null());
}

TEST_F(TraceFileTest, an_empty_trace_is_one) {
  auto trace = TraceFile::create(path());
  ASSERT_TRUE(trace.ok());
  ASSERT_TRUE(trace->finish().ok());
  EXPECT_EQ(read()["traceEvents"].size(), 0u);
}

TEST_F(TraceFileTest, too_many_events_are_cut_and_it_says_so) {
  auto trace = TraceFile::create(path(), 3);
  ASSERT_TRUE(trace.ok());
  for (int i = 0; i < 10; ++i) {
    trace->slice(1, 1, "slice", PicoInstant(i * us), PicoInstant(i * us + us / 2));
  }
  EXPECT_FALSE(trace->takes(PicoInstant(100 * us)));
  ASSERT_TRUE(trace->finish().ok());
  const json j = read();
  ASSERT_EQ(j["traceEvents"].size(), 4u);
  EXPECT_EQ(j["traceEvents"][3]["ph"], "i");
  EXPECT_EQ(j["otherData"]["cut_at_us"], 3);
  EXPECT_EQ(trace->cut_at(), PicoInstant(3 * us));
}

TEST_F(TraceFileTest, there_is_room_for_a_summary_after_the_cut) {
  auto trace = TraceFile::create(path(), 20);
  ASSERT_TRUE(trace.ok());
  for (int i = 0; i < 100; ++i) {
    trace->slice(1, 1, "slice", PicoInstant(i * us), PicoInstant(i * us + us / 2));
  }
  trace->begin_summary();
  for (int i = 0; i < 100; ++i) trace->slice(4, 1, "summary", PicoInstant(0), PicoInstant(us));
  ASSERT_TRUE(trace->finish().ok());
  const json j = read();
  ASSERT_EQ(j["traceEvents"].size(), 21u);
  EXPECT_EQ(j["traceEvents"][17]["name"], "slice");
  EXPECT_EQ(j["traceEvents"][18]["name"], "summary");
  EXPECT_EQ(j["traceEvents"][19]["name"], "summary");
}

TEST_F(TraceFileTest, a_span_is_there_whole_or_not_at_all) {
  auto trace = TraceFile::create(path(), 3);
  ASSERT_TRUE(trace.ok());
  trace->span(1, 1, "kind", "a", PicoInstant(0), PicoInstant(us));
  trace->span(1, 1, "kind", "b", PicoInstant(0), PicoInstant(2 * us));
  ASSERT_TRUE(trace->finish().ok());
  EXPECT_EQ(trace->events(), 2u);
  EXPECT_EQ(trace->cut_at(), PicoInstant(2 * us));
}

struct Traced {
  json trace;
  std::uint64_t delivered, hops;
  std::optional<PicoInstant> cut_at;
};
Traced traced_traffic(const std::string& path, std::uint64_t most) {
  const Topology topology = make_topology("fat-tree:16").value();
  const auto router = make_router(default_router(topology), topology).value();
  Engine engine(topology.vertices());
  Agents agents(engine);
  Network network(topology, *router, {}, engine, 7);
  TraceFile file = TraceFile::create(path, most).value();
  Recorder recorder(network, "any", &file);
  std::vector<std::uint32_t> hosts;
  for (std::uint32_t h = 0; h < topology.hosts(); ++h) hosts.push_back(h);
  const Traffic traffic({.load = 0.6, .message_bytes = 10'000, .end = PicoInstant(20 * us)}, hosts,
                        network, agents);
  engine.run_until(PicoInstant::never());
  recorder.finish({});
  EXPECT_TRUE(file.finish().ok());
  EXPECT_GT(traffic.delivered(), 0u);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return {json::parse(text.str()), traffic.delivered(), network.packet_hops(), file.cut_at()};
}

TEST_F(TraceFileTest, traffic_has_its_packets_messages_and_queues) {
  const Traced traced = traced_traffic(path(), TraceFile::usual_most);
  const json& j = traced.trace;
  std::map<std::string, std::uint64_t> count;
  std::map<std::uint64_t, double> free_from;      // by link
  std::map<std::uint64_t, std::uint64_t> queues;  // by link: the last value
  std::set<std::uint64_t> named;
  for (const json& event : j["traceEvents"]) {
    check_event(event);
    const std::string phase = event["ph"];
    ++count[phase];
    if (phase == "M" && event["pid"] == 2) named.insert(event["tid"].get<std::uint64_t>());
    if (phase == "C") queues[event["tid"]] = event["args"]["bytes"];
    if (phase != "X") continue;
    // Packets of a link go one after the other.
    const std::uint64_t track = event["tid"];
    EXPECT_TRUE(named.contains(track));
    EXPECT_GE(event["ts"].get<double>(), free_from[track] - 1e-6) << event;
    free_from[track] = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(count["X"], traced.hops);
  EXPECT_EQ(count["b"], traced.delivered);
  EXPECT_EQ(count["e"], count["b"]);
  EXPECT_GT(count["C"], 10u);
  for (const auto& [link, last] : queues) EXPECT_EQ(last, 0u) << "link " << link;
  EXPECT_EQ(j["otherData"]["events"], count["X"] + count["b"] + count["e"] + count["C"]);
}

TEST_F(TraceFileTest, a_trace_that_is_cut_is_one) {
  const Traced traced = traced_traffic(path(), 1000);
  const json& j = traced.trace;
  for (const json& event : j["traceEvents"]) check_event(event);
  EXPECT_LE(j["otherData"]["events"], 1000);
  EXPECT_GT(j["otherData"]["cut_at_us"], 0);
  EXPECT_TRUE(traced.cut_at.has_value());
}

}  // namespace
}  // namespace weft::sim
