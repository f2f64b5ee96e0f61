// SPDX-License-Identifier: Apache-2.0
// Testbeds that are really set up. Skipped where neither root nor user namespaces are to be had.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "testbed/host_runner.hpp"
#include "testbed/testbed.hpp"

namespace weft::testbed {
namespace {

// Long enough for any machine; only a failing test waits for it.
constexpr int kGiveUpSeconds = 30;

TestbedOptions small(std::uint32_t hosts, Bandwidth link = {}) {
  TestbedOptions options;
  options.hosts = hosts;
  options.link = link;
  options.lifetime = Duration::seconds(600);
  return options;
}

std::set<std::string> interfaces_of_the_machine() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net")) {
    names.insert(entry.path().filename());
  }
  return names;
}

// Runs `body` in a child process, which may then move between namespaces. Empty: all went well.
std::string in_child(const std::function<std::string()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(4 * kGiveUpSeconds);
    const std::string text = body();
    [[maybe_unused]] const auto told = ::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> chunk;
  while (true) {
    const auto n = ::read(ends[0], chunk.data(), chunk.size());
    if (n <= 0) break;
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!WIFEXITED(status)) text += fmt::format(" (died of signal {})", WTERMSIG(status));
  return text;
}

// Waits until a process, not necessarily a child, is gone.
bool ends(int handle) {
  pollfd ended{handle, POLLIN, 0};
  return ::poll(&ended, 1, kGiveUpSeconds * 1000) == 1;
}

// "/proc/123/root/…": the process that holds the namespaces.
pid_t keeper_of(const Testbed& testbed) {
  return static_cast<pid_t>(std::strtol(testbed.namespace_path(0).c_str() + 6, nullptr, 10));
}

int open_handle(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

sockaddr_in endpoint(const Testbed& testbed, std::uint32_t host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, testbed.address(host).c_str(), &address.sin_addr);
  return address;
}

// A socket in a host, bound to its address; blocks for at most kGiveUpSeconds.
int socket_in(const Testbed& testbed, std::uint32_t host, int type, std::uint16_t port) {
  if (!testbed.enter_host(host).ok()) return -1;
  const int socket = ::socket(AF_INET, type, 0);
  const timeval limit{kGiveUpSeconds, 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const auto address = endpoint(testbed, host, port);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return -1;
  return socket;
}

// Datagrams between hosts. A later datagram that arrives shows a loss, without waiting.
class Datagrams {
 public:
  explicit Datagrams(const Testbed& testbed) : testbed_(testbed) {
    for (std::uint32_t host = 0; host < testbed.hosts(); ++host) {
      sockets_.push_back(socket_in(testbed, host, SOCK_DGRAM, 5000));
    }
  }
  bool ok() const {
    return std::ranges::none_of(sockets_, [](int s) { return s < 0; });
  }
  // A send that the own host refuses counts as lost.
  void send(std::uint32_t from, std::uint32_t to, std::uint32_t number) {
    const auto address = endpoint(testbed_, to, 5000);
    ::sendto(sockets_[from], &number, sizeof number, 0, reinterpret_cast<const sockaddr*>(&address),
             sizeof address);
  }
  // Zero when nothing comes.
  std::uint32_t receive(std::uint32_t host) {
    std::uint32_t number = 0;
    ::recv(sockets_[host], &number, sizeof number, 0);
    return number;
  }

 private:
  const Testbed& testbed_;
  std::vector<int> sockets_;
};

#define WEFT_EXPECT_OK(result)                                                      \
  do {                                                                              \
    if (const auto& weft_r = (result); !weft_r.ok()) return weft_r.error().message; \
  } while (false)

class TestbedLive : public ::testing::Test {
 protected:
  void SetUp() override {
    auto testbed = Testbed::up(small(1));
    if (!testbed.ok()) GTEST_SKIP() << testbed.error().message;
    records_ =
        std::filesystem::path(::testing::TempDir()) / fmt::format("weft-testbed-{}", ::getpid());
    ::setenv("WEFT_TESTBED_STATE", records_.c_str(), 1);
  }
  void TearDown() override {
    for (const auto& name : Testbed::names()) (void)Testbed::down(name);
    std::error_code ignored;
    std::filesystem::remove_all(records_, ignored);
  }
  std::filesystem::path records_;
};

TEST_F(TestbedLive, leaves_nothing_behind) {
  const auto before = interfaces_of_the_machine();
  int handle = -1;
  {
    auto testbed = Testbed::up(small(4, Bandwidth::bits_per_second(100'000'000)));
    ASSERT_TRUE(testbed.ok()) << testbed.error().message;
    EXPECT_EQ(interfaces_of_the_machine(), before);
    EXPECT_TRUE(std::filesystem::exists(testbed->namespace_path(3)));
    handle = open_handle(keeper_of(*testbed));
    ASSERT_GE(handle, 0);
  }
  EXPECT_TRUE(ends(handle));
  ::close(handle);
  EXPECT_EQ(interfaces_of_the_machine(), before);
}

TEST_F(TestbedLive, ends_with_its_owner_even_when_that_is_killed) {
  std::array<int, 2> ends_of_pipe{};
  ASSERT_EQ(::pipe(ends_of_pipe.data()), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    auto testbed = Testbed::up(small(2));
    const pid_t keeper = testbed.ok() ? keeper_of(*testbed) : 0;
    [[maybe_unused]] const auto told = ::write(ends_of_pipe[1], &keeper, sizeof keeper);
    ::pause();
    ::_exit(0);
  }
  pid_t keeper = 0;
  ASSERT_EQ(::read(ends_of_pipe[0], &keeper, sizeof keeper), static_cast<ssize_t>(sizeof keeper));
  ASSERT_GT(keeper, 0);
  const int handle = open_handle(keeper);
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_TRUE(ends(handle));
  for (const int end : {ends_of_pipe[0], ends_of_pipe[1], handle}) ::close(end);
}

std::string exchange_over_tcp(const Testbed& testbed, std::uint32_t from, std::uint32_t to) {
  const int listener = socket_in(testbed, to, SOCK_STREAM, 6000);
  if (listener < 0 || ::listen(listener, 1) != 0) return "listen";
  const int client = socket_in(testbed, from, SOCK_STREAM, 0);
  const auto address = endpoint(testbed, to, 6000);
  if (::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fmt::format("connect: {}", std::strerror(errno));
  }
  sockaddr_in peer{};
  socklen_t length = sizeof peer;
  const int server = ::accept(listener, reinterpret_cast<sockaddr*>(&peer), &length);
  const auto expected = endpoint(testbed, from, 0);
  if (peer.sin_addr.s_addr != expected.sin_addr.s_addr) return "comes from another address";
  std::array<char, 5> word{};
  if (::send(client, "hello", 5, 0) != 5) return "send";
  if (::recv(server, word.data(), 5, MSG_WAITALL) != 5) return "recv";
  for (const int socket : {listener, client, server}) ::close(socket);
  return std::string_view(word.data(), 5) == "hello" ? "" : "wrong bytes";
}

TEST_F(TestbedLive, hosts_reach_each_other) {
  auto testbed = Testbed::up(small(3, Bandwidth::bits_per_second(100'000'000)));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  EXPECT_EQ(in_child([&] { return exchange_over_tcp(*testbed, 0, 2); }), "");
  EXPECT_EQ(in_child([&] { return exchange_over_tcp(*testbed, 2, 1); }), "");
  EXPECT_FALSE(testbed->congestion_control().empty());
}

TEST_F(TestbedLive, a_pulled_cable_cuts_a_host_off_until_it_is_plugged_in) {
  auto testbed = Testbed::up(small(3));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  EXPECT_EQ(in_child([&]() -> std::string {
              Datagrams datagrams(*testbed);
              if (!datagrams.ok()) return "sockets";
              datagrams.send(0, 1, 1);
              if (datagrams.receive(1) != 1) return "did not arrive before";
              WEFT_EXPECT_OK(testbed->set_link_up(1, false));
              datagrams.send(0, 1, 2);
              datagrams.send(0, 2, 3);
              if (datagrams.receive(2) != 3) return "another host is cut off";
              WEFT_EXPECT_OK(testbed->set_link_up(1, true));
              datagrams.send(0, 1, 4);
              const auto next = datagrams.receive(1);
              return next == 4 ? "" : fmt::format("{} arrived, not 4", next);
            }),
            "");
}

TEST_F(TestbedLive, partitions_and_losses_drop_and_heal) {
  auto testbed = Testbed::up(small(3));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  const std::string outcome = in_child([&]() -> std::string {
    Datagrams datagrams(*testbed);
    if (!datagrams.ok()) return "sockets";
    WEFT_EXPECT_OK(testbed->set_partition({{0}, {1}}));
    datagrams.send(0, 1, 1);
    datagrams.send(1, 0, 1);
    datagrams.send(2, 1, 2);
    if (datagrams.receive(1) != 2) return "the partition leaks, or cuts off the third host";
    WEFT_EXPECT_OK(testbed->set_partition({}));
    datagrams.send(1, 0, 3);
    if (datagrams.receive(0) != 3) return "the partition leaks, or does not heal";
    WEFT_EXPECT_OK(testbed->set_loss(2, 1'000'000));
    datagrams.send(0, 2, 4);
    datagrams.send(2, 1, 4);
    datagrams.send(0, 1, 5);
    if (datagrams.receive(1) != 5) return "total loss lets something pass";
    WEFT_EXPECT_OK(testbed->set_loss(2, 500'000));
    constexpr std::uint32_t kSent = 200;
    for (std::uint32_t i = 0; i < kSent; ++i) datagrams.send(0, 2, 100 + i);
    WEFT_EXPECT_OK(testbed->set_loss(2, 0));
    datagrams.send(0, 2, 99);
    std::uint32_t arrived = 0;
    for (std::uint32_t n = datagrams.receive(2); n != 99; n = datagrams.receive(2)) {
      if (n < 100) return fmt::format("{} arrived", n);
      ++arrived;
    }
    return arrived > 0 && arrived < kSent ? "" : fmt::format("{} of {} arrived", arrived, kSent);
  });
  if (outcome.find("package nftables") != std::string::npos) GTEST_SKIP() << outcome;
  EXPECT_EQ(outcome, "");
}

double seconds_to_send(const Testbed& testbed, std::uint32_t from, std::uint32_t to,
                       std::size_t size, std::uint16_t port) {
  const int listener = socket_in(testbed, to, SOCK_STREAM, port);
  ::listen(listener, 1);
  const int client = socket_in(testbed, from, SOCK_STREAM, 0);
  const auto address = endpoint(testbed, to, port);
  ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int server = ::accept(listener, nullptr, nullptr);
  timespec begin{}, end{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  const pid_t sender = ::fork();
  std::vector<char> bytes(size);
  if (sender == 0) {
    ::send(client, bytes.data(), bytes.size(), 0);
    ::_exit(0);
  }
  const auto n = ::recv(server, bytes.data(), bytes.size(), MSG_WAITALL);
  ::clock_gettime(CLOCK_MONOTONIC, &end);
  ::waitpid(sender, nullptr, 0);
  for (const int socket : {listener, client, server}) ::close(socket);
  if (n != static_cast<ssize_t>(size)) return 0;
  return static_cast<double>(end.tv_sec - begin.tv_sec) +
         static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

TEST_F(TestbedLive, a_slow_host_is_slower_by_about_the_ratio_of_its_rate) {
  auto testbed = Testbed::up(small(2, Bandwidth::bits_per_second(80'000'000)));
  ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  EXPECT_EQ(in_child([&]() -> std::string {
              constexpr std::size_t kSize = 1'000'000;
              const double before = seconds_to_send(*testbed, 0, 1, kSize, 7000);
              WEFT_EXPECT_OK(testbed->set_rate(1, Bandwidth::bits_per_second(8'000'000)));
              const double slow = seconds_to_send(*testbed, 0, 1, kSize, 7001);
              WEFT_EXPECT_OK(testbed->set_rate(1, Bandwidth{}));
              const double after = seconds_to_send(*testbed, 0, 1, kSize, 7002);
              // Ten times is expected. Never faster than the link; slower when the machine is busy.
              if (slow < 0.9) return fmt::format("slow takes {} s", slow);
              if (slow < 2 * before || slow < 2 * after) {
                return fmt::format("{} s, {} s, {} s", before, slow, after);
              }
              return "";
            }),
            "");
}

// A connection from one host to another whose ends are both this process's.
struct Stream {
  int from = -1, to = -1;
  std::uint64_t arrived = 0;
};

Stream stream_with_dscp(const Testbed& testbed, std::uint16_t port, int dscp) {
  const int listener = socket_in(testbed, 1, SOCK_STREAM, port);
  if (listener < 0 || ::listen(listener, 1) != 0) return {};
  Stream stream{.from = socket_in(testbed, 0, SOCK_STREAM, port)};
  const int tos = dscp << 2;
  ::setsockopt(stream.from, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
  const auto address = endpoint(testbed, 1, port);
  if (::connect(stream.from, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  stream.to = ::accept(listener, nullptr, nullptr);
  for (const int socket : {stream.from, stream.to}) ::fcntl(socket, F_SETFL, O_NONBLOCK);
  ::close(listener);
  return stream;
}

// Keeps both full until so many bytes have arrived; how many of them came by the second, for each
// that came by the first.
double ratio_of_arrived(std::array<Stream, 2>& streams, std::uint64_t bytes) {
  std::array<char, 16 << 10> chunk{};
  for (Stream& s : streams) s.arrived = 0;
  while (streams[0].arrived + streams[1].arrived < bytes) {
    std::array<pollfd, 4> ready{{{streams[0].from, POLLOUT, 0},
                                 {streams[1].from, POLLOUT, 0},
                                 {streams[0].to, POLLIN, 0},
                                 {streams[1].to, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), kGiveUpSeconds * 1000) <= 0) return -1;
    for (Stream& s : streams) {
      (void)::send(s.from, chunk.data(), chunk.size(), MSG_NOSIGNAL);
      const auto n = ::recv(s.to, chunk.data(), chunk.size(), 0);
      if (n > 0) s.arrived += static_cast<std::uint64_t>(n);
    }
  }
  return static_cast<double>(streams[1].arrived) / static_cast<double>(streams[0].arrived + 1);
}

TEST_F(TestbedLive, levels_share_an_uplink_by_weights_that_change) {
  EXPECT_EQ(in_child([]() -> std::string {
              auto options = small(2);
              options.uplink = Bandwidth::bits_per_second(40'000'000);
              options.levels = {{.dscp = 0, .weight = 1}, {.dscp = 10, .weight = 8}};
              auto testbed = Testbed::up(options);
              if (!testbed.ok()) return testbed.error().message;
              std::array<Stream, 2> streams{stream_with_dscp(*testbed, 7001, 0),
                                            stream_with_dscp(*testbed, 7002, 10)};
              if (streams[0].to < 0 || streams[1].to < 0) return "cannot connect";
              (void)ratio_of_arrived(streams, 500'000);  // until both fill their queues
              const double raised = ratio_of_arrived(streams, 1'000'000);
              WEFT_EXPECT_OK(testbed->set_level_weights(std::vector<std::uint8_t>{8, 1}));
              (void)ratio_of_arrived(streams, 500'000);
              const double lowered = ratio_of_arrived(streams, 1'000'000);
              const bool good = raised > 3 && lowered < 1 / 3.0;
              return good ? "" : fmt::format("8:1 {:.2f}, 1:8 {:.2f}", raised, lowered);
            }),
            "");
}

TEST_F(TestbedLive, works_for_a_user_without_privileges) {
  if (::geteuid() != 0) GTEST_SKIP() << "runs as such a user anyway";
  const std::string outcome = in_child([&]() -> std::string {
    ::unsetenv("WEFT_TESTBED_STATE");
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return "cannot become nobody";
    ::prctl(PR_SET_DUMPABLE, 1);  // as after a login; lost by changing the user
    auto testbed = Testbed::up(small(2, Bandwidth::bits_per_second(100'000'000)));
    if (!testbed.ok()) return "up: " + testbed.error().message;
    WEFT_EXPECT_OK(testbed->set_link_up(1, false));
    WEFT_EXPECT_OK(testbed->set_link_up(1, true));
    return in_child([&] { return exchange_over_tcp(*testbed, 0, 1); });
  });
  if (outcome.find("user namespace") != std::string::npos) GTEST_SKIP() << outcome;
  EXPECT_EQ(outcome, "");
}

TEST_F(TestbedLive, a_named_one_stays_until_it_is_taken_down) {
  {
    auto testbed = Testbed::up_named(small(2), "stays");
    ASSERT_TRUE(testbed.ok()) << testbed.error().message;
  }
  EXPECT_EQ(Testbed::names(), std::vector<std::string>{"stays"});
  auto again = Testbed::up_named(small(2), "stays");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message.find("is up already"), std::string::npos);
  auto attached = Testbed::attach("stays");
  ASSERT_TRUE(attached.ok()) << attached.error().message;
  EXPECT_EQ(attached->hosts(), 2u);
  EXPECT_EQ(in_child([&] { return exchange_over_tcp(*attached, 0, 1); }), "");
  const int handle = open_handle(keeper_of(*attached));
  EXPECT_TRUE(Testbed::down("stays").ok());
  EXPECT_TRUE(ends(handle));
  ::close(handle);
  EXPECT_TRUE(Testbed::names().empty());
  EXPECT_FALSE(Testbed::down("stays").ok());
}

TEST_F(TestbedLive, a_crashed_one_is_told_from_one_that_is_up_and_cleared) {
  {
    auto testbed = Testbed::up_named(small(1), "unlucky");
    ASSERT_TRUE(testbed.ok()) << testbed.error().message;
    const int handle = open_handle(keeper_of(*testbed));
    ::kill(keeper_of(*testbed), SIGKILL);
    ASSERT_TRUE(ends(handle));
    ::close(handle);
  }
  auto attached = Testbed::attach("unlucky");
  ASSERT_FALSE(attached.ok());
  EXPECT_NE(attached.error().message.find("crashed"), std::string::npos);
  EXPECT_TRUE(Testbed::down("unlucky").ok());
  EXPECT_TRUE(Testbed::names().empty());
}

TEST_F(TestbedLive, refuses_names_that_are_none) {
  for (const char* name : {"", "../x", "a b", "a/b", "a.b"}) {
    auto testbed = Testbed::up_named(small(1), name);
    ASSERT_FALSE(testbed.ok()) << name;
    EXPECT_NE(testbed.error().message.find("--name"), std::string::npos);
  }
}

// Runs a command in a testbed of its own; keeps its output and how it ended.
struct Ran {
  std::string text;
  RunResult result;
};
Ran ran(std::uint32_t hosts, std::vector<std::string> command,
        const std::vector<std::string>& faults = {}, Duration limit = Duration::seconds(60)) {
  Ran ran;
  const auto file =
      std::filesystem::path(::testing::TempDir()) / fmt::format("weft-run-{}", ::getpid());
  const std::string failure = in_child([&]() -> std::string {
    auto testbed = Testbed::up(small(hosts));
    WEFT_EXPECT_OK(testbed);
    RunOptions options;
    options.command = std::move(command);
    options.time_limit = limit;
    for (const auto& text : faults) {
      auto fault = faults::parse_fault(text, hosts);
      WEFT_EXPECT_OK(fault);
      options.faults.push_back(*fault);
    }
    options.output = options.errors = ::open(file.c_str(), O_CREAT | O_RDWR | O_TRUNC, 0600);
    auto result = run_in_hosts(*testbed, options);
    WEFT_EXPECT_OK(result);
    ::dprintf(options.output, "result %d %d %d %zu\n", result->exit_code, result->interrupted,
              result->timed_out, result->failed_faults);
    return "";
  });
  EXPECT_EQ(failure, "");
  const int descriptor = ::open(file.c_str(), O_RDONLY);
  std::array<char, 1 << 16> chunk;
  const auto n = ::read(descriptor, chunk.data(), chunk.size());
  ran.text.assign(chunk.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  ::close(descriptor);
  ::unlink(file.c_str());
  int interrupted = 0, timed_out = 0;
  const auto at = ran.text.rfind("result ");
  EXPECT_NE(at, std::string::npos) << ran.text;
  std::sscanf(ran.text.c_str() + at, "result %d %d %d %zu", &ran.result.exit_code, &interrupted,
              &timed_out, &ran.result.failed_faults);
  ran.result.interrupted = interrupted != 0;
  ran.result.timed_out = timed_out != 0;
  return ran;
}

TEST_F(TestbedLive, run_starts_the_command_in_each_host_with_its_place_in_it) {
  const Ran r =
      ran(2, {"sh", "-c", "echo {host} $WEFT_TESTBED_ADDRESS {addresses[1]}; cat; exit 0"});
  EXPECT_NE(r.text.find("host0: 0 10.77.0.1 10.77.0.2\n"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("host1: 1 10.77.0.2 10.77.0.2\n"), std::string::npos) << r.text;
  EXPECT_EQ(r.result.exit_code, 0);
}

TEST_F(TestbedLive, run_returns_the_first_failure_and_names_a_program_that_is_not_there_once) {
  EXPECT_EQ(ran(2, {"sh", "-c", "exit {host}"}).result.exit_code, 1);
  Ran r = ran(2, {"no-such-program"});
  EXPECT_EQ(r.result.exit_code, 127);
  EXPECT_EQ(r.text,
            "weft: cannot run 'no-such-program': No such file or directory; name a program that is "
            "installed\nresult 127 0 0 0\n");
  r = ran(2, {"/tmp"});
  EXPECT_EQ(r.result.exit_code, 127);
  EXPECT_EQ(r.text, "weft: cannot run '/tmp': Is a directory; name a program\nresult 127 0 0 0\n");
}

TEST_F(TestbedLive, run_lets_each_host_name_a_program_of_its_own) {
  const Ran r = ran(2, {"no-such-program-{host}"});
  EXPECT_EQ(r.result.exit_code, 127);
  EXPECT_NE(r.text.find("host1: weft: cannot run 'no-such-program-1'"), std::string::npos)
      << r.text;
}

TEST_F(TestbedLive, run_ends_what_does_not_end_by_itself) {
  const Ran r = ran(2, {"sh", "-c", "sleep 1000 & sleep 1000"}, {}, Duration::milliseconds(100));
  EXPECT_TRUE(r.result.timed_out);
}

TEST_F(TestbedLive, run_kills_processes_and_does_not_count_that_as_a_failure) {
  const Ran r = ran(2, {"sh", "-c", "[ {host} = 1 ] || exit 0; trap '' TERM; sleep 1000"},
                    {"at=100ms kill host1"});
  EXPECT_EQ(r.result.exit_code, 0) << r.text;
  EXPECT_NE(r.text.find("fault at 0.100 s: kill host1\n"), std::string::npos) << r.text;
}

TEST_F(TestbedLive, run_restarts_processes) {
  // The second life finds the file of the first, and ends.
  const auto trace =
      std::filesystem::path(::testing::TempDir()) / fmt::format("weft-life-{}", ::getpid());
  const Ran r = ran(1,
                    {"sh", "-c",
                     "[ ! -e \"$0\" ] || { echo second life; exit 0; }; touch \"$0\"; "
                     "sleep 1000",
                     trace.string()},
                    {"at=1s restart host0"});
  std::filesystem::remove(trace);
  EXPECT_EQ(r.result.exit_code, 0) << r.text;
  EXPECT_EQ(r.result.failed_faults, 0u) << r.text;
  EXPECT_NE(r.text.find("host0: second life"), std::string::npos) << r.text;
}

TEST_F(TestbedLive, run_stops_and_continues_processes_and_pulls_cables) {
  const Ran r =
      ran(1, {"sleep", "1"}, {"at=50ms stop host0 for=100ms", "at=60ms link-down host0 for=10ms"});
  EXPECT_EQ(r.result.exit_code, 0);
  EXPECT_EQ(r.result.failed_faults, 0u) << r.text;
  EXPECT_NE(r.text.find("end of stop host0"), std::string::npos) << r.text;
  EXPECT_NE(r.text.find("end of link-down host0"), std::string::npos) << r.text;
}

}  // namespace
}  // namespace weft::testbed
