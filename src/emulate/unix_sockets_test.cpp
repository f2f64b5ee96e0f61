// SPDX-License-Identifier: Apache-2.0
// Programs on Unix-domain sockets behind an emulated link. Times are only held to bounds that no
// disturbance can break: nothing arrives before it may.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mpi_launcher.hpp"
#include "emulate/run.hpp"
#include "emulate/stream_relay.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// A server that echoes its input, behind a relay; each in a thread of its own.
class stream_relay : public ::testing::Test {
 protected:
  void start(const LinkShape& shape) {
    const std::string base = ::testing::TempDir() + "/relay-" + std::to_string(::getpid());
    for (const char* side : {".server", ".client"}) ::unlink((base + side).c_str());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un address = address_of(base + ".server");
    ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_, 4), 0);
    auto relay = StreamRelay::make(base + ".client", base + ".server", shape);
    ASSERT_TRUE(relay) << relay.error().message;
    ASSERT_EQ(::pipe(stop_), 0);
    server_ = std::thread([this] { echo(); });
    relay_ = std::thread([this, one = std::move(*relay)]() mutable {
      while (!stopped_) one.turn(stop_[0]);
    });
    client_ = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const sockaddr_un other = address_of(base + ".client");
    ASSERT_EQ(::connect(client_, reinterpret_cast<const sockaddr*>(&other), sizeof other), 0);
  }
  void TearDown() override {
    if (!relay_.joinable()) return;
    server_.join();
    stopped_ = true;
    EXPECT_EQ(::write(stop_[1], "", 1), 1);
    relay_.join();
    for (const int one : {client_, listener_, stop_[0], stop_[1]}) ::close(one);
  }
  void echo() const {
    const int peer = ::accept(listener_, nullptr, nullptr);
    std::vector<char> bytes(100'000);
    for (ssize_t n = 0; (n = ::read(peer, bytes.data(), bytes.size())) > 0;) {
      for (ssize_t at = 0; at < n;) at += ::write(peer, bytes.data() + at, std::size_t(n - at));
    }
    ::close(peer);
  }
  /// Everything that comes until the server closes.
  std::string read_all() const {
    std::string all;
    char part[4096];
    for (ssize_t n = 0; (n = ::read(client_, part, sizeof part)) > 0;) {
      all.append(part, static_cast<std::size_t>(n));
    }
    return all;
  }

  int listener_ = -1, client_ = -1, stop_[2] = {-1, -1};
  std::atomic<bool> stopped_ = false;
  std::thread server_, relay_;
};

using Clock = std::chrono::steady_clock;

TEST_F(stream_relay, brings_bytes_and_their_end_a_latency_later_each_way) {
  start({.rate = {}, .latency = Duration::milliseconds(3)});
  const auto began = Clock::now();
  ASSERT_EQ(::write(client_, "hello", 5), 5);
  char answer[5];
  ASSERT_EQ(::read(client_, answer, 5), 5);
  EXPECT_EQ(std::string(answer, 5), "hello");
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(6));
  ::shutdown(client_, SHUT_WR);
  EXPECT_EQ(read_all(), "");
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(12));
}

TEST_F(stream_relay, brings_no_bytes_faster_than_the_link) {
  start({.rate = Bandwidth::bytes_per_second(20'000'000), .latency = {}});
  std::string sent(1'000'000, 'x');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * i >> 7U);
  const auto began = Clock::now();
  std::thread writer([&] {
    for (std::size_t at = 0; at < sent.size();) {
      const ssize_t n = ::write(client_, sent.data() + at, sent.size() - at);
      if (n <= 0) return;
      at += static_cast<std::size_t>(n);
    }
    ::shutdown(client_, SHUT_WR);
  });
  EXPECT_EQ(read_all(), sent);
  writer.join();
  EXPECT_GE(Clock::now() - began, std::chrono::milliseconds(50));
}

TEST(stream_relay_paths, that_are_too_long_are_named) {
  const auto relay = StreamRelay::make("/tmp/" + std::string(200, 'a'), "/tmp/b", {});
  ASSERT_FALSE(relay);
  EXPECT_NE(relay.error().message.find("too long"), std::string::npos);
}

constexpr auto kLatency = Duration::milliseconds(3);

/// Sets, and gets four times: five round trips.
constexpr const char* kClient = R"(
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["WEFT_SOCKET"])
def ask(words, end):
    s.sendall(words)
    got = b""
    while not got.endswith(end): got += s.recv(4096)
    return got
print(ask(b"set answer 0 0 2\r\n42\r\n", b"STORED\r\n").decode().strip())
for _ in range(4): assert ask(b"get answer\r\n", b"END\r\n").split()[4] == b"42"
)";

class emulated_unix_sockets : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("WEFT_CALIBRATION", (::testing::TempDir() + "/no_calibration").c_str(), 1);
    if (find_program("memcached").empty() || find_program("python3").empty()) {
      GTEST_SKIP() << "memcached or python3 is not installed";
    }
  }
  static EmulationRequest memcached(std::vector<std::string> client) {
    EmulationRequest request;
    request.server = "exec memcached -u root -s {socket}";
    request.command = std::move(client);
    request.capture_stdout = true;
    request.latency.value = kLatency;
    return request;
  }
  static std::string refusal(const EmulationRequest& request) {
    const auto ran = run(request);
    return ran ? "" : ran.error().message;
  }
};

TEST_F(emulated_unix_sockets, memcached_answers_right_and_no_sooner_than_the_link_lets_it) {
  const auto ran = run(memcached({"python3", "-c", kClient}));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "STORED\n");
  EXPECT_EQ(ran->interposer, "sockets");
  EXPECT_GE(ran->program_time, kLatency * (5 * 2));
  EXPECT_GE(ran->operations, 10U);
}

TEST_F(emulated_unix_sockets, a_client_that_sends_nothing_is_told_where_the_server_is) {
  EXPECT_NE(refusal(memcached({"true"})).find("let it connect to {socket}"), std::string::npos);
}

TEST_F(emulated_unix_sockets, a_client_that_fails_has_no_result) {
  EXPECT_NE(refusal(memcached({"false"})).find("false ended with code 1"), std::string::npos);
}

TEST_F(emulated_unix_sockets, a_client_that_cannot_be_started_is_named_before_the_server_starts) {
  for (const std::string client : {"./no-such-client", "/"}) {
    EmulationRequest request = memcached({client});
    request.server = "exit 3 # {socket}";
    EXPECT_NE(refusal(request).find(client + ": is no program that can be started"),
              std::string::npos);
  }
}

TEST_F(emulated_unix_sockets, a_server_that_fails_is_named) {
  EmulationRequest request = memcached({"true"});
  request.server = "exit 3 # {socket}";
  EXPECT_NE(refusal(request).find("ended with code 3 before it listened"), std::string::npos);
}

TEST_F(emulated_unix_sockets, a_server_in_the_background_ends_with_the_run) {
  const std::string file = ::testing::TempDir() + "/left-" + std::to_string(::getpid());
  EmulationRequest request = memcached({"python3", "-c", kClient});
  request.server =
      "setsid sleep 1000 & echo $! > " + file + "; exec memcached -d -u root -s {socket}";
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  pid_t left = 0;
  std::ifstream(file) >> left;
  ::unlink(file.c_str());
  ASSERT_GT(left, 0);
  EXPECT_NE(::kill(left, 0), 0);
}

// The client asks memcached once, says that it is there, and stays.
TEST_F(emulated_unix_sockets, end_in_order_when_weft_is_told_to_end) {
  const std::string fifo = ::testing::TempDir() + "/ends-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::optional<StopSignals> signals(std::in_place);
  pid_t client = 0;
  std::string socket;
  std::thread stops([&] {
    std::ifstream(fifo) >> client >> socket;
    ::kill(::getpid(), SIGTERM);
  });
  const std::string stay = "\nopen('" + fifo +
                           "', 'w').write('%d %s' % (os.getpid(), os.environ['WEFT_SOCKET']))\n"
                           "import time; time.sleep(1000)\n";
  const auto ran = run(memcached({"python3", "-c", kClient + stay}));
  stops.join();
  ::unlink(fifo.c_str());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
  EXPECT_EQ(StopSignals::number(), SIGTERM);
  EXPECT_NE(::kill(client, 0), 0);
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(socket).parent_path()));
  signals.reset();
  signals.emplace();  // forgets it
}

TEST_F(emulated_unix_sockets, are_refused_a_directory_that_a_shell_or_a_socket_does_not_take) {
  const std::string base = ::testing::TempDir() + "/sockets-" + std::to_string(::getpid());
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before != nullptr ? before : "/tmp";
  for (const auto& [name, why] : {std::pair{std::string(" a b"), "the server's shell"},
                                  {std::string(100, 'a'), "longer than 107 bytes"}}) {
    std::filesystem::create_directories(base + name);
    ::setenv("TMPDIR", (base + name).c_str(), 1);
    const std::string refused = refusal(memcached({"python3", "-c", kClient}));
    EXPECT_NE(refused.find("TMPDIR is " + base + name), std::string::npos) << refused;
    EXPECT_NE(refused.find(why), std::string::npos) << refused;
    std::filesystem::remove(base + name);
  }
  ::setenv("TMPDIR", restored.c_str(), 1);
}

TEST_F(emulated_unix_sockets, what_needs_a_calibration_is_refused) {
  EmulationRequest request = memcached({"true"});
  request.bandwidth.fraction = 0.5;
  EXPECT_NE(refusal(request).find("Unix sockets, which are not calibrated"), std::string::npos);
}

}  // namespace
}  // namespace weft::emulate
