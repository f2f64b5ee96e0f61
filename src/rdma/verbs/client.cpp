// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "rdma/sysfs.hpp"
#include "rdma/verbs/bench.hpp"
#include "rdma/verbs/device.hpp"

namespace weft::rdma {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration patience = Duration::seconds(30);  // for answers that the server gives at once
constexpr auto look_interval = std::chrono::milliseconds(100);
constexpr std::uint32_t most_depth = 1'024;

Duration since(Clock::time_point start) {
  return Duration::nanoseconds(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
}

/// A server that has welcomed us.
struct Session {
  ControlConnection control;
  Welcome welcome;
};

Result<Session> greet(const HostPort& server, const Hello& hello, const StopCheck& stop) {
  auto control = ControlConnection::connect(server, patience, stop);
  if (!control) return std::move(control).error();
  const auto named = [&](Error error) {
    error.message = fmt::format("{}:{}: {}", server.host, server.port, error.message);
    return error;
  };
  if (auto good = control->send(encode(hello), patience, stop); !good) return named(good.error());
  const auto bytes = control->receive(patience, stop);
  if (!bytes) return named(bytes.error());
  auto answer = decode_answer(*bytes);
  if (!answer) return named({ErrorCode::unavailable, answer.error().message});
  if (const auto* refusal = std::get_if<Refusal>(&*answer)) {
    return named({ErrorCode::unavailable, "the server refuses: " + refusal->why});
  }
  Welcome welcome = std::get<Welcome>(std::move(answer).value());
  if (welcome.queue_pairs.size() != hello.queue_pairs.size()) {
    return named(make_error(ErrorCode::unavailable, "the server has {} queue pairs for {}",
                            welcome.queue_pairs.size(), hello.queue_pairs.size()));
  }
  return Session{std::move(control).value(), std::move(welcome)};
}

/// Looks every now and then at whether to go on.
class Watch {
 public:
  Watch(const StopCheck& stop, const ControlConnection& control) : stop_(stop), control_(control) {}

  Result<void> look() {
    if (stop_()) return Error{ErrorCode::cancelled, "interrupted"};
    const auto now = Clock::now();
    if (now < next_) return {};
    next_ = now + look_interval;
    if (!control_.has_ended()) return {};
    return Error{ErrorCode::unavailable, "the server has ended while operations were under way"};
  }

 private:
  const StopCheck& stop_;
  const ControlConnection& control_;
  Clock::time_point next_{};
};

Result<void> post_read(ibv_qp* queue_pair, std::uint64_t id, const ibv_sge& local,
                       std::uint64_t remote, std::uint32_t key) {
  ibv_sge range = local;
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &range;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = remote;
  request.wr.rdma.rkey = key;
  ibv_send_wr* bad = nullptr;
  const int code = ibv_post_send(queue_pair, &request, &bad);
  if (code == 0) return {};
  return make_error(ErrorCode::unavailable, "READ {} cannot be posted: {}", id,
                    std::strerror(code));
}

struct PortCounters {
  std::optional<DeviceReadings> device;
  std::optional<std::uint64_t> packets;
};

/// Packets that the port has sent and received: by InfiniBand's counters, or by those of software
/// RoCE.
std::optional<std::uint64_t> packets_of(const std::filesystem::path& port) {
  const std::array<std::pair<const char*, const char*>, 2> names = {
      {{"hw_counters/sent_pkts", "hw_counters/rcvd_pkts"},
       {"counters/port_xmit_packets", "counters/port_rcv_packets"}}};
  for (const auto& [sent, received] : names) {
    const auto out = number_in(port / sent), in = number_in(port / received);
    if (out && in) return *out + *in;
  }
  return std::nullopt;
}

PortCounters counters_of(const Device& device, const std::string& sys) {
  const auto port = std::filesystem::path(sys) / "class/infiniband" / device.name() / "ports" /
                    std::to_string(device.port());
  PortCounters counters;
  counters.packets = packets_of(port);
  if (std::filesystem::exists(port / "hw_counters")) {
    counters.device = read_counters(sys)[device.name()];
  }
  return counters;
}

/// Posts at its intervals and takes completions in between.
class Run {
 public:
  Run(const BenchOptions& options, const Buffer& buffer, const QueuePairs& queue_pairs,
      const Welcome& welcome, std::uint32_t depth)
      : options_(options),
        buffer_(buffer),
        queue_pairs_(queue_pairs),
        welcome_(welcome),
        depth_(depth),
        outstanding_(options.queue_pairs) {
    outcome.completed_at.resize(options.operations);
  }

  Result<void> to_the_end(Watch& watch) {
    start_ = Clock::now();
    next_post_ = start_;
    while (completed_ < options_.operations) {
      if (auto good = post_due(); !good) return good;
      auto some = take_completions();
      if (!some) return std::move(some).error();
      if (*some) continue;
      if (auto good = watch.look(); !good) return good;
      // The kernel of a software adapter needs the processor that polling takes.
      ::sched_yield();
    }
    return {};
  }

  BenchOutcome outcome;

 private:
  Result<void> post_due() {
    const std::uint32_t queue_pair = posted_ % options_.queue_pairs;
    if (posted_ == options_.operations || outstanding_[queue_pair] == depth_) return {};
    if (Clock::now() < next_post_) return {};
    const std::uint64_t offset = std::uint64_t{options_.size} * posted_;
    const ibv_sge local{buffer_.address() + offset, options_.size, buffer_.region().lkey};
    auto good = post_read(queue_pairs_.queue_pair(queue_pair), posted_, local,
                          welcome_.address + offset, welcome_.key);
    if (!good) return good;
    ++outstanding_[queue_pair];
    ++posted_;
    next_post_ = Clock::now() + std::chrono::nanoseconds(options_.interval.to_nanoseconds());
    return {};
  }

  Result<bool> take_completions() {
    std::array<ibv_wc, 32> taken;
    const int n = ibv_poll_cq(queue_pairs_.completions(), taken.size(), taken.data());
    if (n < 0) return Error{ErrorCode::unavailable, "the completion queue cannot be read"};
    const Duration now = since(start_);
    for (int i = 0; i < n; ++i) {
      const ibv_wc& one = taken[static_cast<std::size_t>(i)];
      if (one.status != IBV_WC_SUCCESS && outcome.failed++ == 0) {
        outcome.failure = ibv_wc_status_str(one.status);
      }
      outcome.completed_at.at(one.wr_id) = now;
      --outstanding_[one.wr_id % options_.queue_pairs];
      outcome.execution = now;
      ++completed_;
    }
    return n > 0;
  }

  const BenchOptions& options_;
  const Buffer& buffer_;
  const QueuePairs& queue_pairs_;
  const Welcome& welcome_;
  std::uint32_t depth_;
  std::vector<std::uint32_t> outstanding_;
  std::uint32_t posted_ = 0;
  std::uint32_t completed_ = 0;
  Clock::time_point start_{};
  Clock::time_point next_post_{};
};

Hello hello_of(const BenchOptions& o, const Device& device, const QueuePairs& queue_pairs) {
  Hello hello;
  hello.wants_paged = o.paged == PagedSide::server || o.paged == PagedSide::both;
  hello.wants_prefetch = o.prefetch;
  hello.rnr_timer = o.rnr_timer;
  hello.buffer_bytes = std::uint64_t{o.size} * o.operations;
  hello.port = device.address();
  hello.queue_pairs = queue_pairs.addresses();
  return hello;
}

ConnectOptions patience_of(const BenchOptions& o, std::uint8_t ack_timeout) {
  return {.rnr_timer = o.rnr_timer, .ack_timeout = ack_timeout, .retry_count = o.retry_count};
}

Error never_failed(std::uint8_t code, Duration waited, const BenchOptions& options) {
  return make_error(
      ErrorCode::unavailable, "code {}: a READ to a silent queue pair has not failed within {}{}",
      code, to_text(waited),
      options.retry_count == 7
          ? "; software RoCE takes --retries 7 as retries without end: give --retries 6 or less"
          : "");
}

Result<Duration> time_to_failure(const Device& device, const Buffer& buffer,
                                 const BenchOptions& options, std::uint8_t code,
                                 const Session& session, Watch& watch) {
  auto queue_pairs = QueuePairs::create(device, 1, 1);
  if (!queue_pairs) return std::move(queue_pairs).error();
  const Welcome& silent = session.welcome;
  auto good =
      queue_pairs->connect(device, silent.port, silent.queue_pairs, patience_of(options, code));
  if (!good) return std::move(good).error();
  const ibv_sge local{buffer.address(), 1, buffer.region().lkey};
  const auto start = Clock::now();
  good = post_read(queue_pairs->queue_pair(0), 0, local, silent.address, silent.key);
  ibv_wc completion{};
  const Duration longest = longest_until_failure(code, options.retry_count);
  while (good && ibv_poll_cq(queue_pairs->completions(), 1, &completion) == 0) {
    good = since(start) < longest ? watch.look() : never_failed(code, longest, options);
    ::sched_yield();
  }
  if (!good) return std::move(good).error();
  if (completion.status == IBV_WC_RETRY_EXC_ERR) return since(start);
  return make_error(ErrorCode::unavailable,
                    "code {}: a READ to a silent queue pair ended by '{}', not by exceeded retries",
                    code, ibv_wc_status_str(completion.status));
}

}  // namespace

Result<BenchOutcome> run_bench(const BenchOptions& options, const HostPort& server,
                               const StopCheck& stop) {
  auto device = Device::open(options.device);
  if (!device) return std::move(device).error();
  const bool paged = options.paged == PagedSide::client || options.paged == PagedSide::both;
  auto buffer = Buffer::create(*device, {.bytes = std::size_t{options.size} * options.operations,
                                         .memory = wanted(paged, options.prefetch)});
  if (!buffer) return std::move(buffer).error();
  // When a queue is full, the next post waits for a completion.
  const std::uint32_t depth =
      std::min({(options.operations - 1) / options.queue_pairs + 1, most_depth,
                device->queue_depth(), std::max(1U, device->completions() / options.queue_pairs)});
  auto queue_pairs = QueuePairs::create(*device, options.queue_pairs, depth);
  if (!queue_pairs) return std::move(queue_pairs).error();
  auto session = greet(server, hello_of(options, *device, *queue_pairs), stop);
  if (!session) return std::move(session).error();
  auto good = queue_pairs->connect(*device, session->welcome.port, session->welcome.queue_pairs,
                                   patience_of(options, options.ack_timeout));
  if (!good) return std::move(good).error();

  const PortCounters before = counters_of(*device, options.device.sys);
  Run run(options, *buffer, *queue_pairs, session->welcome, depth);
  Watch watch(stop, session->control);
  if (good = run.to_the_end(watch); !good) return std::move(good).error();
  const PortCounters after = counters_of(*device, options.device.sys);
  BenchOutcome outcome = std::move(run.outcome);
  outcome.device = device->name();
  outcome.client_memory = buffer->memory();
  outcome.server_memory = session->welcome.memory;
  if (before.device && after.device) outcome.counters = changes(*before.device, *after.device);
  if (before.packets && after.packets) outcome.packets = *after.packets - *before.packets;
  return outcome;
}

Result<void> measure_timeouts(const BenchOptions& options, const HostPort& server,
                              const std::vector<std::uint8_t>& codes, const StopCheck& stop,
                              const std::function<void(const TimeoutPoint&)>& measured) {
  constexpr std::int64_t shortest_ns = 4'096;
  auto device = Device::open(options.device);
  if (!device) return std::move(device).error();
  const auto buffer = Buffer::create(*device, {});
  if (!buffer) return buffer.error();
  const auto named = QueuePairs::create(*device, 1, 1);  // for the hello
  if (!named) return named.error();
  Hello hello = hello_of(options, *device, *named);
  hello.purpose = Purpose::silence;
  hello.wants_paged = false;
  hello.buffer_bytes = 1;
  const auto session = greet(server, hello, stop);
  if (!session) return session.error();
  Watch watch(stop, session->control);
  for (const std::uint8_t code : codes) {
    const auto total = time_to_failure(*device, *buffer, options, code, *session, watch);
    if (!total) return total.error();
    measured({.ack_timeout = code,
              .nominal = Duration::nanoseconds(shortest_ns << code),
              .total = *total,
              .timeout = *total / (options.retry_count + 1)});
  }
  return {};
}

}  // namespace weft::rdma
