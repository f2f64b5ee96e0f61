// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "base/rng.hpp"

namespace weft::metrics {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Instant start{1'000'000};

/// A TCP client on loopback that never blocks.
class Client {
 public:
  explicit Client(std::uint16_t port, in_addr_t host = INADDR_LOOPBACK) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_port = htons(port);
    where.sin_addr.s_addr = htonl(host);
    // The kernel completes the connection before the server accepts it.
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0;
  }
  Client(Client&& other) noexcept : fd_(other.fd_), connected_(other.connected_) { other.fd_ = -1; }
  ~Client() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  bool send(std::string_view text) {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// Takes the bytes there are; true while the server has not closed.
  bool receive() {
    std::array<char, 65536> chunk;
    for (;;) {
      const ssize_t n = ::recv(fd_, chunk.data(), chunk.size(), MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) return true;
      if (n <= 0) return false;
      received_.append(chunk.data(), static_cast<std::size_t>(n));
    }
  }
  const std::string& received() const { return received_; }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::string received_;
};

class metrics_server : public testing::Test {
 protected:
  metrics_server() : counter_(registry_.counter({"weft_things", "Things.", ""})) {
    Result<std::unique_ptr<MetricsServer>> opened = MetricsServer::open("127.0.0.1:0", registry_);
    if (!opened) throw std::runtime_error(opened.error().message);
    server_ = std::move(opened).value();
  }

  /// Serves until the client's connection ends.
  std::string answer_to(Client& client, Instant now = start) {
    while (client.receive()) {
      std::array<pollfd, 2> watched{pollfd{server_->descriptor(), POLLIN, 0},
                                    pollfd{client.fd(), POLLIN, 0}};
      if (::poll(watched.data(), watched.size(), 20'000) <= 0) return "nothing happened";
      server_->serve(now);
    }
    return client.received();
  }
  std::string answer_to(std::string_view request) {
    Client client(server_->port());
    client.send(request);
    return answer_to(client);
  }

  Registry registry_;
  Counter& counter_;
  std::unique_ptr<MetricsServer> server_;
};

constexpr std::string_view good_request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST_F(metrics_server, serves_the_exposition_of_the_moment) {
  counter_.add(3);
  EXPECT_THAT(answer_to(good_request), EndsWith("\r\n\r\n" + registry_.exposition()));
  counter_.add();
  const std::string answer = answer_to(good_request);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("application/openmetrics-text"));
  EXPECT_THAT(answer, HasSubstr("weft_things_total 4\n"));
}

TEST_F(metrics_server, request_may_come_byte_by_byte) {
  Client client(server_->port());
  for (const char c : good_request) {
    ASSERT_TRUE(client.send(std::string_view(&c, 1)));
    server_->serve(start);
  }
  EXPECT_THAT(answer_to(client), StartsWith("HTTP/1.1 200"));
}

TEST_F(metrics_server, answer_larger_than_the_socket_buffers_arrives_whole) {
  for (int i = 0; i < 2'000; ++i) {
    registry_.gauge({fmt::format("weft_large_{}", i), std::string(4000, 'h'), ""});
  }
  const std::string answer = answer_to(good_request);
  EXPECT_GT(answer.size(), 8'000'000u);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n" + registry_.exposition()));
}

TEST_F(metrics_server, bytes_behind_the_request_do_not_cut_off_the_answer) {
  const std::string answer = answer_to(std::string(good_request) + std::string(20'000, 'x'));
  EXPECT_THAT(answer, EndsWith("# EOF\n"));
}

TEST_F(metrics_server, other_requests_are_refused) {
  EXPECT_THAT(answer_to("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(answer_to("DELETE /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(answer_to("\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(std::string("\0\0\0\0\n\n", 6)), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(good_request), StartsWith("HTTP/1.1 200 "));
}

TEST_F(metrics_server, endless_head_is_refused) {
  EXPECT_THAT(answer_to("GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'x')),
              StartsWith("HTTP/1.1 431 "));
}

TEST_F(metrics_server, silent_client_is_closed_when_its_time_is_up) {
  Client client(server_->port());
  ASSERT_TRUE(client.send("GET /met"));
  server_->serve(start);
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(server_->next_deadline(), start + MetricsServer::request_time);
  server_->serve(start + MetricsServer::request_time - Duration(1));
  EXPECT_EQ(server_->connections(), 1u);
  server_->serve(start + MetricsServer::request_time);
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(server_->next_deadline(), Instant::never());
  EXPECT_FALSE(client.receive());
}

TEST_F(metrics_server, client_that_does_not_read_is_closed_when_its_time_is_up) {
  for (int i = 0; i < 4'000; ++i) {
    registry_.gauge({fmt::format("weft_large_{}", i), std::string(4000, 'h'), ""});
  }
  Client client(server_->port());
  client.send(good_request);
  server_->serve(start);
  server_->serve(start);
  EXPECT_EQ(server_->connections(), 1u);
  server_->serve(start + MetricsServer::request_time);
  EXPECT_EQ(server_->connections(), 0u);
}

TEST_F(metrics_server, many_silent_clients_do_not_keep_a_scraper_out) {
  std::vector<Client> silent;
  for (std::size_t i = 0; i < 3 * MetricsServer::most_connections; ++i) {
    silent.emplace_back(server_->port());
    server_->serve(start);
    EXPECT_LE(server_->connections(), MetricsServer::most_connections);
  }
  EXPECT_THAT(answer_to(good_request), StartsWith("HTTP/1.1 200 "));
}

TEST_F(metrics_server, client_that_leaves_early_harms_nothing) {
  {
    Client client(server_->port());
    server_->serve(start);
    client.send("GET");
  }
  {
    Client client(server_->port());
    client.send(good_request);
    const linger now{1, 0};  // closing resets the connection
    ::setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  server_->serve(start);
  EXPECT_THAT(answer_to(good_request), StartsWith("HTTP/1.1 200 "));
}

TEST_F(metrics_server, without_free_descriptors_it_pauses_and_recovers) {
  Client client(server_->port());
  client.send(good_request);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  server_->serve(start);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(server_->connections(), 0u);
  pollfd idle{server_->descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&idle, 1, 0), 0) << "the driver could not sleep";
  const Instant again = server_->next_deadline();
  ASSERT_LT(again, start + Duration::seconds(1));
  server_->serve(again);
  EXPECT_THAT(answer_to(client, again), StartsWith("HTTP/1.1 200 "));
}

TEST_F(metrics_server, survives_random_bytes) {
  const char* given = std::getenv("WEFT_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  SCOPED_TRACE(fmt::format(
      "rerun: WEFT_TEST_SEED={} metrics_test --gtest_filter=metrics_server.survives*", seed));
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    Client client(server_->port());
    ASSERT_TRUE(client.connected());
    std::string bytes;
    const std::uint64_t length = rng.below(400);
    for (std::uint64_t i = 0; i < length; ++i) {
      static constexpr std::string_view likely = "GET /metrics HTTP/1.1\r\n\r\n\n: ";
      bytes +=
          rng.below(4) == 0 ? static_cast<char>(rng.below(256)) : likely[rng.below(likely.size())];
    }
    client.send(bytes);
    server_->serve(start);
    EXPECT_LE(server_->connections(), MetricsServer::most_connections);
  }
  EXPECT_THAT(answer_to(good_request), StartsWith("HTTP/1.1 200 "));
}

TEST(metrics_server_open, addresses_that_cannot_be_are_named) {
  const Registry registry;
  for (const char* address : {"", "9100", "localhost", "host:port", ":99999", ":-1", ": 1", "::1:9",
                              "[::1:9100", "[]:9100", "127.0.0.1:9100x"}) {
    const auto opened = MetricsServer::open(address, registry);
    ASSERT_FALSE(opened.ok()) << address;
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument) << address;
    EXPECT_THAT(opened.error().message, HasSubstr(fmt::format("--metrics: '{}'", address)));
  }
}

TEST(metrics_server_open, a_port_in_use_is_named) {
  const Registry registry;
  const auto first = MetricsServer::open("127.0.0.1:0", registry);
  ASSERT_TRUE(first.ok());
  const std::string address = "127.0.0.1:" + std::to_string((*first)->port());
  const auto second = MetricsServer::open(address, registry);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message, HasSubstr(address));
}

// A socket that listens at every address of the machine also takes clients of 127.0.0.2.
TEST(metrics_server_open, only_this_machine_reads_the_figures_unless_an_address_is_given) {
  constexpr in_addr_t another_address = INADDR_LOOPBACK + 1;
  const Registry registry;
  const auto narrow = MetricsServer::open(":0", registry);
  ASSERT_TRUE(narrow.ok()) << narrow.error().message;
  EXPECT_TRUE(Client((*narrow)->port()).connected());
  EXPECT_FALSE(Client((*narrow)->port(), another_address).connected());
  const auto wide = MetricsServer::open("0.0.0.0:0", registry);
  ASSERT_TRUE(wide.ok()) << wide.error().message;
  EXPECT_TRUE(Client((*wide)->port(), another_address).connected());
}

}  // namespace
}  // namespace weft::metrics
