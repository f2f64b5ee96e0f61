// SPDX-License-Identifier: Apache-2.0
// Real processes that are killed and stopped, and a real link that is cut.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "fabric/tcp/tcp_test_support.hpp"

namespace weft::tcp {
namespace {

const NodeId kParent(0), kChild(1);

// Another process with an endpoint that sends every message back, until it is killed.
class EchoProcess {
 public:
  EchoProcess(const char* listen, std::uint32_t incarnation) {
    int to_child[2], to_parent[2];
    EXPECT_EQ(::pipe2(to_child, O_CLOEXEC) | ::pipe2(to_parent, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::alarm(100);
      run(listen, incarnation, to_child[0], to_parent[1]);
    }
    in_ = Descriptor(to_parent[0]);
    out_ = Descriptor(to_child[1]);
    ::close(to_parent[1]);
    ::close(to_child[0]);
    address_ = read_line(in_.get());
  }
  ~EchoProcess() { kill(); }
  const std::string& address() const { return address_; }
  void introduce_to(const std::string& address) const {
    const std::string line = address + "\n";
    EXPECT_EQ(::write(out_.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  static std::string read_line(int fd) {
    std::string line;
    char c = 0;
    while (::read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
  }
  [[noreturn]] static void run(const char* listen, std::uint32_t incarnation, int in, int out) {
    TcpOptions options = options_for(kChild.value(), listen);
    options.incarnation = Incarnation(incarnation);
    Party party(options);
    const std::string line = party.fabric().address() + "\n";
    if (::write(out, line.data(), line.size()) < 0) ::_exit(1);
    if (!party.fabric().add_peer(kParent, Incarnation(1), read_line(in)).ok()) ::_exit(1);
    std::vector<std::string> echoes;
    party.on_message = [&](NodeId, std::string_view text) { echoes.emplace_back(text); };
    std::array<Party*, 1> all = {&party};
    drive(all, [&] {
      while (!echoes.empty() && party.send(kParent, echoes.front())) echoes.erase(echoes.begin());
      return false;
    });
    ::_exit(0);
  }

  pid_t pid_ = -1;
  Descriptor in_, out_;
  std::string address_;
};

class Processes : public ::testing::TestWithParam<const char*> {};

std::string address_kind(const ::testing::TestParamInfo<const char*>& info) {
  const std::string_view listen = info.param;
  return listen.starts_with("unix") ? "unix_sockets" : listen.starts_with('[') ? "ipv6" : "ipv4";
}

INSTANTIATE_TEST_SUITE_P(tcp, Processes, ::testing::Values("127.0.0.1:0", "[::1]:0", "unix:@"),
                         address_kind);

TEST_P(Processes, a_killed_process_is_down_and_its_next_life_is_up) {
  // Before the endpoint of this process: a forked process must not hold its sockets open.
  auto child = std::make_unique<EchoProcess>(GetParam(), 1);
  auto next = std::make_unique<EchoProcess>(GetParam(), 2);
  Party party(options_for(kParent.value(), GetParam()));
  std::array<Party*, 1> all = {&party};
  child->introduce_to(party.fabric().address());
  ASSERT_TRUE(party.fabric().add_peer(kChild, Incarnation(1), child->address()).ok());
  ASSERT_TRUE(drive(all, [&] { return party.is_up(kChild); }));
  ASSERT_TRUE(party.send(kChild, "hello"));
  ASSERT_TRUE(drive(all, [&] { return party.messages.size() == 1; }));

  child->signal(SIGSTOP);  // so that much is in flight when it dies
  const std::string text(30'000, 'x');
  for (int i = 0; i < 500; ++i) party.send(kChild, text);
  child->kill();
  ASSERT_TRUE(drive(all, [&] { return !party.is_up(kChild); }));
  EXPECT_EQ(party.outstanding, 0u);
  EXPECT_GT(party.failed, 0u);
  EXPECT_EQ(party.count(CompletionKind::peer_down), 1u);

  next->introduce_to(party.fabric().address());
  ASSERT_TRUE(drive(all, [&] { return party.is_up(kChild); }));
  EXPECT_EQ(party.events.back().incarnation, Incarnation(2));
  ASSERT_TRUE(party.send(kChild, "and again"));
  ASSERT_TRUE(drive(all, [&] { return party.messages.back().second == "and again"; }));
}

TEST_P(Processes, a_stopped_process_is_not_down_and_goes_on_where_it_was) {
  const EchoProcess child(GetParam(), 1);
  Party party(options_for(kParent.value(), GetParam()));
  std::array<Party*, 1> all = {&party};
  child.introduce_to(party.fabric().address());
  ASSERT_TRUE(party.fabric().add_peer(kChild, Incarnation(1), child.address()).ok());
  ASSERT_TRUE(drive(all, [&] { return party.is_up(kChild); }));
  child.signal(SIGSTOP);
  // More than any socket buffers: the window is shut, which must not be taken for silence. The
  // time is three times that after which a silent peer is down.
  std::vector<std::string> sent;
  const Instant end = test_now() + Duration::seconds(3);
  EXPECT_TRUE(drive(all, [&] {
    std::string text(60'000, static_cast<char>('a' + sent.size() % 26));
    while (sent.size() < 400 && party.send(kChild, text)) {
      sent.push_back(text);
      text.assign(60'000, static_cast<char>('a' + sent.size() % 26));
    }
    return test_now() >= end;
  }));
  EXPECT_TRUE(party.is_up(kChild));
  child.signal(SIGCONT);
  EXPECT_TRUE(drive(all, [&] { return party.messages.size() == sent.size(); }));
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_EQ(party.messages[i].second, sent[i]) << i;
  EXPECT_EQ(party.count(CompletionKind::peer_down), 0u);
}

bool set_loopback(bool up) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = up ? IFF_UP | IFF_RUNNING : 0;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// Runs in a process and a network namespace of its own. Returns the exit code: the number of the
// step that failed.
int cut_and_mend(bool busy) {
  Party a(options_for(0)), b(options_for(1));
  std::array<Party*, 2> all = {&a, &b};
  introduce(a, b);
  const auto both_up = [&] { return a.is_up(b.id()) && b.is_up(a.id()); };
  if (!drive(all, both_up)) return 1;
  if (!a.send(b.id(), "x") || !drive(all, [&] { return b.messages.size() == 1; })) return 2;
  if (!set_loopback(false)) return 3;
  // Busy: data that nobody acknowledges. Idle: the kernel's probes find out.
  if (busy && !a.send(b.id(), "y")) return 4;
  if (!drive(all, [&] { return !a.is_up(b.id()) && !b.is_up(a.id()); })) return 5;
  if (!set_loopback(true)) return 6;
  if (!drive(all, both_up)) return 7;
  if (a.events.back().incarnation != Incarnation(1)) return 8;
  if (!a.send(b.id(), "z") || !drive(all, [&] { return b.messages.back().second == "z"; }))
    return 9;
  return 0;
}

void expect_cut_and_mend(bool busy) {
  constexpr int kNoNamespaces = 77;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(200);
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWNET) != 0) {
      ::_exit(kNoNamespaces);
    }
    if (!set_loopback(true)) ::_exit(kNoNamespaces);
    ::_exit(cut_and_mend(busy));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  if (WEXITSTATUS(status) == kNoNamespaces) GTEST_SKIP() << "no network namespaces here";
  EXPECT_EQ(WEXITSTATUS(status), 0) << "step that failed";
}

TEST(link, cut_while_busy_is_down_and_up_again_when_mended) {
  expect_cut_and_mend(true);
}
TEST(link, cut_while_idle_is_down_and_up_again_when_mended) {
  expect_cut_and_mend(false);
}

}  // namespace
}  // namespace weft::tcp
