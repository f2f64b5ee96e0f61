// SPDX-License-Identifier: Apache-2.0
#include "qos/threads.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace weft::qos {

void work_in_threads(std::size_t threads, const std::function<void()>& work) {
  const auto work_to_end = [&]() noexcept { work(); };
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(work_to_end);
  } catch (const std::system_error&) {
    // The result is the same with fewer.
  }
  work_to_end();
}

void run_at_once(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  work_in_threads(std::min(threads, count), [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  });
}

}  // namespace weft::qos
