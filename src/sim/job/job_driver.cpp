// SPDX-License-Identifier: Apache-2.0
#include "sim/job/job_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"
#include "sim/run/tally.hpp"

namespace weft::sim {
namespace {

/// A user who interrupts waits no longer than it takes to simulate this.
constexpr PicoDuration longest_deafness = PicoDuration::microseconds(10);

/// A failure of one of the jobs.
struct PartFailure {
  std::uint64_t job = 0;
  JobFailure failure;

  bool is_less(const PartFailure& other) const {
    return job != other.job ? job < other.job : failure.order < other.failure.order;
  }
};

/// Three numbers, then the message. All parts are processes of one program.
Batch encode(const PartFailure& failure) {
  const std::uint64_t numbers[] = {failure.job, failure.failure.order,
                                   static_cast<std::uint64_t>(failure.failure.error.code)};
  const std::string& message = failure.failure.error.message;
  Batch batch(sizeof numbers + message.size());
  std::memcpy(batch.data(), numbers, sizeof numbers);
  std::memcpy(batch.data() + sizeof numbers, message.data(), message.size());
  return batch;
}

PartFailure decode(const Batch& batch) {
  std::uint64_t numbers[3] = {};
  WEFT_CHECK(batch.size() >= sizeof numbers, "{} bytes of a failure", batch.size());
  std::memcpy(numbers, batch.data(), sizeof numbers);
  std::string message(batch.size() - sizeof numbers, '\0');
  std::memcpy(message.data(), batch.data() + sizeof numbers, message.size());
  return {.job = numbers[0],
          .failure = {.order = numbers[1],
                      .error = {static_cast<ErrorCode>(numbers[2]), std::move(message)}}};
}

/// The least failure of all parts. At least one part has one.
PartFailure least_failure(Exchange& exchange, std::optional<PartFailure> own) {
  for (const Batch& said : gather(exchange, own ? encode(*own) : Batch())) {
    if (said.empty()) continue;
    PartFailure failure = decode(said);
    if (!own || failure.is_less(*own)) own = std::move(failure);
  }
  WEFT_CHECK(own.has_value());
  return *std::move(own);
}

}  // namespace

JobDriver::JobDriver(World& world, Exchange& exchange, std::function<EndWish()> wish)
    : world_(world), exchange_(exchange), ask_(std::move(wish)) {}

Result<void> JobDriver::run() {
  if (auto good = hear_of_each_other(); !good) return good;
  PicoDuration slice = PicoDuration::max();
  for (const Entry& entry : jobs_) slice = std::min(slice, entry.job->slice());
  while (count_left() > 0 && !cut_off_) {
    if (auto good = advance(slice); !good) return good;
    if (cut_off_) break;
    if (auto good = look_around(); !good) return good;
    if (wants_progress_ > 0) jobs_.front().job->tell_progress(exchange_);
  }
  return end_rest();
}

/// Jobs that keep the simulation going.
std::size_t JobDriver::count_left() const {
  const auto left = std::count_if(jobs_.begin(), jobs_.end(), [](const Entry& entry) {
    return !entry.concluded && !entry.job->is_endless();
  });
  return static_cast<std::size_t>(left);
}

Result<void> JobDriver::look_around() {
  for (Entry& entry : jobs_) {
    if (auto good = entry.job->look_around(); !good) return named(entry, good.error());
    if (!entry.job->over() || entry.concluded) continue;
    if (auto good = conclude(entry); !good) return good;
    if (count_left() > 0) entry.job->retire();
  }
  return {};
}

Result<void> JobDriver::conclude(Entry& entry) {
  entry.concluded = true;
  if (auto good = entry.job->conclude(exchange_); !good) return named(entry, good.error());
  return {};
}

/// Endless jobs, and those that are not to go on.
Result<void> JobDriver::end_rest() {
  for (Entry& entry : jobs_) {
    if (entry.concluded) continue;
    cut_off_ ? entry.job->cut_off() : entry.job->interrupt();
    if (auto good = conclude(entry); !good) return good;
  }
  return {};
}

/// On by so much, or until there is news. Errors: a process cannot go on.
Result<void> JobDriver::advance(PicoDuration slice) {
  const PicoInstant end = now() + slice;
  while (now() < end) {
    world_.run_until(std::min(end, now() + longest_deafness));
    if (auto good = hear_of_each_other(); !good) return good;
    if (is_news_ || cut_off_) break;
  }
  return {};
}

/// Shares among all parts the facts of each, and the user's wish.
Result<void> JobDriver::hear_of_each_other() {
  const bool asks = exchange_.first_of_process();
  const EndWish wish = asks && ask_ ? ask_() : EndWish::none;
  std::uint64_t interrupts = wish != EndWish::none ? 1 : 0;
  std::uint64_t cuts = wish == EndWish::at_once ? 1 : 0;
  wants_progress_ = asks && exchange_.rank() == 0 && jobs_.front().job->wants_progress() ? 1 : 0;
  std::vector<JobFacts> facts;
  for (const Entry& entry : jobs_) facts.push_back(entry.job->facts());
  Tally tally;
  tally.add(interrupts);
  tally.add(cuts);
  tally.add(wants_progress_);
  for (JobFacts& of_job : facts) {
    for (std::uint64_t* fact : of_job.all()) tally.add(*fact);
  }
  tally.sum(exchange_);
  const auto any = [&](std::uint64_t JobFacts::*fact) {
    return std::any_of(facts.begin(), facts.end(), [&](const auto& f) { return f.*fact > 0; });
  };
  if (any(&JobFacts::failed)) return first_failure();
  for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].job->learn(facts[i]);
  is_news_ = any(&JobFacts::changed);
  cut_off_ = cuts > 0;
  if (interrupts == 0 || interrupted_) return {};
  interrupted_ = true;
  spdlog::info("interrupted: jobs end; a second signal kills");
  for (const Entry& entry : jobs_) entry.job->interrupt();
  return {};
}

/// Returns the first failure of the first job that failed, over all parts.
Error JobDriver::first_failure() const {
  std::optional<PartFailure> own;
  for (std::size_t i = 0; i < jobs_.size() && !own; ++i) {
    auto failure = jobs_[i].job->failure();
    if (failure) own = {i, std::move(*failure)};
  }
  PartFailure first = least_failure(exchange_, std::move(own));
  return named(jobs_[first.job], std::move(first.failure.error));
}

/// With several jobs, the error names its job.
Error JobDriver::named(const Entry& entry, Error error) const {
  if (jobs_.size() > 1) {
    error.message = fmt::format("job {}: {}", entry.job->name(), error.message);
  }
  return error;
}

}  // namespace weft::sim
