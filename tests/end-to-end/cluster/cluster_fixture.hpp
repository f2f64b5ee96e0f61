// SPDX-License-Identifier: Apache-2.0
// Clusters of real processes on loopback, with their files in a directory of their own.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "node_process.hpp"

namespace weft {

// Whether nobody listens at a port of loopback at this moment.
inline bool is_free(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return free;
}

// Free ports below those that the kernel gives to connections, so that they stay free; others for
// each test process, so that tests can run side by side.
inline std::vector<int> free_ports(std::size_t count) {
  static int next = 10'000 + ::getpid() * 97 % 20'000;
  std::vector<int> ports;
  while (ports.size() < count) {
    if (is_free(next)) ports.push_back(next);
    next = next == 30'000 ? 10'000 : next + 1;
  }
  return ports;
}

class cluster : public testing::Test {
 protected:
  cluster()
      : directory_(std::filesystem::path(testing::TempDir()) /
                   fmt::format("weft-cluster-{}", ::getpid())) {
    std::filesystem::create_directories(directory_);
    write_secret("secret", "what only this cluster knows");
  }
  ~cluster() override { std::filesystem::remove_all(directory_); }

  void write_secret(const std::string& name, const std::string& bytes, mode_t mode = 0600) {
    std::ofstream(directory_ / name) << bytes << '\n';
    ::chmod((directory_ / name).c_str(), mode);
  }
  void write_config(const std::string& text) { std::ofstream(directory_ / "cluster.toml") << text; }
  // The list of so many nodes, and `more`.
  void write_cluster(int nodes, const std::string& more) {
    std::string list;
    for (const int port : free_ports(static_cast<std::size_t>(nodes)))
      list += fmt::format("\"127.0.0.1:{}\", ", port);
    write_config(
        fmt::format("nodes = [{}]\nsecret-file = \"secret\"\nsink = [\"check:\"]\n"
                    "log = \"info\"\n{}\n",
                    list, more));
  }
  NodeProcess start(std::vector<std::string> arguments) {
    std::vector<std::string> command = {WEFT_PROGRAM, "stream", "node"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return NodeProcess(command);
  }
  NodeProcess start_rank(int rank, std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"--config", (directory_ / "cluster.toml").string(),
                                         "--rank", std::to_string(rank), "--json"});
    return start(arguments);
  }
  std::vector<NodeProcess> start_all(int nodes) {
    std::vector<NodeProcess> all;
    for (int rank = 0; rank < nodes; ++rank) all.push_back(start_rank(rank));
    return all;
  }
  static void expect_success(std::vector<NodeProcess>& nodes) {
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      EXPECT_EQ(nodes[rank].wait(), 0) << "rank " << rank << ": " << nodes[rank].errors();
    }
  }
  // The rank that was told to end the stream says so by its exit code; the others end well.
  static void expect_end_by(int number, std::size_t signalled, std::vector<NodeProcess>& nodes) {
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
      EXPECT_EQ(nodes[rank].wait(), rank == signalled ? 128 + number : 0)
          << "rank " << rank << ": " << nodes[rank].errors();
    }
  }
  static void expect_all_say(std::vector<NodeProcess>& nodes, std::string_view text) {
    for (auto& node : nodes) ASSERT_TRUE(node.says(text)) << node.errors();
  }

  std::filesystem::path directory_;
};

}  // namespace weft
