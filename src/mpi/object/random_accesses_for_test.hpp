// SPDX-License-Identifier: Apache-2.0
// Random accesses to windows, against a model of arrays.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/rng.hpp"
#include "mpi/object/window.hpp"
#include "mpi/object/world_for_test.hpp"

namespace weft::mpi::testing {

/// Accesses drawn from a seed, of all processes to each other, and what they do to plain arrays.
/// Each process has a part of each window of its own, as the order of origins is not determined.
class RandomAccesses {
 public:
  static constexpr std::uint32_t processes = 3;
  static constexpr std::uint32_t part = 3000;  // elements: some messages have bodies
  static constexpr std::uint32_t size = processes * part;
  using Memory = std::vector<std::vector<std::int32_t>>;  // by process
  using Make = std::function<std::unique_ptr<Window>(World&, std::uint32_t, Memory&)>;
  RandomAccesses(std::uint64_t seed, const Make& make)
      : rng_(seed), world_(processes), memory_(processes, std::vector<std::int32_t>(size)) {
    for (std::uint32_t i = 0; i < processes; ++i) {
      windows_.push_back(make(world_, i, memory_));
      windows_.back()->open();
    }
    model_ = memory_;
  }

  void run(int accesses) {
    for (int i = 0; i < accesses; ++i) {
      access();
      if (draw(4) == 0) world_[draw(processes)].turn();
    }
    world_.turn(200);
    check();
  }

 private:
  struct Fetched {
    std::vector<std::int32_t> came;
    std::vector<std::int32_t> wanted;
    bool has_request = false;
    Request request;
  };

  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(rng_.below(below)); }

  void access() {
    const std::uint32_t origin = draw(processes), to = draw(processes);
    const std::uint32_t stride = 1 + draw(2);
    const std::uint32_t most = part / stride;
    const std::uint32_t count = draw(10) == 0 ? 1 + draw(most) : 1 + draw(8);
    const std::uint32_t first = origin * part + draw(part - (count - 1) * stride);
    const Target target{.rank = to,
                        .offset = std::int64_t{first} * 4,
                        .count = count,
                        .type = stride == 1 ? &int_type_ : &with_gap_};
    std::vector<std::int32_t> values(count);
    for (auto& value : values) value = static_cast<std::int32_t>(draw(1000));
    std::vector<std::int32_t*> words(count);
    for (std::uint32_t i = 0; i < count; ++i) words[i] = &model_[to][first + i * stride];
    carry_out(*windows_[origin], target, values, words);
  }

  Fetched& fetch(const std::vector<std::int32_t*>& words) {
    Fetched& fetched = fetched_.emplace_back();
    fetched.came.assign(words.size(), -1);
    for (const std::int32_t* word : words) fetched.wanted.push_back(*word);
    fetched.has_request = draw(2) == 0;
    return fetched;
  }

  void carry_out(Window& window, const Target& target, std::vector<std::int32_t>& values,
                 const std::vector<std::int32_t*>& words) {
    const std::uint64_t n = words.size();
    const Buffer from{values.data(), n, &int_type_};
    const std::uint32_t kind = draw(6);
    if (kind == 0) window.put(target, from);
    if (kind == 1) window.accumulate(target, from, Change::fold, Fold::sum);
    if (kind == 2) window.accumulate(target, from, Change::replace, Fold::sum);
    if (kind >= 3) {
      Fetched& into = fetch(kind == 5 ? std::vector{words[0]} : words);
      Request* const request = into.has_request ? &into.request : nullptr;
      const Buffer came{into.came.data(), into.came.size(), &int_type_};
      if (kind == 3) window.get(target, came, request);
      if (kind == 4) {
        window.get_accumulate(target, from, came, Change::fold, Fold::max, request);
      }
      if (kind == 5) return swap(window, target, values[0], *words[0], came, request);
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      if (kind == 0 || kind == 2) *words[i] = values[i];
      if (kind == 1) *words[i] += values[i];
      if (kind == 4) *words[i] = std::max(*words[i], values[i]);
    }
    std::fill(values.begin(), values.end(), -7);  // they were copied
  }

  void swap(Window& window, Target target, std::int32_t wanted, std::int32_t& word,
            const Buffer& came, Request* request) {
    target.count = 1;
    target.type = &int_type_;
    const std::int32_t expected = draw(2) == 0 ? word : word + 1;
    window.compare_and_swap(target, &wanted, &expected, came, request);
    if (expected == word) word = wanted;
  }

  void check() const {
    EXPECT_EQ(memory_, model_);
    for (std::size_t i = 0; i < fetched_.size(); ++i) {
      ASSERT_EQ(fetched_[i].came, fetched_[i].wanted) << i;
      ASSERT_EQ(fetched_[i].request.done, fetched_[i].has_request) << i;
    }
  }

  const Datatype int_type_{Basic::int32};
  const Datatype with_gap_ = int_type_.resized(0, 8);
  Rng rng_;
  World world_;
  Memory memory_, model_;
  std::vector<std::unique_ptr<Window>> windows_;
  std::deque<Fetched> fetched_;
};

/// For each of 30 seeds, or for that of WEFT_SEED: `run(seed)`. `filter` names the test in the line
/// that reruns it.
inline void for_each_seed(const char* filter, const std::function<void(std::uint64_t)>& run) {
  const char* const fixed = std::getenv("WEFT_SEED");
  const std::uint64_t first = fixed != nullptr ? std::strtoull(fixed, nullptr, 10) : 1;
  const std::uint64_t seeds = fixed != nullptr ? 1 : 30;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE(fmt::format("WEFT_SEED={} mpi_object_test --gtest_filter={}", seed, filter));
    run(seed);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace weft::mpi::testing
