// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local_node.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <sstream>

#include "base/log.hpp"
#include "base/number_text.hpp"
#include "runtime/clock.hpp"
#include "stream/node/node_loop.hpp"

namespace weft::stream {
namespace {

constexpr Duration progress_every = Duration::milliseconds(500);
/// The launcher is heard at least as often, however seldom samples are taken.
constexpr Duration longest_deafness = Duration::milliseconds(50);

class LocalNode {
 public:
  LocalNode(const StreamOptions& options, NodePlace& place, OpenedFabric& fabric, StreamNode& node,
            Duration spin)
      : options_(options),
        channel_(place.channel),
        fabric_(fabric),
        node_(node),
        loop_(*fabric.fabric, node, spin) {
    loop_.watch(channel_.descriptor());
  }

  int run() {
    const Instant begin = monotonic_now();
    next_look_ = next_sample_ = next_progress_ = begin;
    while (!leaving_) {
      const Instant now = monotonic_now();
      loop_.turn(next_look_);
      if (now >= next_look_) look_around(now);
      if (node_.failure()) {
        (void)channel_.send(job_message::failed, encode_failure(*node_.failure()));
        return 1;
      }
      if (!reported_ && node_.finished() && (cut_off_ || loop_.flushed())) {
        reported_ = true;
        say_started();
        if (!channel_.send(job_message::report, encode_report(node_.report()))) return 1;
      }
    }
    return 0;
  }

 private:
  /// Does the work that need not be done in every turn of the loop.
  void look_around(Instant now) {
    if (now >= next_sample_) {
      next_sample_ = now + options_.sample_every;
      node_.sample(now);
    }
    next_look_ = std::min(next_sample_, now + longest_deafness);
    while (auto message = channel_.receive()) on_message(*message);
    if (!channel_.open()) leaving_ = true;
    say_started();
    if (now < next_progress_ || reported_) return;
    next_progress_ = now + progress_every;
    (void)channel_.send(job_message::progress, encode_progress(node_.progress()));
    if (node_.waits_for_sink()) (void)channel_.send(job_message::sink, "");
    spdlog::debug("{}", node_.describe());
  }

  void say_started() {
    if (said_started_ || !node_.started()) return;
    said_started_ = true;
    (void)channel_.send(job_message::started,
                        node_.began_stream() ? std::string(job_message::first_of_stream) : "");
  }

  void on_message(const Channel::Message& message) {
    switch (message.kind) {
      case job_message::peers:
        add_peers(message.text);
        break;
      case job_message::stop:
        node_.stop();
        break;
      case job_message::hurry:
        node_.hurry();
        break;
      case job_message::cut_off:
        cut_off_ = true;
        node_.cut_off();
        break;
      case job_message::gone:
        if (const auto id = parse_number<std::uint32_t>(message.text)) {
          node_.do_without(NodeId(*id));
        }
        break;
      case job_message::leave:
        leaving_ = true;
        break;
      case job_message::link:
        set_link(message.text);
        break;
      default:
        break;
    }
  }

  void add_peers(const std::string& text) {
    std::istringstream lines(text);
    std::uint32_t peer = 0, incarnation = 0;
    std::string address;
    while (lines >> peer >> incarnation >> address) {
      const auto added = loop_.add_peer(NodeId(peer), Incarnation(incarnation), address);
      if (!added) spdlog::warn("peer {}: {}", peer, added.error().message);
    }
  }

  void set_link(const std::string& text) {
    if (fabric_.shaped == nullptr) return;
    const std::uint64_t rate = std::strtoull(text.c_str(), nullptr, 10);
    ShapeOptions shape =
        symmetric_shape(rate == 0 ? options_.link->rate : Bandwidth::bytes_per_second(rate),
                        options_.link->latency);
    fabric_.shaped->set_links(shape.egress, shape.ingress);
  }

  const StreamOptions& options_;
  Channel& channel_;
  OpenedFabric& fabric_;
  StreamNode& node_;
  NodeLoop loop_;
  Instant next_look_{};
  Instant next_sample_{};
  Instant next_progress_{};
  bool said_started_ = false;
  bool reported_ = false;
  bool cut_off_ = false;
  bool leaving_ = false;
};

int fail(Channel& channel, const Error& error) {
  (void)channel.send(job_message::failed, encode_failure(error));
  return 1;
}

}  // namespace

std::string encode_progress(const StreamProgress& p) {
  return fmt::format("{} {} {} {}", p.timeslices, p.bytes, p.spread_us, p.buffer_fill);
}

std::optional<StreamProgress> decode_progress(const std::string& text) {
  StreamProgress p;
  std::istringstream in(text);
  if (in >> p.timeslices >> p.bytes >> p.spread_us >> p.buffer_fill) return p;
  return std::nullopt;
}

int run_local_node(const StreamOptions& options, const JobSecret& job, const NodeFactory& factory,
                   std::uint32_t processes, std::string_view log_level, NodePlace place) {
  // Pacing at microseconds needs timers that are not rounded to 50.
  prctl(PR_SET_TIMERSLACK, 1000);
  set_up_log(log_level, fmt::format("node {}", place.self.value()));
  auto fabric = open_fabric(
      fabric_choice(options),
      {.self = place.self, .incarnation = place.incarnation, .listen = place.listen}, job);
  if (!fabric) return fail(place.channel, fabric.error());
  auto node = factory(place.self, place.incarnation.value() > 1, *fabric->fabric, monotonic_now());
  if (!node) return fail(place.channel, node.error());
  if (!place.channel.send(job_message::address, fabric->fabric->address())) return 1;
  return LocalNode(options, place, *fabric, **node, suitable_spin(processes)).run();
}

}  // namespace weft::stream
