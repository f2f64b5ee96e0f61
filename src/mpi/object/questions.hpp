// SPDX-License-Identifier: Apache-2.0
// Questions: calls of a program whose outcome depends on when messages come. In a life that is
// started anew they have the outcomes of the earlier life (docs/mpi-restarts.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/determinant/outcome_log.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// One thread at a time, as `Transfer`. The outcomes of several threads have no order: when a
/// second one asks, nothing is recorded or replayed any more, and no later life can repeat this
/// one.
class Questions {
 public:
  /// A limit of the log that is named when it is reached, and the rank in messages.
  struct Options {
    std::uint32_t rank = 0;
    bool is_lost = false;  ///< the log of earlier lives
    const char* limit_option = "";
  };

  explicit Questions(Transfer& transfer) : transfer_(transfer) {}
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;

  /// From now on outcomes are those in the log, and recorded there when there are no more. Called
  /// before any other function, by the thread that will ask. The log outlives this.
  void use(determinant::OutcomeLog& log, const Options& options);

  /// The same as of `Transfer`. A receive of any source is one of the sender whose message it took
  /// in the earlier life.
  void receive(const Group& group, std::uint32_t from, std::int32_t tag, Buffer buffer,
               Request& request) {
    if (log_ != nullptr) {
      const bool is_determined =
          from != match::any_source && thread_ == this_thread() && !log_->has_fates();
      if (!is_determined) return receive_by_log(group, from, tag, buffer, request);
      request.number = log_->post();
      request.is_recorded = false;
    }
    transfer_.receive(group, from, tag, buffer, request);
  }
  void cancel(Request& request);
  /// Returns the status of the message that a receive would take. With `waits` it blocks until
  /// there is one; else it turns the driver loop once.
  std::optional<Status> probe(const Group& group, std::uint32_t from, std::int32_t tag, bool waits);

  /// Returns whether it is done, after one turn if it is not.
  template <class Done>
  bool is(Done&& done);
  /// Places of the requests that are done: all, or the first one. `waits`: until there is one; else
  /// it turns once. `state(i)` is that of request i.
  enum class State : std::uint8_t { idle, under_way, done };
  template <class StateAt>
  std::vector<std::uint32_t> some(std::size_t count, bool all, bool waits, StateAt&& state);

  /// What `act` gives, which changes, or depends on, what outlives this process: the next life gets
  /// the same, and does not do it again.
  template <class Act>
  std::int64_t once(Act&& act);
  /// The same of what mostly gives `usual`: then it takes no memory. An `act` that gives nothing
  /// was of no use, because the job ends: nothing of it remains, and the result is `usual`.
  template <class Act>
  std::int64_t once_mostly(std::int64_t usual, Act&& act);
  /// Whether what is found anew in each life is what an earlier life found.
  bool is_as_before(std::int64_t found) {
    return once([&] { return found; }) == found;
  }
  /// Outcomes are recorded or replayed: this process may have other lives. A second thread that
  /// calls this asks, too.
  bool is_recorded() { return log() != nullptr; }
  /// The next question has an outcome of an earlier life, which came further than this one has.
  bool replays() { return log() != nullptr && log_->replays(); }
  /// What the program shall see of the C library's clock of that number, which shows `now`.
  std::int64_t tell_clock(std::uint32_t clock, std::int64_t now);
  /// The clock for the program.
  std::uint64_t tell_time(std::uint64_t now_ns);
  /// The process has left the job, and the transfer may be gone: from now on only clocks are asked
  /// for, or by programs that should not. Where outcomes are not those of the earlier life, nothing
  /// can be done about it.
  void leave() { has_left_ = true; }
  /// No other life can do better: the program does not repeat itself, its log is lost, or `give_up`
  /// was called.
  bool is_hopeless() const { return is_hopeless_; }
  /// It is since this life does not repeat an earlier one: one in which all processes begin again
  /// may do better.
  bool has_diverged() const { return has_diverged_; }
  /// Ends the job, since this process cannot do again what its earlier life did.
  void give_up(const std::string& why);
  /// The same where it could do it from the beginning, together with all others.
  void cannot_repeat(const std::string& why) {
    if (has_left_) return;
    is_hopeless_ = has_diverged_ = true;
    transfer_.fail({ErrorCode::unavailable, why});
  }

 private:
  determinant::OutcomeLog* log() {
    if (log_ == nullptr || thread_ == this_thread()) return log_;
    if (!has_left_) stop();
    return nullptr;
  }
  static const void* this_thread() {
    // Each receive asks.
    static thread_local const char here __attribute__((tls_model("initial-exec"))) = 0;
    return &here;
  }
  void stop();
  void receive_by_log(const Group& group, std::uint32_t from, std::int32_t tag, Buffer buffer,
                      Request& request);
  /// The outcome that is replayed. Null: none, as in the earlier life, or the program diverges.
  const determinant::Record* replay(determinant::Kind kind, bool may_miss);
  void record(const determinant::Record& outcome) {
    if (log_ == nullptr) return;  // a second thread asked something while this one waited
    log_->record(outcome);
    if (log_->is_full()) say_full();
  }
  void need_log();
  void diverge();
  void say_full();

  Transfer& transfer_;
  determinant::OutcomeLog* log_ = nullptr;
  const void* thread_ = nullptr;
  Options options_;
  bool is_hopeless_ = false;
  bool has_diverged_ = false;
  bool said_full_ = false;
  bool has_left_ = false;
};

template <class Done>
bool Questions::is(Done&& done) {
  determinant::OutcomeLog* const log = this->log();
  if (log != nullptr && log->replays()) {
    if (replay(determinant::Kind::yes, true) == nullptr) return false;
    transfer_.until(done);
    return !transfer_.failure();
  }
  bool yes = done();
  if (!yes) {
    transfer_.turn();
    yes = done();
  }
  if (log == nullptr) return yes;
  if (options_.is_lost) need_log();
  if (yes) {
    record({.kind = determinant::Kind::yes});
  } else {
    log->miss();
  }
  return yes;
}

template <class StateAt>
std::vector<std::uint32_t> Questions::some(std::size_t count, bool all, bool waits,
                                           StateAt&& state) {
  determinant::OutcomeLog* const log = this->log();
  std::vector<std::uint32_t> places;  // this call's own: others may ask while it waits
  if (log != nullptr && log->replays()) {
    const determinant::Record* const found = replay(determinant::Kind::some, !waits);
    if (found == nullptr) return {};
    places = found->places;
    for (const std::uint32_t place : places) {
      if (place >= count || state(place) == State::idle) {
        diverge();
        break;
      }
      transfer_.until([&] { return state(place) == State::done; });
    }
    if (transfer_.failure()) places.clear();
    return places;
  }
  const auto look = [&] {
    for (std::size_t i = 0; i < count && (all || places.empty()); ++i) {
      if (state(i) == State::done) places.push_back(static_cast<std::uint32_t>(i));
    }
    return !places.empty();
  };
  if (waits) {
    transfer_.until(look);
  } else if (!look()) {
    transfer_.turn();
    look();
  }
  if (log == nullptr) return places;
  if (options_.is_lost) need_log();
  if (places.empty()) {
    log->miss();
  } else {
    log->record_places(places);
    if (log->is_full()) say_full();
  }
  return places;
}

template <class Act>
std::int64_t Questions::once_mostly(std::int64_t usual, Act&& act) {
  determinant::OutcomeLog* const log = this->log();
  if (log != nullptr && log->replays()) {
    const determinant::Record* const found = replay(determinant::Kind::number, true);
    return found != nullptr ? static_cast<std::int64_t>(found->value) : usual;
  }
  if (log != nullptr && options_.is_lost) need_log();
  const std::optional<std::int64_t> gave = act();
  if (!gave) return usual;
  if (log != nullptr && *gave == usual) {
    log->miss();
  } else if (log != nullptr) {
    record({.kind = determinant::Kind::number, .value = static_cast<std::uint64_t>(*gave)});
  }
  return *gave;
}

template <class Act>
std::int64_t Questions::once(Act&& act) {
  determinant::OutcomeLog* const log = this->log();
  if (log != nullptr && log->replays()) {
    const determinant::Record* const found = replay(determinant::Kind::number, false);
    return found != nullptr ? static_cast<std::int64_t>(found->value) : -1;
  }
  if (log != nullptr && options_.is_lost) need_log();
  const std::int64_t gave = act();
  if (log != nullptr) {
    record({.kind = determinant::Kind::number, .value = static_cast<std::uint64_t>(gave)});
  }
  return gave;
}

}  // namespace weft::mpi
