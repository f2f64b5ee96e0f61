// SPDX-License-Identifier: Apache-2.0
// FlowTelemetry: how long messages took from their posting to the arrival of their last byte, for
// each user of the network and each size. A message is what the literature calls a flow.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/decimated.hpp"
#include "sim/network/packet.hpp"
#include "sim/telemetry/latency_histogram.hpp"
#include "weft/time.hpp"

namespace weft::sim {

struct FlowSample {
  std::uint32_t source = 0;       ///< host
  std::uint32_t destination = 0;  ///< host
  std::uint64_t bytes = 0;
  PicoInstant start{};
  PicoInstant end{};
};

/// The figures of one user of the network: a job, or one kind of traffic.
class FlowFigures {
 public:
  static constexpr std::size_t most_samples = 2000;
  static constexpr std::size_t size_classes = 64;

  void add(const FlowSample& flow);

  std::uint64_t bytes() const { return bytes_; }
  const LatencyHistogram& latencies() const { return latencies_; }
  PicoDuration shortest() const { return shortest_; }  ///< exactly; 0 when there is none
  PicoDuration longest() const { return longest_; }
  /// Returns the latencies of messages of [2^size_class, 2^(size_class + 1)) bytes; null when there
  /// was none.
  const LatencyHistogram* of_size(std::size_t size_class) const {
    return by_size_[size_class].get();
  }
  /// An even sample of the messages, in the order of their arrival.
  const std::vector<FlowSample>& samples() const { return samples_.values(); }

 private:
  std::uint64_t bytes_ = 0;
  PicoDuration shortest_{};
  PicoDuration longest_{};
  LatencyHistogram latencies_;
  std::array<std::unique_ptr<LatencyHistogram>, size_classes> by_size_;
  Decimated<FlowSample> samples_{most_samples};
};

class FlowTelemetry {
 public:
  void delivered(PicoInstant now, const Message& message);
  /// By the number that Network::add_user gave; null when nothing of it arrived.
  const FlowFigures* user(std::size_t number) const {
    return number < users_.size() ? users_[number].get() : nullptr;
  }

 private:
  std::vector<std::unique_ptr<FlowFigures>> users_;
};

}  // namespace weft::sim
