// SPDX-License-Identifier: Apache-2.0
#include "qos/live/played_rank.hpp"

#include <errno.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "weft/message.hpp"

namespace weft::qos {
namespace {

using Kind = sim::Action::Kind;

/// The tag of all messages between two ranks, which arrive in order.
constexpr Tag only_tag{0};

class Player {
 public:
  Player(Process& process, const PlayOptions& options)
      : world_(process.world()),
        process_(process),
        options_(options),
        noise_(Rng(options.seed).split(world_.rank().value())) {}

  /// False: it was the last action.
  Result<bool> act(const sim::Action& action);

 private:
  struct Open {
    Operation operation;
    std::uint32_t request = 0;
    std::uint64_t bytes = 0;
    std::vector<std::byte> into;  // empty: it sends
  };

  void compute(PicoDuration time);
  void send(const sim::Action& action);
  void receive(const sim::Action& action);
  Result<void> wait_all();
  Result<void> wait_for(std::uint32_t request);
  Result<void> finish(Open& open);

  Communicator& world_;
  Process& process_;
  const PlayOptions& options_;
  Rng noise_;
  std::vector<std::byte> content_;               // of everything that is sent
  std::vector<std::vector<std::byte>> shorter_;  // before it, and maybe still on their way
  std::vector<Open> open_;
  std::vector<std::vector<std::byte>> spare_;  // buffers of former receives
};

Result<bool> Player::act(const sim::Action& action) {
  switch (action.kind) {
    case Kind::compute:
      compute(action.time);
      return true;
    case Kind::send:
      send(action);
      return true;
    case Kind::receive:
      receive(action);
      return true;
    case Kind::wait_all:
      if (auto done = wait_all(); !done) return std::move(done).error();
      return true;
    case Kind::wait_for:
      if (auto done = wait_for(action.request); !done) return std::move(done).error();
      return true;
    case Kind::mark_progress:
      process_.mark_progress();
      return true;
    case Kind::wait_any:
      return Error{ErrorCode::unavailable, "a program that waits for any message is not played"};
    case Kind::end:
      if (auto done = wait_all(); !done) return std::move(done).error();
      return false;
  }
  return false;
}

void Player::compute(PicoDuration time) {
  const double factor = 1 + options_.compute_noise * (2 * noise_.uniform() - 1);
  options_.compute(
      Duration(static_cast<std::int64_t>(static_cast<double>(to_nano(time).ticks()) * factor)));
}

void Player::send(const sim::Action& action) {
  // Messages under way keep their bytes: these may not move.
  if (content_.size() < action.bytes) {
    shorter_.push_back(std::exchange(content_, std::vector<std::byte>(action.bytes)));
  }
  const auto bytes = std::span(content_).first(action.bytes);
  open_.push_back({.operation = world_.start_send(Rank(action.peer), only_tag, bytes),
                   .request = action.request,
                   .bytes = action.bytes,
                   .into = {}});
}

void Player::receive(const sim::Action& action) {
  std::vector<std::byte> into;
  const auto fits = std::ranges::find_if(
      spare_, [&](const auto& buffer) { return buffer.size() == action.bytes; });
  if (fits != spare_.end()) {
    into = std::move(*fits);
    spare_.erase(fits);
  } else {
    into.resize(action.bytes);
  }
  Open open{.operation = {}, .request = action.request, .bytes = action.bytes, .into = {}};
  open.operation = world_.start_receive(Rank(action.peer), only_tag, into);
  open.into = std::move(into);
  open_.push_back(std::move(open));
}

Result<void> Player::wait_all() {
  for (Open& open : open_) {
    if (auto done = finish(open); !done) return done;
  }
  open_.clear();
  return {};
}

Result<void> Player::wait_for(std::uint32_t request) {
  const auto found = std::ranges::find(open_, request, &Open::request);
  if (found == open_.end()) return {};
  if (auto done = finish(*found); !done) return done;
  open_.erase(found);
  return {};
}

Result<void> Player::finish(Open& open) {
  const auto done = world_.wait(open.operation);
  if (!done) return done.error();
  if (*done != open.bytes) {
    return Error{ErrorCode::corrupt, fmt::format("rank {} receives {} bytes where it expects {}",
                                                 world_.rank().value(), *done, open.bytes)};
  }
  if (!open.into.empty()) spare_.push_back(std::move(open.into));
  return {};
}

}  // namespace

Result<void> play(Process& process, const sim::Program& program, const PlayOptions& options) {
  Player player(process, options);
  sim::Cursor cursor;
  for (;;) {
    auto acted = player.act(program.next(process.world().rank().value(), cursor));
    if (!acted) return std::move(acted).error();
    if (!*acted) return {};
  }
}

void sleep_for(Duration time) {
  timespec left{.tv_sec = time.ticks() / 1'000'000'000, .tv_nsec = time.ticks() % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

}  // namespace weft::qos
