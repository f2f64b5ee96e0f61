// SPDX-License-Identifier: Apache-2.0
// The score of a diagnosis on generated captures. WEFT_VERBOSE=1 prints the differences.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "rdma/generated_capture_for_test.hpp"

namespace weft::rdma {

using Found = std::set<std::pair<FindingClass, std::uint32_t>>;

inline Found diagnose(const GeneratedCapture& capture) {
  Diagnosis diagnosis;
  std::uint64_t number = 0;
  for (const auto& [time, frame] : capture.frames) {
    diagnosis.add(++number, 1'600'000'000'000'000'000 + static_cast<std::uint64_t>(time), frame);
  }
  Found found;
  for (const Finding& f : diagnosis.finish()) found.emplace(f.kind, f.queue_pair);
  return found;
}

/// Right, wrong and missed findings per class.
struct Score {
  std::uint64_t right = 0, wrong = 0, missed = 0;
};

inline std::array<Score, 5> score(std::uint64_t first, std::uint64_t last) {
  std::array<Score, 5> scores{};
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const GeneratedCapture capture = generate_capture(seed);
    const Found found = diagnose(capture);
    bool differs = false;
    for (const auto& f : found) {
      const bool good = capture.labels.count(f) > 0;
      Score& s = scores[static_cast<std::size_t>(f.first)];
      ++(good ? s.right : s.wrong);
      differs = differs || !good;
    }
    for (const auto& label : capture.labels) {
      if (found.count(label) > 0) continue;
      ++scores[static_cast<std::size_t>(label.first)].missed;
      differs = true;
    }
    if (differs && std::getenv("WEFT_VERBOSE") != nullptr) {
      for (const auto& f : found)
        fmt::print("seed {} found {} {}\n", seed, to_text(f.first), f.second);
      for (const auto& f : capture.labels)
        fmt::print("seed {} label {} {}\n", seed, to_text(f.first), f.second);
    }
  }
  return scores;
}

inline void expect_good(const std::array<Score, 5>& scores) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Score& s = scores[i];
    const auto name = to_text(static_cast<FindingClass>(i));
    EXPECT_GT(s.right, 10u) << name;
    EXPECT_GE(static_cast<double>(s.right), 0.99 * static_cast<double>(s.right + s.wrong)) << name;
    EXPECT_GE(static_cast<double>(s.right), 0.99 * static_cast<double>(s.right + s.missed)) << name;
  }
}

}  // namespace weft::rdma
