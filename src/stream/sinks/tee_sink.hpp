// SPDX-License-Identifier: Apache-2.0
// Several sinks as one.
#pragma once

#include <memory>
#include <vector>

#include "weft/sink.hpp"

namespace weft {

/// Hands each timeslice to each sink, in order; its memory is given back when the last of them has
/// released it. After one sink's error the others are not asked.
class TeeSink final : public Sink {
 public:
  explicit TeeSink(std::vector<std::unique_ptr<Sink>> sinks) : sinks_(std::move(sinks)) {}

  Result<void> consume(const TimesliceView& timeslice) override;
  Result<void> consume_held(const TimesliceView& timeslice, HeldTimeslice held) override;
  void interrupt() override;
  void stop_waiting() override;
  /// Finishes all sinks, even after an error of one, and returns the first error.
  Result<void> finish() override;
  void leave() override;
  /// True where one of them does.
  bool blocks() const override;
  SinkSummary summary() const override;

 private:
  std::vector<std::unique_ptr<Sink>> sinks_;
};

}  // namespace weft
