// SPDX-License-Identifier: Apache-2.0
#include "sim/job/ranks_job.hpp"

#include <algorithm>
#include <utility>

#include "sim/run/stuck.hpp"

namespace weft::sim {

RanksJob::RanksJob(World& world, const Program& program, RanksJobOptions options,
                   std::vector<std::uint32_t> hosts)
    : options_(std::move(options)),
      engine_(world.engine()),
      network_(world.network()),
      ranks_(std::make_unique<Ranks>(program, options_.ranks, std::move(hosts), world.network(),
                                     world.agents())) {
  begin(world);
}

RanksJob::RanksJob(World& world, Feed& feed, RanksJobOptions options,
                   std::vector<std::uint32_t> hosts)
    : options_(std::move(options)),
      engine_(world.engine()),
      network_(world.network()),
      ranks_(std::make_unique<Ranks>(feed, options_.ranks, std::move(hosts), world.network(),
                                     world.agents())) {
  begin(world);
}

void RanksJob::begin(World& world) {
  if (options_.end == PicoInstant::never()) return;
  world.agents().set_shared_timer(world.agents().add(*this), options_.end);
}

void RanksJob::on_timer(std::uint16_t, std::uint64_t) {
  interrupt();
}

JobFacts RanksJob::facts() const {
  return {.unfinished = over() ? 0U : 1U, .failed = ranks_->error().empty() ? 0U : 1U};
}

std::optional<JobFailure> RanksJob::failure() const {
  if (ranks_->error().empty()) return std::nullopt;
  return JobFailure{.order = 0, .error = {ErrorCode::corrupt, ranks_->error()}};
}

/// With nothing to come, ranks that have not ended never will. Others in the network may go on.
Result<void> RanksJob::look_around() {
  if (over()) return {};
  if (ranks_->stuck() && !engine_.idle()) {
    return Error{ErrorCode::unavailable, "its ranks wait for messages that nobody sends"};
  }
  if (!engine_.idle()) return {};
  if (auto moves = check_standstill(network_); !moves) return moves;
  return Error{ErrorCode::unavailable,
               "nothing happens any more, and its ranks wait for messages that nobody sends"};
}

void RanksJob::interrupt() {
  if (over()) return;
  departed_ = true;
  take_figures(engine_.now());
  ranks_->stop();
}

Result<void> RanksJob::conclude(Exchange&) {
  if (!departed_) take_figures(ranks_->last_end());
  return {};
}

void RanksJob::take_figures(PicoInstant end) {
  figures_ = {.name = options_.name,
              .ranks = ranks_->size(),
              .least_iterations = ~std::uint64_t{0},
              .messages = ranks_->messages_sent(),
              .elapsed_s = std::max((end - options_.ranks.start).to_seconds(), 0.0),
              .ended = !departed_};
  for (std::uint32_t r = 0; r < ranks_->size(); ++r) {
    figures_.least_iterations = std::min(figures_.least_iterations, ranks_->iterations(r));
    figures_.most_iterations = std::max(figures_.most_iterations, ranks_->iterations(r));
    figures_.bytes += ranks_->bytes_sent(r);
    figures_.waited_s += ranks_->waited(r).to_seconds();
  }
}

}  // namespace weft::sim
