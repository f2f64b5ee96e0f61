// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/thread_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::sim {
namespace {

using Clock = std::chrono::steady_clock;

/// As std::barrier, but a thread that has waited a little sleeps and never yields: when other
/// processes want the cores too, a thread that yields waits until all of them have had their turns.
class Barrier {
 public:
  explicit Barrier(std::uint32_t ranks)
      : ranks_(ranks), spins_(ranks <= std::thread::hardware_concurrency()) {}

  /// `patience` is the thread's own: for how long it spins before it sleeps. A sleep and a wake-up
  /// take longer than parts of equal work wait for each other. But a thread that spins for a peer
  /// which has no core may be on that core itself. So patience grows slowly with each wait that was
  /// over in time, and halves with each that was not.
  void arrive_and_wait(Clock::duration& patience) {
    const std::uint32_t phase = phase_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
      arrived_.store(0, std::memory_order_relaxed);
      {
        const std::lock_guard lock(mutex_);
        phase_.store(phase + 1, std::memory_order_release);
      }
      next_phase_.notify_all();
      return;
    }
    const auto is_over = [&] { return phase_.load(std::memory_order_acquire) != phase; };
    const auto start = Clock::now();
    while (spins_ && Clock::now() - start < patience) {
      if (!is_over()) continue;
      patience = std::min(patience * 9 / 8, kMostPatience);
      return;
    }
    patience = std::max(patience / 2, kLeastPatience);
    std::unique_lock lock(mutex_);
    next_phase_.wait(lock, is_over);
  }

  static constexpr Clock::duration kMostPatience = std::chrono::microseconds(100);

 private:
  static constexpr Clock::duration kLeastPatience = std::chrono::microseconds(1);

  std::uint32_t ranks_;
  bool spins_;
  std::atomic<std::uint32_t> arrived_{0};
  std::atomic<std::uint32_t> phase_{0};
  std::mutex mutex_;
  std::condition_variable next_phase_;
};

/// The data that all ranks see in one turn. Each writes its own entries before the barrier and
/// reads the others' after it.
struct Turn {
  explicit Turn(std::uint32_t ranks)
      : batches(ranks, std::vector<Batch>(ranks)), least(ranks), values(ranks) {}
  std::vector<std::vector<Batch>> batches;  // by sender and receiver
  std::vector<std::int64_t> least;
  std::vector<std::vector<std::uint64_t>> values;
};

/// Turns use two boards alternately: when a rank writes one again all have been at the other's
/// barrier, and have read this one before.
struct Board {
  explicit Board(std::uint32_t ranks) : barrier(ranks), turns{Turn(ranks), Turn(ranks)} {}
  Barrier barrier;
  std::array<Turn, 2> turns;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Board& board, std::uint32_t rank) : board_(board), rank_(rank) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override {
    return static_cast<std::uint32_t>(board_.turns[0].least.size());
  }
  bool first_of_process() const override { return rank_ == 0; }

  std::int64_t turn(std::span<const std::uint32_t> neighbours, std::span<const Batch> outgoing,
                    std::span<Batch> incoming, std::int64_t least) override {
    Turn& turn = next_turn();
    for (const std::uint32_t r : neighbours) turn.batches[rank_][r] = outgoing[r];
    turn.least[rank_] = least;
    board_.barrier.arrive_and_wait(patience_);
    for (Batch& batch : incoming) batch.clear();
    for (const std::uint32_t r : neighbours) incoming[r].swap(turn.batches[r][rank_]);
    return *std::min_element(turn.least.begin(), turn.least.end());
  }

  void sum(std::span<std::uint64_t> values) override {
    Turn& turn = next_turn();
    turn.values[rank_].assign(values.begin(), values.end());
    board_.barrier.arrive_and_wait(patience_);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0;
      for (const auto& of_rank : turn.values) values[i] += of_rank[i];
    }
  }

 private:
  Turn& next_turn() { return board_.turns[turns_++ % 2]; }

 private:
  Board& board_;
  std::uint32_t rank_;
  std::uint64_t turns_ = 0;
  Clock::duration patience_ = Barrier::kMostPatience;
};

}  // namespace

void run_in_threads(std::uint32_t ranks, const std::function<void(Exchange&)>& body) {
  Board board(ranks);
  std::promise<bool> all_are_there;
  const auto begins = all_are_there.get_future().share();
  std::vector<std::jthread> threads;
  threads.reserve(ranks);
  try {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      threads.emplace_back([&board, &body, r, begins] {
        if (!begins.get()) return;
        ThreadExchange exchange(board, r);
        body(exchange);
      });
    }
  } catch (const std::system_error& error) {
    all_are_there.set_value(false);  // they would wait for the others without end
    throw std::system_error(error.code(), fmt::format("cannot start {} threads, use fewer", ranks));
  } catch (...) {
    all_are_there.set_value(false);
    throw;
  }
  all_are_there.set_value(true);
}

}  // namespace weft::sim
