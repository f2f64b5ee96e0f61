// SPDX-License-Identifier: Apache-2.0
// Counters and gauges of a running process, and their OpenMetrics text exposition
// (OpenMetrics 1.0.0). Metrics are made at the start; updating one is an atomic store.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::metrics {

/// Only grows. Threads: any thread may add at any time.
class Counter {
 public:
  void add(std::uint64_t n = 1) { value_.fetch_add(n, std::memory_order_relaxed); }
  /// For totals that are counted elsewhere. Must not become smaller.
  void set_total(std::uint64_t total) { value_.store(total, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Goes up and down; NaN and infinities are allowed. Threads: as Counter.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Name and value, in the order in which they are to be shown. Values are UTF-8.
using Labels = std::vector<std::pair<std::string, std::string>>;

/// A family of metrics. All metrics of one name share it.
struct Family {
  std::string name;  ///< "weft_goodput_bytes_per_second"; without "_total", that is added
  std::string help;  ///< one sentence
  std::string unit;  ///< "bytes", "seconds", or empty; the name ends with it then
};

/// Owns the metrics of a process. References that it gives out stay valid as long as it lives.
///
/// Threads: `counter`, `gauge` and `exposition` from one thread at a time; values of metrics may
/// be changed by other threads meanwhile.
class Registry {
 public:
  /// Adds a metric to its family, which is made when this is its first. Names that OpenMetrics
  /// does not allow, the same labels twice, and one name for two kinds abort.
  Counter& counter(const Family& family, Labels labels = {});
  Gauge& gauge(const Family& family, Labels labels = {});

  /// All metrics as OpenMetrics text, ending with "# EOF". Families in the order of their making.
  std::string exposition() const;

 private:
  enum class Kind : std::uint8_t { counter, gauge };
  template <class Metric>
  struct Entry {
    std::string labels;  ///< as in the exposition: {a="b"}, or empty
    Metric metric;
    explicit Entry(std::string text) : labels(std::move(text)) {}
  };
  struct FamilyEntry {
    Family family;
    Kind kind;
    std::deque<Entry<Counter>> counters;
    std::deque<Entry<Gauge>> gauges;
  };
  FamilyEntry& family_of(const Family& family, Kind kind);

  std::deque<FamilyEntry> families_;
};

}  // namespace weft::metrics
