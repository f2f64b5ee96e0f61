// SPDX-License-Identifier: Apache-2.0
// Processes that run seeds. A child reports each seed that it begins, and the outcome, on a pipe;
// when it ends too early, the seed that it had begun has failed, and its standard error says why.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/process_end.hpp"
#include "stream/swarm/swarm.hpp"
#include "stream/swarm/swarm_case.hpp"

namespace weft::stream {
namespace {

constexpr std::uint64_t seeds_per_child = 50;
constexpr std::uint64_t twice_every = 64;
/// Instead of a line break, inside of a child's line.
constexpr char line_break = '\x1e';

Error system_error(std::string_view what) {
  return make_error(ErrorCode::unavailable, "{}: {}", what, std::strerror(errno));
}

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(3);  // the parent is gone
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

/// The child's life. "begin SEED", then "end SEED TIMESLICES EVENTS FAILURE".
[[noreturn]] void run_child(const SwarmOptions& options, std::uint64_t first, std::uint64_t last,
                            int results) {
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    write_all(results, fmt::format("begin {}\n", seed));
    ::alarm(options.seconds_per_seed);
    SwarmSeedOutcome o = run_swarm_seed(seed, options.network ? &*options.network : nullptr,
                                        seed % twice_every == 0);
    std::replace(o.failure.begin(), o.failure.end(), '\n', line_break);
    write_all(results, fmt::format("end {} {} {} {}\n", seed, o.timeslices, o.events, o.failure));
  }
  ::alarm(0);
  _exit(0);
}

std::uint64_t take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  if (text.starts_with(' ')) text.remove_prefix(1);
  return value;
}

struct Child {
  pid_t process = -1;
  int results = -1;
  int errors = -1;
  std::uint64_t next = 0;  ///< seed that has not ended
  std::uint64_t last = 0;
  std::string unread;
};

class Swarm {
 public:
  Swarm(const SwarmOptions& options, const std::function<void(const SwarmOutcome&)>& on_progress)
      : options_(options), on_progress_(on_progress), next_(options.first) {}
  ~Swarm() {
    for (Child& child : children_) {
      ::kill(child.process, SIGKILL);
      close(child);
    }
  }

  Result<SwarmOutcome> run() {
    while (true) {
      while (children_.size() < std::max(1u, options_.jobs) && next_ <= options_.last) {
        const std::uint64_t left = options_.last - next_;
        const std::uint64_t last = next_ + std::min(left, seeds_per_child - 1);
        if (auto up = start(next_, last); !up) return std::move(up).error();
        next_ = last + 1;
      }
      if (children_.empty()) break;
      if (auto good = listen(); !good) return std::move(good).error();
      if (on_progress_) on_progress_(outcome_);
    }
    std::sort(outcome_.failures.begin(), outcome_.failures.end(),
              [](const auto& a, const auto& b) { return a.seed < b.seed; });
    return std::move(outcome_);
  }

 private:
  Result<void> start(std::uint64_t first, std::uint64_t last) {
    Child child{.next = first, .last = last};
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe for the swarm");
    child.results = ends[0];
    child.errors = ::memfd_create("weft-swarm-errors", MFD_CLOEXEC);
    child.process = child.errors < 0 ? -1 : ::fork();
    if (child.process < 0) {
      const Error error = system_error("cannot start a process for the swarm");
      for (const int file : {ends[0], ends[1], child.errors}) ::close(file);
      return error;
    }
    if (child.process == 0) {
      // Libraries that catch signals would hide how a child ended.
      for (const int s : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(s, SIG_DFL);
      if (!options_.show_log) ::dup2(child.errors, STDERR_FILENO);
      set_up_log(options_.show_log ? "info" : "error", "swarm");
      run_child(options_, first, last, ends[1]);
    }
    ::close(ends[1]);
    children_.push_back(std::move(child));
    return {};
  }

  Result<void> listen() {
    std::vector<pollfd> files;
    for (const Child& child : children_) files.push_back({child.results, POLLIN, 0});
    if (::poll(files.data(), files.size(), -1) < 0) {
      if (errno == EINTR) return {};
      return system_error("cannot wait for the swarm's processes");
    }
    for (std::size_t i = files.size(); i-- > 0;) {
      if (files[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t n = ::read(files[i].fd, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n > 0) {
        take(children_[i], {bytes, static_cast<std::size_t>(n)});
        continue;
      }
      Child child = std::move(children_[i]);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i));
      if (auto good = end(child); !good) return good;
    }
    return {};
  }

  void take(Child& child, std::string_view bytes) {
    child.unread.append(bytes);
    for (std::size_t end; (end = child.unread.find('\n')) != std::string::npos;) {
      std::string_view line(child.unread.data(), end);
      if (line.starts_with("end ")) {
        line.remove_prefix(4);
        child.next = take_number(line) + 1;
        outcome_.timeslices += take_number(line);
        outcome_.events += take_number(line);
        ++outcome_.runs;
        if (!line.empty()) fail(child.next - 1, std::string(line));
      }
      child.unread.erase(0, end + 1);
    }
  }

  void fail(std::uint64_t seed, std::string what) {
    std::replace(what.begin(), what.end(), line_break, '\n');
    outcome_.failures.push_back({seed, std::move(what)});
  }

  /// The child is over. When it has left seeds, the first of them broke it; others follow in a
  /// child of their own.
  Result<void> end(Child& child) {
    const int status = close(child);
    if (child.next > child.last) return {};
    std::string what = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM
                           ? fmt::format("the process was ended by the time limit of {} s",
                                         options_.seconds_per_seed)
                           : "the process " + describe_end(status);
    if (!child.unread.empty()) what += fmt::format(": {}", child.unread);
    ++outcome_.runs;
    fail(child.next, std::move(what));
    return child.next < child.last ? start(child.next + 1, child.last) : Result<void>{};
  }

  /// The wait status. `unread` becomes the end of its standard error.
  static int close(Child& child) {
    int status = 0;
    while (::waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
    }
    ::close(child.results);
    char text[2000];
    const off_t size = ::lseek(child.errors, 0, SEEK_END);
    const auto most = static_cast<off_t>(sizeof text);
    const ssize_t n = ::pread(child.errors, text, sizeof text, std::max<off_t>(0, size - most));
    child.unread.assign(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    while (child.unread.ends_with('\n')) child.unread.pop_back();
    ::close(child.errors);
    return status;
  }

  const SwarmOptions& options_;
  const std::function<void(const SwarmOutcome&)>& on_progress_;
  std::uint64_t next_;
  std::vector<Child> children_;
  SwarmOutcome outcome_;
};

}  // namespace

Result<SwarmOutcome> run_swarm(const SwarmOptions& options,
                               const std::function<void(const SwarmOutcome&)>& on_progress) {
  if (options.last < options.first) {
    return invalid("seeds {}..{} are none: the last one is before the first", options.first,
                   options.last);
  }
  // An impossible network is the user's error, not a failure of every seed.
  if (options.network) {
    auto drawn = draw_swarm_case(options.first, &*options.network);
    if (!drawn) return std::move(drawn).error();
  }
  return Swarm(options, on_progress).run();
}

}  // namespace weft::stream
