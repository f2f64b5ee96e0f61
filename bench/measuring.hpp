// SPDX-License-Identifier: Apache-2.0
// What benchmarks have in common: figures of several measurements, the time that work takes, and
// two processes that find each other by pipes.
#pragma once

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "weft/time.hpp"

namespace weft::bench {

struct Figure {
  double median = 0, low = 0, high = 0;
};

inline Figure summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}
inline double median(std::vector<double> values) {
  return summarise(std::move(values)).median;
}
/// "1.23 (1.20..1.30)".
inline std::string text_of(const std::vector<double>& values, int digits = 2) {
  const Figure f = summarise(values);
  return fmt::format("{0:.{3}f} ({1:.{3}f}..{2:.{3}f})", f.median, f.low, f.high, digits);
}
/// The members of a figure's JSON object.
inline std::map<std::string, double> json_of(const std::vector<double>& values) {
  const Figure f = summarise(values);
  return {{"median", f.median}, {"min", f.low}, {"max", f.high}};
}

/// Measurements of weft and of its competitor, in turn, so that both meet the same machine.
struct Comparison {
  std::string name;
  std::string unit;
  double target = 0;  ///< of the ratio of ours to plain
  bool more_is_better = false;
  std::vector<double> plain, ours;

  double ratio() const { return median(ours) / median(plain); }
  /// The ratio of the best results of each: other load on the machine only makes results worse.
  double ratio_of_bests() const {
    return more_is_better ? summarise(ours).high / summarise(plain).high
                          : summarise(ours).low / summarise(plain).low;
  }
  bool held() const { return more_is_better ? ratio() >= target : ratio() <= target; }
  /// ">= 0.90 held".
  std::string verdict() const {
    return fmt::format("{} {:.2f} {}", more_is_better ? ">=" : "<=", target,
                       held() ? "held" : "missed");
  }
};

inline Instant clock_now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
template <class Work>
double seconds_of(Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return seconds_since(start);
}
/// The median of many batches: nanoseconds of one `work(i)`, which a batch calls `of` times.
template <class Work>
double median_ns(int batches, int of, Work&& work) {
  std::vector<double> times;
  for (int b = 0; b < batches; ++b) {
    times.push_back(1e9 / of * seconds_of([&] {
                      for (int i = 0; i < of; ++i) work(i);
                    }));
  }
  return median(std::move(times));
}

/// How two processes talk while they set up: a pipe each way, a line at a time.
struct Channel {
  int in = -1;
  int out = -1;

  void say(const std::string& line) const {
    const std::string text = line + "\n";
    WEFT_CHECK(::write(out, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  std::string hear() const {
    std::string line;
    char c = 0;
    while (::read(in, &c, 1) == 1 && c != '\n') line.push_back(c);
    return line;
  }
};

/// Runs this process on one processor, if it may: two that share one cannot both spin. Without
/// leave to do so, the figures are only noisier.
inline void pin(std::size_t cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(cpu, &allowed);
  [[maybe_unused]] const int ignored = ::sched_setaffinity(0, sizeof allowed, &allowed);
}

}  // namespace weft::bench
