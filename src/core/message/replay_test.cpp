// SPDX-License-Identifier: Apache-2.0
// Processes that die and come back, and connections that break: every process receives the same as
// without faults.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/message/job_for_test.hpp"

namespace weft::message::testing {
namespace {

/// The line that runs one seed again.
std::string again(std::string_view test, std::uint64_t seed) {
  return fmt::format("WEFT_SEED={} core_message_test --gtest_filter={}", seed, test);
}

std::pair<std::uint64_t, std::uint64_t> seeds(std::uint64_t count) {
  const char* one = std::getenv("WEFT_SEED");
  if (one == nullptr) return {1, count};
  return {std::strtoull(one, nullptr, 10), std::strtoull(one, nullptr, 10)};
}

std::vector<std::uint64_t> hashes(const Job& job, std::uint32_t processes) {
  std::vector<std::uint64_t> all;
  for (std::uint32_t i = 0; i < processes; ++i) all.push_back(job.hash(i));
  return all;
}

JobOptions drawn_options(Rng& rng, std::uint64_t seed) {
  return {.processes = 2 + static_cast<std::uint32_t>(rng.below(5)),
          .seed = seed,
          .eager_limit = std::size_t{1} << rng.below(11),
          .inbox = ByteCount(1 << (10 + rng.below(8))),
          .outstanding = 16 + rng.below(12),
          .write_window = seed % 3 == 0 ? 900 : std::numeric_limits<std::size_t>::max(),
          .listens = seed % 2 == 0};
}

TEST(replay, processes_that_exchange_anything_receive_it_and_leave_together) {
  const auto [first, last] = seeds(200);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    const JobOptions options = drawn_options(rng, seed);
    Job job(options, draw_programs(rng.split(1), options.processes, 300, 3000, 6));
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.processes_that*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.processes_that*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.processes_that*", seed);
  }
}

TEST(replay, broken_connections_lose_and_repeat_nothing) {
  const auto [first, last] = seeds(300);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    const JobOptions options = drawn_options(rng, seed);
    Job job(options, draw_programs(rng.split(1), options.processes, 200, 3000, 6));
    for (int i = 0; i < 400; ++i) {
      job.step();
      if (rng.below(20) != 0 || job.decided()) continue;
      job.break_connection(static_cast<std::uint32_t>(rng.below(options.processes)),
                           static_cast<std::uint32_t>(rng.below(options.processes)));
    }
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.broken*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.broken*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.broken*", seed);
  }
}

TEST(replay, killed_processes_begin_anew_and_all_receive_what_they_would_have) {
  const auto [first, last] = seeds(500);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    JobOptions options = drawn_options(rng, seed);
    options.retain = true;
    const auto programs = draw_programs(rng.split(1), options.processes, 200, 3000, 6);
    Job calm(options, programs);
    ASSERT_TRUE(calm.run()) << calm.trouble() << again("replay.killed*", seed);
    Job job(options, programs);
    std::vector<int> returns(options.processes, -1);
    for (int i = 0; i < 1000; ++i) {
      job.step();
      for (std::uint32_t p = 0; p < options.processes; ++p) {
        if (returns[p] == i) job.restart(p);
      }
      if (job.decided()) continue;
      if (rng.below(60) == 0) {
        const auto p = static_cast<std::uint32_t>(rng.below(options.processes));
        if (job.alive(p)) {
          job.kill(p);
          returns[p] = i + 1 + static_cast<int>(rng.below(50));
        }
      }
      if (rng.below(80) == 0) {
        job.break_connection(static_cast<std::uint32_t>(rng.below(options.processes)),
                             static_cast<std::uint32_t>(rng.below(options.processes)));
      }
    }
    for (std::uint32_t p = 0; p < options.processes; ++p) {
      if (!job.alive(p)) job.restart(p);
    }
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.killed*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.killed*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.killed*", seed);
    ASSERT_EQ(hashes(job, options.processes), hashes(calm, options.processes))
        << again("replay.killed*", seed);
  }
}

/// A launcher that starts killed processes anew, one at a time, until a moment at which it has all
/// processes stop keeping messages; each hears of it later. From then on it starts all anew.
class Switching {
 public:
  Switching(Job& job, Rng& rng, std::uint32_t processes, int at)
      : job_(job), rng_(rng), at_(at), returns_(processes, -1), stops_(processes, -1) {}

  void step(int now) {
    job_.step();
    for (std::uint32_t p = 0; p < returns_.size(); ++p) {
      if (returns_[p] == now && !is_switched()) start(p);
      if (stops_[p] == now && job_.alive(p)) job_.stop_keeping(p, newest_lives_);
    }
    if (now == at_) become_switched(now);
    // It may have been told of the switch before it hears of a death.
    if (is_switched() && falls_at_ == now) kill_all();
    if (!job_.decided() && rng_.below(60) == 0) {
      kill(static_cast<std::uint32_t>(rng_.below(returns_.size())), now);
    }
  }
  void start_all() {
    if (falls_at_ >= 0) kill_all();
    for (std::uint32_t p = 0; p < returns_.size(); ++p) {
      if (!job_.alive(p)) start(p);
    }
  }

 private:
  bool is_switched() const { return switched_; }
  void start(std::uint32_t p) {
    returns_[p] = -1;
    job_.restart(p);
  }
  void kill(std::uint32_t p, int now) {
    if (!job_.alive(p)) return;
    job_.kill(p);
    if (is_switched()) {
      falls_at_ = std::max(falls_at_, now + 1 + static_cast<int>(rng_.below(20)));
    } else {
      returns_[p] = now + 1 + static_cast<int>(rng_.below(50));
      died_at_ = now;
      last_dead_ = p;
    }
  }
  void become_switched(int now) {
    switched_ = true;
    for (std::uint32_t p = 0; p < returns_.size(); ++p) {
      if (job_.alive(p)) {
        stops_[p] = now + 1 + static_cast<int>(rng_.below(30));
      } else if (p == last_dead_ && now - died_at_ < 5) {
        falls_at_ = now + 1 + static_cast<int>(rng_.below(20));  // it has not heard of this one yet
      }
    }
    // Those whose deaths it knows of come back alone.
    for (std::uint32_t p = 0; p < returns_.size() && falls_at_ < 0; ++p) {
      if (job_.alive(p)) continue;
      job_.keep_nothing_from_now();
      start(p);
    }
    for (std::uint32_t p = 0; p < returns_.size(); ++p) newest_lives_.push_back(job_.life(p));
  }
  void kill_all() {
    falls_at_ = -1;
    job_.keep_nothing_from_now();
    for (std::uint32_t p = 0; p < returns_.size(); ++p) {
      if (job_.alive(p)) job_.kill(p);
    }
    for (std::uint32_t p = 0; p < returns_.size(); ++p) start(p);
  }

  Job& job_;
  Rng& rng_;
  int at_;
  std::vector<int> returns_;  // by process, when it is started anew
  std::vector<int> stops_;    // when it hears that it keeps nothing any more
  std::vector<std::uint32_t> newest_lives_;
  std::uint32_t last_dead_ = 0;
  int died_at_ = -100;
  int falls_at_ = -1;  // when all are ended
  bool switched_ = false;
};

TEST(replay, processes_may_stop_keeping_messages_when_all_start_anew_from_then_on) {
  const auto [first, last] = seeds(500);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Rng rng(seed);
    JobOptions options = drawn_options(rng, seed);
    options.retain = true;
    options.lossless = seed % 4 < 2;
    const auto programs = draw_programs(rng.split(1), options.processes, 200, 3000, 6);
    Job calm(options, programs);
    ASSERT_TRUE(calm.run()) << calm.trouble() << again("replay.processes_may*", seed);
    // Messages wait for room until nothing is kept any more.
    if (seed % 3 == 0) options.outbox.limit = ByteCount(1 << (10 + rng.below(5)));
    Job job(options, programs);
    Switching launcher(job, rng, options.processes, static_cast<int>(rng.below(600)));
    for (int i = 0; i < 1000; ++i) {
      launcher.step(i);
      if (options.lossless || job.decided() || rng.below(80) != 0) continue;
      job.break_connection(static_cast<std::uint32_t>(rng.below(options.processes)),
                           static_cast<std::uint32_t>(rng.below(options.processes)));
    }
    launcher.start_all();
    ASSERT_TRUE(job.run()) << job.trouble() << again("replay.processes_may*", seed);
    ASSERT_EQ(job.trouble(), "") << again("replay.processes_may*", seed);
    ASSERT_TRUE(job.failures().empty()) << again("replay.processes_may*", seed);
    ASSERT_EQ(hashes(job, options.processes), hashes(calm, options.processes))
        << again("replay.processes_may*", seed);
  }
}

TEST(replay, a_message_that_waits_for_room_waits_no_longer_than_messages_are_kept) {
  for (const bool may_ask : {false, true}) {
    const Step send{.sends = true, .peer = 1, .tag = 0, .size = 80};
    const Step receive{.sends = false, .peer = 0, .tag = 0, .size = 80};
    Job job({.processes = 2, .retain = true, .outbox = {.limit = ByteCount(128)}},
            {{send, send}, {receive, receive}});
    ASSERT_FALSE(job.run(200)) << "there is room for one message";
    EXPECT_TRUE(job.machine(0).waits_for_room());
    job.stop_keeping(0, std::array<std::uint32_t, 2>{1, may_ask ? 2U : 1U});
    EXPECT_FALSE(job.machine(0).waits_for_room());
    EXPECT_TRUE(job.run(200)) << job.trouble();
  }
}

/// Has room for one message.
class SmallMemory final : public BodyMemory {
 public:
  std::byte* allocate(std::size_t) override {
    return std::exchange(is_taken_, true) ? nullptr : bytes_.data();
  }
  void free(std::byte*, std::size_t) override { is_taken_ = false; }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(100'000);
  bool is_taken_ = false;
};

TEST(replay, a_message_for_which_there_is_no_memory_waits_no_longer_than_messages_are_kept) {
  const Step send{.sends = true, .peer = 1, .tag = 0, .size = 100'000};
  const Step receive{.sends = false, .peer = 0, .tag = 0, .size = 100'000};
  SmallMemory memory;
  Job job({.processes = 2, .retain = true, .outbox = {.memory = &memory}},
          {{send, send, send}, {receive, receive, receive}});
  ASSERT_FALSE(job.run(20'000)) << "there is memory for one message";
  job.stop_keeping(0, std::array<std::uint32_t, 2>{1, 2});
  EXPECT_FALSE(job.machine(0).waits_for_room());
  EXPECT_TRUE(job.run(20'000)) << job.trouble();
  EXPECT_EQ(job.trouble(), "");
}

}  // namespace
}  // namespace weft::message::testing
