// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/join.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fabric/tcp/tcp.hpp"

namespace weft::stream {
namespace {

using testing::HasSubstr;

// A port that was free a moment ago.
std::uint16_t free_port() {
  TcpOptions options;
  options.listen = "127.0.0.1:0";
  options.secret.assign(16, std::byte{1});
  auto fabric = open_tcp(options);
  EXPECT_TRUE(fabric.ok());
  const std::string address = (*fabric)->address();
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

class join : public testing::Test {
 protected:
  join() {
    ::unsetenv("PMIX_NAMESPACE");
    config_.secret_file = testing::TempDir() + fmt::format("weft-join-{}", ::getpid());
    std::ofstream(config_.secret_file) << "a secret of some length\n";
    ::chmod(config_.secret_file.c_str(), 0600);
    config_.nodes = {fmt::format("127.0.0.1:{}", free_port()),
                     fmt::format("localhost:{}", free_port())};
  }
  ~join() override { std::filesystem::remove(config_.secret_file); }
  std::string error() const {
    const auto joined = join_cluster(config_);
    return joined ? "none" : joined.error().message;
  }
  ClusterConfig config_;
};

TEST_F(join, opens_the_address_of_its_rank) {
  config_.rank = 0;
  auto joined = join_cluster(config_);
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(joined->self, NodeId(0));
  EXPECT_EQ(joined->nodes, 2u);
  EXPECT_EQ(joined->rendezvous->address(), config_.nodes[0]);
  EXPECT_EQ(joined->listen, "127.0.0.1:0");
  EXPECT_EQ(joined->job.secret, "a secret of some length");
  EXPECT_EQ(joined->session, nullptr);
}

TEST_F(join, two_processes_cannot_have_one_rank) {
  config_.rank = 0;
  auto first = join_cluster(config_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(error(), HasSubstr("does a process of this rank run already"));
}

TEST_F(join, wants_to_be_told_which_of_several_nodes_here_it_is) {
  EXPECT_THAT(error(), HasSubstr("nodes 0, 1 of --nodes are all this machine"));
}

TEST_F(join, says_when_no_node_is_this_machine) {
  config_.nodes = {"203.0.113.1:7000", "203.0.113.2:7000"};
  EXPECT_THAT(error(), HasSubstr("none of the 2 hosts"));
}

TEST_F(join, refuses_a_rank_that_is_not_there) {
  config_.rank = 2;
  EXPECT_THAT(error(), HasSubstr("--rank: 2 is not between 0 and 1"));
}

TEST_F(join, refuses_lists_that_cannot_be) {
  config_.rank = 0;
  config_.nodes[1] = config_.nodes[0];
  EXPECT_THAT(error(), HasSubstr("is there twice"));
  config_.nodes[1] = "no-such-host.invalid:7000";
  EXPECT_THAT(error(), HasSubstr("rank 1: host 'no-such-host.invalid'"));
  config_.nodes[1] = "host";
  EXPECT_THAT(error(), HasSubstr("rank 1: 'host' is no HOST:PORT"));
  config_.nodes.pop_back();
  EXPECT_THAT(error(), HasSubstr("at least two nodes"));
}

TEST_F(join, wants_a_secret) {
  std::filesystem::remove(config_.secret_file);
  EXPECT_THAT(error(), HasSubstr(config_.secret_file));
  config_.secret_file.clear();
  EXPECT_THAT(error(), HasSubstr("--secret-file is missing"));
}

TEST_F(join, without_list_and_launcher_there_is_no_cluster) {
  config_.nodes.clear();
  EXPECT_THAT(error(), HasSubstr("no cluster"));
  config_.rank = 1;
  EXPECT_THAT(error(), HasSubstr("--rank"));
}

TEST_F(join, data_ports_count_up_with_the_rank) {
  config_.rank = 1;
  config_.data_port = 5000;
  auto joined = join_cluster(config_);
  ASSERT_TRUE(joined) << joined.error().message;
  EXPECT_EQ(joined->listen, "127.0.0.1:5001");
  joined->rendezvous.reset();
  config_.data_port = 65535;
  EXPECT_THAT(error(), HasSubstr("--data-port"));
}

}  // namespace
}  // namespace weft::stream
