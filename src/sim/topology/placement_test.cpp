// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/topology/builders.hpp"

namespace weft::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Topology tree() {  // leaves of hosts 0-3, 4-7, 8-9
  return std::move(make_topology("fat-tree:10,levels=2,radix=8")).value();
}

std::vector<std::uint32_t> placed(std::string_view text, std::uint32_t count) {
  const auto hosts = place(*parse_placement(text), tree(), count);
  EXPECT_TRUE(hosts) << hosts.error().message;
  return *hosts;
}

class File {
 public:
  explicit File(std::string_view text)
      : path_(testing::TempDir() + "placement_test." +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(placement, takes_the_first_hosts_when_contiguous) {
  EXPECT_THAT(placed("contiguous", 3), ElementsAre(0, 1, 2));
}

TEST(placement, takes_one_host_of_each_switch_in_turn_when_round_robin) {
  EXPECT_THAT(placed("round-robin", 10), ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 3, 7));
}

TEST(placement, takes_different_hosts_by_seed_when_random) {
  auto hosts = placed("random:7", 10);
  EXPECT_EQ(hosts, placed("random:7", 10));
  EXPECT_NE(hosts, placed("random:8", 10));
  std::sort(hosts.begin(), hosts.end());
  EXPECT_THAT(hosts, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST(placement, takes_a_further_job_s_hosts_from_the_free_ones) {
  const std::vector<std::uint32_t> free{1, 2, 5, 9};
  const auto hosts = place({.kind = PlacementKind::round_robin}, tree(), free, 4);
  ASSERT_TRUE(hosts);
  EXPECT_THAT(*hosts, ElementsAre(1, 5, 9, 2));
}

TEST(placement, reads_numbers_and_labels_from_a_file) {
  const File file("# rank 0 first\n 7\nhost 2  # by label\n\n3\n");
  const auto hosts = place(*parse_placement("file:" + file.path()), tree(), 3);
  ASSERT_TRUE(hosts) << hosts.error().message;
  EXPECT_THAT(*hosts, ElementsAre(7, 2, 3));
}

TEST(placement, refuses_a_file_with_an_unknown_host_one_twice_or_too_few) {
  for (const auto& [text, message] : {std::pair{"1\n10\n", ":2: '10' is no host"},
                                      {"1\n\nhost 1\n", ":3: host 'host 1' is taken already"},
                                      {"1\n", "it names 1 hosts, 2 are needed"}}) {
    const File file(text);
    const auto hosts = place(*parse_placement("file:" + file.path()), tree(), 2);
    ASSERT_FALSE(hosts);
    EXPECT_THAT(hosts.error().message, HasSubstr(file.path() + (message[0] == ':' ? message : "")));
    EXPECT_THAT(hosts.error().message, HasSubstr(message));
  }
}

TEST(placement, refuses_a_file_of_more_than_64_mib) {
  const File file("");
  std::filesystem::resize_file(file.path(), 65u << 20);
  EXPECT_THAT(place(*parse_placement("file:" + file.path()), tree(), 2).error().message,
              HasSubstr("'" + file.path() + "' has more than 64 MiB"));
}

TEST(placement, refuses_more_processes_than_hosts_and_unknown_words) {
  EXPECT_THAT(place({}, tree(), 11).error().message,
              HasSubstr("11 processes are more than the 10"));
  for (const char* text : {"", "anywhere", "random:x", "file:", "contiguous:1"}) {
    ASSERT_FALSE(parse_placement(text)) << text;
    EXPECT_THAT(parse_placement(text).error().message, HasSubstr(text));
  }
}

}  // namespace
}  // namespace weft::sim
