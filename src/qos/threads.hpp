// SPDX-License-Identifier: Apache-2.0
// Work on several threads, with the same result on any number of them.
#pragma once

#include <cstddef>
#include <functional>

namespace weft::qos {

/// Calls `work` here and in as many other threads as the system starts, `threads` at most in all;
/// returns when all calls have. An exception in one ends the process: others may wait for that one.
void work_in_threads(std::size_t threads, const std::function<void()>& work);

/// Calls `work(i)` for all i below `count`, as many at once as there are threads.
void run_at_once(std::size_t count, std::size_t threads,
                 const std::function<void(std::size_t)>& work);

}  // namespace weft::qos
