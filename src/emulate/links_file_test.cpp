// SPDX-License-Identifier: Apache-2.0
#include "emulate/links_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <utility>

namespace weft::emulate {
namespace {

class links_file : public ::testing::Test {
 protected:
  Result<void> load(const std::string& text) {
    // Tests run beside each other: each process has a file of its own.
    const std::string path = ::testing::TempDir() + std::to_string(::getpid()) + "-links.toml";
    std::ofstream(path) << text;
    auto loaded = load_links(path, *block_);
    ::unlink(path.c_str());
    return loaded;
  }
  Plan plan(unsigned from, unsigned to) { return plan_message(*block_, from, to, 0, 1'000); }

  std::unique_ptr<ControlBlock> block_ = std::make_unique<ControlBlock>();
};

TEST_F(links_file, a_matrix_says_what_lies_between_two_ranks) {
  ASSERT_TRUE(
      load("latency = [['0', '2us'], ['300ns', '0']]\n"
           "bandwidth = [['0', '1GB/s'], ['100MB/s', '0']]\n"));
  const Plan there = plan(0, 1);
  const Plan back = plan(1, 0);
  EXPECT_EQ(there.latency, 2'000'000);
  EXPECT_EQ(there.departure, 1'000'000);
  EXPECT_EQ(back.latency, 300'000);
  EXPECT_EQ(back.departure, 10'000'000);
}

TEST_F(links_file, ranks_share_the_cables_of_a_topology) {
  // Two leaves of three hosts, one cable up from each: 3 and 4 share theirs towards 0 and 1.
  const auto loaded = load(
      "topology = 'fat-tree:6,radix=4,taper=3'\n"
      "bandwidth = '1GB/s'\nlatency = '100ns'\n");
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(plan(0, 1).latency, 200'000);
  EXPECT_EQ(plan(0, 5).latency, 400'000);
  const Picoseconds alone = plan(3, 0).departure;
  EXPECT_EQ(plan(4, 1).departure, 2 * alone);
}

TEST_F(links_file, a_path_has_at_most_the_longest_latency) {
  EXPECT_TRUE(load("topology = 'star:2'\nlatency = '5s'").ok());
}

TEST_F(links_file, comes_from_a_pipe_too) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text = "latency = [['0', '2us'], ['300ns', '0']]\n";
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  const auto loaded = load_links("/dev/fd/" + std::to_string(ends[0]), *block_);
  ::close(ends[0]);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(plan(0, 1).latency, 2'000'000);
}

TEST_F(links_file, without_end_is_refused) {
  const auto loaded = load_links("/dev/zero", *block_);
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("more than 1 MiB"), std::string::npos);
}

TEST_F(links_file, what_is_wrong_is_named) {
  for (const char* wrong :
       {"", "latency = [['0', '2us']]", "latency = [['2']]", "speed = '1'", "latency = [[1]]",
        "latency = '5us'", "topology = 5", "topology = 'star:2'\nlatency = [['0']]",
        "topology = 'ring:4'", "bandwidth = [['fast']]", "latency = ["}) {
    const auto loaded = load(wrong);
    ASSERT_FALSE(loaded.ok()) << wrong;
    EXPECT_EQ(loaded.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(loaded.error().message.find("links.toml"), std::string::npos) << wrong;
  }
  for (const char* rate : {"7bit/s", "0bit/s", "1e-400GB/s", "999B/s", "8000000000GB/s"}) {
    const auto loaded = load("bandwidth = [['0', '" + std::string(rate) + "'], ['0', '0']]");
    ASSERT_FALSE(loaded.ok()) << rate;
    EXPECT_NE(loaded.error().message.find(rate), std::string::npos);
  }
  for (const char* long_latency :
       {"latency = [['0', '11s'], ['0', '0']]", "latency = [['0', '5000000min'], ['0', '0']]",
        "topology = 'star:2'\nlatency = '6s'"}) {
    EXPECT_FALSE(load(long_latency).ok()) << long_latency;
  }
  for (const auto& [nothing, why] :
       {std::pair("/nowhere.toml", "cannot open '/nowhere.toml': No such file or directory"),
        std::pair("/", "Is a directory; name a file")}) {
    const auto loaded = load_links(nothing, *block_);
    ASSERT_FALSE(loaded.ok());
    EXPECT_NE(loaded.error().message.find(why), std::string::npos) << loaded.error().message;
  }
}

}  // namespace
}  // namespace weft::emulate
