// SPDX-License-Identifier: Apache-2.0
// The program of three_ways.py, for three kinds of fabric: two processes whose messages decide how
// long they take. Prints "PART SECONDS" for each part, by the process's own clock, which in a
// simulation is simulated.
//
//   weft run -n 2 -- bench_emulate_three_ways_program
#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "weft/program.hpp"

namespace {

using namespace weft;

constexpr std::size_t small = 8;
constexpr std::size_t middle = 8 << 10;  // goes at once on every fabric; libfabric announces 16 KiB
constexpr std::size_t large = 1 << 20;
constexpr int rounds = 25;
constexpr int window = 32;
constexpr int windows = 4;

class Pair {
 public:
  explicit Pair(Communicator& world)
      : world_(world), rank_(world.rank().value()), other_(1 - rank_), out_(large), in_(large) {}

  /// There and back, one after the other: latency decides.
  void ping_pong(std::size_t bytes) {
    for (int i = 0; i < rounds; ++i) {
      if (rank_ == 0) send(bytes);
      receive(bytes);
      if (rank_ == 1) send(bytes);
    }
  }
  /// Many under way in one direction, and an answer: bandwidth decides.
  void stream(std::size_t bytes) {
    std::array<Operation, window> under_way;
    for (int i = 0; i < windows; ++i) {
      for (Operation& one : under_way) {
        one = rank_ == 0 ? world_.start_send(other_, Tag(2), std::span(out_).first(bytes))
                         : world_.start_receive(other_, Tag(2), std::span(in_).first(bytes));
      }
      for (const Operation one : under_way) (void)world_.wait(one);
      if (rank_ == 1) send(small);
      if (rank_ == 0) receive(small);
    }
  }
  /// Both send a halo and need the other's, as a stencil does: latency and bandwidth.
  void stencil(std::size_t bytes) {
    for (int i = 0; i < rounds; ++i) {
      const Operation sent = world_.start_send(other_, Tag(3), std::span(out_).first(bytes));
      const Operation received = world_.start_receive(other_, Tag(3), std::span(in_).first(bytes));
      (void)world_.wait(received);
      (void)world_.wait(sent);
    }
  }

 private:
  void send(std::size_t bytes) {
    (void)world_.wait(world_.start_send(other_, Tag(1), std::span(out_).first(bytes)));
  }
  void receive(std::size_t bytes) {
    (void)world_.wait(world_.start_receive(other_, Tag(1), std::span(in_).first(bytes)));
  }

  Communicator& world_;
  std::uint32_t rank_;
  Rank other_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

int run(Process& process, std::span<const std::string>) {
  if (process.world().size() != 2) {
    fmt::print(stderr, "three_ways_program: needs 2 processes\n");
    return 2;
  }
  Pair pair(process.world());
  const auto part = [&](const char* name, auto&& body) {
    const Duration begun = process.elapsed();
    body();
    const Duration took = process.elapsed() - begun;
    if (process.world().rank() == Rank(0)) fmt::print("{} {:.6f}\n", name, took.to_seconds());
  };
  pair.ping_pong(small);
  part("ping-pong-8B", [&] { pair.ping_pong(small); });
  part("ping-pong-8KiB", [&] { pair.ping_pong(middle); });
  part("stencil-8KiB", [&] { pair.stencil(middle); });
  part("stream-8KiB", [&] { pair.stream(middle); });
  part("ping-pong-1MiB", [&] { pair.ping_pong(large); });
  part("stream-1MiB", [&] { pair.stream(large); });
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return weft::run_program(argc, argv, run);
}
