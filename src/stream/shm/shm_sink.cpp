// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/shm_sink.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/number_text.hpp"
#include "stream/shm/server.hpp"
#include "stream/sinks/counting.hpp"
#include "stream/uri.hpp"

namespace weft {
namespace {

constexpr std::uint32_t most_held = 65536;
constexpr std::uint32_t most_consumers = 4096;

class ShmSink final : public Sink {
 public:
  ShmSink(std::string name, std::unique_ptr<shm::Server> server)
      : name_(std::move(name)), server_(std::move(server)) {}

  // Without a handle the timeslice has to be back when this returns.
  Result<void> consume(const TimesliceView& timeslice) override {
    {
      const std::lock_guard lock(mutex_);
      if (interrupted_) return Error{ErrorCode::cancelled, "shm: the run is being stopped"};
      lent_ = true;
    }
    const auto give_back = [](void* self, TimesliceIndex) noexcept {
      static_cast<ShmSink*>(self)->take_back();
    };
    if (auto r = consume_held(timeslice, HeldTimeslice(give_back, this, timeslice.index)); !r) {
      return r;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !lent_ || interrupted_; });
    if (lent_) return Error{ErrorCode::cancelled, "shm: the run is being stopped"};
    return {};
  }

  Result<void> consume_held(const TimesliceView& timeslice, HeldTimeslice held) override {
    count_timeslice(summary_, timeslice);
    return server_->publish(timeslice, std::move(held));
  }

  void interrupt() override {
    server_->interrupt();
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    changed_.notify_all();
  }

  void stop_waiting() override { server_->stop_waiting(); }

  Result<void> finish() override {
    server_->finish();
    const shm::ServerCounts counts = server_->counts();
    summary_.dropped =
        counts.board.unclaimed + counts.passed + counts.board.missed + counts.unreleased;
    spdlog::info(
        "shm:{}: {} timeslices, no consumer for {}, missed by busy ones {}, given again {}, "
        "copied {} for policy skip and {} from memory that cannot be shared",
        name_, summary_.timeslices, counts.board.unclaimed + counts.passed, counts.board.missed,
        counts.board.repeated, counts.copied_skip, counts.copied_unmapped);
    return {};
  }

  SinkSummary summary() const override { return summary_; }

 private:
  void take_back() {
    const std::lock_guard lock(mutex_);
    lent_ = false;
    changed_.notify_all();
  }

  const std::string name_;
  std::mutex mutex_;  // of the three below, which outlive the timeslices that the server holds
  std::condition_variable changed_;
  bool lent_ = false;  // by `consume`
  bool interrupted_ = false;
  std::unique_ptr<shm::Server> server_;
  SinkSummary summary_;
};

std::optional<std::uint32_t> parse_count(std::string_view text, std::uint32_t most) {
  const auto n = parse_number<std::uint32_t>(text);
  return n && *n > 0 && *n <= most ? n : std::nullopt;
}

// The part of `text` before `separator`, which is taken off together with it.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

Result<std::vector<shm::GroupOption>> parse_groups(const Uri& uri) {
  const std::string text = uri.get("groups");
  std::string_view value = text;
  std::vector<shm::GroupOption> groups;
  while (!value.empty()) {
    std::string_view rest = take_until(value, ',');
    const std::string_view whole = rest;
    shm::GroupOption group;
    group.name = take_until(rest, ':');
    const std::string_view policy = take_until(rest, ':');
    const auto members = rest.empty() ? 1 : parse_count(rest, most_consumers);
    const bool known = policy == "all" || policy == "one" || policy == "skip";
    if (group.name.empty() || group.name.size() > shm::max_group_name || !known || !members) {
      return uri.key_error(
          "groups",
          fmt::format("'{}' must be GROUP:POLICY or GROUP:POLICY:MEMBERS with policy all, one or "
                      "skip; example: groups=analysis:one:4,monitor:skip",
                      whole));
    }
    group.policy = policy == "all"   ? GroupPolicy::all
                   : policy == "one" ? GroupPolicy::one
                                     : GroupPolicy::skip;
    group.members = *members;
    for (const shm::GroupOption& other : groups) {
      if (other.name == group.name) {
        return uri.key_error("groups", fmt::format("group '{}' is named twice", group.name));
      }
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<shm::ServerOptions> parse_options(const Uri& uri) {
  if (auto r = uri.allow({"groups", "held", "consumers", "copy", "linger", "wait"}); !r) {
    return std::move(r).error();
  }
  shm::ServerOptions options;
  options.name = uri.path();
  auto groups = parse_groups(uri);
  const auto held = uri.number("held", options.held, 1, most_held);
  const auto consumers = uri.number("consumers", options.consumers, 1, most_consumers);
  const auto copy = uri.bytes("copy", options.copy, ByteCount(1), ByteCount::gib(1024));
  const auto linger = uri.duration("linger", options.linger);
  if (!groups) return std::move(groups).error();
  if (!held) return held.error();
  if (!consumers) return consumers.error();
  if (!copy) return copy.error();
  if (!linger) return linger.error();
  const auto wait = uri.duration("wait", options.wait);
  if (!wait) return wait.error();
  options.groups = std::move(*groups);
  options.held = static_cast<std::uint32_t>(*held);
  options.consumers = static_cast<std::uint32_t>(*consumers);
  options.copy = *copy;
  options.linger = *linger;
  options.wait = *wait;
  return options;
}

}  // namespace

Result<std::unique_ptr<Sink>> open_shm_sink(std::string_view rest, const SinkPlace& place) {
  const auto uri = Uri::parse(fmt::format("shm:{}", rest));
  if (!uri) return uri.error();
  auto options = parse_options(*uri);
  if (!options) return std::move(options).error();
  auto server = shm::Server::open(std::move(*options), place);
  if (!server) return std::move(server).error();
  return std::unique_ptr<Sink>(std::make_unique<ShmSink>(uri->path(), std::move(*server)));
}

}  // namespace weft
