// SPDX-License-Identifier: Apache-2.0
// A launcher of two processes, as a thread that answers lines.
#include "runtime/manager/pmi1_session.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <barrier>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Keys and values of all processes, and their barrier.
struct Space {
  std::mutex mutex;
  std::map<std::string, std::string> values;
  std::barrier<> barrier{2};
};

std::string field(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(" " + key + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 2;
  return line.substr(begin, line.find(' ', begin) - begin);
}

std::string answer(Space& space, const std::string& line) {
  const std::string command = line.substr(4, line.find(' ') - 4);
  const std::scoped_lock lock(space.mutex);
  if (command == "init") return "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
  if (command == "get_maxes") return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=33";
  if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=kvs_1";
  if (command == "put") {
    if (field(line, "value").size() > 32) return "cmd=put_result rc=-1 msg=too_long";
    space.values[field(line, "key")] = field(line, "value");
    return "cmd=put_result rc=0 msg=success";
  }
  if (command == "get") {
    return "cmd=get_result rc=0 msg=success value=" + space.values[field(line, "key")];
  }
  return "cmd=finalize_ack";
}

void serve(Space& space, int socket) {
  std::string received;
  char byte = 0;
  while (::read(socket, &byte, 1) == 1) {
    if (byte != '\n') {
      received += byte;
      continue;
    }
    if (received == "cmd=barrier_in") space.barrier.arrive_and_wait();
    const std::string said =
        (received == "cmd=barrier_in" ? "cmd=barrier_out" : answer(space, received)) + "\n";
    received.clear();
    if (::write(socket, said.data(), said.size()) < 0) return;
  }
}

TEST(pmi1_session, processes_get_each_others_bytes_also_in_pieces) {
  Space space;
  const std::string text(100, '\x01');
  std::vector<std::vector<std::string>> got(2);
  std::vector<std::thread> launcher, processes;
  std::vector<std::unique_ptr<ManagerSession>> sessions;
  std::vector<int> ends;
  for (int rank = 0; rank < 2; ++rank) {
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ends.push_back(pair[0]);
    launcher.emplace_back([&space, socket = pair[0]] { serve(space, socket); });
    ::setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
    ::setenv("PMI_SIZE", "2", 1);
    auto session = Pmi1Session::open(pair[1]);
    ASSERT_TRUE(session.ok()) << session.error().message;
    EXPECT_EQ((*session)->rank(), static_cast<std::uint32_t>(rank));
    EXPECT_EQ((*session)->job_id(), "kvs_1");
    sessions.push_back(std::move(session).value());
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    processes.emplace_back([&, rank] {
      auto texts = sessions[rank]->exchange("key", rank == 0 ? text : std::string());
      if (texts.ok()) got[rank] = *texts;
    });
  }
  for (auto& thread : processes) thread.join();
  EXPECT_THAT(got[0], ElementsAre(text, ""));
  EXPECT_THAT(got[1], ElementsAre(text, ""));
  EXPECT_FALSE(sessions[0]->exchange("key", std::string(5000, 'x')).ok());
  sessions.clear();
  for (auto& thread : launcher) thread.join();
  for (const int end : ends) ::close(end);
}

TEST(pmi1_session, a_launcher_that_is_gone_or_refuses_is_an_error) {
  ::setenv("PMI_RANK", "0", 1);
  ::setenv("PMI_SIZE", "2", 1);
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  std::thread refusing([end = pair[0]] {
    char line[64];
    if (::read(end, line, sizeof line) > 0) {
      (void)!::write(end, "cmd=response_to_init rc=-1\n", 27);
    }
    ::close(end);
  });
  const auto session = Pmi1Session::open(pair[1]);
  refusing.join();
  ASSERT_FALSE(session.ok());
  EXPECT_THAT(session.error().message, HasSubstr("rc=-1"));
}

}  // namespace
}  // namespace weft
