// SPDX-License-Identifier: Apache-2.0
// Real processes: killed in the middle of things, stopped, of another job, hostile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "fabric/shm/segment.hpp"
#include "fabric/shm/shm.hpp"

namespace weft::shm {
namespace {

const NodeId kParent(0), kChild(1);
constexpr std::size_t kArea = std::size_t{8} << 20;

Instant test_now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

ShmOptions options_for(NodeId self, std::size_t pull_from) {
  ShmOptions options;
  options.self = self;
  options.incarnation = Incarnation(1);
  options.job_id = "processes";
  options.secret.assign(32, std::byte{5});
  options.pull_from = pull_from;
  return options;
}

// An endpoint and its completions.
struct Party {
  explicit Party(const ShmOptions& options) {
    auto opened = open_shm(options);
    WEFT_CHECK(opened.ok(), "{}", opened.error().message);
    fabric = std::move(*opened);
  }
  bool post(OpKind kind, NodeId peer, std::span<const std::byte> data,
            const RemoteRegion& region = {}, std::uint64_t offset = 0) {
    TxOp op;
    op.kind = kind;
    op.peer = peer;
    op.segments[0] = data;
    op.region = region;
    op.region_offset = offset;
    if (fabric->post({&op, 1}) == 0) return false;
    ++outstanding;
    return true;
  }
  void step() {
    std::array<Completion, 16> completions;
    const std::size_t n = fabric->poll(test_now(), completions);
    for (const Completion& c : std::span(completions).first(n)) {
      if (c.kind == CompletionKind::received) {
        ++received;
        last.assign(c.data.begin(), c.data.end());
        if (on_message) on_message(c.data);
      } else if (c.kind == CompletionKind::peer_up || c.kind == CompletionKind::peer_down) {
        is_up = c.kind == CompletionKind::peer_up;
        downs += is_up ? 0 : 1;
      } else {
        --outstanding;
      }
    }
  }
  bool until(const std::function<bool()>& done) {
    const Instant give_up = test_now() + Duration::seconds(60);
    while (!done() && test_now() < give_up) step();
    return done();
  }

  std::unique_ptr<ShmFabric> fabric;
  std::function<void(std::span<const std::byte>)> on_message;
  std::vector<std::byte> last;
  std::size_t received = 0, outstanding = 0, downs = 0;
  bool is_up = false;
};

// Another process with an endpoint that does as `work` says until it is killed.
class Child {
 public:
  using Work = std::function<void(Party&)>;

  Child(const ShmOptions& options, const Work& work) {
    int to_child[2], to_parent[2];
    EXPECT_EQ(::pipe2(to_child, O_CLOEXEC) | ::pipe2(to_parent, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::alarm(100);
      Party party(options);
      say(to_parent[1], party.fabric->address());
      if (!party.fabric->add_peer(kParent, Incarnation(1), hear(to_child[0])).ok()) ::_exit(1);
      work(party);
      ::_exit(0);
    }
    in_ = to_parent[0];
    out_ = to_child[1];
    ::close(to_parent[1]);
    ::close(to_child[0]);
    address = hear(in_);
  }
  ~Child() {
    kill();
    ::close(in_);
    ::close(out_);
  }
  void introduce(Party& party) const {
    say(out_, party.fabric->address());
    EXPECT_TRUE(party.fabric->add_peer(kChild, Incarnation(1), address).ok());
  }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  pid_t pid() const { return pid_; }
  std::string address;

 private:
  static void say(int fd, const std::string& line) {
    const std::string text = line + "\n";
    if (::write(fd, text.data(), text.size()) < 0) ::_exit(1);
  }
  static std::string hear(int fd) {
    std::string line;
    char c = 0;
    while (::read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
  }
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
};

[[noreturn]] void serve_for_ever(Party& party) {
  for (;;) party.step();
}

// Exposes memory, says where, and serves.
[[noreturn]] void expose_and_serve(Party& party) {
  std::vector<std::byte> memory(kArea);
  const auto region = party.fabric->expose(memory);
  if (!party.until([&] { return party.is_up; })) ::_exit(2);
  const RemoteRegion mine = region->remote;
  party.post(OpKind::send, kParent, std::as_bytes(std::span(&mine, 1)));
  serve_for_ever(party);
}

// Writes to a region of the parent's, each followed by a message, without an end.
[[noreturn]] void write_for_ever(Party& party) {
  if (!party.until([&] { return party.received == 1; })) ::_exit(2);
  RemoteRegion region;
  std::memcpy(&region, party.last.data(), sizeof region);
  std::vector<std::vector<std::byte>> data(4);
  for (std::size_t i = 0; i < data.size(); ++i) data[i].assign(kArea, std::byte(i + 1));
  for (std::uint64_t i = 0;; ++i) {
    const auto& bytes = data[i % data.size()];
    while (party.outstanding >= 2) party.step();
    party.post(OpKind::write, kParent, bytes, region);
    party.post(OpKind::send, kParent, std::span(bytes).first(64));
  }
}

// Process numbers are reused: the process with a number may not be the one met before.
TEST(other_memory, is_read_only_from_the_process_that_was_met) {
  const std::uint64_t nonce = 0x1122334455667788;
  const std::uint32_t there = 7;
  std::uint32_t here = 0;
  const auto copy = [&](const OtherMemory& other) {
    return copy_from(other, reinterpret_cast<std::uintptr_t>(&there),
                     reinterpret_cast<std::byte*>(&here), sizeof here);
  };
  const OtherMemory own{::getpid(), reinterpret_cast<std::uintptr_t>(&nonce), nonce};
  ASSERT_EQ(copy(own), static_cast<ssize_t>(sizeof here)) << std::strerror(errno);
  EXPECT_EQ(here, 7u);

  OtherMemory another = own;
  another.nonce += 1;
  EXPECT_EQ(copy(another), -1);
  EXPECT_EQ(errno, ESRCH);
  another = own;
  another.probe = 8;  // nothing is there
  EXPECT_EQ(copy(another), -1);
  EXPECT_EQ(errno, ESRCH);

  const pid_t ended = ::fork();
  if (ended == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(ended, nullptr, 0), ended);
  another = own;
  another.process = ended;
  EXPECT_EQ(copy(another), -1);
  EXPECT_EQ(errno, ESRCH);
}

class Processes : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(shm, Processes, ::testing::Values(0, 4096), [](const auto& info) {
  return std::string(info.param == 0 ? "copy" : "pull");
});

TEST_P(Processes, a_peer_killed_at_any_moment_of_its_writes_is_down_and_harms_nothing) {
  Rng rng(11);
  for (int round = 0; round < 10; ++round) {
    Child child(options_for(kChild, GetParam()), write_for_ever);
    Party party(options_for(kParent, GetParam()));
    std::vector<std::byte> memory(kArea + 4096, std::byte{0xC5});
    const auto region = party.fabric->expose(std::span(memory).first(kArea));
    // A message says that everything before it is in place.
    bool whole = true;
    party.on_message = [&](std::span<const std::byte> data) {
      whole = whole && memory[0] == data[0] && memory[kArea / 2] == data[0] &&
              memory[kArea - 1] == data[0];
    };
    child.introduce(party);
    ASSERT_TRUE(party.until([&] { return party.is_up; }));
    const RemoteRegion mine = region->remote;
    party.post(OpKind::send, kChild, std::as_bytes(std::span(&mine, 1)));
    const std::size_t polls = 20 + rng.below(2000);
    for (std::size_t i = 0; i < polls; ++i) party.step();
    child.kill();
    ASSERT_TRUE(party.until([&] { return !party.is_up; })) << "round " << round;
    EXPECT_TRUE(whole);
    EXPECT_EQ(party.downs, 1u);
    EXPECT_EQ(party.outstanding, 0u);
    for (std::size_t i = kArea; i < memory.size(); ++i) ASSERT_EQ(memory[i], std::byte{0xC5});
  }
}

TEST_P(Processes, a_peer_killed_while_it_is_written_to_ends_all_operations) {
  Child child(options_for(kChild, GetParam()), expose_and_serve);
  Party party(options_for(kParent, GetParam()));
  child.introduce(party);
  ASSERT_TRUE(party.until([&] { return party.received == 1; }));
  RemoteRegion region;
  std::memcpy(&region, party.last.data(), sizeof region);
  child.signal(SIGSTOP);  // so that the ring is full and much is waiting when it dies
  const std::vector<std::byte> data(kArea, std::byte{7});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(party.post(OpKind::write, kChild, data, region));
    EXPECT_TRUE(party.post(OpKind::send, kChild, std::span(data).first(60'000)));
  }
  for (int i = 0; i < 1000; ++i) party.step();
  EXPECT_GT(party.outstanding, 0u);
  EXPECT_TRUE(party.is_up);
  child.kill();
  ASSERT_TRUE(party.until([&] { return !party.is_up; }));
  EXPECT_EQ(party.outstanding, 0u);
  EXPECT_EQ(party.downs, 1u);
}

TEST_P(Processes, a_stopped_peer_is_not_down_and_goes_on_where_it_was) {
  Child child(options_for(kChild, GetParam()), expose_and_serve);
  Party party(options_for(kParent, GetParam()));
  child.introduce(party);
  ASSERT_TRUE(party.until([&] { return party.received == 1; }));
  RemoteRegion region;
  std::memcpy(&region, party.last.data(), sizeof region);
  child.signal(SIGSTOP);
  const std::vector<std::byte> data(kArea, std::byte{7});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(party.post(OpKind::write, kChild, data, region));
  for (int i = 0; i < 10'000; ++i) party.step();
  EXPECT_TRUE(party.is_up);
  EXPECT_GT(party.outstanding, 0u);
  child.signal(SIGCONT);
  ASSERT_TRUE(party.until([&] { return party.outstanding == 0; }));
  EXPECT_EQ(party.downs, 0u);
}

std::size_t mapped_segments() {
  std::size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("weft-shm") != std::string::npos) ++count;
  }
  return count;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// Its sender would wait for all of them, and think that the first one took so long.
TEST(shm_fetching, is_told_one_by_one_even_between_messages) {
  constexpr std::size_t kWrites = 8, kSize = 64 << 10;
  Party sender(options_for(kParent, kSize)), receiver(options_for(kChild, kSize));
  ASSERT_TRUE(sender.fabric->add_peer(kChild, Incarnation(1), receiver.fabric->address()).ok());
  ASSERT_TRUE(receiver.fabric->add_peer(kParent, Incarnation(1), sender.fabric->address()).ok());
  ASSERT_TRUE(sender.until([&] { return receiver.step(), sender.is_up && receiver.is_up; }));
  const std::vector<std::byte> data(kSize, std::byte{1});
  std::vector<std::byte> area(kSize);
  const auto region = receiver.fabric->expose(area);
  ASSERT_TRUE(region.ok());
  for (std::size_t i = 0; i < kWrites; ++i) {
    ASSERT_TRUE(sender.post(OpKind::send, kChild, {}));
    ASSERT_TRUE(sender.post(OpKind::write, kChild, data, region->remote));
  }
  ASSERT_TRUE(receiver.until([&] { return receiver.received == kWrites; }));
  sender.step();
  EXPECT_LE(sender.outstanding, kWrites / 2);
  EXPECT_TRUE(sender.until([&] { return receiver.step(), sender.outstanding == 0; }));
}

// A driver that slept in the middle of a write had to be woken for its next part.
TEST(shm_waiting, tells_once_that_parts_of_a_write_have_moved) {
  Party parent(options_for(kParent, 0));
  Child child(options_for(kChild, 0), expose_and_serve);
  child.introduce(parent);
  ASSERT_TRUE(parent.until([&] { return parent.received == 1; }));
  RemoteRegion region;
  std::memcpy(&region, parent.last.data(), sizeof region);
  EXPECT_FALSE(parent.fabric->prepare_wait(test_now()).moving);
  const std::vector<std::byte> data(kArea);
  ASSERT_TRUE(parent.post(OpKind::write, kChild, data, region));
  EXPECT_TRUE(parent.fabric->prepare_wait(test_now()).moving);
  EXPECT_FALSE(parent.fabric->prepare_wait(test_now()).moving);
}

// A wish published a moment ago may not have been seen, however often one prepares to sleep.
TEST(shm_waiting, first_sleeps_end_by_themselves_until_all_must_have_seen_that_one_sleeps) {
  Party parent(options_for(kParent, 0));
  Child child(options_for(kChild, 0), serve_for_ever);
  child.introduce(parent);
  ASSERT_TRUE(parent.until([&] { return parent.is_up; }));
  const Instant now = test_now();
  const Instant first = parent.fabric->prepare_wait(now).poll_by;
  ASSERT_LE(first, now + Duration::milliseconds(1));
  const Instant soon = now + Duration::microseconds(1);
  EXPECT_LE(parent.fabric->prepare_wait(soon).poll_by, first);
  EXPECT_GT(parent.fabric->prepare_wait(first).poll_by, first);
}

/// Sleeps as a driver does. False when nothing woke it although nothing else would have.
bool sleeps_well(Party& party) {
  const Instant now = test_now();
  const WaitHint hint = party.fabric->prepare_wait(now);
  if (hint.ready) return true;
  const Duration longest = Duration::seconds(20);
  const Duration time = std::min(longest, hint.poll_by - now);
  pollfd descriptor{.fd = hint.descriptor, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&descriptor, 1, static_cast<int>(time.ticks() / 1'000'000 + 1));
  return ready != 0 || time < longest;
}

[[noreturn]] void sleep_and_answer(Party& party) {
  std::size_t answered = 0;
  for (;;) {
    party.step();
    for (; answered < party.received; ++answered) party.post(OpKind::send, kParent, {});
    if (!sleeps_well(party)) ::_exit(3);
  }
}

// No fence orders a sender's record before its look whether the other sleeps; the process about to
// sleep makes up for that.
TEST(shm_waiting, sleepers_are_woken_however_close_the_message_came) {
  Party parent(options_for(kParent, 0));
  Child child(options_for(kChild, 0), sleep_and_answer);
  child.introduce(parent);
  ASSERT_TRUE(parent.until([&] { return parent.is_up; }));
  for (std::size_t round = 1; round <= 5000; ++round) {
    ASSERT_TRUE(parent.post(OpKind::send, kChild, {}));
    // Not always as late as the other falls asleep.
    for (std::size_t i = 0; i < round % 64; ++i) parent.step();
    while (parent.received < round) {
      ASSERT_TRUE(sleeps_well(parent)) << "in round " << round;
      parent.step();
    }
    ASSERT_EQ(parent.downs, 0u);
  }
}

TEST(shm_memory, of_peers_that_died_is_given_back_and_nothing_gets_a_name) {
  const std::size_t mapped_before = mapped_segments();
  {
    Party party(options_for(kParent, 0));
    const std::size_t descriptors_before = open_descriptors();
    for (int life = 0; life < 3; ++life) {
      {
        Child child(options_for(kChild, 0), serve_for_ever);
        child.introduce(party);
        ASSERT_TRUE(party.until([&] { return party.is_up; }));
        EXPECT_EQ(mapped_segments(), mapped_before + 2);
        child.kill();
        ASSERT_TRUE(party.until([&] { return !party.is_up; }));
        party.step();
        party.fabric->remove_peer(kChild);
        party.step();
      }
      party.step();
      EXPECT_EQ(mapped_segments(), mapped_before);
    }
    EXPECT_EQ(open_descriptors(), descriptors_before);
  }
  EXPECT_EQ(mapped_segments(), mapped_before);
}

TEST(shm_strangers, of_another_job_or_secret_are_turned_away) {
  Party party(options_for(kParent, 0));
  ShmOptions other_job = options_for(kChild, 0);
  other_job.job_id = "another";
  ShmOptions other_secret = options_for(kChild, 0);
  other_secret.secret.assign(32, std::byte{6});
  for (const ShmOptions& options : {other_job, other_secret}) {
    Party stranger(options);
    ASSERT_TRUE(party.fabric->add_peer(kChild, Incarnation(1), stranger.fabric->address()).ok());
    ASSERT_TRUE(stranger.fabric->add_peer(kParent, Incarnation(1), party.fabric->address()).ok());
    for (int i = 0; i < 2000; ++i) {
      party.step();
      stranger.step();
    }
    EXPECT_FALSE(party.is_up);
    EXPECT_FALSE(stranger.is_up);
  }
}

TEST(shm_silence, a_process_that_polls_no_more_is_silent_in_each_state_of_the_link) {
  Party caller(options_for(kParent, 0)), busy(options_for(kChild, 0));
  ASSERT_TRUE(caller.fabric->add_peer(kChild, Incarnation(1), busy.fabric->address()).ok());
  ASSERT_TRUE(busy.fabric->add_peer(kParent, Incarnation(1), caller.fabric->address()).ok());
  const auto silent_or_up = [&] { return caller.is_up || caller.fabric->is_silent(kChild); };
  for (int polls = 0; !caller.is_up && polls < 100'000; ++polls) {
    for (int i = 0; i < 200; ++i) caller.step();  // what came changes its state first
    ASSERT_TRUE(caller.until(silent_or_up)) << "after " << polls << " polls of the other";
    busy.step();
  }
  EXPECT_TRUE(caller.is_up);
  EXPECT_FALSE(caller.fabric->is_silent(kChild));
}

TEST(shm_silence, a_process_that_ended_is_not_silent) {
  Party caller(options_for(kParent, 0));
  {
    Party gone(options_for(kChild, 0));
    ASSERT_TRUE(caller.fabric->add_peer(kChild, Incarnation(1), gone.fabric->address()).ok());
    ASSERT_TRUE(caller.until([&] { return caller.fabric->is_silent(kChild); }));
  }
  EXPECT_TRUE(caller.until([&] { return !caller.fabric->is_silent(kChild); }));
}

TEST(shm_options, wrong_values_are_named) {
  const auto complaint = [](const ShmOptions& options) {
    const auto opened = open_shm(options);
    return opened.ok() ? std::string() : opened.error().message;
  };
  ShmOptions options = options_for(kParent, 0);
  options.ring_size = 100'000;
  EXPECT_NE(complaint(options).find("ring_size 100000: choose a power of two"), std::string::npos);
  options = options_for(kParent, 0);
  options.max_message = options.ring_size / 2;
  EXPECT_NE(complaint(options).find("max_message 131072"), std::string::npos);
  options = options_for(kParent, 0);
  options.name = "a/b";
  EXPECT_NE(complaint(options).find("name 'a/b'"), std::string::npos);
  options = options_for(kParent, 0);
  options.secret.resize(3);
  EXPECT_NE(complaint(options).find("secret of 3 bytes"), std::string::npos);
}

TEST(shm_address, follows_from_a_name_for_those_who_know_it) {
  const std::string names[] = {"a" + std::to_string(::getpid()), "b" + std::to_string(::getpid())};
  ShmOptions options[] = {options_for(kParent, 0), options_for(kChild, 0)};
  for (std::size_t i : {0, 1}) options[i].name = names[i];
  Party a(options[0]), b(options[1]);
  EXPECT_EQ(address_beside(a.fabric->address(), names[1]), b.fabric->address());
  EXPECT_EQ(address_beside("127.0.0.1:1", names[1]), "");
  EXPECT_EQ(open_shm(options[0]).error().code, ErrorCode::unavailable);
}

TEST(shm_address, of_another_host_is_refused_with_the_fix) {
  Party party(options_for(kParent, 0));
  std::string address = party.fabric->address();
  EXPECT_TRUE(party.fabric->may_reach(address));
  address[4] = address[4] == '0' ? '1' : '0';
  EXPECT_FALSE(party.fabric->may_reach(address));
  const auto added = party.fabric->add_peer(kChild, Incarnation(1), address);
  ASSERT_FALSE(added.ok());
  EXPECT_NE(added.error().message.find("use tcp"), std::string::npos);
  for (const char* const text : {"", "shm:", "shm:12", "127.0.0.1:1", "shm:zzzzzzzzzzzzzzzz,x"}) {
    EXPECT_FALSE(party.fabric->may_reach(text)) << text;
    EXPECT_FALSE(party.fabric->add_peer(kChild, Incarnation(1), text).ok()) << text;
  }
}

}  // namespace
}  // namespace weft::shm
