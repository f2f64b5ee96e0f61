// SPDX-License-Identifier: Apache-2.0
// Turns a tool's records of one rank, call by call, into events: time outside of calls is
// computation, sizes of collectives become those of core/collective, and a receive gets its source
// from its completion.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/events/event.hpp"
#include "trace/events/record.hpp"

namespace weft::trace {

/// By number: the ranks of a communicator in its order. Empty: the rank alone, whichever it is.
using Communicators = std::vector<std::vector<std::uint32_t>>;

/// One rank. One thread. The communicators outlive it.
class Interpreter {
 public:
  /// `look_ahead`: a receive whose completion is not among so many events behind it is taken as
  /// posted where it completes.
  Interpreter(std::uint32_t rank, const Communicators& communicators, std::size_t look_ahead);

  /// The next record of the rank; `number` is for messages. Errors: it contradicts earlier records,
  /// or names something that does not exist. Without file and rank.
  Result<void> add(const Record& record, std::uint64_t number);
  /// No more will come.
  void finish();
  /// Returns whether `take` has an event, now that so much has been added.
  bool is_ready() const;
  /// The next event; `end` if there is none and will be none.
  Event take();

 private:
  struct Request {
    std::uint32_t slot = 0;
    bool is_send = false;
    bool is_late = false;
    std::uint64_t index = 0;  // of its event, counted from the first
  };

  Result<void> add_call(const Record& record);
  Result<void> add_message(const Record& record);
  Result<void> begin_request(const Record& record);
  Result<void> complete_request(const Record& record);
  Result<void> add_collective(const Record& record);
  Result<std::uint32_t> rank_of(std::uint32_t communicator, std::uint32_t member) const;
  Result<void> fill(Event& event, const Record& record) const;
  void compute_until(std::uint64_t ns);
  void push(Event event);
  std::uint32_t take_slot();
  bool is_unresolved(const Event& event) const;
  void give_up_on_front();

  std::uint32_t rank_;
  const Communicators& communicators_;
  std::size_t look_ahead_;
  std::uint64_t number_ = 0;
  std::uint64_t at_ns_ = 0;
  std::uint64_t computes_since_ns_ = 0;
  bool began_ = false;
  bool finished_ = false;
  std::uint32_t depth_ = 0;  // of calls within calls
  std::deque<Event> events_;
  std::uint64_t taken_ = 0;
  std::vector<std::uint32_t> waits_;  // slots, until the outermost call returns
  std::vector<std::uint32_t> free_;
  std::uint32_t slots_ = 0;
  std::unordered_map<std::uint64_t, Request> requests_;
};

}  // namespace weft::trace
