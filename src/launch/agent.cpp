// SPDX-License-Identifier: Apache-2.0
#include "launch/agent.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "base/descriptor_limit.hpp"
#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "launch/agent_guard.hpp"
#include "launch/agent_protocol.hpp"
#include "launch/commands.hpp"
#include "launch/frame_pipe.hpp"
#include "launch/lease.hpp"
#include "launch/orphans.hpp"
#include "launch/process_output.hpp"
#include "launch/program_exec.hpp"
#include "launch/signal_file.hpp"
#include "process/job_link.hpp"
#include "process/outcome_memory.hpp"
#include "runtime/clock.hpp"
#include "runtime/process_set.hpp"

namespace weft {
namespace {

/// Until the launcher has described the program.
constexpr Duration connect_patience = Duration::seconds(60);
/// An earlier agent of this job needs no longer to end its processes.
constexpr Duration guard_patience = Duration::seconds(10);
/// The agent's own.
constexpr std::uint64_t descriptors_of_agent = 32;
/// A channel, what it prints and the outcomes that it keeps.
constexpr std::uint64_t descriptors_per_agent_rank = 3;

class Agent {
 public:
  /// Takes standard input and output for itself; the processes' input is empty.
  Agent()
      : pipe_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3),
              ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    if (nothing > STDERR_FILENO) ::close(nothing);
  }

  ~Agent() {
    if (!processes_ || processes_->running() == 0) return;
    processes_->end_all();
    orphans_.end(*processes_, std::nullopt);
  }
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  int run() {
    if (auto opened = signals_.open(); !opened) return fail(opened.error().message);
    next_beat_ = monotonic_now();
    lease_ = Lease(connect_patience, next_beat_);
    pipe_.send(agent_message::hello, 0, agent_greeting);
    while (pipe_.open()) {
      wait();
      while (const int signal = signals_.next()) {
        if (signal != SIGCHLD) return 128 + signal;
      }
      const Instant now = monotonic_now();
      // Frames that came meanwhile are too late: these processes have other lives elsewhere.
      if (now >= lease_.ends()) return fail("there was no word from the launcher for too long");
      if (guard_.is_asked_for()) return fail("another agent of this job takes over");
      while (auto frame = pipe_.receive()) on_frame(now, *frame);
      if (!refused_.empty()) return fail(refused_);
      step();
      if (now >= next_beat_) {
        next_beat_ = now + alive_every;
        pipe_.send(agent_message::alive, 0, Lease::word(now));
      }
      pipe_.flush();
      if (is_over_ && has_passed_on_all(now)) return 0;
    }
    return processes_ && processes_->running() > 0 ? 1 : 0;
  }

 private:
  int fail(const std::string& why) {
    fmt::print(stderr, "weft run: {}\n", why);
    return 1;
  }

  bool output_full() const { return output_room_ <= 0; }

  void wait() {
    std::vector<pollfd> files = {{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0}};
    pipe_.add_to(files);
    if (guard_.descriptor() >= 0) {
      files.push_back({.fd = guard_.descriptor(), .events = POLLIN, .revents = 0});
    }
    if (processes_) processes_->add_to(files);
    for (const auto& [rank, output] : outputs_) {
      if (output.open() && !output_full()) {
        files.push_back({.fd = output.descriptor(), .events = POLLIN, .revents = 0});
      }
    }
    const Duration left = std::max(Duration{}, std::min(next_beat_, give_up_at_) - monotonic_now());
    (void)::poll(files.data(), files.size(), static_cast<int>(left.ticks() / 1'000'000) + 1);
  }

  /// The job is over: what processes print that its own have left behind is still passed on, for a
  /// while in which the launcher takes it.
  bool has_passed_on_all(Instant now) {
    if (output_full() || pipe_.queued() > 0) {
      give_up_at_ = now + patience_for_output;
      return false;
    }
    for (auto& [rank, output] : outputs_) {
      if (now < give_up_at_) break;
      output.give_up([&, r = rank](std::string_view text) { pass_on(r, text); });
    }
    const auto is_open = [](const auto& each) { return each.second.open(); };
    if (std::ranges::any_of(outputs_, is_open) || pipe_.queued() > 0) return false;
    give_up_at_ = Instant::never();
    return true;
  }

  void on_frame(Instant now, const FramePipe::Frame& frame) {
    if (frame.kind == agent_message::alive) return lease_.on_return(frame.text, now);
    if (!processes_ && frame.kind != agent_message::program) return;
    const bool is_rank = commands_ && frame.rank < commands_->ranks();
    switch (frame.kind) {
      case agent_message::program:
        if (auto good = describe(frame.text); !good) {
          pipe_.send(agent_message::failed, 0, good.error().message);
        }
        break;
      case agent_message::grow:
        if (auto good = grow(frame); !good) {
          pipe_.send(agent_message::failed, 0, good.error().message);
        }
        break;
      case agent_message::kill:
        if (is_rank) processes_->signal(frame.rank, SIGKILL);
        break;
      case agent_message::start:
        if (is_rank) start(frame.rank, frame.text);
        break;
      case agent_message::tell: {
        if (!is_rank || frame.text.empty()) return;
        processes_->channel(frame.rank).post(frame.text[0], frame.text.substr(1));
        break;
      }
      case agent_message::took:
        output_room_ += number_in(frame.text);
        break;
      case agent_message::signal: {
        const auto number = static_cast<int>(number_in(frame.text));
        if (number > 0 && number < NSIG) processes_->signal_all(number);
        if (number == SIGKILL) orphans_.end(*processes_, std::nullopt);
        break;
      }
      case agent_message::over:
        is_over_ = true;
        give_up_at_ = now + patience_for_output;
        break;
      default:
        break;
    }
  }

  static std::int64_t number_in(const std::string& text) {
    return parse_number<std::int64_t>(text).value_or(0);
  }

  Result<void> describe(const std::string& text) {
    auto program = read_program_description(text);
    if (!program) return std::move(program).error();
    program_ = std::move(program).value();
    lease_.set_length(program_.lease);
    if (auto taken = guard_.take(program_.guard, guard_patience); !taken) {
      refused_ = taken.error().message;
      return {};
    }
    if (::chdir(program_.directory.c_str()) != 0) {
      return make_error(
          ErrorCode::not_found,
          "there is no directory '{}' to run in ({}); start the job in one that all hosts have",
          program_.directory, std::strerror(errno));
    }
    for (const auto& [name, value] : program_.environment) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
    processes_.emplace(program_.ranks);
    commands_.emplace(program_.ranks, program_.command);
    return {};
  }

  Result<void> grow(const FramePipe::Frame& frame) {
    auto command = read_command(frame.text);
    if (!command) return std::move(command).error();
    if (frame.rank <= commands_->ranks() || frame.rank > most_ranks) {
      return Error{ErrorCode::corrupt, "the launcher gives a command to no further ranks"};
    }
    processes_->grow(frame.rank);
    commands_->add(frame.rank, std::move(command).value());
    return {};
  }

  void start(std::uint32_t rank, const std::string& description) {
    pipe_.send(agent_message::begun, rank, "");
    if (processes_->runs(rank)) return;
    // As far as it goes: what lacks descriptors says so.
    raise_descriptor_limit(descriptors_of_agent +
                           descriptors_per_agent_rank * (outcomes_.size() + 1));
    // Of a life that ended well, too: its program may live, and write into the log of outcomes.
    if (outcomes_.contains(rank)) orphans_.end(*processes_, rank);
    HeldOutcomes& outcomes = outcomes_[rank];
    if (auto held = outcomes.begin_life(); !held) {
      return pipe_.send(agent_message::failed, rank, held.error().message);
    }
    outputs_.erase(rank);
    const auto output = outputs_.try_emplace(rank).first;
    auto end = output->second.open_pipe();
    if (!end) return pipe_.send(agent_message::failed, rank, end.error().message);
    auto started = processes_->start(rank, [&](Channel channel) {
      return execute_program(rank, commands_->of(rank), signals_, std::move(channel),
                             {.output = end->get(), .outcomes = outcomes.descriptor()});
    });
    end->reset();
    if (!started) return pipe_.send(agent_message::failed, rank, started.error().message);
    processes_->channel(rank).post(launch_message::job, description);
  }

  void step() {
    if (!processes_) return;
    processes_->flush();
    const auto ended = processes_->reap();
    for (auto& [rank, output] : outputs_) {
      hear(rank);
      if (!output_full()) output.read([&, r = rank](std::string_view text) { pass_on(r, text); });
    }
    // Messages and output of a process go before its end.
    for (const auto& [rank, status] : ended) {
      processes_->channel(rank).close();
      if (status != 0) orphans_.end(*processes_, rank);
      if (const auto output = outputs_.find(rank); output != outputs_.end()) {
        output->second.read([&, r = rank](std::string_view text) { pass_on(r, text); });
      }
      pipe_.send(agent_message::ended, rank, std::to_string(status));
    }
    std::erase_if(outputs_, [&](const auto& each) {
      return !each.second.open() && !processes_->runs(each.first);
    });
  }

  void hear(std::uint32_t rank) {
    processes_->hear(rank, [&](Channel::Message m) {
      pipe_.send(agent_message::said, rank, std::string(1, m.kind).append(m.text));
    });
  }

  void pass_on(std::uint32_t rank, std::string_view text) {
    output_room_ -= static_cast<std::int64_t>(text.size());
    pipe_.send(agent_message::output, rank, text);
  }

  FramePipe pipe_;
  SignalFile signals_;
  ProgramDescription program_;
  Orphans orphans_;
  AgentGuard guard_;  // given up when no process is left
  std::optional<ProcessSet> processes_;
  std::optional<Commands> commands_;                // as `processes_`
  std::map<std::uint32_t, ProcessOutput> outputs_;  // by rank
  std::map<std::uint32_t, HeldOutcomes> outcomes_;
  std::string refused_;  // why there can be no processes
  std::int64_t output_room_ = output_window;
  Lease lease_{connect_patience, Instant{}};
  Instant next_beat_{};
  bool is_over_ = false;
  Instant give_up_at_ = Instant::never();  // output, when the job is over
};

}  // namespace

int serve_launcher() {
  return Agent().run();
}

}  // namespace weft
