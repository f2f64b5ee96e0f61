// SPDX-License-Identifier: Apache-2.0
#include "emulate/process_tree.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace weft::emulate {
namespace {

TEST(process_tree, is_found_while_processes_end) {
  std::atomic<bool> done{false};
  std::thread others([&] {
    // Not by fork, which copies the memory map of a program with sanitizers for long.
    char name[] = "true";
    char* const arguments[] = {name, nullptr};
    while (!done) {
      pid_t child = 0;
      for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(::posix_spawnp(&child, name, nullptr, nullptr, arguments, nullptr), 0);
      }
      while (::wait(nullptr) > 0) {
      }
    }
  });
  ProcessTree tree(::getpid());
  for (int i = 0; i < 300; ++i) tree.look();
  done = true;
  others.join();
  tree.end(std::chrono::milliseconds(0));
}

}  // namespace
}  // namespace weft::emulate
