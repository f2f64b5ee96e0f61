// SPDX-License-Identifier: Apache-2.0
// The page about a sensitivity sweep: the program's needs in one sentence, curves with error bars
// against latency and bandwidth, a map of slow-downs, the model. It carries everything it needs and
// has no scripts.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft::report {

/// A network, and the program's result on it, in the metric's unit.
struct SweepPagePoint {
  double latency_us = 0;  ///< added
  double bandwidth = 1;   ///< share
  double median = 0;
  double low = 0;        ///< of the interval, below the median
  double high = 0;       ///< above it
  double slow_down = 1;  ///< against the fastest network
  unsigned runs = 0;
  unsigned rejected = 0;
  bool is_precise = true;  ///< known as exactly as requested
};

/// A row of the table of needs, as text.
struct SweepNeed {
  std::string slow_down;
  std::string latency;
  std::string bandwidth;
};

struct SweepRecord {
  std::string program;  ///< as a title names it
  std::string needs;    ///< the sentence
  std::string metric;   ///< "time", or the regular expression
  std::string unit;
  std::string command;                 ///< of weft
  std::vector<SweepPagePoint> points;  ///< each latency with each bandwidth
  /// The model's value of the metric at a latency (microseconds) and bandwidth (share).
  std::function<double(double, double)> model;
  std::vector<std::pair<std::string, std::string>> facts;  ///< name, value
  std::vector<SweepNeed> rows;
  /// Networks, and the metric that the model predicts there.
  std::vector<std::pair<std::string, std::string>> predictions;
  std::vector<std::string> warnings;
};

/// The whole page; text of the record is escaped. There is at least one point.
std::string sweep_page(const SweepRecord& record);

}  // namespace weft::report
