// SPDX-License-Identifier: Apache-2.0
// AssemblyTable: the timeslices a compute node is building, found by number. Assemblies are
// recycled, so that a running stream allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/stream/roster.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// One input's contribution, where it lies in the pair's ring.
struct alignas(32) Component {  // never in two cache lines
  bool present = false;
  bool is_late = false;  ///< it came when the sink had the timeslice: only its place is kept
  std::uint32_t size = 0;
  std::uint32_t microslices = 0;  ///< count and ContributionFlag bits, as in the descriptor
  std::uint64_t position = 0;
  std::uint64_t record = 0;
};

struct Assembly {
  enum class State : std::uint8_t {
    collecting,
    delivered,  ///< complete, or given up: the sink has it
  };
  // What a contribution reads and writes comes first: all of it lies in one cache line, or two.
  TimesliceIndex timeslice{};
  State state = State::collecting;
  std::uint32_t flags = 0;  ///< TimesliceFlag
  Instant last{};
  std::vector<Component> components;
  IndexSet waiting_for;  ///< inputs whose contribution is expected and has not come
  Instant first{};
};

class AssemblyTable {
 public:
  explicit AssemblyTable(std::uint32_t inputs);

  /// Returns the assembly of t, or null. Valid until `erase`.
  Assembly* find(TimesliceIndex t);
  /// Returns a new, empty assembly. The table may have none for t. Pointers to others stay valid.
  Assembly& create(TimesliceIndex t);
  void erase(TimesliceIndex t);
  std::size_t size() const { return used_; }
  /// Calls `visit` with each assembly in use, oldest slot first; `visit` may not create or erase.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (const auto& assembly : pool_) {
      if (assembly->in_use) visit(*assembly);
    }
  }

 private:
  struct Pooled : Assembly {
    bool in_use = false;
  };
  std::size_t home(std::uint64_t key) const;
  void grow();
  void place(std::uint32_t pooled);

  std::uint32_t inputs_;
  std::vector<std::unique_ptr<Pooled>> pool_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> index_;  // pool position + 1, 0 for empty; linear probing
  std::size_t used_ = 0;
};

}  // namespace weft::stream
