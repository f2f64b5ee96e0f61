// SPDX-License-Identifier: Apache-2.0
// What other threads do while one waits: here, what the pause of a wait does.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/object/message_window.hpp"
#include "mpi/object/questions.hpp"
#include "mpi/object/world_for_test.hpp"

namespace weft::mpi {
namespace {

using testing::World;

const Datatype int_type(Basic::int32);

/// Two processes, of which the first one lets others in while it waits.
class Threads : public ::testing::Test {
 protected:
  Threads() : pair_(2) { pair_[0].set_pause(&pause); }
  ~Threads() override { meanwhile_ = nullptr; }
  /// Calls `act` in the pauses of waits.
  static void let_in(std::function<void()> act) { meanwhile_ = std::move(act); }

  World pair_;

 private:
  static void pause(int) {
    // A wait of the other thread pauses as well.
    if (const auto act = std::exchange(meanwhile_, nullptr)) {
      act();
      if (meanwhile_ == nullptr) meanwhile_ = act;
    }
  }
  static inline std::function<void()> meanwhile_;
};

TEST_F(Threads, a_wait_for_any_request_is_not_told_what_another_thread_found) {
  Questions questions(pair_[0]);
  using State = Questions::State;
  bool has_come = false;
  int turns = 0;
  let_in([&] {
    const auto others = questions.some(
        4, false, false, [](std::size_t i) { return i == 3 ? State::done : State::under_way; });
    EXPECT_EQ(others, std::vector<std::uint32_t>{3});
    has_come = ++turns > 3;
  });
  const auto own = questions.some(4, false, true, [&](std::size_t i) {
    return i == 1 && has_come ? State::done : State::under_way;
  });
  EXPECT_EQ(own, std::vector<std::uint32_t>{1});
}

TEST_F(Threads, a_probe_waits_while_another_thread_ends_the_log) {
  alignas(8) std::array<std::byte, 4096> memory{};
  determinant::OutcomeLog log(memory);
  Questions questions(pair_[0]);
  questions.use(log, {});
  std::int32_t value = 7;
  Request send;
  let_in([&] {
    std::thread([&] { (void)questions.probe(pair_.group(0), 1, 5, false); }).join();
    if (!send.done) pair_[1].send(pair_.group(1), 0, 9, {&value, 1, &int_type}, false, send);
    pair_[1].turn();
  });
  const auto found = questions.probe(pair_.group(0), match::any_source, 9, true);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->tag, 9);
}

TEST_F(Threads, a_second_thread_ends_the_replay_of_a_log_with_an_error) {
  alignas(8) std::array<std::byte, 4096> memory{};
  { determinant::OutcomeLog(memory).record({.kind = determinant::Kind::yes}); }
  determinant::OutcomeLog log(memory);
  Questions questions(pair_[0]);
  questions.use(log, {});
  std::thread([&] { (void)questions.probe(pair_.group(0), 1, 5, false); }).join();
  EXPECT_TRUE(questions.has_diverged());
  EXPECT_TRUE(pair_[0].failure().has_value());
}

TEST_F(Threads, a_wait_tells_nothing_of_itself_where_there_may_be_other_lives_also_without_a_log) {
  for (const bool has_log : {false, true}) {
    alignas(8) std::array<std::byte, 4096> memory{};
    determinant::OutcomeLog log(memory);
    World pair(2);
    Questions questions(pair[0]);
    if (has_log) {
      questions.use(log, {});
      std::thread([&] { (void)questions.probe(pair.group(0), 1, 5, false); }).join();
      EXPECT_FALSE(questions.is_recorded());
    }
    pair.turn();
    std::byte in{};
    bool has_come = false, is_sent = false;
    for (std::size_t i = 0; i < 2; ++i) {
      pair[i].begin_collective(pair.group(i), collective::Operation::barrier, 0);
    }
    pair[0].receive_short(pair.group(0), 1, {&in, 1}, has_come);
    const message::MessageMachine& machine = pair.members[0]->messenger.machine();
    const std::uint64_t before = machine.place();
    // A notice after two seconds.
    pair.members[0]->waiter.on_idle = [&, turns = 0]() mutable {
      if (++turns == 3000) pair[1].send_short(pair.group(1), 0, {&in, 1}, is_sent);
      pair[1].turn();
    };
    pair[0].until([&] { return has_come; });
    const std::uint64_t notices = has_log ? 0 : 1;
    EXPECT_EQ(machine.place() - before, 1 + notices) << "with what was received";
  }
}

/// A window of both processes, with memory at the second one.
class WindowThreads : public Threads {
 protected:
  WindowThreads()
      : memory_(8, 0),
        origin_(pair_[0], pair_.group(0), nullptr),
        target_(pair_[1], pair_.group(1), reinterpret_cast<std::byte*>(memory_.data())) {
    origin_.open();
    target_.open();
    let_in([&] { pair_[1].turn(); });
    put(1, 0);
    origin_.flush(1);  // the processes know each other
  }
  void put(std::int32_t value, std::uint32_t place) {
    origin_.put(at(place), {&value, 1, &int_type});
  }
  static Target at(std::uint32_t place) {
    return {.rank = 1, .offset = std::int64_t{place} * 4, .count = 1, .type = &int_type};
  }

  std::vector<std::int32_t> memory_;
  MessageWindow origin_, target_;
};

TEST_F(WindowThreads, a_flush_waits_for_accesses_that_the_flush_of_another_thread_covers) {
  put(7, 2);
  int pauses = 0;
  let_in([&] {
    if (pauses++ == 0) {  // the first thread's flush is under way
      let_in([&] {
        if (++pauses > 5) pair_[1].turn();
      });
      origin_.flush(1);
      EXPECT_EQ(memory_[2], 7);
    }
    pair_[1].turn();
  });
  origin_.flush(1);
  EXPECT_EQ(memory_[2], 7);
}

TEST_F(WindowThreads, accesses_of_another_thread_during_a_flush_are_left_to_its_own_flush) {
  put(7, 2);
  bool has_put = false;
  let_in([&] {
    ASSERT_FALSE(has_put) << "the answer is not on its way";
    pair_[1].turn();
    if (memory_[2] == 7) put(8, 3);
    has_put = memory_[2] == 7;
  });
  origin_.flush(1);
  EXPECT_TRUE(has_put);
  EXPECT_EQ(memory_[3], 0);
  let_in([&] { pair_[1].turn(); });
  origin_.flush(1);
  EXPECT_EQ(memory_[3], 8);
}

TEST_F(WindowThreads, a_flush_ends_while_another_thread_asks_without_an_end) {
  put(7, 2);
  std::vector<std::int32_t> got(1000, 0);
  std::size_t asked = 0;
  let_in([&] {
    ASSERT_LT(asked, got.size());
    origin_.get(at(2), {&got[asked++], 1, &int_type});
    pair_[1].turn();
    origin_.get(at(2), {&got[asked++], 1, &int_type});
  });
  origin_.flush(1);
  EXPECT_EQ(memory_[2], 7);
  let_in([&] { pair_[1].turn(); });
  origin_.flush(1);
}

}  // namespace
}  // namespace weft::mpi
