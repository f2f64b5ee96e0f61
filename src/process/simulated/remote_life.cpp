// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/remote_life.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/process_end.hpp"
#include "process/job_link.hpp"

namespace weft {
namespace {

constexpr std::size_t most_completions = 64;

/// Others are about peers.
bool is_of_operation(CompletionKind kind) {
  return kind == CompletionKind::sent || kind == CompletionKind::written ||
         kind == CompletionKind::failed;
}

void complain(NodeId rank, const std::string& what) {
  fmt::print(stderr, "weft run: rank {} {}\n", rank.value(), what);
}

}  // namespace

RemoteLife::~RemoteLife() {
  unwind();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  end_of_process();
}

int RemoteLife::live() {
  auto ends = Channel::pair();
  if (!ends) {
    complain(rank_.self(), "cannot be started: " + ends.error().message);
    return 1;
  }
  channel_ = std::move(ends->first);
  auto started = start_(rank_.self(), ends->second);
  ends->second.close();
  if (!started) {
    complain(rank_.self(), "cannot be started: " + started.error().message);
    return 1;
  }
  pid_ = *started;
  std::string text;
  while (auto asked = channel_.wait()) {
    proxy::Taken taken(asked->text);
    std::int64_t computed = 0;
    text.clear();
    proxy::put(text, proxy::Answered{});
    if (!taken.take(computed)) break;
    computed_ns_ += computed;
    if (!answer(asked->kind, taken, text)) break;
    const proxy::Answered answered{.now_ns = (shown() - Instant{}).ticks(),
                                   .over = shared().over ? 1U : 0U};
    std::memcpy(text.data(), &answered, sizeof answered);
    if (!channel_.send(asked->kind, text)) break;
  }
  channel_.close();
  const int code = end_of_process();
  if (code != 0 || has_left_) return code;
  complain(rank_.self(), has_joined_ ? "exited without MPI_Finalize"
                                     : "exited without MPI_Init; programs in a simulation call it");
  return 1;
}

int RemoteLife::end_of_process() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return code_of_end(status);
}

bool RemoteLife::answer(char kind, proxy::Taken& taken, std::string& text) {
  std::uint64_t number = 0;
  switch (kind) {
    case proxy::hello: {
      const FabricLimits& limits = fabric().limits();
      proxy::put(text, proxy::Limits{.max_message = limits.max_message,
                                     .max_write = limits.max_write,
                                     .max_outstanding = limits.max_outstanding});
      JobDescription job = shared().job;
      job.self = rank_.self();
      job.incarnation = rank_.incarnation();
      text += to_text(job);
      has_joined_ = true;
      return true;
    }
    case proxy::post:
      return post(taken, text);
    case proxy::poll:
      if (!taken.take(number)) return false;
      poll(number, text);
      return true;
    case proxy::expose: {
      const auto bytes = std::as_bytes(std::span(taken.rest()));
      std::vector<std::byte> memory(bytes.begin(), bytes.end());
      auto region = fabric().expose(memory);
      if (!region) return false;
      proxy::put(text, region->remote);
      exposed_.emplace(region->remote.key, Exposed{std::move(memory), *region});
      return true;
    }
    case proxy::retract: {
      RemoteRegion region;
      if (!taken.take(region)) return false;
      retract(region, text);
      return true;
    }
    case proxy::look:
      look_at_clock();
      return true;
    case proxy::busy:
      pay(least_turn);
      return true;
    case proxy::idle: {
      std::int64_t deadline = 0;
      std::uint64_t told_of_wait = 0;
      if (!taken.take(deadline) || !taken.take(told_of_wait)) return false;
      waits_in_ = taken.rest();
      wait_until(Instant(deadline), told_of_wait == 0 ? News::counts : News::is_none);
      return true;
    }
    case proxy::left:
      has_left_ = true;
      return true;
    default:
      return false;
  }
}

bool RemoteLife::post(proxy::Taken& taken, std::string& text) {
  const FabricLimits& limits = fabric().limits();
  proxy::PostedOp posted;
  std::uint64_t count = 0;
  while (taken.take(posted)) {
    std::span<const std::byte> bytes;
    const bool is_write = posted.kind == static_cast<std::uint64_t>(OpKind::write);
    if (!taken.take_bytes(posted.size, bytes)) return false;
    if (bytes.size() > (is_write ? limits.max_write : limits.max_message)) return false;
    const std::uint64_t operation = next_operation_++;
    Underway& underway = underway_[operation];
    underway.context = posted.context;
    if (is_write) underway.bytes.assign(bytes.begin(), bytes.end());
    const TxOp op{.kind = is_write ? OpKind::write : OpKind::send,
                  .service_level = ServiceLevel(static_cast<std::uint8_t>(posted.level)),
                  .peer = NodeId(static_cast<std::uint32_t>(posted.peer)),
                  .context = operation,
                  .segments = {is_write ? std::span<const std::byte>(underway.bytes) : bytes},
                  .region = {posted.key, posted.base, posted.length},
                  .region_offset = posted.offset};
    if (fabric().post({&op, 1}) == 0) {
      underway_.erase(operation);
      break;
    }
    ++count;
  }
  proxy::put(text, count);
  return true;
}

void RemoteLife::poll(std::uint64_t most, std::string& text) {
  std::array<Completion, most_completions> completions;
  const auto room = std::min<std::uint64_t>(most, completions.size());
  const std::size_t n =
      fabric().poll(shown(), std::span(completions).first(static_cast<std::size_t>(room)));
  for (const Completion& completion : std::span(completions).first(n)) {
    std::uint64_t context = completion.context;
    if (const auto found = underway_.find(context);
        found != underway_.end() && is_of_operation(completion.kind)) {
      context = found->second.context;
      underway_.erase(found);
    }
    proxy::put(text, proxy::Arrived{.kind = static_cast<std::uint64_t>(completion.kind),
                                    .peer = completion.peer.value(),
                                    .incarnation = completion.incarnation.value(),
                                    .context = context,
                                    .size = completion.data.size()});
    proxy::put_bytes(text, completion.data);
  }
}

void RemoteLife::retract(const RemoteRegion& region, std::string& text) {
  const auto found = exposed_.find(region.key);
  if (found == exposed_.end()) return;
  fabric().retract(found->second.region);
  proxy::put_bytes(text, found->second.memory);
  exposed_.erase(found);
}

LifeMaker remote_lives(ProcessStarter start) {
  return [start = std::move(start)](SimulatedRank& rank, std::unique_ptr<SpillMemory>) {
    return std::make_unique<RemoteLife>(rank, start);
  };
}

}  // namespace weft
