// SPDX-License-Identifier: Apache-2.0
#include "sim/partition/thread_exchange.hpp"

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

namespace weft::sim {
namespace {

/// What all ranks see. Each writes its own entries before a barrier and reads the others' after it;
/// a second barrier keeps them until all have read.
struct Board {
  explicit Board(std::uint32_t ranks)
      : barrier(static_cast<std::ptrdiff_t>(ranks)), outgoing(ranks), least(ranks), values(ranks) {}
  std::barrier<> barrier;
  std::vector<std::span<const Batch>> outgoing;
  std::vector<std::int64_t> least;
  std::vector<std::vector<std::uint64_t>> values;
};

class ThreadExchange final : public Exchange {
 public:
  ThreadExchange(Board& board, std::uint32_t rank) : board_(board), rank_(rank) {}
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(board_.least.size()); }
  bool first_of_process() const override { return rank_ == 0; }

  std::int64_t turn(std::span<const std::uint32_t> neighbours, std::span<const Batch> outgoing,
                    std::span<Batch> incoming, std::int64_t least) override {
    board_.outgoing[rank_] = outgoing;
    board_.least[rank_] = least;
    board_.barrier.arrive_and_wait();
    for (Batch& batch : incoming) batch.clear();
    for (const std::uint32_t r : neighbours) incoming[r] = board_.outgoing[r][rank_];
    const std::int64_t result = *std::min_element(board_.least.begin(), board_.least.end());
    board_.barrier.arrive_and_wait();
    return result;
  }

  void sum(std::span<std::uint64_t> values) override {
    board_.values[rank_].assign(values.begin(), values.end());
    board_.barrier.arrive_and_wait();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = 0;
      for (const auto& of_rank : board_.values) values[i] += of_rank[i];
    }
    board_.barrier.arrive_and_wait();
  }

 private:
  Board& board_;
  std::uint32_t rank_;
};

}  // namespace

void run_in_threads(std::uint32_t ranks, const std::function<void(Exchange&)>& body) {
  Board board(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&board, &body, r] {
      ThreadExchange exchange(board, r);
      body(exchange);
    });
  }
}

}  // namespace weft::sim
