// SPDX-License-Identifier: Apache-2.0
// check: verifies everything that a timeslice promises.
#pragma once

#include <string>

#include "stream/sinks/seen_window.hpp"
#include "weft/sink.hpp"
#include "wire/archive/component.hpp"

namespace weft {

/// Checks, and counts as errors:
///  - a timeslice delivered twice, or from below the window of the last million, without the flag
///    `repeated`;
///  - a number of components, or of core microslices, other than the run's;
///  - a component that is missing or short without its flag, in itself and in the timeslice;
///  - components whose descriptors or contents are not inside of them; wrong descriptor headers;
///  - CRC-32C of every microslice that says it has one;
///  - of microslices made by pattern: seed, timeslice, channel, sequence, size and fill, and that
///    the timeslice starts when its first microslice does. After the first pattern, all have to be.
/// Timeslices flagged incomplete are counted as such and are no errors.
class CheckSink final : public Sink {
 public:
  explicit CheckSink(const SinkPlace& place) : place_(place) {}

  Result<void> consume(const TimesliceView& timeslice) override;
  SinkSummary summary() const override { return summary_; }

 private:
  void check_order(const TimesliceView& timeslice);
  void check_component(const TimesliceView& timeslice, std::uint32_t channel);
  void check_microslice(const TimesliceView& timeslice, std::uint32_t channel, std::uint64_t m,
                        const wire::MicrosliceView& microslice);
  void report(const TimesliceView& timeslice, std::string what);

  SinkPlace place_;
  SinkSummary summary_;
  SeenWindow seen_;
  bool patterns_ = false;  ///< one was seen
};

}  // namespace weft
