// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/replay.hpp"

#include <algorithm>
#include <utility>

#include "base/make_error.hpp"
#include "sim/run/world.hpp"
#include "sim/topology/placement.hpp"
#include "sim/workload/ranks.hpp"

namespace weft::trace {
namespace {

/// Runs until the last rank has ended. Traffic of the scenario may go on.
Result<void> run_to_end(sim::World& world, const sim::Ranks& ranks, Duration limit) {
  const PicoInstant last = PicoInstant{} + to_pico(limit);
  PicoDuration step = PicoDuration::milliseconds(1);
  PicoInstant until{};
  while (!ranks.ended()) {
    if (!ranks.error().empty()) return invalid("{}", ranks.error());
    if (world.engine().idle() || ranks.stuck() || until >= last) break;
    until = std::min(last, until + step);
    step = std::min(step * 2, PicoDuration::seconds(1));
    world.run_until(until);
  }
  if (!ranks.error().empty()) return invalid("{}", ranks.error());
  if (ranks.ended()) return {};
  std::uint32_t waiting = 0;
  std::uint32_t first = ranks.size();
  for (std::uint32_t r = ranks.size(); r-- > 0;) {
    if (ranks.ended(r)) continue;
    ++waiting;
    first = r;
  }
  return invalid(
      "{} of {} ranks do not end within {} simulated seconds, the first is rank {}: its messages "
      "wait for each other; correct its dependencies, or record the program anew",
      waiting, ranks.size(), limit.to_seconds(), first);
}

}  // namespace

Result<ReplayOutcome> replay(sim::Feed& feed, const ReplayOptions& options) {
  constexpr auto fix = "or name cables, and let weft simulate run the trace as one of [[jobs]]";
  if (auto good = sim::refuse_faults(options.scenario, fix); !good) return std::move(good).error();
  auto world = sim::World::make(options.scenario);
  if (!world) return std::move(world).error();
  if (feed.ranks() > (*world)->topology().hosts()) {
    return options.scenario.located(
        "network.topology",
        invalid("the trace has {} ranks and the network {} hosts: use a larger topology",
                feed.ranks(), (*world)->topology().hosts()));
  }
  auto hosts = sim::place(options.scenario.placement, (*world)->topology(), feed.ranks());
  if (!hosts) return options.scenario.located("placement", hosts.error());
  const sim::RankOptions how{.eager_bytes = options.eager_bytes,
                             .header_bytes = options.scenario.fabric.header_bytes,
                             .seed = options.scenario.seed};
  sim::Ranks ranks(feed, how, std::move(hosts).value(), (*world)->network(), (*world)->agents());
  if (auto good = run_to_end(**world, ranks, options.limit); !good) return good.error();
  ReplayOutcome outcome{.predicted_s = (ranks.last_end() - PicoInstant{}).to_seconds(),
                        .messages = ranks.messages_sent()};
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    outcome.bytes += ranks.bytes_sent(r);
    outcome.waited_s += ranks.waited(r).to_seconds();
  }
  return outcome;
}

}  // namespace weft::trace
