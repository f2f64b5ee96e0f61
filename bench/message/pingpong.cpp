// SPDX-License-Identifier: Apache-2.0
// Question: how long does a message of a size take from one process to another, one way? Rank 0
// prints "BYTES MEDIAN LOWEST HIGHEST" for each size: half the time of a round, in microseconds,
// over batches of rounds, after one that does not count.
//
//   weft run -n 2 -- bench_message_pingpong [SIZE …]     by default 8 and 1048576
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "weft/program.hpp"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

/// So long in all at each size, and so many rounds at least.
constexpr double seconds_per_size = 0.4;
constexpr int fewest_rounds = 20;
constexpr int batches = 20;

int rounds_for(std::size_t bytes) {
  const double guess = 5e-6 + static_cast<double>(bytes) / 2e9;
  return std::max(fewest_rounds, static_cast<int>(seconds_per_size / 2 / guess));
}

/// Microseconds of the batches.
struct Times {
  double median = 0, lowest = 0, highest = 0;
};

/// Rounds are timed in batches: reading the clock takes as long as a part of a round.
Times one_way_us(Communicator& world, std::vector<std::byte>& data) {
  const Rank other(1 - world.rank().value());
  const auto send = [&] { (void)world.wait(world.start_send(other, Tag(1), data)); };
  const auto receive = [&] { (void)world.wait(world.start_receive(other, Tag(1), data)); };
  const int rounds = std::max(1, rounds_for(data.size()) / batches);
  std::vector<double> times;
  for (int batch = -1; batch < batches; ++batch) {
    const auto begun = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      if (world.rank() == Rank(0)) {
        send();
        receive();
      } else {
        receive();
        send();
      }
    }
    const std::chrono::duration<double, std::micro> took = Clock::now() - begun;
    if (batch >= 0) times.push_back(took.count() / 2 / rounds);
  }
  std::sort(times.begin(), times.end());
  return {times[batches / 2], times.front(), times.back()};
}

int pingpong(Process& process, std::span<const std::string> arguments) {
  Communicator& world = process.world();
  if (world.size() != 2) {
    fmt::print(stderr, "bench_message_pingpong: needs 2 processes, not {}\n", world.size());
    return 2;
  }
  std::vector<std::size_t> sizes;
  for (const std::string& a : arguments) sizes.push_back(std::stoull(a));
  if (sizes.empty()) sizes = {8, 1 << 20};
  for (const std::size_t size : sizes) {
    std::vector<std::byte> data(size);
    const Times us = one_way_us(world, data);
    if (world.rank() != Rank(0)) continue;
    fmt::print("{} {:.4f} {:.4f} {:.4f}\n", size, us.median, us.lowest, us.highest);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv, pingpong);
}
