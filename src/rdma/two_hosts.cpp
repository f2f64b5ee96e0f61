// SPDX-License-Identifier: Apache-2.0
#include "rdma/two_hosts.hpp"

#include <algorithm>

namespace weft::rdma {

using net::rc::Packet;
namespace {

constexpr std::uint32_t client_queue_pairs = 256;
constexpr std::uint32_t server_queue_pairs = 65'536;

}  // namespace

PacketEnds ends_of(const TappedPacket& tapped) {
  const std::uint32_t number = tapped.packet.queue_pair;
  const bool goes = tapped.from_client;
  return {.from_host = goes ? 0U : 1U,
          .to_host = goes ? 1U : 0U,
          .queue_pair = (goes ? server_queue_pairs : client_queue_pairs) + number,
          .flow = number};
}

TwoHosts::TwoHosts(const TwoHostsOptions& options)
    : options_(options),
      links_{net::LinkModel({options.profile.rate, to_pico(options.latency), {}, {}}),
             net::LinkModel({options.profile.rate, to_pico(options.latency), {}, {}})} {
  const Rng rng(options.seed);
  adapters_.reserve(2);
  for (std::size_t i = 0; i < 2; ++i) {
    adapters_.emplace_back(options_.profile, options_.adapters[i], options_.queue_pairs,
                           rng.split(i));
  }
}

void TwoHosts::at(Instant when, std::function<void()> what) {
  calls_.push({when, order_++, std::move(what)});
}

void TwoHosts::post(int host, std::uint32_t queue_pair, const net::rc::WorkRequest& request) {
  adapters_[static_cast<std::size_t>(host)].post(now_, queue_pair, request, outbox_);
  carry_out(host);
}

/// Carries out an adapter's outbox: packets onto the link, completions to the user.
void TwoHosts::carry_out(int host) {
  for (const Packet& packet : outbox_.packets) {
    ++packets_;
    const TappedPacket tapped{now_, host == 0, packet};
    if (host == 0 && tap) tap(tapped);
    if (packet.lost_at_port || !options_.connected || (loses && loses(tapped))) continue;
    const auto transit = links_[static_cast<std::size_t>(host)].send(
        to_pico(now_), ByteCount(net::rc::wire_bytes(packet)));
    arrivals_.push({to_nano(transit.arrival), order_++, 1 - host, packet});
  }
  outbox_.packets.clear();
  outbox_.received.clear();
  if (outbox_.completions.empty()) return;
  const auto completions = std::move(outbox_.completions);
  outbox_.completions.clear();
  for (const auto& completion : completions) {
    if (completed) completed(now_, host, completion);
  }
}

void TwoHosts::arrive() {
  const Arrival arrival = arrivals_.top();
  arrivals_.pop();
  if (arrival.host == 0 && tap) tap({now_, false, arrival.packet});
  adapters_[static_cast<std::size_t>(arrival.host)].on_packet(now_, arrival.packet, outbox_);
  carry_out(arrival.host);
}

bool TwoHosts::run(Instant until, const std::function<bool()>& done) {
  while (!done()) {
    const Instant call = calls_.empty() ? Instant::never() : calls_.top().at;
    const Instant arrival = arrivals_.empty() ? Instant::never() : arrivals_.top().at;
    const Instant deadlines[2] = {adapters_[0].next_deadline(), adapters_[1].next_deadline()};
    const Instant next = std::min({call, arrival, deadlines[0], deadlines[1]});
    if (next == Instant::never()) return true;
    if (next > until) return false;
    now_ = std::max(now_, next);
    if (arrival == next) {
      arrive();
    } else if (deadlines[0] == next || deadlines[1] == next) {
      const int host = deadlines[0] == next ? 0 : 1;
      adapters_[static_cast<std::size_t>(host)].on_deadline(now_, outbox_);
      carry_out(host);
    } else {
      const auto what = calls_.top().what;
      calls_.pop();
      what();
    }
  }
  return true;
}

}  // namespace weft::rdma
