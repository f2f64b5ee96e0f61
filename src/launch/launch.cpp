// SPDX-License-Identifier: Apache-2.0
#include "launch/launch.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fabric/choice/fabric_choice.hpp"
#include "launch/agent_protocol.hpp"
#include "launch/host.hpp"
#include "launch/launched_job.hpp"
#include "launch/local_host.hpp"
#include "launch/output_buffer.hpp"
#include "launch/program_exec.hpp"
#include "launch/remote_host.hpp"
#include "process/job_file_watch.hpp"
#include "process/job_link.hpp"
#include "runtime/clock.hpp"
#include "runtime/directory.hpp"
#include "runtime/process_set.hpp"

extern char** environ;

namespace weft {
namespace {

/// Processes that were told to go have so long for it.
constexpr Duration grace = Duration::seconds(2);
/// A host on which the launcher's own word arrives late is not yet a host that is gone.
constexpr Duration shortest_host_patience = Duration::seconds(10);
/// Of a job whose host is gone: what ssh itself says of that.
constexpr int code_of_lost_host = 255;

/// What processes elsewhere are to have of this one's environment.
std::vector<std::pair<std::string, std::string>> environment_to_pass() {
  std::vector<std::pair<std::string, std::string>> passed;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const bool of_one_process =
        name == channel_variable || name == file_variable || name == rank_variable;
    if (!name.starts_with("WEFT_") || of_one_process || equals == std::string_view::npos) continue;
    passed.emplace_back(name, text.substr(equals + 1));
  }
  return passed;
}

std::string own_path() {
  std::string path(4096, '\0');
  const auto n = ::readlink("/proc/self/exe", path.data(), path.size());
  path.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return n > 0 ? path : "weft";
}

class Launcher final : private HostListener {
 public:
  Launcher(const LaunchOptions& options, const std::function<void(const std::string&)>& say)
      : options_(options), say_(say), directory_(options.processes), output_(STDOUT_FILENO) {}

  Result<LaunchOutcome> run() {
    if (auto opened = signals_.open(); !opened) return std::move(opened).error();
    if (auto prepared = prepare(); !prepared) return std::move(prepared).error();
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].host == nullptr) continue;
      if (auto started = start(rank); !started) return std::move(started).error();
    }
    while (running_ > 0 && !error_) turn();
    for (const auto& host : hosts_) host->finish();
    while (!error_ && !all_finished()) turn();
    output_.flush_all();
    if (error_) return *error_;
    return outcome_;
  }

 private:
  struct Rank {
    Host* host = nullptr;  // null: not of this launcher
    Incarnation incarnation{};
    bool runs = false;
  };

  // ---- before the start

  Result<void> prepare() {
    if (!options_.file.empty()) return prepare_file();
    secret_ = make_job_secret();
    ranks_.resize(options_.processes);
    if (options_.hosts.empty()) {
      hosts_.push_back(std::make_unique<LocalHost>(options_.processes, options_.command, signals_));
      for (Rank& rank : ranks_) rank.host = hosts_[0].get();
    } else {
      prepare_hosts();
    }
    return {};
  }

  Result<void> prepare_file() {
    auto file = JobFileWatch::open(options_.file, std::nullopt);
    if (!file) return std::move(file).error();
    auto secret = secret_of((*file)->file());
    if (!secret) return std::move(secret).error();
    secret_ = std::move(secret).value();
    const auto& here = (*file)->candidates();
    if (options_.processes > here.size()) {
      return Error{
          ErrorCode::invalid_argument,
          fmt::format("-n: {} processes, but {} has {} addresses of this machine; add some "
                      "or start fewer",
                      options_.processes, options_.file, here.size())};
    }
    ranks_.resize((*file)->file().ranks.size());
    directory_ = Directory(static_cast<std::uint32_t>(ranks_.size()));
    hosts_.push_back(std::make_unique<LocalHost>(static_cast<std::uint32_t>(ranks_.size()),
                                                 options_.command, signals_));
    for (std::uint32_t i = 0; i < options_.processes; ++i) ranks_[here[i]].host = hosts_[0].get();
    return {};
  }

  void prepare_hosts() {
    const ProgramDescription program{.ranks = options_.processes,
                                     .command = options_.command,
                                     .directory = current_directory(),
                                     .environment = environment_to_pass()};
    const Duration patience = std::max(peer_timeout_of(options_) * 3, shortest_host_patience);
    std::size_t next = 0;
    for (const HostSlots& slots : options_.hosts) {
      if (next == ranks_.size()) break;
      hosts_.push_back(std::make_unique<RemoteHost>(
          RemoteOptions{.host = slots.host,
                        .ssh = options_.ssh,
                        .weft = options_.remote_weft.empty() ? own_path() : options_.remote_weft,
                        .program = to_text(program),
                        .patience = patience},
          signals_));
      for (std::uint32_t i = 0; i < slots.slots && next < ranks_.size(); ++i) {
        ranks_[next++].host = hosts_.back().get();
      }
    }
  }

  static std::string current_directory() {
    char* path = ::get_current_dir_name();
    const std::string text = path == nullptr ? "/" : path;
    std::free(path);
    return text;
  }

  std::uint32_t ranks_of(const Host* host) const {
    return static_cast<std::uint32_t>(
        std::count_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.host == host; }));
  }

  JobDescription description(std::uint32_t rank) const {
    JobDescription job = describe_job(options_, secret_);
    job.self = NodeId(rank);
    job.nodes = static_cast<std::uint32_t>(ranks_.size());
    job.nodes_here = ranks_of(ranks_[rank].host);
    job.incarnation = ranks_[rank].incarnation;
    return job;
  }

  // ---- processes

  Result<void> start(std::uint32_t index) {
    Rank& rank = ranks_[index];
    rank.incarnation = directory_.begin(index);
    if (auto started = rank.host->start(index, to_text(description(index))); !started) {
      return started;
    }
    rank.runs = true;
    ++running_;
    return {};
  }

  void turn() {
    wait();
    while (const int signal = signals_.next()) {
      if (signal != SIGCHLD) interrupt(signal);
    }
    const Instant now = monotonic_now();
    for (const auto& host : hosts_) host->step(now, *this);
    output_.flush();
    if (now < kill_at_) return;
    kill_at_ = Instant::never();
    for (const auto& host : hosts_) host->signal_all(SIGKILL);
  }

  void wait() {
    std::vector<pollfd> files = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    Instant deadline = kill_at_;
    for (const auto& host : hosts_) {
      host->add_to(files, output_full());
      deadline = std::min(deadline, host->next_deadline());
    }
    if (output_.size() > 0) {
      files.push_back({.fd = output_.descriptor(), .events = POLLOUT, .revents = 0});
    }
    int timeout_ms = -1;
    if (deadline != Instant::never()) {
      timeout_ms =
          std::max<int>(0, static_cast<int>((deadline - monotonic_now()).ticks() / 1'000'000) + 1);
    }
    (void)::poll(files.data(), files.size(), timeout_ms);
  }

  bool all_finished() const {
    return std::all_of(hosts_.begin(), hosts_.end(),
                       [](const auto& host) { return host->is_finished(); });
  }

  void tell(std::uint32_t rank, char kind, std::string_view text) {
    if (ranks_[rank].runs) ranks_[rank].host->send(rank, kind, text);
  }
  void tell_all(char kind, std::string_view text) {
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) tell(i, kind, text);
  }

  // ---- what hosts say

  void on_message(std::uint32_t rank, Channel::Message message) override {
    if (rank >= ranks_.size() || !ranks_[rank].runs) return;
    if (message.kind == launch_message::address) {
      directory_.set_address(rank, std::move(message.text));
      directory_.introduce(rank, [&](std::uint32_t to, const std::string& lines) {
        tell(to, launch_message::peers, lines);
      });
    } else if (message.kind == launch_message::over) {
      over_ = true;
      tell_all(launch_message::over, "");
    }
    // One that failed has said so itself; its end follows.
  }

  void on_output(std::string_view bytes) override { output_.append(bytes); }
  bool output_full() const override { return output_.full(); }

  void on_failure(const std::string& why) override {
    if (!error_) error_ = Error{ErrorCode::unavailable, why};
  }

  void on_end(std::uint32_t rank, int status) override {
    if (rank >= ranks_.size() || !has_ended(rank)) return;
    const bool can_start = !(WIFEXITED(status) && WEXITSTATUS(status) == cannot_execute);
    handle_end(rank, {.words = describe_end(status),
                      .code = code_of_end(status),
                      .was_killed = WIFSIGNALED(status),
                      .can_start = can_start});
  }

  void on_lost(Host& host, const std::string& why, bool was_up) override {
    const std::string what = fmt::format("host {} is lost: {}", host.name(), why);
    if (!was_up) given_up_.insert(&host);
    if (!was_up && known_hosts_.count(&host) == 0 && !ending_) {
      // It was never there: somebody has to look at the list of hosts first.
      return on_failure(fmt::format("host {}: {}", host.name(), why));
    }
    say_(what);
    std::vector<std::uint32_t> lost;
    for (std::uint32_t i = 0; i < ranks_.size(); ++i) {
      if (ranks_[i].host == &host && has_ended(i)) lost.push_back(i);
    }
    for (const std::uint32_t rank : lost) {
      handle_end(rank, {.words = fmt::format("was lost with host {}", host.name()),
                        .code = code_of_lost_host,
                        .was_killed = true,
                        .can_start = true});
    }
  }

  void on_up(Host& host) override { known_hosts_.insert(&host); }

  // ---- what follows

  struct End {
    std::string words;
    int code;
    bool was_killed;  // it did not end by itself
    bool can_start;   // another life of it could do better
  };

  bool has_ended(std::uint32_t rank) {
    if (!std::exchange(ranks_[rank].runs, false)) return false;
    --running_;
    directory_.forget(rank);
    return true;
  }

  void handle_end(std::uint32_t rank, const End& end) {
    // Once all programs are over, nothing is missing whatever ends a process.
    if (end.code == 0 || over_) return;
    if (options_.restart && end.can_start && !ending_ && !error_ &&
        outcome_.restarts < options_.most_restarts && find_host(rank)) {
      ++outcome_.restarts;
      say_(fmt::format("rank {} {}; starting it anew{}", rank, end.words, where(rank)));
      auto started = start(rank);
      if (!started) on_failure(started.error().message);
      return;
    }
    if (outcome_.code == 0) outcome_.code = end.code;
    if (ending_) return;
    say_(fmt::format("rank {} {}", rank, end.words));
    // A program that failed by itself takes the others with it. One that was killed is waited for,
    // until those that need it give up and say what they needed.
    if (options_.restart || !end.was_killed) {
      end_all(fmt::format("rank {} {}", rank, end.words));
    }
  }

  std::string where(std::uint32_t rank) const {
    const std::string& name = ranks_[rank].host->name();
    return name.empty() ? "" : fmt::format(" on {}", name);
  }

  /// Where a rank may live again: where it was, or where the fewest are. False: nowhere.
  bool find_host(std::uint32_t rank) {
    Host*& host = ranks_[rank].host;
    if (given_up_.count(host) == 0) return true;
    Host* best = nullptr;
    for (const auto& other : hosts_) {
      if (given_up_.count(other.get()) > 0) continue;
      if (best == nullptr || ranks_of(other.get()) < ranks_of(best)) best = other.get();
    }
    if (best != nullptr) host = best;
    return best != nullptr;
  }

  void interrupt(int signal) {
    if (outcome_.code == 0) outcome_.code = 128 + signal;
    for (const auto& host : hosts_) host->signal_all(signal);
    ending_ = true;
    kill_at_ = std::min(kill_at_, monotonic_now() + grace);
  }

  void end_all(const std::string& why) {
    ending_ = true;
    tell_all(launch_message::abort, why);
    kill_at_ = std::min(kill_at_, monotonic_now() + grace);
  }

  const LaunchOptions& options_;
  const std::function<void(const std::string&)>& say_;
  JobSecret secret_;
  SignalFile signals_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<Rank> ranks_;
  Directory directory_;
  OutputBuffer output_;
  std::set<const Host*> known_hosts_;  // were up
  std::set<const Host*> given_up_;     // could not be reached again
  std::uint32_t running_ = 0;
  LaunchOutcome outcome_;
  std::optional<Error> error_;
  Instant kill_at_ = Instant::never();
  bool over_ = false;
  bool ending_ = false;
};

}  // namespace

Result<LaunchOutcome> launch(const LaunchOptions& options,
                             const std::function<void(const std::string&)>& say) {
  return Launcher(options, say).run();
}

}  // namespace weft
