// SPDX-License-Identifier: Apache-2.0
// A group of threads in this process, for tests: each has a communicator over queues in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "weft/message.hpp"
#include "weft/program.hpp"

namespace weft::spmd {

/// Runs `body` in as many threads, each with its communicator, until all returned. The order in
/// which messages of different senders arrive follows from `seed`; a send is done when it was
/// received (seed odd) or at once (even), as a real one may be.
void run_threads(std::uint32_t ranks, const std::function<void(Communicator&)>& body,
                 std::uint64_t seed = 1);

/// The same for a program; the exit code of rank 0, or of the first that differs from 0.
int run_program_in_threads(std::uint32_t ranks, const Program& program,
                           std::span<const std::string> arguments);

/// Numbers of ranks that every test of containers runs with.
inline constexpr std::uint32_t tested_ranks[] = {1, 2, 3, 4, 7};

}  // namespace weft::spmd
