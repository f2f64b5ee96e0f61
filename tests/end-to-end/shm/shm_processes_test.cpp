// SPDX-License-Identifier: Apache-2.0
// The shm sink with consumers that are real processes: killed, stopped, come and gone.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/memory/mirrored_ring.hpp"
#include "stream/shm/shm_sink.hpp"

namespace weft {
namespace {

std::string unique_name() {
  static std::atomic<int> last = 0;
  return fmt::format("process-test-{}-{}", ::getpid(), ++last);
}

// A consumer_process and the pipes to it.
class ConsumerProcess {
 public:
  ConsumerProcess(const std::string& name, const char* group, const char* policy, int depth) {
    int to[2];
    int from[2];
    EXPECT_EQ(::pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(from, O_CLOEXEC), 0);
    const std::string depth_text = std::to_string(depth);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(to[0], STDIN_FILENO);
      ::dup2(from[1], STDOUT_FILENO);
      ::execl(WEFT_CONSUMER_PROCESS, WEFT_CONSUMER_PROCESS, name.c_str(), group, policy,
              depth_text.c_str(), nullptr);
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    in_ = to[1];
    out_ = from[0];
    EXPECT_EQ(answer(), "attached");
  }
  ~ConsumerProcess() {
    if (pid_ > 0) kill();
    ::close(in_);
    ::close(out_);
  }
  ConsumerProcess(const ConsumerProcess&) = delete;
  ConsumerProcess& operator=(const ConsumerProcess&) = delete;

  void tell(std::string_view command) {
    const std::string line = std::string(command) + "\n";
    EXPECT_EQ(::write(in_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  // One line, waited for with much patience.
  std::string answer() {
    std::string line;
    for (char c = 0; c != '\n';) {
      pollfd ready{out_, POLLIN, 0};
      if (::poll(&ready, 1, 60'000) != 1 || ::read(out_, &c, 1) != 1) return line + "(no answer)";
      if (c != '\n') line += c;
    }
    return line;
  }
  std::string ask(std::string_view command) {
    tell(command);
    return answer();
  }
  std::vector<std::uint64_t> ask_numbers(std::string_view command) {
    std::istringstream text(ask(command));
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t n = 0; text >> n;) numbers.push_back(n);
    return numbers;
  }
  std::uint64_t next() {
    const auto numbers = ask_numbers("next");
    EXPECT_EQ(numbers.size(), 5u);
    return numbers.empty() ? ~std::uint64_t{0} : numbers[0];
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  // Returns when it has stopped.
  void stop() {
    ::kill(pid_, SIGSTOP);
    EXPECT_EQ(::waitpid(pid_, nullptr, WUNTRACED), pid_);
  }
  void go_on() { ::kill(pid_, SIGCONT); }
  void leave() {
    tell("leave");
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1;
  int out_ = -1;
};

// Publishes small timeslices of two components; the rings have room for all that a test makes.
class ComputeNode {
 public:
  static constexpr std::size_t piece = 500;

  explicit ComputeNode(const std::string& rest) {
    auto arena = MirroredArena::create(2, ring_size_for(ByteCount(1 << 20)), "test");
    EXPECT_TRUE(arena.ok());
    arena_.emplace(std::move(*arena));
    SinkPlace place;
    place.inputs = 2;
    auto sink = open_shm_sink(rest, place);
    EXPECT_TRUE(sink.ok()) << sink.error().message;
    sink_ = std::move(*sink);
  }
  ~ComputeNode() {
    sink_->interrupt();
    if (thread_.joinable()) thread_.join();
  }

  // On a thread of its own, as a driver does; `finish` after the last.
  void publish(std::uint64_t count) {
    thread_ = std::thread([this, count] {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (!publish_one().ok()) return;
      }
      EXPECT_TRUE(sink_->finish().ok());
    });
  }
  void wait_for_published(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return published_ >= count; });
  }
  void wait_for_released(std::uint64_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return released_ >= count; });
  }
  void wait_for_end() { thread_.join(); }
  std::uint64_t most_held() const { return most_held_; }
  const Sink& sink() const { return *sink_; }
  const MirroredArena& arena() const { return *arena_; }

 private:
  Result<void> publish_one() {
    std::array<ComponentView, 2> components;
    std::uint64_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      index = published_;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const auto data = arena_->ring(i).at(index * piece, piece);
      std::memset(data.data(), static_cast<int>(index + i), piece);
      components[i] = {0, 1, data};
    }
    TimesliceView view;
    view.index = TimesliceIndex(index);
    view.num_core_microslices = 1;
    view.components = components;
    const auto release = [](void* self, TimesliceIndex) noexcept {
      auto& node = *static_cast<ComputeNode*>(self);
      const std::lock_guard lock(node.mutex_);
      ++node.released_;
      node.changed_.notify_all();
    };
    auto r = sink_->consume_held(view, HeldTimeslice(release, this, view.index));
    const std::lock_guard lock(mutex_);
    if (r.ok()) ++published_;
    most_held_ = std::max(most_held_, published_ - std::min(released_, published_));
    changed_.notify_all();
    return r;
  }

  std::optional<MirroredArena> arena_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t published_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t most_held_ = 0;
  std::thread thread_;
  std::unique_ptr<Sink> sink_;  // destroyed first: it releases held timeslices
};

std::vector<std::uint64_t> up_to(std::uint64_t n) {
  std::vector<std::uint64_t> numbers(n);
  for (std::uint64_t i = 0; i < n; ++i) numbers[i] = i;
  return numbers;
}

TEST(shm_processes, data_lies_in_the_memory_of_the_compute_node_itself) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all");
  ConsumerProcess consumer(name, "g", "all", 1);
  node.publish(1);
  const auto answer = consumer.ask_numbers("next");
  ASSERT_EQ(answer.size(), 5u);
  struct stat info {};
  ASSERT_EQ(::fstat(node.arena().descriptor(), &info), 0);
  EXPECT_EQ(answer[4], info.st_ino) << "the memory file is another one: a copy";
  EXPECT_EQ(consumer.ask("byte 0 1 499"), "1");
  node.arena().ring(1).memory()[499] = std::byte{77};
  EXPECT_EQ(consumer.ask("byte 0 1 499"), "77");
  EXPECT_EQ(consumer.ask("release 0"), "released");
  EXPECT_EQ(consumer.ask("next"), "ended");
  node.wait_for_end();
}

TEST(shm_processes, all_gives_everything_to_every_process) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all:3");
  ConsumerProcess a(name, "g", "all", 1);
  ConsumerProcess b(name, "g", "all", 4);
  ConsumerProcess c(name, "g", "all", 64);
  node.publish(300);
  for (ConsumerProcess* p : {&a, &b, &c}) p->tell("take 300");
  for (ConsumerProcess* p : {&a, &b, &c}) {
    std::istringstream text(p->answer());
    for (const std::uint64_t expected : up_to(300)) {
      std::uint64_t index = 0;
      ASSERT_TRUE(text >> index);
      ASSERT_EQ(index, expected);
    }
  }
  node.wait_for_end();
  EXPECT_EQ(node.sink().summary().dropped, 0u);
}

TEST(shm_processes, one_gives_what_a_killed_process_had_to_another) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one:2");
  ConsumerProcess victim(name, "g", "one", 3);
  ConsumerProcess heir(name, "g", "one", 1);
  node.publish(40);
  std::set<std::uint64_t> had{victim.next(), victim.next(), victim.next()};
  ASSERT_EQ(had.size(), 3u);
  // The heir takes the rest, up to the victim's timeslices: only those are missing then.
  std::set<std::uint64_t> taken;
  for (const std::uint64_t i : heir.ask_numbers("take 37")) EXPECT_TRUE(taken.insert(i).second);
  for (const std::uint64_t i : had) EXPECT_FALSE(taken.contains(i));
  victim.kill();
  for (int i = 0; i < 3; ++i) {
    const auto answer = heir.ask_numbers("next");
    ASSERT_EQ(answer.size(), 5u);
    EXPECT_EQ(had.erase(answer[0]), 1u);
    EXPECT_EQ(answer[2], bit(TimesliceFlag::repeated));
    heir.ask(fmt::format("release {}", answer[0]));
  }
  EXPECT_EQ(heir.ask("next"), "ended");
  node.wait_for_end();
  EXPECT_EQ(node.sink().summary().dropped, 0u);
}

TEST(shm_processes, one_keeps_everything_for_the_next_process_when_the_only_one_is_killed) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one&held=8");
  ConsumerProcess first(name, "g", "one", 2);
  node.publish(30);
  EXPECT_EQ(first.next(), 0u);
  EXPECT_EQ(first.next(), 1u);
  node.wait_for_published(8);
  first.kill();
  ConsumerProcess second(name, "g", "one", 2);
  EXPECT_EQ(second.ask_numbers("take 30"), up_to(30));
  EXPECT_EQ(second.ask_numbers("counts"), (std::vector<std::uint64_t>{30, 2, 0}));
  EXPECT_EQ(second.ask("next"), "ended");
  node.wait_for_end();
}

TEST(shm_processes, all_releases_what_a_killed_process_had) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all:2&held=16");
  ConsumerProcess victim(name, "g", "all", 2);
  ConsumerProcess other(name, "g", "all", 2);
  node.publish(100);
  EXPECT_EQ(victim.next(), 0u);
  EXPECT_EQ(other.ask_numbers("take 16"), up_to(16)) << "then the victim holds the stream up";
  victim.kill();
  EXPECT_EQ(other.ask_numbers("take 84").back(), 99u);
  EXPECT_EQ(other.ask("next"), "ended");
  node.wait_for_end();
  node.wait_for_released(100);
}

TEST(shm_processes, stopped_process_of_policy_all_holds_the_stream_within_the_bound) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:all&held=5");
  ConsumerProcess consumer(name, "g", "all", 2);
  consumer.stop();
  node.publish(50);
  node.wait_for_published(5);
  consumer.go_on();
  EXPECT_EQ(consumer.ask_numbers("take 50"), up_to(50));
  EXPECT_EQ(consumer.ask("next"), "ended");
  node.wait_for_end();
  // A slot is free a moment before its handle is released, all five at most.
  EXPECT_LE(node.most_held(), 10u);
}

TEST(shm_processes, stopped_process_of_policy_one_is_passed_by) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one:2");
  ConsumerProcess stopped(name, "g", "one", 1);
  ConsumerProcess busy(name, "g", "one", 1);
  stopped.stop();
  node.publish(50);
  const auto taken = busy.ask_numbers("take 49");
  EXPECT_EQ(taken.size(), 49u);
  stopped.go_on();
  const std::uint64_t last = stopped.next();
  EXPECT_EQ(std::count(taken.begin(), taken.end(), last), 0);
  stopped.ask(fmt::format("release {}", last));
  EXPECT_EQ(stopped.ask("next"), "ended");
  node.wait_for_end();
}

TEST(shm_processes, stopped_process_of_policy_skip_never_holds_the_stream_up) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:skip:2&held=4");
  ConsumerProcess stopped(name, "g", "skip", 1);
  ConsumerProcess other(name, "g", "skip", 1);
  stopped.stop();
  node.publish(1000);
  node.wait_for_end();
  EXPECT_GE(node.sink().summary().dropped, 999u);
  stopped.go_on();
  EXPECT_EQ(stopped.ask_numbers("next").at(0), 0u);
  EXPECT_EQ(stopped.ask("byte 0 1 10"), "1") << "its copy is as it was";
}

TEST(shm_processes, processes_come_and_go_while_the_stream_runs) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one");
  std::optional<ConsumerProcess> current(std::in_place, name, "g", "one", 4);
  node.publish(400);
  std::set<std::uint64_t> seen;
  const auto take = [&](ConsumerProcess& p, int count) {
    for (const std::uint64_t i : p.ask_numbers(fmt::format("take {}", count))) {
      EXPECT_TRUE(seen.insert(i).second) << i << " came twice";
    }
  };
  for (int round = 0; round < 19; ++round) {
    take(*current, 20);
    const auto kept = current->next();
    EXPECT_FALSE(seen.contains(kept));
    // By turns it leaves in order, which releases its timeslices, or is killed: the next one gets
    // it.
    if (round % 2 == 0) {
      current->leave();
      seen.insert(kept);
    } else {
      current->kill();
    }
    current.emplace(name, "g", "one", 4);
  }
  take(*current, 10);
  EXPECT_EQ(current->ask("next"), "ended");
  node.wait_for_end();
  EXPECT_EQ(seen.size(), 400u);
  EXPECT_EQ(node.sink().summary().dropped, 0u);
}

}  // namespace
}  // namespace weft
