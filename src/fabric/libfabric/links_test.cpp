// SPDX-License-Identifier: Apache-2.0
// How links end and begin: secrets, farewells, silence, connections that break under traffic.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <utility>

#include "base/rng.hpp"
#include "fabric/libfabric/test_support.hpp"

namespace weft {
namespace {

TEST(link, a_peer_with_another_secret_never_comes_up) {
  Group group;
  group.open(options_for(0));
  group.open(options_for(1));
  LibfabricOptions stranger = options_for(2);
  stranger.job_secret = "another secret";
  group.open(stranger);
  group.introduce(0, 2);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] { return group.count(0, CompletionKind::peer_up) == 1; }));
  EXPECT_EQ(group.seen[0][0].peer, NodeId(1));
  // The honest pair exchanges plenty; by then the stranger had its chances.
  EXPECT_FALSE(group.drive([&] { return group.count(2, CompletionKind::peer_up) > 0; },
                           Duration::milliseconds(300)));
  EXPECT_EQ(group.count(0, CompletionKind::peer_up), 1u);
}

TEST(link, a_peer_that_closes_says_goodbye_and_is_down_without_a_timeout) {
  Group group;
  LibfabricOptions patient = options_for(0);
  patient.heartbeat_interval = Duration::seconds(600);
  patient.peer_timeout = Duration::seconds(3600);
  group.open(patient);
  patient.self = NodeId(1);
  group.open(patient);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  group.close(1);
  EXPECT_TRUE(group.drive([&] { return group.count(0, CompletionKind::peer_down) == 1; }));
}

TEST(link, a_silent_peer_is_down_after_the_timeout) {
  Group group;
  LibfabricOptions hasty = options_for(0);
  hasty.peer_timeout = Duration::milliseconds(300);
  Fabric& fabric = group.open(hasty);
  hasty.self = NodeId(1);
  group.open(hasty);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] { return group.count(0, CompletionKind::peer_up) == 1; }));
  // Node 1 is no longer polled. The caller sets the time.
  std::array<Completion, 16> completions;
  Instant clock = now();
  bool down = false;
  for (int i = 0; i < 100 && !down; ++i) {
    clock = clock + Duration::milliseconds(10);
    const std::size_t n = fabric.poll(clock, completions);
    for (std::size_t j = 0; j < n; ++j) {
      down = down || completions[j].kind == CompletionKind::peer_down;
    }
  }
  EXPECT_TRUE(down);
}

TEST(link, a_process_that_has_yet_to_poll_is_silent_and_one_that_ended_is_not) {
  Group caller, other;
  Fabric& fabric = caller.open(options_for(0));
  other.open(options_for(1));
  const std::string address = other.fabric(0).address();
  EXPECT_FALSE(fabric.is_silent(NodeId(1)));
  ASSERT_TRUE(fabric.add_peer(NodeId(1), Incarnation(1), address).ok());
  ASSERT_TRUE(other.fabric(0).add_peer(NodeId(0), Incarnation(1), fabric.address()).ok());
  EXPECT_TRUE(caller.drive([&] { return fabric.is_silent(NodeId(1)); }));
  EXPECT_TRUE(caller.drive([&] {
    bool has_polled = false;
    other.drive([&] { return std::exchange(has_polled, true); });
    return caller.count(0, CompletionKind::peer_up) == 1;
  }));
  EXPECT_FALSE(fabric.is_silent(NodeId(1)));
  other.close(0);
  EXPECT_TRUE(caller.drive([&] { return caller.count(0, CompletionKind::peer_down) == 1; }));
  ASSERT_TRUE(fabric.add_peer(NodeId(1), Incarnation(2), address).ok());
  EXPECT_TRUE(caller.drive([&] { return !fabric.is_silent(NodeId(1)); }));
}

TEST(link, a_process_that_shares_memory_and_has_yet_to_poll_is_silent_until_it_ends) {
  const auto options = [](std::uint32_t node) {
    LibfabricOptions of_node = options_for(node);
    of_node.provider = "shm";
    of_node.job_secret = fmt::format("silent {}", node == 0 ? ::getpid() : ::getppid());
    return of_node;
  };
  int to_parent[2];
  ASSERT_EQ(::pipe(to_parent), 0);
  const pid_t child = ::fork();  // a process has one endpoint of this provider
  if (child == 0) {
    Group alone;
    const std::string address = alone.open(options(1)).address();
    (void)!::write(to_parent[1], address.data(), address.size());
    ::pause();
    ::_exit(0);
  }
  std::array<char, 4096> text;
  const ssize_t length = ::read(to_parent[0], text.data(), text.size());
  for (const int end : to_parent) ::close(end);
  ASSERT_GT(length, 0);
  Group caller;
  Fabric& fabric = caller.open(options(0));
  const std::string address(text.data(), static_cast<std::size_t>(length));
  ASSERT_TRUE(fabric.add_peer(NodeId(1), Incarnation(1), address).ok());
  EXPECT_TRUE(caller.drive([&] { return fabric.is_silent(NodeId(1)); }));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(fabric.is_silent(NodeId(1)));
}

TEST(link, a_pause_of_ones_own_is_not_silence_of_the_peers) {
  Group group;
  LibfabricOptions hasty = options_for(0);
  hasty.peer_timeout = Duration::milliseconds(300);
  Fabric& fabric = group.open(hasty);
  hasty.self = NodeId(1);
  group.open(hasty);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  std::array<Completion, 16> completions;
  const std::size_t n = fabric.poll(now() + Duration::seconds(3600), completions);
  for (std::size_t j = 0; j < n; ++j) {
    EXPECT_NE(completions[j].kind, CompletionKind::peer_down);
  }
}

// A network between two endpoints: relays TCP connections to `target`, and can lose them together
// with the bytes under way.
class Relay {
 public:
  explicit Relay(in_port_t target) : target_(target), listener_(socket()) {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), as_generic(address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 16), 0);
    EXPECT_EQ(::getsockname(listener_.get(), as_generic(address), &size), 0);
    port_ = address.sin_port;
  }
  in_port_t port() const { return port_; }

  // Passes on the bytes that arrived; with `swallow` those of the connecting side get no further.
  void turn(bool swallow) {
    Descriptor accepted(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK));
    if (accepted.get() >= 0) {
      pairs_.emplace_back();
      pairs_.back().near = std::move(accepted);
      pairs_.back().far = socket();
      const sockaddr_in address = loopback(target_);
      ::connect(pairs_.back().far.get(), as_generic(address), sizeof address);
    }
    std::erase_if(pairs_, [&](Pair& pair) {
      return !carry(pair.near, pair.far, pair.there, swallow) ||
             !carry(pair.far, pair.near, pair.back, false);
    });
  }
  // Resets all connections; returns how many.
  std::size_t lose_connections() {
    const std::size_t lost = pairs_.size();
    const linger at_once{1, 0};
    for (const Pair& pair : pairs_) {
      ::setsockopt(pair.near.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      ::setsockopt(pair.far.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    pairs_.clear();
    return lost;
  }

 private:
  struct Pair {
    Descriptor near, far;
    std::vector<std::byte> there, back;
  };
  static Descriptor socket() {
    return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }
  static sockaddr_in loopback(in_port_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = port;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static sockaddr* as_generic(sockaddr_in& address) {
    return reinterpret_cast<sockaddr*>(&address);
  }
  static const sockaddr* as_generic(const sockaddr_in& address) {
    return reinterpret_cast<const sockaddr*>(&address);
  }
  // False when the connection ended.
  static bool carry(const Descriptor& from, const Descriptor& to, std::vector<std::byte>& kept,
                    bool swallow) {
    std::array<std::byte, 65536> buffer;
    const ssize_t n = ::recv(from.get(), buffer.data(), buffer.size(), 0);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return errno == ENOTCONN && n < 0;
    if (n > 0) kept.insert(kept.end(), buffer.begin(), buffer.begin() + n);
    if (swallow || kept.empty()) return true;
    const ssize_t sent = ::send(to.get(), kept.data(), kept.size(), MSG_NOSIGNAL);
    if (sent > 0) kept.erase(kept.begin(), kept.begin() + sent);
    return sent >= 0 || errno == EAGAIN || errno == ENOTCONN;
  }

  in_port_t target_;
  in_port_t port_ = 0;
  Descriptor listener_;
  std::vector<Pair> pairs_;
};

// Addresses begin with "tcp/" and a sockaddr_in in hexadecimal: family, then the port.
in_port_t port_in(const std::string& address) {
  in_port_t port = 0;
  const auto bytes = {std::stoi(address.substr(8, 2), nullptr, 16),
                      std::stoi(address.substr(10, 2), nullptr, 16)};
  std::ranges::copy(bytes, reinterpret_cast<unsigned char*>(&port));
  return port;
}
std::string with_port(const std::string& address, in_port_t port) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&port);
  return fmt::format("{}{:02x}{:02x}{}", address.substr(0, 8), bytes[0], bytes[1],
                     address.substr(12));
}

// Writes number i to slot i; messages say up to where slots are written, and the other end looks
// whether they are.
class Numbers {
 public:
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kWords = 2000;

  Numbers() : memory_(kSlots * kWords), values_(kSlots * kWords) {
    for (std::size_t i = 0; i < 2; ++i) {
      fabrics_[i] = &group_.open(options_for(static_cast<std::uint32_t>(i)));
    }
    region_ = *fabrics_[1]->expose(std::as_writable_bytes(std::span(memory_)));
    // Each knows the other by a relay: connections in one direction each, since ofi_rxm takes those
    // of names that it does not know for somebody else's.
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string real = fabrics_[1 - i]->address();
      relays_.emplace_back(port_in(real));
      const auto added = fabrics_[i]->add_peer(NodeId(static_cast<std::uint32_t>(1 - i)),
                                               Incarnation(1), with_port(real, relays_[i].port()));
      EXPECT_TRUE(added.ok());
    }
  }
  // Passes on the bytes under way; bytes from node 0 get no further than the network.
  void swallow() {
    relays_[0].turn(true);
    relays_[1].turn(false);
  }
  std::size_t lose_connections() {
    return relays_[0].lose_connections() + relays_[1].lose_connections();
  }

  bool writable() const { return up_ && posted_ - ended_ < kSlots / 2; }
  void write_next() {
    const std::span<std::uint64_t> slot =
        std::span(values_).subspan(next_ % kSlots * kWords, kWords);
    std::ranges::fill(slot, next_);
    TxOp op;
    op.kind = OpKind::write;
    op.peer = NodeId(1);
    op.segments[0] = std::as_bytes(slot);
    op.region = region_.remote;
    op.region_offset = next_ % kSlots * kWords * sizeof(std::uint64_t);
    ++next_;
    post(op);
  }
  // Announces the writes since the link came up that were not announced yet.
  void say_so() {
    if (said_ == next_) return;
    const std::array<std::uint64_t, 2> range = {said_, next_};
    TxOp op;
    op.peer = NodeId(1);
    op.segments[0] = std::as_bytes(std::span(range));
    said_ = next_;
    post(op);
  }
  // One poll of each end.
  void turn() {
    turn(0);
    for (Relay& relay : relays_) relay.turn(false);
    turn(1);
  }
  void turn(std::size_t node) {
    std::array<Completion, 16> completions;
    const std::size_t n = fabrics_[node]->poll(now(), completions);
    for (const Completion& completion : std::span(completions).first(n)) {
      if (completion.kind == CompletionKind::received) {
        check(completion.data);
      } else if (node == 0) {
        take(completion.kind);
      }
    }
  }
  std::size_t arrived() const { return arrived_; }
  std::size_t downs() const { return downs_; }
  bool all_ended() const { return ended_ == posted_; }

 private:
  void post(const TxOp& op) {
    EXPECT_EQ(fabrics_[0]->post({&op, 1}), 1u);
    ++posted_;
  }
  void take(CompletionKind kind) {
    if (kind == CompletionKind::peer_up) {
      up_ = true;
      said_ = next_;  // earlier writes may be lost
    } else if (kind == CompletionKind::peer_down) {
      up_ = false;
      ++downs_;
    } else {
      ++ended_;
    }
  }
  void check(std::span<const std::byte> data) {
    std::array<std::uint64_t, 2> range{};
    ASSERT_EQ(data.size(), sizeof range);
    std::memcpy(range.data(), data.data(), sizeof range);
    for (std::uint64_t i = range[0]; i < range[1]; ++i) {
      const auto slot = std::span(memory_).subspan(i % kSlots * kWords, kWords);
      ASSERT_TRUE(std::ranges::all_of(slot, [&](std::uint64_t v) { return v == i; }))
          << "the message up to " << range[1] << " arrived before write " << i;
    }
    ++arrived_;
  }

  std::vector<std::uint64_t> memory_, values_;  // outlive the endpoints
  Group group_;
  std::array<Fabric*, 2> fabrics_{};
  std::vector<Relay> relays_;
  Region region_;
  bool up_ = false;
  std::uint64_t next_ = 0, said_ = 0;
  std::size_t posted_ = 0, ended_ = 0, arrived_ = 0, downs_ = 0;
};

// ofi_rxm makes lost connections again without a word; writes that it had reported as complete may
// be lost with the old one, while the message that follows them travels on the new one.
TEST(link, connections_that_break_under_traffic_leave_no_holes) {
  const char* given = std::getenv("WEFT_TEST_SEED");
  const std::uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  fmt::print("rerun: WEFT_TEST_SEED={}\n", seed);
  Rng rng(seed);
  Numbers numbers;
  std::size_t breaks = 0;
  const Instant give_up = now() + Duration::seconds(60);
  while (breaks < 10 && now() < give_up && !HasFatalFailure()) {
    const std::size_t goal = numbers.arrived() + 5 + rng.below(50);
    while (numbers.arrived() < goal && now() < give_up && !HasFatalFailure()) {
      for (std::uint64_t i = rng.below(8); i > 0 && numbers.writable(); --i) numbers.write_next();
      if (numbers.writable()) numbers.say_so();
      numbers.turn();
    }
    // Writes leave and get no further than the network; then it loses everything.
    for (std::uint64_t i = 1 + rng.below(8); i > 0 && numbers.writable(); --i) {
      numbers.write_next();
    }
    for (std::uint64_t i = 10 + rng.below(20); i > 0; --i) {
      numbers.turn(0);
      numbers.swallow();
    }
    if (numbers.lose_connections() > 0) ++breaks;
    // The provider looks at its connections every 10 ms: let it notice before or after the next
    // post.
    const Instant go_on = now() + Duration::milliseconds(static_cast<std::int64_t>(rng.below(40)));
    while (now() < go_on) numbers.turn(0);
  }
  EXPECT_EQ(breaks, 10u);
  while (!numbers.all_ended() && now() < give_up) numbers.turn();
  EXPECT_TRUE(numbers.all_ended());
  EXPECT_GE(numbers.downs(), 1u);
}

// The provider sockets leaves the start of a header in the socket. With the usual buffer the rest
// of it may not be sent; see connections.hpp.
TEST(link, sockets_that_headers_are_peeked_from_hold_several_segments) {
  constexpr int kSeveralSegments = 3 * 128 * 1024;
  Group group;
  LibfabricOptions options = options_for(0);
  options.provider = "sockets";
  group.open(options);
  options.self = NodeId(1);
  group.open(options);
  group.introduce(0, 1);
  ASSERT_TRUE(group.drive([&] {
    return group.count(0, CompletionKind::peer_up) + group.count(1, CompletionKind::peer_up) == 2;
  }));
  int connections = 0;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
        peer.sin_family != AF_INET) {
      continue;
    }
    int buffer = 0;
    size = sizeof buffer;
    ASSERT_EQ(::getsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &buffer, &size), 0);
    EXPECT_GE(buffer, kSeveralSegments);
    ++connections;
  }
  EXPECT_GE(connections, 2);  // both ends of at least one
}

}  // namespace
}  // namespace weft
