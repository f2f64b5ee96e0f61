// SPDX-License-Identifier: Apache-2.0
#include "launch/remote_host.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/process_end.hpp"
#include "launch/agent_protocol.hpp"
#include "launch/process_output.hpp"
#include "launch/program_exec.hpp"
#include "runtime/clock.hpp"

namespace weft {
namespace {

/// ssh that is told to go, or has nobody to talk to any more, has so long for it.
constexpr Duration agent_grace = Duration::seconds(2);
/// ssh's own.
constexpr int code_of_lost_connection = 255;
/// For a connection, names and keys.
constexpr Duration agent_patience = Duration::seconds(60);

/// As one word of a shell's command.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

}  // namespace

RemoteHost::~RemoteHost() {
  if (ssh_ <= 0) return;
  ::kill(-ssh_, SIGKILL);
  ::waitpid(ssh_, nullptr, 0);
}

Result<void> RemoteHost::connect() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return make_error(
        ErrorCode::exhausted,
        "host {}: cannot make a channel to it: {}; raise the limit of open files (ulimit -n)",
        options_.host, std::strerror(errno));
  }
  const pid_t parent = ::getpid();
  ssh_ = ::fork();
  if (ssh_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    execute(ends[1]);
  }
  const int number = errno;
  ::close(ends[1]);
  pipe_ = std::make_unique<FramePipe>(ends[0], ends[0]);
  if (ssh_ < 0) {
    pipe_.reset();
    return make_error(ErrorCode::exhausted, "host {}: cannot start {}: {}", options_.host,
                      options_.ssh.front(), std::strerror(number));
  }
  ::setpgid(ssh_, ssh_);
  up_ = false;
  why_.clear();
  kill_at_ = Instant::never();
  starts_.clear();
  unanswered_starts_.clear();
  is_killed_ = false;
  kills_.clear();
  owed_output_ = 0;
  heard_ = next_beat_ = monotonic_now();
  pipe_->send(agent_message::program, 0, options_.program);
  for (const auto& [ranks, command] : grown_) pipe_->send(agent_message::grow, ranks, command);
  return {};
}

// In the child. A process group of its own: the launcher passes on signals of the terminal's keys.
void RemoteHost::execute(int socket) const {
  ::setpgid(0, 0);
  signals_.restore();
  ::dup2(socket, STDIN_FILENO);
  ::dup2(socket, STDOUT_FILENO);
  std::vector<std::string> words = options_.ssh;
  words.push_back(options_.host);
  words.push_back(quoted(options_.weft) + " run-agent");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const std::string why =
      fmt::format("weft run: --ssh: cannot start '{}': {}\n", words[0], std::strerror(errno));
  (void)!::write(STDERR_FILENO, why.data(), why.size());
  ::_exit(cannot_execute);
}

Result<void> RemoteHost::start(std::uint32_t rank, const std::string& description) {
  // A host that was given up gets no more messages, though it may not be gone yet.
  if (ssh_ > 0 && (pipe_ == nullptr || !pipe_->open() || !why_.empty())) {
    return make_error(ErrorCode::unavailable, "host {} is being given up", options_.host);
  }
  if (ssh_ <= 0) {
    if (auto connected = connect(); !connected) return connected;
  }
  ++unanswered_starts_[rank];
  // An agent that never answers has no processes.
  if (up_) {
    pipe_->send(agent_message::start, rank, description);
  } else {
    starts_.emplace_back(rank, description);
  }
  return {};
}

void RemoteHost::grow(std::uint32_t ranks, const std::vector<std::string>& command) {
  grown_.emplace_back(ranks, command_to_text(command));
  if (pipe_ != nullptr) pipe_->send(agent_message::grow, ranks, grown_.back().second);
}

void RemoteHost::kill(std::uint32_t rank) {
  // Its end is awaited, also of a process that the agent has not been told to start yet.
  if (!up_) return kills_.push_back(rank);
  if (pipe_ != nullptr) pipe_->send(agent_message::kill, rank, "");
}

void RemoteHost::send(std::uint32_t rank, char kind, std::string_view text) {
  if (pipe_ != nullptr) pipe_->send(agent_message::tell, rank, std::string(1, kind).append(text));
}

void RemoteHost::signal_all(int number) {
  if (pipe_ != nullptr) pipe_->send(agent_message::signal, 0, std::to_string(number));
  // If the agent does not read, it notices the end of the connection.
  if (number != SIGKILL || ssh_ <= 0) return;
  is_killed_ = true;
  kill_at_ = std::min(kill_at_, monotonic_now() + agent_grace);
}

void RemoteHost::finish() {
  if (ssh_ <= 0) return;
  finishing_ = true;
  if (pipe_ != nullptr) pipe_->send(agent_message::over, 0, "");
  await_end(monotonic_now());
}

/// The agent ends when it has passed on all output.
void RemoteHost::await_end(Instant now) {
  if (!is_killed_) kill_at_ = now + patience_for_output + agent_grace;
}

void RemoteHost::add_to(std::vector<pollfd>& files) const {
  if (pipe_ != nullptr) pipe_->add_to(files);
}

Instant RemoteHost::next_deadline() const {
  if (ssh_ <= 0) return Instant::never();
  return std::min(next_beat_, kill_at_);
}

void RemoteHost::step(Instant now, HostListener& listener) {
  if (ssh_ <= 0) return;
  pipe_->flush();
  while (auto frame = pipe_->receive()) {
    heard_ = now;
    on_frame(*std::move(frame), listener);
  }
  if (owed_output_ > 0 && !listener.output_full()) {
    pipe_->send(agent_message::took, 0, std::to_string(std::exchange(owed_output_, 0)));
  }
  if (finishing_ && (owed_output_ > 0 || listener.output_full())) await_end(now);
  look_after(now);
  int status = 0;
  if (::waitpid(ssh_, &status, WNOHANG) != ssh_) return;
  // Frames that it sent before its end.
  while (auto frame = pipe_->receive()) on_frame(*std::move(frame), listener);
  lose(status, listener);
}

void RemoteHost::look_after(Instant now) {
  if (!pipe_->open()) kill_at_ = std::min(kill_at_, now + agent_grace);
  const Duration patience = up_ ? options_.patience : agent_patience;
  if (now - heard_ > patience && why_.empty()) {
    end_ssh(fmt::format("it said nothing for {} s", patience.to_seconds()));
  }
  if (now >= kill_at_) {
    kill_at_ = Instant::never();
    ::kill(-ssh_, SIGKILL);
  }
  // Processes on the path only notice that the other end is gone when they have bytes to pass on.
  if (now >= next_beat_) {
    next_beat_ = now + alive_every;
    pipe_->send(agent_message::alive, 0, "");
  }
}

void RemoteHost::end_ssh(std::string why) {
  why_ = std::move(why);
  kill_at_ = Instant{};
}

void RemoteHost::on_hello(const FramePipe::Frame& frame, HostListener& listener) {
  up_ = frame.kind == agent_message::hello && frame.text == agent_greeting;
  if (!up_) return end_ssh("there is another version of weft");
  for (const auto& [rank, description] : starts_) {
    pipe_->send(agent_message::start, rank, description);
  }
  starts_.clear();
  for (const std::uint32_t rank : std::exchange(kills_, {})) kill(rank);
  listener.on_up(*this);
}

void RemoteHost::on_frame(FramePipe::Frame frame, HostListener& listener) {
  if (!up_) return on_hello(frame, listener);
  switch (frame.kind) {
    case agent_message::said:
      if (frame.text.empty()) return;
      listener.on_message(frame.rank, {.kind = frame.text[0], .text = frame.text.substr(1)});
      break;
    case agent_message::ended:
      listener.on_end(frame.rank, parse_number<int>(frame.text).value_or(0));
      break;
    case agent_message::begun:
      if (unanswered_starts_[frame.rank] > 0) --unanswered_starts_[frame.rank];
      break;
    case agent_message::output:
      owed_output_ += static_cast<std::int64_t>(frame.text.size());
      if (unanswered_starts_[frame.rank] == 0) listener.on_output(frame.rank, frame.text);
      break;
    case agent_message::alive:  // its lease runs from when it said so
      pipe_->send(agent_message::alive, 0, frame.text);
      break;
    case agent_message::failed:
      listener.on_failure(fmt::format("host {}: {}", options_.host, frame.text));
      break;
    default:
      break;
  }
}

void RemoteHost::lose(int status, HostListener& listener) {
  ssh_ = -1;
  pipe_->close();
  if (finishing_) return;
  // The code of a command elsewhere is known when it has ended, and its processes with it. Else it
  // may live until its lease is over.
  const bool has_ended = WIFEXITED(status) && WEXITSTATUS(status) != code_of_lost_connection;
  if (up_ && !has_ended) clear_at_ = heard_ + options_.patience;
  if (why_.empty() && pipe_->heard_nonsense()) {
    why_ = "something else than weft speaks there; a login script must not print anything";
  } else if (why_.empty()) {
    why_ = fmt::format("{} {}", options_.ssh.front(), describe_end(status));
    if (!up_ && code_of_end(status) == cannot_execute) {
      why_ += fmt::format("; is there a {}? --remote-weft names another", options_.weft);
    } else if (!up_) {
      why_ += fmt::format(" before weft answered; try: {} {} {} --version",
                          fmt::join(options_.ssh, " "), options_.host, options_.weft);
    }
  }
  listener.on_lost(*this, why_, up_);
}

}  // namespace weft
