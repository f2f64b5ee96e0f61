// SPDX-License-Identifier: Apache-2.0
// MemoryMonitor: notices when registered addresses get other pages behind them, by munmap, mremap
// or madvise, from any caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/result.hpp"

namespace weft::fabric {

/// Addresses whose pages have changed.
struct MemoryChange {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// `watch` and `take` are called by one thread; changes may happen in any.
class MemoryMonitor {
 public:
  virtual ~MemoryMonitor() = default;
  /// From now on changes of these pages are noticed. Whole pages. Errors: memory of another kind;
  /// memory that cannot be watched must not stay registered.
  virtual Result<void> watch(std::uint64_t address, std::uint64_t bytes) = 0;
  /// Returns whether `take` has something. True before the call that changed the memory returns to
  /// its caller.
  virtual bool has_changes() const = 0;
  /// Fills `changes` from the front; returns how many. Call it until it returns 0.
  virtual std::size_t take(std::span<MemoryChange> changes) = 0;
};

/// By userfaultfd, with a thread that reads its events. Errors: the kernel has none, or does not
/// let this process have one (root, or vm.unprivileged_userfaultfd).
Result<std::unique_ptr<MemoryMonitor>> make_userfault_monitor();

}  // namespace weft::fabric
