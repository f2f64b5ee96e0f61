// SPDX-License-Identifier: Apache-2.0
#include "launch/local_host.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "launch/program_exec.hpp"
#include "process/job_link.hpp"
#include "runtime/clock.hpp"

namespace weft {

LocalHost::~LocalHost() {
  if (processes_.running() == 0) return;
  processes_.end_all();
  orphans_.end(processes_, std::nullopt);
}

off_t LocalHost::place_in_input() {
  struct stat about {};
  const bool is_file = ::fstat(STDIN_FILENO, &about) == 0 && S_ISREG(about.st_mode);
  return is_file ? ::lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
}

/// A later life of rank 0 reads again what the first has read: the place in a file is otherwise one
/// for all processes.
Descriptor LocalHost::open_input(std::uint32_t rank) const {
  if (rank != 0 || input_begins_ < 0) return {};
  Descriptor file(::open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC));
  const bool is_there = file.open() && ::lseek(file.get(), input_begins_, SEEK_SET) >= 0;
  return is_there ? std::move(file) : Descriptor();
}

Result<void> LocalHost::start(std::uint32_t rank, const std::string& description) {
  ProgramFiles files;
  // Of a life that ended well, too: its program may live, and write into the log of outcomes.
  const auto at = std::lower_bound(started_.begin(), started_.end(), rank);
  const bool is_first = at == started_.end() || *at != rank;
  if (!is_first) orphans_.end(processes_, rank);
  Descriptor output;
  const Descriptor input = open_input(rank);
  if (restarts_) {
    Kept& kept = kept_[rank];
    if (auto held = kept.outcomes.begin_life(); !held) return held;
    auto end = kept.output.open_pipe();
    if (!end) return std::move(end).error();
    output = std::move(end).value();
    files = {.input = input.get(), .output = output.get(), .outcomes = kept.outcomes.descriptor()};
  }
  auto started = processes_.start(rank, [&](Channel channel) {
    return execute_program(rank, commands_.of(rank), signals_, std::move(channel), files);
  });
  if (!started) return started;
  if (is_first) started_.insert(at, rank);
  processes_.channel(rank).post(launch_message::job, description);
  return {};
}

void LocalHost::send(std::uint32_t rank, char kind, std::string_view text) {
  processes_.channel(rank).post(kind, text);
}

void LocalHost::signal_all(int number) {
  processes_.signal_all(number);
  if (number == SIGKILL) orphans_.end(processes_, std::nullopt);
}

void LocalHost::finish() {
  give_up_at_ = monotonic_now() + patience_for_output;
}

bool LocalHost::is_finished() const {
  const auto prints = [](const auto& kept) { return kept.second.output.open(); };
  return std::ranges::none_of(kept_, prints);
}

void LocalHost::add_to(std::vector<pollfd>& files) const {
  processes_.add_to(files);
  if (output_full_) return;
  for (const auto& [rank, kept] : kept_) {
    if (!kept.output.open()) continue;
    files.push_back({.fd = kept.output.descriptor(), .events = POLLIN, .revents = 0});
  }
}

void LocalHost::hear(std::uint32_t rank, HostListener& listener) {
  processes_.hear(rank, [&](Channel::Message m) { listener.on_message(rank, std::move(m)); });
}

void LocalHost::step(Instant, HostListener& listener) {
  processes_.flush();
  // Messages from before a process's end come first; so reap processes, and then read all messages.
  const auto ended = processes_.reap();
  for (std::size_t i = 0; i < started_.size(); ++i) hear(started_[i], listener);
  read_outputs(listener);
  for (const auto& [rank, status] : ended) {
    processes_.channel(rank).close();
    if (status != 0) orphans_.end(processes_, rank);
    if (restarts_) {
      kept_[rank].output.read([&, r = rank](std::string_view t) { listener.on_output(r, t); });
    }
    listener.on_end(rank, status);
  }
}

void LocalHost::read_outputs(HostListener& listener) {
  for (auto& [rank, kept] : kept_) {
    if (listener.output_full()) break;
    const auto pass_on = [&, r = rank](std::string_view text) { listener.on_output(r, text); };
    kept.output.read(pass_on);
    if (monotonic_now() >= give_up_at_) kept.output.give_up(pass_on);
  }
  output_full_ = listener.output_full();
  // Nobody reads meanwhile.
  if (output_full_ && give_up_at_ != Instant::never()) finish();
}

}  // namespace weft
