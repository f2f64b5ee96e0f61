// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/job_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/membership/life.hpp"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string complaint(std::string_view text) {
  const auto file = parse_job_file(text, "job.conf");
  return file ? "none" : file.error().message;
}

std::vector<std::string> addresses(std::string_view text) {
  const auto file = parse_job_file(text, "job.conf");
  if (!file) return {file.error().message};
  auto resolved = RankAddresses().resolve(*file);
  return resolved ? *resolved : std::vector{resolved.error().message};
}

// Listing 5.7 of paper 4.
constexpr std::string_view listing =
    "[general]\n"
    "send_attempts = -1\n"
    "receive_attempts = -1\n"
    "outbox_size = -1\n"
    "\n"
    "[addresses]\n"
    "rank0 = localhost 2000\n"
    "rank1 = localhost 2001\n";

TEST(job_file, of_the_paper_is_accepted_as_it_is) {
  const auto file = parse_job_file(listing, "job.conf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->timeout, Duration::max());
  EXPECT_EQ(file->retain, true);
  ASSERT_EQ(file->ranks.size(), 2u);
  EXPECT_EQ(file->ranks[1].host, "localhost");
  EXPECT_EQ(file->ranks[1].port, 2001);
  EXPECT_EQ(file->ranks[1].line, 8u);
}

TEST(job_file, attempts_and_their_delay_are_a_time) {
  const std::string rest = "\n[addresses]\n0 = a 1\n";
  const auto timeout = [&](const std::string& general) {
    return parse_job_file("[general]\n" + general + rest, "job.conf")->timeout;
  };
  EXPECT_EQ(timeout("send_attempts = 100\nsend_delay=0.1\nreceive_attempts = 30"),
            Duration::seconds(10));
  EXPECT_EQ(timeout("receive_attempts=1000"), Duration::seconds(100));
  EXPECT_EQ(timeout("timeout = 3s\nsend_attempts = 100"), Duration::seconds(3));
  EXPECT_EQ(timeout("# nothing here"), std::nullopt);
}

TEST(job_file, all_keys_of_the_paper_are_known) {
  const auto file = parse_job_file(
      "[general]\nbackend_async_send = true\nbackend_native_reduce = false\n"
      "backend_peer_reduce = true\nclient_connections = 400\nclient_threads = 4\n"
      "server_connections = 16\nserver_threads = 4\nsocket_backlog = 64\nsocket_timeout = 2.5\n"
      "inbox_size = 16777216\noutbox_size = 16777216\nsend_attempts = 100\nsend_delay = 0.1\n"
      "receive_attempts = 100\nreceive_timeout = 0.0\nreceive_delay = 0.1\n"
      "minimpi_async_split = true\n[addresses]\n0 = localhost 4444\n1 = foo\n",
      "job.conf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->connections, 416u);
  EXPECT_EQ(file->peer_timeout, Duration::milliseconds(2500));
  EXPECT_EQ(file->inbox, ByteCount::mib(16));
  EXPECT_EQ(file->retain, false);
  EXPECT_EQ(file->ranks[1].unix_name, "foo");
}

TEST(job_file, names_a_fabric_that_finds_peers_by_their_addresses) {
  const auto fabric = [](const std::string& line) {
    const auto file = parse_job_file("[general]\n" + line + "\n[addresses]\n0 = a\n", "job.conf");
    return file ? file->fabric : file.error().message;
  };
  EXPECT_EQ(fabric("# nothing here"), "");
  EXPECT_EQ(fabric("fabric = auto"), "auto");
  EXPECT_EQ(fabric("fabric = tcp"), "tcp");
  EXPECT_EQ(fabric("fabric = shm"),
            "job.conf:2: fabric = shm: 'shm': a configuration file has addresses of TCP; choose "
            "auto, with shared memory within a machine, or tcp");
}

TEST(job_file, says_how_often_silent_connections_are_asked) {
  const auto file = parse_job_file("[general]\nheartbeat = 2s\n[addresses]\n0 = a\n", "job.conf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->heartbeat, Duration::seconds(2));
  EXPECT_NE(complaint("[general]\nheartbeat = 0s\n").find("choose at least 1ms"),
            std::string::npos);
}

TEST(job_file, names_what_it_refuses_by_line_and_says_what_to_write) {
  EXPECT_EQ(complaint(""),
            "job.conf: has no addresses; add [addresses] and a line for each rank, such as: 0 = "
            "localhost 4444");
  EXPECT_EQ(complaint("[general]\nsecret = x\n"),
            "job.conf:2: 'secret' is no key of [general]: did you mean secret_file? "
            "docs/messages.md lists them");
  EXPECT_EQ(complaint("a = b\n"),
            "job.conf:1: 'a' stands before any group; write [general] or [addresses] above it");
  EXPECT_EQ(complaint("\n[ranks]\n"),
            "job.conf:2: '[ranks]' is none of the groups [general] and [addresses]");
  EXPECT_EQ(complaint("[addresses]\n0 = a 1\n0 = b 1\n"),
            "job.conf:3: '0' is there already, in line 2");
  EXPECT_EQ(complaint("[addresses]\nrank1 = a 1\n"),
            "job.conf:2: 'rank1' is the address of rank 0, since ranks count the lines from 0; put "
            "the lines in order, or name it rank0");
  EXPECT_THAT(complaint("[general]\ntimeout = soon\n"), HasSubstr("job.conf:2: timeout = soon: "));
  EXPECT_THAT(complaint("[general]\noutbox_size = -2\n"), HasSubstr("-1 keeps everything"));
  EXPECT_THAT(complaint("[general]\noutbox_fails = 3\n"), HasSubstr("neither true nor false"));
  EXPECT_THAT(complaint(std::string_view("[general]\nx\0y = 1\n", 18)), HasSubstr("control"));
}

TEST(job_file, refuses_what_is_no_address) {
  for (const char* value : {"", "a 0", "a 65536", "a b", "a 1 2", "a:", ":1", "a b c", "a|b"}) {
    EXPECT_THAT(complaint(fmt::format("[addresses]\n0 = {}\n", value)),
                HasSubstr(fmt::format("job.conf:2: '{}' is no address", value)));
  }
}

TEST(rank_addresses, are_looked_up_once_and_differ) {
  EXPECT_THAT(addresses("[addresses]\nx = 127.0.0.1 2000\ny = ::1 2001\nz = [::1]:2002\nw = foo\n"),
              ElementsAre("127.0.0.1:2000", "[::1]:2001", "[::1]:2002", "unix:@foo"));
  EXPECT_THAT(addresses("[addresses]\n0 = localhost 2000\n1 = 127.0.0.1 2000\n"),
              ElementsAre("job.conf:3: ranks 0 and 1 are both at 127.0.0.1:2000; each needs an "
                          "address of its own, such as another port of the host"));
  EXPECT_THAT(addresses("[addresses]\n0 = host.invalid 2000\n"),
              ElementsAre(HasSubstr("job.conf:2: host 'host.invalid': ")));
}

TEST(rank_addresses, of_this_machine_are_known) {
  EXPECT_THAT(ranks_here({"127.0.0.1:1", "203.0.113.1:1", "[::1]:1", "unix:@foo"}),
              ElementsAre(0u, 2u, 3u));
  const RankPlace named{.host = "this-host", .port = 7, .unix_name = {}, .line = 1};
  EXPECT_EQ(listening_address(named, "127.0.1.1:7"), "0.0.0.0:7");
  EXPECT_EQ(listening_address(named, "10.0.0.1:7"), "10.0.0.1:7");
  const RankPlace local{.host = "localhost", .port = 7, .unix_name = {}, .line = 1};
  EXPECT_EQ(listening_address(local, "127.0.0.1:7"), "127.0.0.1:7");
}

TEST(job_file, is_read_with_the_time_of_its_last_change) {
  const std::string path = testing::TempDir() + fmt::format("weft-job-{}", ::getpid());
  const auto missing = read_job_file(path);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr(path + ": No such file or directory; name a"));
  EXPECT_THAT(read_job_file(testing::TempDir()).error().message, HasSubstr("is not a file"));
  const Incarnation before = incarnation_now();
  std::ofstream(path) << listing;
  const auto file = read_job_file(path);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_GE(file->changed.value() + 1, before.value());
  EXPECT_LE(file->changed, incarnation_now());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft
