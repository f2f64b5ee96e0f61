// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local_job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::stream {
namespace {

constexpr Duration longest_wait = Duration::milliseconds(50);
/// A loaded machine lets a process wait as well, but not for so long.
constexpr Duration longest_delay = Duration::seconds(1);
/// For a new life to be told that the stream is over.
constexpr Duration newcomers_patience = Duration::seconds(1);
/// A node that waits for its sink says so several times within this.
constexpr Duration sink_news = Duration::seconds(2);

}  // namespace

LocalJob::LocalJob(JobOptions options, NodeBody body)
    : options_(std::move(options)),
      body_(std::move(body)),
      nodes_(options_.nodes),
      streams_begun_(options_.nodes),
      processes_(options_.nodes),
      directory_(options_.nodes) {}

LocalJob::~LocalJob() {
  let_go(Duration::seconds(2));
}

Result<void> LocalJob::start() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (auto spawned = spawn(i); !spawned) return spawned;
  }
  return {};
}

std::string encode_failure(const Error& error) {
  return static_cast<char>('0' + static_cast<int>(error.code)) + error.message;
}

Error decode_failure(const std::string& text) {
  constexpr int codes = static_cast<int>(ErrorCode::cancelled) + 1;
  const int code = text.empty() ? codes : text[0] - '0';
  if (code < 0 || code >= codes) return {ErrorCode::io, "a node failed without saying why"};
  return {static_cast<ErrorCode>(code), text.substr(1)};
}

void LocalJob::look_at_clock(Instant now) {
  const Instant before = std::exchange(looked_at_clock_, now);
  if (before == Instant::never() || now - before <= longest_wait + longest_delay) return;
  // What stops this process stops the nodes as a rule.
  const Duration missed = now - before;
  spdlog::info("the job stood still for {}", to_text(missed));
  stood_still_ = stood_still_ + missed;
  for (Node& node : nodes_) {
    node.heard = node.heard + missed;
    if (node.sink) node.sink = *node.sink + missed;
  }
  if (only_silent_since_ != Instant::never()) only_silent_since_ = only_silent_since_ + missed;
}

void LocalJob::give_up_on_silent_nodes(Instant now, Duration patience) {
  bool others_reported = true, any_missing = false, only_newcomers = true;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!processes_.runs(i) || nodes_[i].report) continue;
    any_missing = true;
    only_newcomers = only_newcomers && is_newcomer(i);
    // Opening a fabric may take seconds, in which a node has nothing to say.
    const bool silent = directory_.knows(i) && now - nodes_[i].heard > patience;
    if (silent && !std::exchange(nodes_[i].is_given_up, true)) {
      spdlog::warn("node {} said nothing for {}: it is killed", i, to_text(patience));
      processes_.signal(i, SIGKILL);
    }
    const bool busy = nodes_[i].sink && now - *nodes_[i].sink <= patience;
    others_reported = others_reported && !silent && !busy;
  }
  const bool any_reported =
      std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.report.has_value(); });
  if (!any_missing || !any_reported || !others_reported) {
    only_silent_since_ = Instant::never();
    return;
  }
  // All nodes leave at the same time, but for those with a slow sink: one that has not left for
  // long is cut off.
  if (only_silent_since_ == Instant::never()) only_silent_since_ = now;
  if (only_newcomers) patience = std::min(patience, newcomers_patience);
  if (now - only_silent_since_ >= patience) cut_off_the_silent(patience);
}

void LocalJob::cut_off_the_silent(Duration patience) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!processes_.runs(i) || nodes_[i].report || nodes_[i].is_cut_off) continue;
    spdlog::warn("node {}{} did not end within {} of all others: it is killed", i,
                 is_newcomer(i) ? ", which had just been started again," : "", to_text(patience));
    nodes_[i].is_cut_off = true;
    processes_.signal(i, SIGKILL);
  }
}

Result<void> LocalJob::spawn(std::uint32_t index) {
  const Incarnation incarnation = directory_.begin(index);
  auto started = processes_.start(index, [&](Channel channel) {
    // A terminal and a service manager signal all processes; the job tells its nodes when to end.
    StopSignals::ignore();
    NodePlace place{.self = NodeId(index),
                    .incarnation = incarnation,
                    .listen = {},
                    .channel = std::move(channel)};
    if (options_.testbed != nullptr) {
      if (auto entered = options_.testbed->enter_host(index); !entered) {
        (void)place.channel.send(job_message::failed, encode_failure(entered.error()));
        return 1;
      }
      place.listen = options_.testbed->address(index) + ":0";
    }
    return body_(std::move(place));
  });
  if (!started) return started;
  nodes_[index] = Node{.report = {}, .heard = options_.clock()};
  // Perhaps nobody is left who knows.
  for (const char kind : told_to_all_) send_to(index, kind, "");
  return {};
}

void LocalJob::send_to(std::uint32_t index, char kind, const std::string& text) {
  processes_.channel(index).post(kind, text);
}

void LocalJob::on_message(std::uint32_t index, Channel::Message message,
                          const OnProgress& on_progress) {
  Node& node = nodes_[index];
  node.heard = options_.clock();
  switch (message.kind) {
    case job_message::started:
      node.has_begun = true;
      if (message.text == job_message::first_of_stream) ++streams_begun_[index];
      if (!faults_) faults_.emplace(options_.faults, node.heard);
      break;
    case job_message::address:
      // In the beginning everybody waits for everybody; later a newcomer is told all, all are told
      // of it.
      directory_.set_address(index, std::move(message.text));
      directory_.introduce(index, [&](std::uint32_t to, const std::string& lines) {
        send_to(to, job_message::peers, lines);
      });
      break;
    case job_message::progress:
      if (on_progress) on_progress(NodeId(index), directory_.life(index), message.text);
      break;
    case job_message::sink:
      node.sink = node.heard;
      break;
    case job_message::report: {
      auto report = decode_report(message.text);
      if (!report) break;
      node.report = std::move(report).value();
      node.report->began_anew = streams_begun_[index] > 1;
      break;
    }
    case job_message::failed:
      on_failure(decode_failure(message.text));
      break;
    default:
      break;
  }
}

/// The first failure ends the job. Others say the same of an option, but each node has a disk of
/// its own to say what it kept on.
void LocalJob::on_failure(Error error) {
  const bool is_of_disk = error.code == ErrorCode::exhausted || error.code == ErrorCode::io;
  if (!failure_) {
    failure_ = std::move(error);
  } else if (is_of_disk && error.message != failure_->message) {
    spdlog::warn("{}", error.message);
  }
}

void LocalJob::reap() {
  for (const auto& [i, status] : processes_.reap()) {
    Node& node = nodes_[i];
    processes_.hear(i, [&, i = i](Channel::Message m) { on_message(i, std::move(m), {}); });
    processes_.channel(i).close();
    directory_.forget(i);
    const bool killed = WIFSIGNALED(status);
    if (ending_) continue;
    if (node.report || (!killed && WEXITSTATUS(status) == 0)) continue;
    ++deaths_;
    if (killed) spdlog::warn("node {} ended by signal {}", i, WTERMSIG(status));
    const bool restarts = options_.restart || node.expected_death;
    if (killed && restarts && !node.is_cut_off) {
      if (auto spawned = spawn(i); !spawned) failure_ = spawned.error();
    } else if (!started()) {
      // The others need not wait for it with their start.
      for (std::uint32_t other = 0; other < nodes_.size(); ++other) {
        send_to(other, job_message::gone, std::to_string(i));
      }
    }
  }
}

void LocalJob::play_faults(Instant now) {
  if (!faults_ || ending_) return;
  played_.clear();
  faults_->play(now, *this, played_);
  for (const auto& p : played_) {
    if (p.result.ok()) {
      spdlog::info("fault: {}", p.what);
      if (faults_played_.size() < report::series_limit) faults_played_.push_back({now, p.what});
    } else if (!failure_) {
      failure_ = invalid("--fault '{}': {}", p.what, p.result.error().message);
    }
  }
}

Instant LocalJob::step(Instant until, const OnProgress& on_progress) {
  const Instant now = options_.clock();
  look_at_clock(now);
  play_faults(now);
  reap();
  processes_.flush();
  std::vector<pollfd> descriptors;
  processes_.add_to(descriptors);
  until = std::min(until, now + longest_wait);
  if (faults_ && !ending_) until = std::min(until, faults_->next_deadline());
  const std::int64_t left = std::max<std::int64_t>(0, (until - now).ticks());
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  (void)ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
  const Instant listened = options_.clock();
  look_at_clock(listened);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    processes_.hear(i, [&](Channel::Message m) { on_message(i, std::move(m), on_progress); });
  }
  reap();
  return listened;
}

bool LocalJob::all_reported() const {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (processes_.runs(i) && !nodes_[i].report) return false;
  }
  return true;
}

bool LocalJob::all_dead() const {
  return processes_.running() == 0;
}

bool LocalJob::any_lives(std::uint32_t first, std::uint32_t last) const {
  for (std::uint32_t i = first; i < last; ++i) {
    if (processes_.runs(i)) return true;
  }
  return false;
}

void LocalJob::tell_all(char kind) {
  if (told_to_all_.find(kind) == std::string::npos) told_to_all_ += kind;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) send_to(i, kind, "");
}

void LocalJob::stop() {
  tell_all(job_message::stop);
}

void LocalJob::hurry() {
  tell_all(job_message::hurry);
}

void LocalJob::cut_off() {
  tell_all(job_message::cut_off);
}

bool LocalJob::waits_for_sink(Instant now) const {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const auto& sink = nodes_[i].sink;
    if (processes_.runs(i) && !nodes_[i].report && sink && now - *sink <= sink_news) return true;
  }
  return false;
}

void LocalJob::let_go(Duration patience) {
  if (faults_ && !failure_ && !ending_) {
    const std::string missed = faults_->missed(options_.clock());
    if (!missed.empty()) spdlog::warn("{}", missed);
  }
  ending_ = true;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) send_to(i, job_message::leave, "");
  Instant now = options_.clock();
  const Instant until = now + patience;
  const Duration before = stood_still_;
  while (!all_dead() && now < until + (stood_still_ - before)) {
    processes_.signal_all(SIGCONT);  // a stopped process would not hear that it may leave
    now = step(now + longest_wait, {});
  }
}

std::vector<NodeReport> LocalJob::finish(Duration patience) {
  std::vector<NodeReport> reports;
  let_go(patience);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!processes_.runs(i)) continue;
    ++deaths_;
    processes_.signal(i, SIGKILL);
    spdlog::warn("node {} ended by signal {}: it had reported, and did not leave within {}", i,
                 SIGKILL, to_text(patience));
  }
  for (Node& node : nodes_) {
    if (node.report) reports.push_back(*std::move(node.report));
    node.report.reset();
  }
  return reports;
}

Result<void> LocalJob::signal(std::uint32_t host, int number) {
  if (!processes_.runs(host)) {
    return make_error(ErrorCode::unavailable, "node {} does not run", host);
  }
  processes_.signal(host, number);
  return {};
}

Result<void> LocalJob::kill(std::uint32_t host) {
  return signal(host, SIGKILL);
}
Result<void> LocalJob::stop(std::uint32_t host) {
  return signal(host, SIGSTOP);
}
Result<void> LocalJob::resume(std::uint32_t host) {
  return signal(host, SIGCONT);
}

Result<void> LocalJob::restart(std::uint32_t host) {
  if (!processes_.runs(host)) return spawn(host);
  nodes_[host].expected_death = true;
  return signal(host, SIGKILL);
}

Result<void> LocalJob::set_rate(std::uint32_t host, Bandwidth rate) {
  if (options_.testbed != nullptr) return options_.testbed->set_rate(host, rate);
  send_to(host, job_message::link, fmt::format("{}", rate.bytes_per_second()));
  return {};
}

Result<void> LocalJob::set_link_up(std::uint32_t host, bool up) {
  return options_.testbed->set_link_up(host, up);
}

Result<void> LocalJob::set_partition(const std::vector<std::vector<std::uint32_t>>& groups) {
  return options_.testbed->set_partition(groups);
}

Result<void> LocalJob::set_loss(std::uint32_t host, std::uint32_t parts_per_million) {
  return options_.testbed->set_loss(host, parts_per_million);
}

}  // namespace weft::stream
