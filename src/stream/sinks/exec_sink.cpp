// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/sinks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/mpi_launcher.hpp"
#include "base/process_end.hpp"
#include "base/system_error.hpp"
#include "stream/sinks/counting.hpp"
#include "wire/archive/writer.hpp"

extern char** environ;

namespace weft {
namespace {

/// While it lives, writing to a pipe that nobody reads fails with EPIPE and kills nobody.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
  }
  ~WithoutSigpipe() {
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

/// The settings of posix_spawn; frees itself.
class SpawnSettings {
 public:
  explicit SpawnSettings(int standard_input) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, standard_input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    sigset_t reset = none;
    // The program gets the default action of signals that weft ignores or catches.
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) sigaddset(&reset, number);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &reset);
    // A group of its own, so that the children of the program end with it.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

class ExecSink final : public Sink {
 public:
  ExecSink(std::vector<std::string> command, const SinkPlace& place)
      : command_(std::move(command)),
        place_(place),
        format_(wire::new_archive_format(wire::ArchiveType::timeslices,
                                         wire::ArchiveCompression::none)) {
    for (std::string& word : command_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
  }

  Result<void> consume(const TimesliceView& timeslice) override {
    count_timeslice(summary_, timeslice);
    const WithoutSigpipe guard;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return system_error("make a pipe for", command_[0], errno);
    const int problem = start(timeslice, ends[0]);
    close(ends[0]);
    if (problem != 0) {
      close(ends[1]);
      if (problem == ECANCELED) return cancelled();
      return system_error("run", command_[0], problem);
    }
    // A program that stops reading early has seen enough: not an error.
    auto writer = wire::ArchiveWriter::create(
        wire::FileOutput::adopt(ends[1], fmt::format("pipe to {}", command_[0])), format_);
    if (writer) {
      if (const auto written = (*writer)->write(timeslice)) (void)(*writer)->finish();
      writer->reset();
    }
    return wait(timeslice);
  }

  void interrupt() override {
    const std::lock_guard lock(mutex_);
    interrupted_ = true;
    if (child_ > 0) kill(-child_, SIGKILL);
  }

  SinkSummary summary() const override { return summary_; }

 private:
  static Error cancelled() { return {ErrorCode::cancelled, "exec: the run is being stopped"}; }

  /// 0 or an errno.
  int start(const TimesliceView& timeslice, int standard_input) {
    const SpawnSettings settings(standard_input);
    std::string number = fmt::format("WEFT_TIMESLICE={}", timeslice.index.value());
    std::string compute = fmt::format("WEFT_COMPUTE={}", place_.compute);
    std::vector<char*> environment{number.data(), compute.data()};
    for (char** variable = environ; *variable; ++variable) environment.push_back(*variable);
    environment.push_back(nullptr);
    const std::lock_guard lock(mutex_);
    if (interrupted_) return ECANCELED;
    return posix_spawnp(&child_, arguments_[0], &settings.actions, &settings.attributes,
                        arguments_.data(), environment.data());
  }

  Result<void> wait(const TimesliceView& timeslice) {
    siginfo_t info{};
    // Without reaping, so that the process number stays the child's until `child_` is reset.
    while (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    int status = 0;
    const pid_t reaped = waitpid(std::exchange(child_, 0), &status, 0);
    if (interrupted_) return cancelled();
    if (reaped < 0) return system_error("wait for", command_[0], errno);
    if (status != 0) {
      count_error(summary_, fmt::format("timeslice {}: '{}' {}", timeslice.index.value(),
                                        command_[0], describe_end(status)));
    }
    return {};
  }

  std::vector<std::string> command_;
  std::vector<char*> arguments_;
  SinkPlace place_;
  wire::ArchiveFormat format_;
  SinkSummary summary_;
  std::mutex mutex_;
  pid_t child_ = 0;
  bool interrupted_ = false;
};

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view command) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote == 0 && c == ' ') {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'') {
      if (++i == command.size()) {
        return Error{ErrorCode::invalid_argument, "nothing follows the last backslash"};
      }
      words.back().push_back(command[i]);
    } else {
      words.back().push_back(c);
    }
  }
  if (quote != 0) {
    return invalid("the quote {} is not closed", quote);
  }
  return words;
}

Result<std::unique_ptr<Sink>> make_exec_sink(std::string_view command, const SinkPlace& place) {
  auto words = split_command(command);
  if (!words || words->empty() || words->front().empty()) {
    return invalid("'exec:{}': {}", command,
                   words ? "the program is missing" : words.error().message);
  }
  // As posix_spawnp looks for it.
  if (::access(find_program(words->front()).c_str(), X_OK) != 0) {
    const Error refused = system_error("run", words->front(), errno);
    return Error{refused.code, fmt::format("'exec:{}': {}", command, refused.message)};
  }
  return std::unique_ptr<Sink>(std::make_unique<ExecSink>(std::move(*words), place));
}

}  // namespace weft
