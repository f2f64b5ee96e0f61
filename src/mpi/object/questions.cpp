// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/questions.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace weft::mpi {

using Outcome = determinant::Kind;

void Questions::use(determinant::OutcomeLog& log, const Options& options) {
  log_ = &log;
  thread_ = this_thread();
  options_ = options;
  transfer_.set_log(&log);
}

void Questions::stop() {
  const bool is_ahead = log_->is_ahead();
  log_->stop();
  log_ = nullptr;
  transfer_.set_log(nullptr);
  if (is_ahead) {
    cannot_repeat(
        fmt::format("a second thread of rank {} calls MPI before this life has repeated "
                    "what an earlier one met, and weft records one thread",
                    options_.rank));
  } else if (options_.is_lost) {
    need_log();
  }
}

void Questions::receive_by_log(const Group& group, std::uint32_t from, std::int32_t tag,
                               Buffer buffer, Request& request) {
  request.is_recorded = false;
  determinant::OutcomeLog* const log = this->log();
  if (log == nullptr) return transfer_.receive(group, from, tag, buffer, request);
  request.number = log->post();
  const auto fate = log->fate_of_last_post();
  if (fate.is_cancelled) return Transfer::hold(group, buffer, request);
  const bool is_open = from == match::any_source;
  if (fate.source && (!is_open || *fate.source >= group.size())) return diverge();
  if (is_open && !fate.source) {
    if (options_.is_lost) need_log();
    request.is_recorded = true;
  }
  transfer_.receive(group, fate.source.value_or(from), tag, buffer, request);
  if (log->is_full()) say_full();
}

void Questions::cancel(Request& request) {
  determinant::OutcomeLog* const log = request.is_receive ? this->log() : nullptr;
  if (log == nullptr) return transfer_.cancel(request);
  if (log->replays()) {
    const determinant::Record* const found = replay(Outcome::cancel, false);
    if (found == nullptr) return;
    if (found->kind == Outcome::kept) {
      return transfer_.until([&] { return request.is_matched || request.done; });
    }
    if (found->value != request.number) return diverge();
    request.status = {.is_cancelled = true};
    request.done = true;
    return;
  }
  if (options_.is_lost) need_log();
  const bool was_done = request.done;
  transfer_.cancel(request);
  const bool is_cancelled = !was_done && request.status.is_cancelled;
  if (is_cancelled) {
    record({.kind = Outcome::cancel, .value = request.number});
  } else {
    record({.kind = Outcome::kept});
  }
}

std::optional<Status> Questions::probe(const Group& group, std::uint32_t from, std::int32_t tag,
                                       bool waits) {
  determinant::OutcomeLog* log = this->log();
  // The first message of one sender that fits is the same one in each life.
  if (waits && from != match::any_source) log = nullptr;
  std::optional<Status> found;
  if (log != nullptr && log->replays()) {
    const determinant::Record* const then = replay(Outcome::message, !waits);
    if (then == nullptr) return std::nullopt;
    const std::uint32_t source = then->source;
    const std::int32_t its_tag = then->tag;
    if (source >= group.size()) {
      diverge();
      return std::nullopt;
    }
    found = transfer_.await(group, source, tag);
    if (found && found->tag != its_tag) diverge();
    return found;
  }
  if (waits) {
    found = transfer_.await(group, from, tag);
  } else {
    found = transfer_.probe(group, from, tag);
  }
  if (log == nullptr) return found;
  if (options_.is_lost) need_log();
  if (found) {
    record({.kind = Outcome::message, .source = found->source, .tag = found->tag});
  } else {
    log->miss();
  }
  return found;
}

// Programs that only measure do not depend on it: a clock that was lost is no failure.
std::uint64_t Questions::tell_time(std::uint64_t now_ns) {
  if (log_ == nullptr || thread_ != this_thread()) return now_ns;
  const std::uint64_t told = log_->tell_time(now_ns);
  if (log_->trouble() != determinant::Trouble::none) {
    diverge();
    return now_ns;
  }
  if (log_->is_full()) say_full();
  return told;
}

// A clock that was lost is no failure, as above.
std::int64_t Questions::tell_clock(std::uint32_t clock, std::int64_t now) {
  determinant::OutcomeLog* const log = this->log();
  if (log == nullptr) return now;
  if (!log->replays()) {
    record({.kind = Outcome::clock, .value = static_cast<std::uint64_t>(now), .source = clock});
    return now;
  }
  const determinant::Record* const found = replay(Outcome::clock, false);
  if (found == nullptr) return now;
  if (found->source == clock) return static_cast<std::int64_t>(found->value);
  diverge();
  return now;
}

const determinant::Record* Questions::replay(Outcome kind, bool may_miss) {
  const determinant::Record* const found = log_->replay(kind, may_miss);
  if (found == nullptr && log_->trouble() != determinant::Trouble::none) diverge();
  return found;
}

void Questions::give_up(const std::string& why) {
  if (has_left_) return;
  is_hopeless_ = true;
  transfer_.fail({ErrorCode::unavailable, fmt::format("rank {}: {}", options_.rank, why)});
}

void Questions::diverge() {
  if (has_left_) return;
  is_hopeless_ = has_diverged_ = true;
  transfer_.fail(
      {ErrorCode::corrupt,
       fmt::format("this life of rank {} tests, probes or receives something else than an earlier "
                   "one did; a program that is started anew has to repeat itself: no clocks before "
                   "MPI_Init, no random numbers without a seed, no input that changes",
                   options_.rank)});
}

void Questions::need_log() {
  if (has_left_ || transfer_.failure()) return;
  is_hopeless_ = true;
  transfer_.fail({ErrorCode::unavailable,
                  fmt::format("rank {} cannot repeat what its earlier life did: the log of that "
                              "life's outcomes was lost with its host; start the job again",
                              options_.rank)});
}

void Questions::say_full() {
  if (said_full_ || has_left_) return;  // it may be exiting, when nothing can be logged any more
  said_full_ = true;
  spdlog::error(
      "rank {} cannot repeat this life, and if it is started anew, all ranks begin from nothing: "
      "its log of outcomes has reached its limit; set {} to more",
      options_.rank, options_.limit_option);
}

}  // namespace weft::mpi
