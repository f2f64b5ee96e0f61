// SPDX-License-Identifier: Apache-2.0
#include "process/proxy_fabric.hpp"

#include <algorithm>
#include <utility>

#include "process/proxy_wire.hpp"
#include "runtime/clock.hpp"

namespace weft {
namespace {

std::int64_t computed_ns() {
  return thread_processor_time().to_nanoseconds();
}

}  // namespace

Result<std::unique_ptr<ProxyFabric>> ProxyFabric::open(Channel channel) {
  std::unique_ptr<ProxyFabric> fabric(new ProxyFabric(std::move(channel)));
  fabric->computes_from_ns_ = computed_ns();
  proxy::Taken taken(fabric->ask(proxy::hello));
  proxy::Limits limits;
  if (!taken.take(limits)) {
    return Error{ErrorCode::unavailable,
                 "the simulation that has this process's rank is gone; start the job again"};
  }
  fabric->limits_ = {.max_message = static_cast<std::size_t>(limits.max_message),
                     .max_write = static_cast<std::size_t>(limits.max_write),
                     .max_outstanding = static_cast<std::size_t>(limits.max_outstanding),
                     .native_write = true};
  fabric->job_ = taken.rest();
  return fabric;
}

ProxyFabric::~ProxyFabric() {
  ask(proxy::left);
}

std::string_view ProxyFabric::ask(char kind, std::string_view text) {
  if (!channel_.open()) return {};
  // Another thread of the process may have asked before.
  const std::int64_t computed = std::max<std::int64_t>(0, computed_ns() - computes_from_ns_);
  std::string question;
  question.reserve(sizeof computed + text.size());
  proxy::put(question, computed);
  question += text;
  const bool is_sent = channel_.send(kind, question).ok();
  auto answer = is_sent ? channel_.wait() : Error{ErrorCode::unavailable, ""};
  computes_from_ns_ = computed_ns();
  proxy::Answered answered;
  if (!answer || answer->text.size() < sizeof answered) {
    channel_.close();
    return {};
  }
  answer_ = std::move(answer->text);
  proxy::Taken taken(answer_);
  taken.take(answered);
  now_ = Instant(answered.now_ns);
  over_ = answered.over != 0;
  return taken.rest();
}

Result<Region> ProxyFabric::expose(std::span<std::byte> memory) {
  asked_.clear();
  proxy::put_bytes(asked_, memory);
  RemoteRegion remote;
  proxy::Taken(ask(proxy::expose, asked_)).take(remote);
  return Region{memory, remote};
}

void ProxyFabric::retract(const Region& region) {
  asked_.clear();
  proxy::put(asked_, region.remote);
  const std::string_view bytes = ask(proxy::retract, asked_);
  std::copy_n(std::as_bytes(std::span(bytes)).begin(), std::min(bytes.size(), region.memory.size()),
              region.memory.begin());
}

std::size_t ProxyFabric::post(std::span<const TxOp> ops) {
  asked_.clear();
  for (const TxOp& op : ops) {
    proxy::put(asked_, proxy::PostedOp{.kind = static_cast<std::uint64_t>(op.kind),
                                       .level = op.service_level.value(),
                                       .peer = op.peer.value(),
                                       .context = op.context,
                                       .key = op.region.key,
                                       .base = op.region.base,
                                       .length = op.region.length,
                                       .offset = op.region_offset,
                                       .size = op.size()});
    for (const auto& segment : op.segments) proxy::put_bytes(asked_, segment);
  }
  std::uint64_t taken = 0;
  proxy::Taken(ask(proxy::post, asked_)).take(taken);
  return std::min<std::size_t>(static_cast<std::size_t>(taken), ops.size());
}

std::size_t ProxyFabric::poll(Instant, std::span<Completion> completions) {
  asked_.clear();
  proxy::put(asked_, std::uint64_t{completions.size()});
  proxy::Taken taken(ask(proxy::poll, asked_));
  // The data stay where they are until the next call.
  std::swap(answer_, received_);
  std::size_t n = 0;
  proxy::Arrived arrived;
  while (n < completions.size() && taken.take(arrived)) {
    Completion& completion = completions[n];
    completion = {.kind = static_cast<CompletionKind>(arrived.kind),
                  .peer = NodeId(static_cast<std::uint32_t>(arrived.peer)),
                  .incarnation = Incarnation(static_cast<std::uint32_t>(arrived.incarnation)),
                  .context = arrived.context};
    if (!taken.take_bytes(arrived.size, completion.data)) break;
    ++n;
  }
  return n;
}

Instant ProxyFabric::SimulatedTime::now() {
  fabric_.ask(proxy::look);
  return fabric_.now_;
}

void ProxyFabric::SimulatedTime::busy(Instant) {
  fabric_.ask(proxy::busy);
}

void ProxyFabric::SimulatedTime::idle(Instant, Fabric&, Instant deadline) {
  std::string text;
  proxy::put(text, deadline.ticks());
  proxy::put(text, std::uint64_t{std::exchange(has_told_of_wait_, false) ? 1u : 0u});
  const char* const call = fabric_.waits_in_ != nullptr ? fabric_.waits_in_() : nullptr;
  if (call != nullptr) text += call;
  fabric_.ask(proxy::idle, text);
}

Result<void> ProxyFabric::SimulatedTime::news(Instant) {
  if (fabric_.channel_.open()) return {};
  return Error{ErrorCode::cancelled, "the simulation has ended"};
}

}  // namespace weft
