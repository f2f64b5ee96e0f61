// SPDX-License-Identifier: Apache-2.0
// Question: how long does a message of a size take from one process to another, and how many bytes
// per second go one way? Rank 0 prints, per size, "BYTES LATENCY_US BANDWIDTH_GBS": half the time
// of a round, and the rate of windows of messages that are answered by an empty one; medians over
// batches, after one that does not count. run.py compares them with those of MPIs.
//
//   weft run -n 2 -- bench_message_pingpong [SIZE …]     by default 8 and 1048576
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "measuring.hpp"
#include "plan.h"
#include "weft/program.hpp"

namespace {

using namespace weft;

constexpr std::size_t most_window = 16;

/// Seconds that each of the batches took; a batch calls `step` so often.
template <class Step>
std::vector<double> time_batches(std::size_t bytes, long steps, Step&& step) {
  std::vector<double> times;
  for (int batch = -1; batch < plan_batches(bytes); ++batch) {
    const double took_s = bench::seconds_of([&] {
      for (long i = 0; i < steps; ++i) step();
    });
    if (batch >= 0) times.push_back(took_s);
  }
  return times;
}

double latency_us(Communicator& world, std::vector<std::byte>& data) {
  const Rank other(1 - world.rank().value());
  const auto pass = [&](bool sends) {
    (void)world.wait(sends ? world.start_send(other, Tag(1), data)
                           : world.start_receive(other, Tag(1), data));
  };
  const long rounds = plan_rounds(data.size());
  const auto times = time_batches(data.size(), rounds, [&] {
    pass(world.rank() == Rank(0));
    pass(world.rank() == Rank(1));
  });
  return bench::median(times) / 2 / static_cast<double>(rounds) * 1e6;
}

double bandwidth_gbs(Communicator& world, std::vector<std::byte>& data) {
  const bool sends = world.rank() == Rank(0);
  const Rank other(1 - world.rank().value());
  const int window = plan_window(data.size());
  const long windows = plan_windows(data.size());
  std::array<Operation, most_window> under_way;
  const auto times = time_batches(data.size(), windows, [&] {
    for (int k = 0; k < window; ++k) {
      under_way[k] =
          sends ? world.start_send(other, Tag(2), data) : world.start_receive(other, Tag(2), data);
    }
    for (int k = 0; k < window; ++k) (void)world.wait(under_way[k]);
    (void)world.wait(sends ? world.start_receive(other, Tag(3), {})
                           : world.start_send(other, Tag(3), {}));
  });
  const double bytes = static_cast<double>(windows) * window * static_cast<double>(data.size());
  return bytes / bench::median(times) / 1e9;
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
    std::vector<std::byte> data(size, std::byte{1});
    const double latency = latency_us(world, data);
    const double bandwidth = bandwidth_gbs(world, data);
    if (world.rank() != Rank(0)) continue;
    fmt::print("{} {:.4f} {:.4f}\n", size, latency, bandwidth);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv, pingpong);
}
