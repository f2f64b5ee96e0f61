// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/network_drawing.hpp"
#include "report/network_for_test.hpp"
#include "report/report.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(network_page, readable_without_scripts) {
  const std::string page = network_page(small_network());
  const std::string before = page.substr(0, page.find("<script"));
  for (const char* text :
       {"A star of 2 hosts, simulated", "star:2: 2 hosts, 1 switch and 2 cables", "<li>",
        "host 0 → switch 0, 50.0 %; longest queue for switch 0 → host 1, 512 B on average",
        "its schedule's own messages,\nsuch as grants", "<span>--topology</span>",
        "0123456789abcdef", "18446744073709551615", "uniform"}) {
    EXPECT_THAT(before, HasSubstr(text));
  }
}

TEST(network_page, figures_depend_on_what_was_recorded) {
  NetworkRecord record = small_network();
  EXPECT_THAT(network_page(record), HasSubstr("id=\"queues\""));
  EXPECT_THAT(network_page(record), Not(HasSubstr("id=\"backlog\"")));
  EXPECT_THAT(network_page(record), Not(HasSubstr("id=\"sizes\"")));
  record.runs[0].messages.clear();
  EXPECT_THAT(network_page(record), Not(HasSubstr("id=\"latency\"")));
}

TEST(network_page, service_levels_are_compared_where_there_are_several) {
  NetworkRecord record = small_network();
  EXPECT_THAT(network_page(record), Not(HasSubstr("Service levels")));
  record.runs[0].links[0].levels = {{0, 4, 16384, 2}, {3, 6, 24576, 12}};
  record.runs[0].links[3].levels = {{3, 6, 24576, 24}};
  EXPECT_THAT(network_page(record),
              HasSubstr("<tr><th scope=\"row\">3</th><td>12</td><td>48.0 KiB</td>"
                        "<td>3 µs</td><td>host 0 → switch 0</td>"
                        "<td>24.0 KiB</td></tr>"));
}

TEST(network_page, hostile_text_stays_text) {
  const std::string attack = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"";
  NetworkRecord r = small_network();
  r.version = r.command = r.topology.name = r.topology.router = r.topology.shape = attack;
  r.parameters = {{attack, attack}};
  for (auto& v : r.topology.vertices) v.name = attack;
  r.runs[0].name = r.runs[0].trace_hash = r.runs[0].messages[0].name = attack;
  r.runs.push_back(r.runs[0]);
  const std::string page = network_page(r);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  EXPECT_EQ(page.find("<img src=x"), std::string::npos);
}

TEST(network_drawing, parallel_cables_are_one_with_the_load_of_the_busiest) {
  NetworkRecord r = small_network();
  r.topology.links.push_back({2, 1, "host", 1});
  r.runs[0].links.push_back({0.75, 1, 1, 0, 0});
  const auto drawn = nlohmann::json::parse(drawing_of(r));
  ASSERT_EQ(drawn["network"]["cables"].size(), 2u);
  EXPECT_EQ(drawn["network"]["cables"][1]["loads"][0][1], 0.75);
  EXPECT_EQ(drawn["network"]["cables"][1]["cables"], 2);
}

TEST(network_drawing, large_networks_are_drawn_without_hosts) {
  NetworkRecord r = small_network();
  r.topology.vertices.clear();
  r.topology.links.clear();
  r.runs[0].links.clear();
  r.runs[0].series.clear();
  constexpr std::uint32_t hosts = 300;
  for (std::uint32_t h = 0; h < hosts; ++h) r.topology.vertices.push_back({true, "h", 0, {}, {}});
  r.topology.vertices.push_back({false, "a", 1, {}, {}});
  r.topology.vertices.push_back({false, "b", 1, {}, {}});
  r.topology.links = {{0, hosts, "host", 1}, {hosts, hosts + 1, "local", 1}};
  r.runs[0].links = {{0.25, 1, 1, 0, 0}, {0.5, 1, 1, 0, 0}};
  const auto drawn = nlohmann::json::parse(drawing_of(r));
  EXPECT_EQ(drawn["network"]["with_hosts"], false);
  EXPECT_EQ(drawn["network"]["vertices"].size(), 2u);
  ASSERT_EQ(drawn["network"]["cables"].size(), 1u);
  EXPECT_EQ(drawn["network"]["cables"][0]["a"], 0);
  EXPECT_EQ(drawn["network"]["cables"][0]["b"], 1);
  EXPECT_EQ(drawn["of"][0]["distribution"].size(), 2u);  // of all links nevertheless
}

TEST(network_drawing, names_at_axes_are_short_unless_somebody_gave_them) {
  NetworkRecord r = small_network();
  const auto drawn = nlohmann::json::parse(drawing_of(r));
  EXPECT_EQ(drawn["of"][0]["busy"][0]["name"], "host 0 → switch 0");
  EXPECT_EQ(drawn["of"][0]["busy"][0]["short"], (nlohmann::json{"h0", "s0"}));
  EXPECT_THAT(network_page(r), HasSubstr("h3 is host 3 and s12 is switch 12"));

  EXPECT_EQ(short_name({.host = true, .name = "host 1a"}), "host 1a");
  EXPECT_EQ(short_name({.host = true, .name = "host "}), "host ");
  EXPECT_EQ(short_name({.host = true, .name = "switch 3"}), "switch 3") << "a host of that name";
  for (NetworkVertex& v : r.topology.vertices) v.name = "leaf";
  EXPECT_THAT(network_page(r), Not(HasSubstr("h3 is host 3")));
}

TEST(network_drawing, long_series_are_made_shorter_by_their_mean) {
  NetworkRecord r = small_network();
  r.runs[0].steps = 200;
  r.runs[0].step_us = 0.1;
  r.runs[0].series = {{3, std::vector<double>(200, 0.5), std::vector<double>(200, 0)}};
  for (std::size_t i = 0; i < 200; i += 2) r.runs[0].series[0].queue_bytes[i] = 100;
  const auto drawn = nlohmann::json::parse(drawing_of(r));
  EXPECT_EQ(drawn["of"][0]["step_us"], 0.2);
  ASSERT_EQ(drawn["of"][0]["queues"][0]["values"].size(), 100u);
  EXPECT_EQ(drawn["of"][0]["queues"][0]["values"][7], 50);
}

TEST(network_page, written_beside_its_record_and_linked_from_the_report) {
  std::string dir = (std::filesystem::temp_directory_path() / "weft-network-XXXXXX").string();
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  ASSERT_TRUE(write_network(dir, small_network()).ok());
  Result<std::string> path = write_report(dir);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, dir + "/network.html");
  ASSERT_TRUE(write_run(dir, {}).ok());
  path = write_report(dir);
  ASSERT_TRUE(path.ok()) << path.error().message;
  EXPECT_EQ(*path, dir + "/report.html");
  std::ostringstream text;
  text << std::ifstream(*path).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("href=\"network.html\""));
  std::filesystem::remove_all(dir);
}

TEST(network_page, is_not_linked_from_the_report_of_another_command) {
  std::string dir = (std::filesystem::temp_directory_path() / "weft-network-XXXXXX").string();
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  NetworkRecord network = small_network();
  network.command = "weft simulate one.toml";
  ASSERT_TRUE(write_network(dir, network).ok());
  for (const char* command : {"weft simulate one.toml", "weft stream local"}) {
    RunRecord run;
    run.command = command;
    ASSERT_TRUE(write_run(dir, run).ok());
    const Result<std::string> path = write_report(dir);
    ASSERT_TRUE(path.ok()) << path.error().message;
    std::ostringstream text;
    text << std::ifstream(*path).rdbuf();
    EXPECT_EQ(text.str().find("href=\"network.html\"") != std::string::npos,
              run.command == network.command);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace weft::report
