// SPDX-License-Identifier: Apache-2.0
// Neither engine allocates after construction: not for a message, an event, or a new grid.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "core/schedule/dfs/dfs.hpp"

namespace {

std::size_t allocations = 0;

void* counted(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace weft::schedule {
namespace {

class AlwaysSendable final : public SendState {
 public:
  Readiness readiness(TimesliceIndex t) const override {
    return t >= end ? Readiness::after_end : Readiness::sendable;
  }
  TimesliceIndex end = TimesliceIndex::max();
};

/// Two inputs and two compute nodes whose messages arrive at once.
class Pairing {
 public:
  explicit Pairing(const DfsOptions& options) {
    for (std::uint32_t n = 0; n < 2; ++n) {
      inputs_.push_back(make_dfs_input(options, n, 2, 2));
      computes_.push_back(make_dfs_compute(options, n, 2, false));
    }
  }
  void take_grid(std::uint64_t first) {
    const RoundGrid grid{.first = TimesliceIndex(first), .computes = 2};
    for (std::uint32_t n = 0; n < 2; ++n) {
      computes_[n]->on_grid(now_, grid, n);
      inputs_[n]->on_grid(now_, grid);
    }
  }
  void step() {
    now_ = now_ + Duration(100);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const Choice choice = inputs_[i]->choose(now_, state_);
      if (choice.kind == Choice::Kind::send) {
        inputs_[i]->on_started(now_, choice.timeslice);
        inputs_[i]->on_acknowledged(now_, choice.timeslice, Duration(20));
      }
      exchange(*inputs_[i], computes_, i);
      inputs_[i]->take_intervals(records_);
    }
    for (std::uint32_t c = 0; c < 2; ++c) exchange(*computes_[c], inputs_, c);
    intervals += records_.size();
    records_.clear();
  }
  std::size_t intervals = 0;

 private:
  template <class From, class To>
  void exchange(From& from, std::vector<std::unique_ptr<To>>& to, std::uint32_t self) {
    from.write_messages(now_, box_);
    for (const Message& m : box_.view()) {
      to[m.to]->on_message(now_, self, {m.bytes.data(), m.size});
    }
    box_.clear();
  }

  Instant now_{1};
  AlwaysSendable state_;
  MessageBox box_{64};
  FixedVec<IntervalRecord> records_{64};
  std::vector<std::unique_ptr<InputSchedule>> inputs_;
  std::vector<std::unique_ptr<ComputeSchedule>> computes_;
};

TEST(dfs_engines, do_not_allocate_after_construction) {
  DfsOptions options;
  options.timeslices_per_interval = 16;
  Pairing pairing(options);
  const std::size_t before = allocations;
  pairing.take_grid(0);
  for (int n = 0; n < 2'000; ++n) pairing.step();
  pairing.take_grid(100'000);
  for (int n = 0; n < 2'000; ++n) pairing.step();
  EXPECT_EQ(allocations, before);
  EXPECT_GT(pairing.intervals, 100u);
}

}  // namespace
}  // namespace weft::schedule
