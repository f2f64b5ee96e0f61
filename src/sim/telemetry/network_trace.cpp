// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/network_trace.hpp"

#include <fmt/format.h>

namespace weft::sim {
namespace {

constexpr auto hosts = static_cast<std::uint32_t>(TraceProcess::hosts);
constexpr auto links = static_cast<std::uint32_t>(TraceProcess::links);
constexpr auto queues = static_cast<std::uint32_t>(TraceProcess::queues);

}  // namespace

NetworkTrace::NetworkTrace(const Topology& topology, TraceFile& file)
    : topology_(topology),
      file_(file),
      queues_(topology.links()),
      host_named_(topology.hosts(), false) {
  file_.name_process(hosts, "messages by host, from posting to arrival");
  file_.name_process(links, "packets by link");
  file_.name_process(queues, "bytes that wait for links");
}

std::string NetworkTrace::label(LinkId link) const {
  return fmt::format("{} -> {}", topology_.label(topology_.port(link).vertex),
                     topology_.label(topology_.peer(link).vertex));
}

/// A queue's length is recorded once it has lasted a while: a packet that comes and goes on at one
/// instant has not waited.
void NetworkTrace::settle(PicoInstant now, LinkId link) {
  Queue& queue = queues_[link.value()];
  if (queue.since != now) tell(now, link);
  queue.since = now;
}

void NetworkTrace::tell(PicoInstant now, LinkId link) {
  Queue& queue = queues_[link.value()];
  if (queue.bytes == queue.told || !file_.takes(now)) return;
  file_.counter(queues, link.value() + 1, label(link), queue.since, "bytes", queue.bytes);
  queue.told = queue.bytes;
}

void NetworkTrace::queued(PicoInstant now, LinkId link, std::uint64_t bytes) {
  settle(now, link);
  queues_[link.value()].bytes += bytes;
}

void NetworkTrace::transmitted(LinkId link, const Packet& packet, const Message& message,
                               std::uint64_t waited, const net::Transit& transit) {
  settle(transit.start, link);
  Queue& queue = queues_[link.value()];
  queue.bytes -= waited;
  if (!file_.takes(transit.start)) return;
  if (!queue.named) file_.name_track(links, link.value() + 1, label(link));
  queue.named = true;
  const MessageRequest& request = message.request;
  file_.slice(links, link.value() + 1,
              fmt::format("host {} -> host {}", request.source, request.destination), transit.start,
              transit.departure,
              fmt::format(R"({{"bytes":{},"level":{}}})", packet.bytes, request.level));
}

void NetworkTrace::delivered(PicoInstant now, const Message& message) {
  const MessageRequest& request = message.request;
  if (!file_.takes(now, 2)) return;
  const std::string name = topology_.label(topology_.host(request.source));
  if (!host_named_[request.source]) file_.name_track(hosts, request.source + 1, name);
  host_named_[request.source] = true;
  file_.span(hosts, request.source + 1, "message", name, message.posted, now,
             fmt::format(R"({{"to":{},"bytes":{},"level":{}}})",
                         json_quoted(topology_.label(topology_.host(request.destination))),
                         request.bytes, request.level));
}

void NetworkTrace::finish() {
  for (std::uint32_t l = 0; l < queues_.size(); ++l) tell(queues_[l].since, LinkId(l));
}

}  // namespace weft::sim
