// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/link_telemetry.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::sim {
namespace {

constexpr std::size_t most_cells = (std::size_t{32} << 20) / 16;
constexpr std::size_t fewest_steps = 16;

std::uint32_t steps_for(std::uint32_t links) {
  const std::size_t affordable = most_cells / std::max<std::size_t>(links, 1);
  // Even, so that halving leaves no half pair.
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(
      affordable & ~std::size_t{1}, fewest_steps, LinkTelemetry::most_steps));
}

}  // namespace

LinkTelemetry::LinkTelemetry(std::uint32_t links, PicoDuration first_step)
    : capacity_(steps_for(links)),
      step_(first_step),
      covered_(PicoInstant() + first_step * capacity_),
      links_(links),
      cells_(std::size_t{links} * capacity_) {
  WEFT_CHECK(first_step > PicoDuration{});
}

void LinkTelemetry::halve() {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    Cell* of = cells(l);
    for (std::uint32_t s = 0; s < capacity_ / 2; ++s) {
      of[s] = {of[2 * s].busy_ps + of[2 * s + 1].busy_ps,
               of[2 * s].queue_byte_ps + of[2 * s + 1].queue_byte_ps};
    }
    std::fill(of + capacity_ / 2, of + capacity_, Cell{});
  }
  step_ = step_ * 2;
  covered_ = PicoInstant() + step_ * capacity_;
}

void LinkTelemetry::cover(PicoInstant until) {
  while (until > covered_) halve();
}

/// Adds the wait of queued bytes since the last change.
void LinkTelemetry::integrate(std::size_t link, PicoInstant now) {
  Link& of = links_[link];
  PicoInstant from = of.queue_since;
  of.queue_since = now;
  if (of.queue == 0 || from == now) return;
  // A packet that came and left at one instant has not waited.
  of.totals.queue_peak = std::max(of.totals.queue_peak, of.queue);
  const auto bytes = static_cast<double>(of.queue);
  of.queue_byte_ps += bytes * static_cast<double>((now - from).ticks());
  cover(now);
  for (std::int64_t s = (from - PicoInstant()) / step_; from < now; ++s) {
    const PicoInstant until = std::min(now, PicoInstant() + step_ * (s + 1));
    cells(link)[s].queue_byte_ps += bytes * static_cast<double>((until - from).ticks());
    from = until;
  }
}

void LinkTelemetry::add_busy(std::size_t link, PicoInstant from, PicoInstant until,
                             std::int64_t sign) {
  links_[link].totals.busy += PicoDuration(sign * (until - from).ticks());
  cover(until);
  for (std::int64_t s = (from - PicoInstant()) / step_; from < until; ++s) {
    const PicoInstant next = std::min(until, PicoInstant() + step_ * (s + 1));
    cells(link)[s].busy_ps += sign * (next - from).ticks();
    from = next;
  }
}

void LinkTelemetry::queued(PicoInstant now, LinkId link, std::uint64_t bytes) {
  last_ = std::max(last_, now);
  integrate(link.value(), now);
  Link& of = links_[link.value()];
  of.queue += bytes;
}

void LinkTelemetry::transmitted(LinkId link, std::uint64_t bytes, std::uint64_t waited,
                                PicoInstant start, PicoInstant departure) {
  last_ = std::max(last_, start);
  integrate(link.value(), start);
  Link& of = links_[link.value()];
  WEFT_CHECK(of.queue >= waited, "{} bytes leave a queue of {}", waited, of.queue);
  of.queue -= waited;
  of.totals.packets += 1;
  of.totals.bytes += bytes;
  // The rate has grown while the last packet was on the link: it left sooner than it was to.
  if (of.busy_until > start) add_busy(link.value(), start, of.busy_until, -1);
  of.busy_until = departure;
  add_busy(link.value(), start, departure, 1);
}

void LinkTelemetry::finish(PicoInstant end) {
  end_ = std::max({end, last_, PicoInstant(1)});
  cover(end_);
  for (std::size_t l = 0; l < links_.size(); ++l) {
    integrate(l, end_);
    // A packet goes on only after the one before has left: only the last packet can be under way.
    if (links_[l].busy_until > end_) add_busy(l, end_, links_[l].busy_until, -1);
  }
  const std::int64_t ticks = (end_ - PicoInstant()).ticks();
  used_ = static_cast<std::uint32_t>((ticks + step_.ticks() - 1) / step_.ticks());
}

PicoDuration LinkTelemetry::length(std::uint32_t step) const {
  return std::min(PicoInstant() + step_ * (step + 1), end_) - (PicoInstant() + step_ * step);
}

double LinkTelemetry::utilisation(LinkId link) const {
  return static_cast<double>(totals(link).busy.ticks()) /
         static_cast<double>((end_ - PicoInstant()).ticks());
}

double LinkTelemetry::queue(LinkId link) const {
  return links_[link.value()].queue_byte_ps / static_cast<double>((end_ - PicoInstant()).ticks());
}

double LinkTelemetry::utilisation(LinkId link, std::uint32_t step) const {
  return static_cast<double>(cell(link, step).busy_ps) / static_cast<double>(length(step).ticks());
}

double LinkTelemetry::queue(LinkId link, std::uint32_t step) const {
  return cell(link, step).queue_byte_ps / static_cast<double>(length(step).ticks());
}

std::vector<LinkId> LinkTelemetry::most_loaded(const Topology& topology, std::size_t most) const {
  std::vector<LinkId> busy;
  for (std::uint32_t l = 0; l < links_.size(); ++l) busy.push_back(LinkId(l));
  if (busy.size() <= most) return busy;
  std::vector<LinkId> awaited_in_switches;
  std::vector<LinkId> awaited_at_hosts;
  for (const LinkId l : busy) {
    if (queue(l) <= 0) continue;
    const bool host = topology.is_host(topology.port(l).vertex);
    (host ? awaited_at_hosts : awaited_in_switches).push_back(l);
  }
  std::stable_sort(busy.begin(), busy.end(),
                   [&](LinkId a, LinkId b) { return totals(a).busy > totals(b).busy; });
  for (auto* awaited : {&awaited_in_switches, &awaited_at_hosts}) {
    std::stable_sort(awaited->begin(), awaited->end(),
                     [&](LinkId a, LinkId b) { return queue(a) > queue(b); });
  }
  std::vector<bool> chosen(links_.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < busy.size() && count < most; ++i) {
    for (const auto* order : {&busy, &awaited_in_switches, &awaited_at_hosts}) {
      if (i >= order->size() || count == most || chosen[(*order)[i].value()]) continue;
      chosen[(*order)[i].value()] = true;
      ++count;
    }
  }
  std::vector<LinkId> links;
  for (std::uint32_t l = 0; l < links_.size(); ++l) {
    if (chosen[l]) links.push_back(LinkId(l));
  }
  return links;
}

}  // namespace weft::sim
