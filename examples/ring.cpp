// SPDX-License-Identifier: Apache-2.0
// Each process adds its rank to a sum that goes once around a ring of all processes.
#include <cstdio>

#include "weft/program.hpp"

using namespace weft;

int ring(Process& process, std::span<const std::string>) {
  Communicator& world = process.world();
  const std::uint32_t own = world.rank().value();
  const std::uint32_t size = world.size();
  const Rank before((own + size - 1) % size);
  const Rank behind((own + 1) % size);

  std::uint64_t sum = 0;
  const auto bytes = std::as_writable_bytes(std::span(&sum, 1));
  const auto wait = [&](Operation operation) {
    const auto done = world.wait(operation);
    if (!done) std::fprintf(stderr, "ring: %s\n", done.error().message.c_str());
    return done.ok();
  };
  if (own > 0 && !wait(world.start_receive(before, Tag(0), bytes))) return 1;
  sum += own;
  if (!wait(world.start_send(behind, Tag(0), bytes))) return 1;
  if (own > 0) return 0;

  if (!wait(world.start_receive(before, Tag(0), bytes))) return 1;
  std::printf("the ranks of %u processes add up to %llu\n", size,
              static_cast<unsigned long long>(sum));
  return 0;
}

int main(int argc, char** argv) {
  return run_program(argc, argv, ring);
}
