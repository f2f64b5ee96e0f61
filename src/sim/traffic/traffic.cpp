// SPDX-License-Identifier: Apache-2.0
#include "sim/traffic/traffic.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft::sim {
namespace {

/// In the order of the enumeration.
constexpr std::array<std::pair<TrafficPattern, std::string_view>, 4> pattern_names{
    {{TrafficPattern::uniform, "uniform"},
     {TrafficPattern::permutation, "permutation"},
     {TrafficPattern::incast, "incast"},
     {TrafficPattern::bursts, "bursts"}}};

/// A derangement-like permutation: a random order, each host sends to the next one in it.
std::vector<std::uint32_t> random_partners(std::size_t count, Rng rng) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = count - 1; i > 0; --i) std::swap(order[i], order[rng.below(i + 1)]);
  std::vector<std::uint32_t> partner(count);
  for (std::size_t i = 0; i < count; ++i) partner[order[i]] = order[(i + 1) % count];
  return partner;
}

}  // namespace

Result<TrafficPattern> parse_pattern(std::string_view name) {
  for (const auto& [pattern, text] : pattern_names) {
    if (text == name) return pattern;
  }
  return invalid(
      "no traffic pattern is called '{}': there are uniform, permutation, incast, bursts", name);
}

std::string_view to_text(TrafficPattern pattern) {
  return pattern_names[static_cast<std::size_t>(pattern)].second;
}

std::vector<TrafficOptions> one_per_level(const TrafficOptions& all, std::size_t levels) {
  std::vector<TrafficOptions> parts(levels, all);
  for (std::size_t level = 0; level < levels; ++level) {
    parts[level].load = all.load / static_cast<double>(levels);
    parts[level].level = static_cast<std::uint8_t>(level);
  }
  return parts;
}

Result<void> Traffic::check(const TrafficOptions& o, std::size_t hosts) {
  if (hosts < 2) {
    return invalid("traffic among {} hosts: it needs at least 2", hosts);
  }
  if (!(o.load > 0) || o.load > 100) {
    return invalid("load is {}: give a share of the host's link, such as 0.7", o.load);
  }
  if (o.message_bytes == 0 || o.message_bytes > (std::uint64_t{1} << 40)) {
    return invalid("a message has {} bytes: use 1 B to 1 TiB", o.message_bytes);
  }
  return {};
}

Traffic::Traffic(const TrafficOptions& options, std::vector<std::uint32_t> hosts, Network& network,
                 Agents& agents)
    : options_(options),
      hosts_(std::move(hosts)),
      network_(network),
      agents_(agents),
      agent_(agents.add(*this)),
      user_(network.add_user(*this)) {
  WEFT_CHECK(check(options_, hosts_.size()).ok());
  const NetworkOptions& like = network.options();
  const std::uint64_t packets = (options_.message_bytes + like.mtu - 1) / like.mtu;
  const double bytes = static_cast<double>(options_.message_bytes + packets * like.packet_overhead);
  const auto rate = static_cast<double>(like.host_link.rate.bytes_per_second());
  mean_interval_ps_ = bytes * 1e12 / (rate * options_.load);
  const Rng root(options_.seed);
  // All draw the same bursts, each for itself: in a divided network there is no place for all.
  const bool together = options_.pattern == TrafficPattern::bursts;
  if (options_.pattern == TrafficPattern::permutation) {
    partner_ = random_partners(hosts_.size(), root.split(0xface));
  }
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    if (!network.owns(network.topology().host(hosts_[i]))) continue;
    rngs_.push_back(together ? root.split(0xb0) : root.split(hosts_[i]));
    set_next({.index = i, .own = static_cast<std::uint32_t>(rngs_.size() - 1)});
  }
}

void Traffic::set_next(Sender sender) {
  const PicoInstant from = std::max(agents_.engine().now(), options_.start);
  const PicoInstant at =
      from +
      PicoDuration(1 + static_cast<std::int64_t>(rngs_[sender.own].exponential(mean_interval_ps_)));
  if (at >= options_.end) return;
  agents_.set_timer(agent_, hosts_[sender.index], at, 0, sender.payload());
}

std::uint32_t Traffic::destination_of(Sender sender) {
  if (options_.pattern == TrafficPattern::permutation) return partner_[sender.index];
  if (options_.pattern == TrafficPattern::incast) return 0;
  Rng& rng = rngs_[sender.own];
  if (options_.pattern == TrafficPattern::bursts) {
    return static_cast<std::uint32_t>(rng.below(hosts_.size()));
  }
  const auto other = static_cast<std::uint32_t>(rng.below(hosts_.size() - 1));
  return other < sender.index ? other : other + 1;
}

void Traffic::send_from(Sender sender) {
  const std::uint32_t index = sender.index;
  const std::uint32_t to = destination_of(sender);
  if (to == index) return;
  ++sent_;
  network_.send({.source = hosts_[index],
                 .destination = hosts_[to],
                 .bytes = options_.message_bytes,
                 .level = options_.level,
                 .user = user_,
                 .flow = std::uint64_t{index} << 32 | to});
}

void Traffic::on_timer(std::uint16_t, std::uint64_t payload) {
  if (agents_.engine().now() >= options_.end) return;  // stopped meanwhile
  const Sender sender = Sender::of(payload);
  send_from(sender);
  set_next(sender);
}

void Traffic::fetch(std::uint64_t payload, Ahead ahead) const {
  const Sender sender = Sender::of(payload);
  if (ahead == Ahead::early) __builtin_prefetch(&rngs_[sender.own], 1);
  network_.fetch_sender(hosts_[sender.index], options_.level, ahead);
}

void Traffic::on_arrived(const Message& message) {
  latencies_.add(agents_.engine().now() - message.posted);
  delivered_bytes_ += message.request.bytes;
  if (agents_.engine().now() < options_.end) bytes_before_end_ += message.request.bytes;
}

}  // namespace weft::sim
