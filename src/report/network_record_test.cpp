// SPDX-License-Identifier: Apache-2.0
#include "report/network_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/network_for_test.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;

TEST(network_record, is_read_back_as_it_was) {
  const NetworkRecord record = small_network();
  const auto read = network_from_json(to_json(record), "test");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, record);
}

TEST(network_record, is_strict_json_whatever_is_in_it) {
  NetworkRecord record = small_network();
  record.command = "quote \" slash \\ bad \xff newline \n";
  record.runs[0].links[0].utilisation = std::nan("");
  record.runs[0].series[0].queue_bytes[0] = INFINITY;
  const auto json = nlohmann::json::parse(to_json(record));
  EXPECT_EQ(json["runs"][0]["links"][0]["utilisation"], 0);
  EXPECT_EQ(json["topology"]["vertices"][0]["kind"], "host");
  EXPECT_EQ(json["topology"]["vertices"][0].contains("group"), true);
  EXPECT_TRUE(network_from_json(to_json(record), "test").ok());
}

struct Mistake {
  const char* name;
  const char* pointer;  ///< JSON pointer to the replaced value
  const char* value;    ///< JSON
  const char* word;     ///< in the error
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}
class NetworkMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(NetworkMistakes, are_named) {
  auto json = nlohmann::json::parse(to_json(small_network()));
  json[nlohmann::json::json_pointer(GetParam().pointer)] = nlohmann::json::parse(GetParam().value);
  const auto read = network_from_json(json.dump(), "DIR/network.json");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::corrupt);
  EXPECT_THAT(read.error().message, HasSubstr("DIR/network.json: "));
  EXPECT_THAT(read.error().message, HasSubstr(GetParam().word));
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    network_record, NetworkMistakes,
    testing::Values(
        Mistake{"link_to_nowhere", "/topology/links/1/to", "3", "\"topology.links[1].to\" is 3"},
        Mistake{"negative_vertex", "/topology/links/0/from", "-1", "topology.links[0].from"},
        Mistake{"no_vertices", "/topology/vertices", "[]", "topology.vertices"},
        Mistake{"vertices_that_are_none", "/topology/vertices", "7", "is not an array"},
        Mistake{"a_number_for_a_run", "/runs/0", "5", "\"runs[0]\" is not an object"},
        Mistake{"no_runs", "/runs", "[]", "\"runs\" is empty"},
        Mistake{"fewer_loads_than_links", "/runs/0/links", "[]", "the topology has 4 links"},
        Mistake{"series_of_no_link", "/runs/0/series/0/link", "4", "runs[0].series[0].link"},
        Mistake{"series_too_short", "/runs/0/series/0/queue_bytes", "[1]", "2 numbers"},
        Mistake{"a_load_that_is_text", "/runs/0/series/0/utilisation/0", "\"x\"", "utilisation"},
        Mistake{"negative_latency", "/runs/0/messages/0/latency_us/p90", "-3", "p90"},
        Mistake{"far_too_many_steps", "/runs/0/steps", "4000000000", "steps"},
        Mistake{"deep_position", "/topology/vertices/2/position", "[[1]]", "position"},
        Mistake{"parameter", "/parameters/load", "3", "parameters.load"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(network_record, every_truncation_is_refused_or_read) {
  const std::string text = to_json(small_network());
  for (std::size_t length = 0; length + 1 < text.size(); length += 7) {
    EXPECT_FALSE(network_from_json(text.substr(0, length), "test").ok()) << length;
  }
}

TEST(network_record, missing_is_not_malformed) {
  std::string directory = (std::filesystem::temp_directory_path() / "weft-network-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  auto read = read_network(directory);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->has_value());
  ASSERT_TRUE(write_network(directory + "/a/b", small_network()).ok());
  read = read_network(directory + "/a/b");
  ASSERT_TRUE(read.ok() && read->has_value());
  EXPECT_EQ(**read, small_network());
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace weft::report
