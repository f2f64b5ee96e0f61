// SPDX-License-Identifier: Apache-2.0
// endings DIR STEPS MODE [RANK]: a program that writes files as it goes, and ends in all ways that
// programs can. Each rank sends to all others and receives from all, STEPS times, and writes the
// received values to DIR/RANK, and the number of its process to DIR/RANK.pid; behind run_program it
// writes DIR/RANK.tail.
//   MODE  finish    all end well
//         exit, _exit   RANK exits with code 0 in the middle
//         code      RANK's main returns 3
//         crash     RANK's main crashes
//         first     RANK returns, and the others go on when DIR/go exists
//         needed    and then they need what RANK has sent
//         stores    each life of RANK stores a checkpoint in DIR, and exits with code 3
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "weft/program.hpp"
#include "weft/spmd.hpp"

namespace weft {
namespace {

struct Endings {
  std::string dir;
  int steps = 0;
  std::string mode;
  std::uint32_t special = ~0u;
};

Endings read(std::span<const std::string> arguments) {
  Endings e{.dir = arguments[0], .steps = std::atoi(arguments[1].c_str()), .mode = arguments[2]};
  if (arguments.size() > 3) e.special = static_cast<std::uint32_t>(std::atoi(arguments[3].c_str()));
  return e;
}

std::uint32_t rank_here = 0;

void require(const Result<std::size_t>& result) {
  if (result) return;
  fmt::print(stderr, "rank {}: {}\n", rank_here, result.error().message);
  std::exit(1);
}

/// The sum of the values of all ranks in a step.
std::uint64_t exchange(Communicator& world, std::uint64_t said) {
  const auto size = world.size();
  std::vector<std::uint64_t> heard(size);
  std::vector<Operation> operations;
  for (std::uint32_t other = 0; other < size; ++other) {
    if (other == rank_here) continue;
    operations.push_back(world.start_receive(Rank(other), Tag(1),
                                             std::as_writable_bytes(std::span(&heard[other], 1))));
    operations.push_back(world.start_send(Rank(other), Tag(1), std::as_bytes(std::span(&said, 1))));
  }
  for (const Operation operation : operations) require(world.wait(operation));
  for (const std::uint64_t h : heard) said += h;
  return said;
}

/// The special rank returns, and the others go on when it may be dead. It sent too much to have
/// arrived before the others ask for it.
void last_word(Communicator& world, const Endings& e, bool special) {
  std::vector<std::byte> bytes(1 << 20, std::byte{1});
  if (e.mode == "needed" && special) {
    for (std::uint32_t other = 0; other < world.size(); ++other) {
      if (other != rank_here) require(world.wait(world.start_send(Rank(other), Tag(2), bytes)));
    }
  }
  if (special) return;
  while (::access((e.dir + "/go").c_str(), F_OK) != 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (e.mode == "needed") require(world.wait(world.start_receive(Rank(e.special), Tag(2), bytes)));
}

/// A step of the special rank takes a life.
int run_with_checkpoints(Process& process, const Endings& e, bool special) {
  const spmd::Group group(process.world());
  const spmd::Space space(group.size());
  spmd::Container<int> none(group, space);
  spmd::Checkpoint checkpoint(group);
  checkpoint.add(none);
  if (!none.switch_to(spmd::block(space, group.size()), spmd::Flow::none)) return 1;
  const auto newest = checkpoint.resume(e.dir);
  if (!newest) return 1;
  for (std::uint64_t step = newest->value_or(0); step < static_cast<std::uint64_t>(e.steps);) {
    exchange(process.world(), step);
    if (!checkpoint.save(e.dir, ++step)) return 1;
    if (special) ::_exit(3);
  }
  return 0;
}

int run(Process& process, std::span<const std::string> arguments) {
  const Endings e = read(arguments);
  Communicator& world = process.world();
  rank_here = world.rank().value();
  const bool special = rank_here == e.special;
  if (e.mode == "stores") return run_with_checkpoints(process, e, special);
  std::ofstream(fmt::format("{}/{}.pid", e.dir, rank_here)) << ::getpid() << '\n';
  std::ofstream file(fmt::format("{}/{}", e.dir, rank_here), std::ios::trunc);
  for (int step = 0; step < e.steps; ++step) {
    file << step << ' ' << exchange(world, static_cast<std::uint64_t>(step) + rank_here) << '\n';
    file.flush();
    if (special && step == e.steps / 2) {
      if (e.mode == "exit") std::exit(0);
      if (e.mode == "_exit") ::_exit(0);
    }
  }
  if (e.mode == "first" || e.mode == "needed") last_word(world, e, special);
  file << "end\n";
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  const std::string dir = argv[1], mode = argv[3];
  const int code = weft::run_program(argc, argv, weft::run);
  if (code != 0) return code;
  std::ofstream(fmt::format("{}/{}.tail", dir, weft::rank_here), std::ios::trunc) << "tail\n";
  const bool special = argc > 4 && std::to_string(weft::rank_here) == argv[4];
  if (special && mode == "crash") std::raise(SIGSEGV);
  return special && mode == "code" ? 3 : 0;
}
