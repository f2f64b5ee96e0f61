// SPDX-License-Identifier: Apache-2.0
#include "cli/odp_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.hpp"

namespace weft::cli {
namespace {

using net::rc::Packet;

constexpr Duration pause = Duration::microseconds(100);

bool is_nak(const Packet& packet) {
  const wire::Aeth aeth{packet.syndrome, 0};
  return packet.opcode == wire::Opcode::acknowledge && !aeth.is_ack();
}

}  // namespace

std::string OdpRecorder::text_of(const Packet& packet) {
  const wire::Aeth aeth{packet.syndrome, 0};
  std::string what(to_text(packet.opcode));
  if (is_nak(packet)) {
    what = aeth.is_rnr_nak() ? fmt::format("RNR NAK, wait {}",
                                           weft::to_text(Duration(wire::rnr_timer_ns[aeth.code()])))
                             : "NAK: sequence error";
  }
  return fmt::format("{}, PSN {}, queue pair {}", what, packet.psn, packet.queue_pair);
}

void OdpRecorder::count(const rdma::TappedPacket& tapped) {
  auto step = static_cast<std::size_t>((tapped.at - Instant()).ticks() / step_.ticks());
  while (step >= most_steps) {  // every two steps become one
    for (auto* counts : {&requests_, &responses_}) {
      for (std::size_t i = 0; i < counts->size(); ++i) {
        const std::uint64_t n = (*counts)[i];
        (*counts)[i] = 0;
        (*counts)[i / 2] += n;
      }
      counts->resize((counts->size() + 1) / 2);
    }
    step_ = step_ * 2;
    step /= 2;
  }
  const std::size_t size = std::max(step + 1, requests_.size());
  requests_.resize(size);
  responses_.resize(size);
  ++(tapped.from_client ? requests_ : responses_)[step];
}

void OdpRecorder::add(const rdma::TappedPacket& tapped) {
  count(tapped);
  const Packet& packet = tapped.packet;
  bool is_again = false;
  if (tapped.from_client) {
    const auto [known, is_new] = highest_.try_emplace(packet.queue_pair, packet.psn);
    is_again = !is_new && wire::psn_distance(packet.psn, known->second) <= 0;
    if (!is_again) known->second = packet.psn;
  }
  if (packets_ > 0 && tapped.at - last_ >= pause) after_pause_ = 4;
  const bool shown = packets_ < first_arrows || after_pause_ > 0;
  if (shown && arrows_.size() < most_arrows) {
    arrows_.push_back({.at_us = (tapped.at - Instant()).to_microseconds(),
                       .from_client = tapped.from_client,
                       .is_lost = packet.lost_at_port,
                       .is_again = is_again,
                       .is_nak = is_nak(packet),
                       .text = text_of(packet),
                       .left_out_before = std::exchange(left_out_, 0)});
    if (after_pause_ > 0) --after_pause_;
  } else {
    ++left_out_;
  }
  last_ = tapped.at;
  ++packets_;
}

void OdpRecorder::finish(report::OdpRecord& record) const {
  record.step_us = step_.to_microseconds();
  record.requests = requests_;
  record.responses = responses_;
  record.arrows = arrows_;
  record.arrows_left_out = packets_ - arrows_.size();
}

report::OdpRecord odp_record(const rdma::BenchmarkOptions& o, const rdma::BenchmarkResult& r,
                             const std::string& command) {
  report::OdpRecord record;
  record.title = fmt::format("{} operation{} of {} over {} queue pair{}", o.operations,
                             o.operations == 1 ? "" : "s", weft::to_text(ByteCount(o.size)),
                             o.queue_pairs, o.queue_pairs == 1 ? "" : "s");
  record.summary = fmt::format("{}, paged: {}. {}{}{}", o.profile.name, to_text(o.paged),
                               weft::to_text(r.execution), r.damming() ? ", packet damming" : "",
                               r.flood() ? ", packet flood" : "");
  record.command = command;
  for (const Duration at : r.completed_at) record.completed_us.push_back(at.to_microseconds());
  const auto fact = [&](const char* name, std::string value) {
    record.facts.emplace_back(name, std::move(value));
  };
  fact("device", std::string(o.profile.name));
  fact("source of its figures", std::string(o.profile.source));
  fact("execution", weft::to_text(r.execution));
  fact("packets", fmt::format("{}", r.packets));
  fact("packets sent again", fmt::format("{}", r.retransmissions));
  fact("page faults", fmt::format("{}", r.page_faults));
  fact("RNR NAKs", fmt::format("{}", r.rnr_naks));
  fact("sequence NAKs", fmt::format("{}", r.sequence_naks));
  fact("timeouts", fmt::format("{}", r.timeouts));
  fact("timeouts of requests lost in a wait", fmt::format("{}", r.dammed));
  fact("requests sent again and again", fmt::format("{}", r.flooded));
  if (r.stuck > 0) fact("operations that never complete", fmt::format("{}", r.stuck));
  if (r.failed > 0) fact("failed operations", fmt::format("{}", r.failed));
  return record;
}

}  // namespace weft::cli
