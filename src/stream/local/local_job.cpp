// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local_job.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "runtime/clock.hpp"

namespace weft::stream {

LocalJob::LocalJob(JobOptions options, NodeBody body)
    : options_(std::move(options)), body_(std::move(body)), nodes_(options_.nodes) {}

LocalJob::~LocalJob() {
  for (Node& node : nodes_) {
    if (!node.running()) continue;
    ::kill(node.pid, SIGKILL);
    (void)waitpid(node.pid, nullptr, 0);
  }
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

void LocalJob::give_up_on_silent_nodes(Instant now, Duration patience) {
  bool others_reported = true, any_missing = false;
  for (Node& node : nodes_) {
    if (!node.running() || node.report) continue;
    any_missing = true;
    // Opening a fabric may take seconds, in which a node has nothing to say.
    const bool silent = !node.address.empty() && now - node.heard > patience;
    if (silent) ::kill(node.pid, SIGKILL);
    others_reported = others_reported && !silent;
  }
  const bool any_reported =
      std::any_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.report.has_value(); });
  if (!any_missing || !any_reported || !others_reported) {
    only_silent_since_ = Instant::never();
    return;
  }
  // Everybody leaves at the same time, so who has not done so for long is cut off.
  if (only_silent_since_ == Instant::never()) only_silent_since_ = now;
  if (now - only_silent_since_ < patience) return;
  for (Node& node : nodes_) {
    if (node.running() && !node.report) ::kill(node.pid, SIGKILL);
  }
}

Result<void> LocalJob::spawn(std::uint32_t index) {
  auto ends = Channel::pair();
  if (!ends) return std::move(ends).error();
  auto& [ours, theirs] = *ends;
  const std::uint32_t incarnation = nodes_[index].incarnation + 1;
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Error{ErrorCode::exhausted,
                 fmt::format("cannot start node {}: {}", index, std::strerror(errno))};
  }
  if (pid == 0) {
    // A node must not outlive the job, whatever ends it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    ::signal(SIGINT, SIG_IGN);
    ours.close();
    for (Node& node : nodes_) node.channel.close();
    NodePlace place{.self = NodeId(index),
                    .incarnation = Incarnation(incarnation),
                    .listen = {},
                    .channel = std::move(theirs)};
    if (options_.testbed != nullptr) {
      if (auto entered = options_.testbed->enter_host(index); !entered) {
        (void)place.channel.send(job_message::failed, encode_failure(entered.error()));
        _exit(1);
      }
      place.listen = options_.testbed->address(index) + ":0";
    }
    _exit(body_(std::move(place)));
  }
  Node& node = nodes_[index];
  node = Node{.pid = pid, .incarnation = incarnation, .channel = std::move(ours)};
  node.heard = monotonic_now();
  return {};
}

void LocalJob::announce(std::uint32_t index) {
  const auto line = [&](std::uint32_t i) {
    return fmt::format("{} {} {}\n", i, nodes_[i].incarnation, nodes_[i].address);
  };
  // In the beginning everybody waits for everybody; later a newcomer is told all, all are told it.
  std::string all;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (i != index && !nodes_[i].address.empty()) all += line(i);
  }
  (void)nodes_[index].channel.send(job_message::peers, all);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (i == index || nodes_[i].address.empty() || !nodes_[i].channel.open()) continue;
    (void)nodes_[i].channel.send(job_message::peers, line(index));
  }
}

void LocalJob::on_message(std::uint32_t index, Channel::Message message,
                          const std::function<void(NodeId, const std::string&)>& on_progress) {
  Node& node = nodes_[index];
  node.heard = monotonic_now();
  switch (message.kind) {
    case job_message::started:
      if (!faults_) faults_.emplace(options_.faults, node.heard);
      break;
    case job_message::address:
      node.address = std::move(message.text);
      announce(index);
      break;
    case job_message::progress:
      if (on_progress) on_progress(NodeId(index), message.text);
      break;
    case job_message::report: {
      auto report = decode_report(message.text);
      if (report) node.report = std::move(report).value();
      break;
    }
    case job_message::failed:
      if (!failure_) failure_ = decode_failure(message.text);
      break;
    default:
      break;
  }
}

void LocalJob::reap() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    int status = 0;
    if (!node.running() || waitpid(node.pid, &status, WNOHANG) != node.pid) continue;
    node.pid = -1;
    while (auto message = node.channel.receive()) on_message(i, *std::move(message), {});
    node.channel.close();
    node.address.clear();
    const bool killed = WIFSIGNALED(status);
    if (node.report || (!killed && WEXITSTATUS(status) == 0)) continue;
    ++deaths_;
    if (killed) spdlog::warn("node {} ended by signal {}", i, WTERMSIG(status));
    if (killed && (options_.restart || node.expected_death)) {
      if (auto spawned = spawn(i); !spawned) failure_ = spawned.error();
    }
  }
}

void LocalJob::play_faults(Instant now) {
  if (!faults_) return;
  played_.clear();
  faults_->play(now, *this, played_);
  for (const auto& p : played_) {
    if (p.result.ok()) {
      spdlog::info("fault: {}", p.what);
      if (faults_played_.size() < report::series_limit) faults_played_.push_back({now, p.what});
    } else if (!failure_) {
      failure_ = Error{ErrorCode::invalid_argument,
                       fmt::format("--fault '{}': {}", p.what, p.result.error().message)};
    }
  }
}

void LocalJob::step(Instant until,
                    const std::function<void(NodeId, const std::string&)>& on_progress) {
  const Instant now = monotonic_now();
  play_faults(now);
  reap();
  std::vector<pollfd> descriptors;
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].channel.open()) continue;
    descriptors.push_back({.fd = nodes_[i].channel.descriptor(), .events = POLLIN, .revents = 0});
    indices.push_back(i);
  }
  until = std::min(until, now + Duration::milliseconds(50));
  if (faults_) until = std::min(until, faults_->next_deadline());
  const std::int64_t left = std::max<std::int64_t>(0, (until - now).ticks());
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  (void)ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
  for (std::size_t d = 0; d < descriptors.size(); ++d) {
    if (descriptors[d].revents == 0) continue;
    while (auto message = nodes_[indices[d]].channel.receive()) {
      on_message(indices[d], *std::move(message), on_progress);
    }
  }
  reap();
}

bool LocalJob::all_reported() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const Node& n) { return n.report || !n.running(); });
}

bool LocalJob::all_dead() const {
  return std::none_of(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.running(); });
}

bool LocalJob::any_lives(std::uint32_t first, std::uint32_t last) const {
  return std::any_of(nodes_.begin() + first, nodes_.begin() + last,
                     [](const Node& n) { return n.running(); });
}

void LocalJob::stop() {
  for (Node& node : nodes_) {
    if (node.channel.open()) (void)node.channel.send(job_message::stop, "");
  }
}

std::vector<NodeReport> LocalJob::finish() {
  std::vector<NodeReport> reports;
  for (Node& node : nodes_) {
    if (node.channel.open()) (void)node.channel.send(job_message::leave, "");
  }
  const Instant patience = monotonic_now() + Duration::seconds(5);
  while (!all_dead() && monotonic_now() < patience) step(patience, {});
  for (Node& node : nodes_) {
    if (node.report) reports.push_back(*std::move(node.report));
    node.report.reset();
  }
  return reports;
}

Result<void> LocalJob::signal(std::uint32_t host, int number) {
  if (!nodes_[host].running()) {
    return Error{ErrorCode::unavailable, fmt::format("node {} does not run", host)};
  }
  ::kill(nodes_[host].pid, number);
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
  if (!nodes_[host].running()) return spawn(host);
  nodes_[host].expected_death = true;
  return signal(host, SIGKILL);
}

Result<void> LocalJob::set_rate(std::uint32_t host, Bandwidth rate) {
  if (options_.testbed != nullptr) return options_.testbed->set_rate(host, rate);
  if (!nodes_[host].channel.open()) return {};
  return nodes_[host].channel.send(job_message::link, fmt::format("{}", rate.bytes_per_second()));
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
