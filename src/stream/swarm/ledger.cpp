// SPDX-License-Identifier: Apache-2.0
#include "stream/swarm/ledger.hpp"

#include <fmt/format.h>

#include "stream/sinks/check_sink.hpp"

namespace weft::stream {
namespace {

/// No drawn stream is as long: a number beyond is damaged.
constexpr std::uint64_t most_timeslices = 1 << 20;

}  // namespace

class LedgerSink final : public Sink {
 public:
  LedgerSink(const SinkPlace& place, Ledger& ledger) : check_(place), ledger_(ledger) {}

  Result<void> consume(const TimesliceView& timeslice) override {
    const std::uint64_t before = check_.summary().errors;
    auto done = check_.consume(timeslice);
    ledger_.note(timeslice, check_.summary(), before);
    return done;
  }
  SinkSummary summary() const override { return check_.summary(); }

 private:
  CheckSink check_;
  Ledger& ledger_;
};

std::unique_ptr<Sink> Ledger::open(const SinkPlace& place) {
  return std::make_unique<LedgerSink>(place, *this);
}

void Ledger::note(const TimesliceView& timeslice, const SinkSummary& checked,
                  std::uint64_t errors_before) {
  ++delivered_;
  errors_ += checked.errors - errors_before;
  if (first_error_.empty()) first_error_ = checked.first_error;
  const std::uint64_t index = timeslice.index.value();
  if (index >= most_timeslices) {
    ++errors_;
    if (first_error_.empty()) first_error_ = fmt::format("there is no timeslice {}", index);
    return;
  }
  if (entries_.size() <= index) entries_.resize(index + 1);
  Entry& entry = entries_[index];
  ++entry.deliveries;
  if ((timeslice.flags & bit(TimesliceFlag::repeated)) == 0) ++entry.unflagged;
  if ((timeslice.flags & bit(TimesliceFlag::missing_components)) != 0) ++entry.incomplete;
}

std::string Ledger::judge(const SwarmExpectation& expected, std::uint64_t end) const {
  if (errors_ > 0) return fmt::format("{} wrong timeslices: {}", errors_, first_error_);
  for (std::uint64_t t = end; t < entries_.size(); ++t) {
    // A compute node that was cut off when the others agreed on the end may have built it before.
    if (entries_[t].deliveries == 0 || (expected.ends_by_time && !expected.calm)) continue;
    return fmt::format("timeslice {} was delivered, but the stream ended at {}", t, end);
  }
  for (std::uint64_t t = 0; t < end; ++t) {
    const Entry entry = t < entries_.size() ? entries_[t] : Entry{};
    if (entry.deliveries == 0) return fmt::format("timeslice {} of {} was never delivered", t, end);
    // A timeslice may have been given up on a node that died before any other node sent a part of
    // it.
    const bool given_up = expected.may_miss_components && entry.incomplete > 0;
    if (entry.unflagged > 1 + (given_up ? entry.incomplete : 0)) {
      return fmt::format("timeslice {} was delivered {} times, {} of them not flagged as repeated",
                         t, entry.deliveries, entry.unflagged);
    }
    if (entry.incomplete > 0 && !expected.may_miss_components) {
      return fmt::format("timeslice {} misses components, although no input node left", t);
    }
    if (expected.calm && (entry.deliveries > 1 || entry.unflagged == 0)) {
      return fmt::format(
          "timeslice {} was delivered {} times ({} flagged as repeated), although "
          "every node was there all the time",
          t, entry.deliveries, entry.deliveries - entry.unflagged);
    }
  }
  return {};
}

}  // namespace weft::stream
