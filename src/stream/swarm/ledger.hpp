// SPDX-License-Identifier: Apache-2.0
// Ledger: the timeslices delivered by all compute nodes in all their lives: a sink's knowledge dies
// with its node, the ledger does not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stream/swarm/swarm_case.hpp"
#include "weft/sink.hpp"

namespace weft::stream {

class Ledger {
 public:
  /// A sink that checks its timeslices as `check:` does, and writes them down here. The ledger
  /// outlives it. One thread.
  std::unique_ptr<Sink> open(const SinkPlace& place);

  /// The first violation of the expectation when the stream ended in front of timeslice `end`;
  /// empty: none.
  std::string judge(const SwarmExpectation& expected, std::uint64_t end) const;

  std::uint64_t delivered() const { return delivered_; }

 private:
  friend class LedgerSink;
  struct Entry {
    std::uint32_t deliveries = 0;
    std::uint32_t unflagged = 0;  ///< of them: without `repeated`
    std::uint32_t incomplete = 0;
  };
  void note(const TimesliceView& timeslice, const SinkSummary& checked,
            std::uint64_t errors_before);

  std::vector<Entry> entries_;  // by timeslice
  std::uint64_t delivered_ = 0;
  std::uint64_t errors_ = 0;
  std::string first_error_;
};

}  // namespace weft::stream
