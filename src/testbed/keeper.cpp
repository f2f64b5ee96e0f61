// SPDX-License-Identifier: Apache-2.0
#include "testbed/keeper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/make_error.hpp"

namespace weft::testbed {
namespace {

enum class Step : int {
  user_namespace,
  map_users,
  namespaces,
  private_mounts,
  mount_run,
  make_directory,
  fork,
  network_namespace,
  name_namespace,
  silence,
  ready,
};

struct StepText {
  std::string_view what;
  std::string_view help;
};
constexpr std::string_view kUserNamespaceHelp =
    "allow them (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns) "
    "or run as root";
constexpr std::string_view kRootHelp =
    "run with CAP_SYS_ADMIN (in a container: --privileged) or allow user namespaces";
constexpr std::array<StepText, 11> kSteps{{
    {"make a user namespace", kUserNamespaceHelp},
    {"map the user into a user namespace", kUserNamespaceHelp},
    {"make mount and process namespaces", kRootHelp},
    {"make mounts private", kRootHelp},
    {"mount a tmpfs on /run", kRootHelp},
    {"make /run/netns", "check the limits of the container"},
    {"fork", "raise the limit of processes"},
    {"make a network namespace", "raise sysctl user.max_net_namespaces"},
    {"name a network namespace", kRootHelp},
    {"open /dev/null", "provide /dev/null"},
    {"", ""},
}};

// A report of the keeper to its maker, once.
struct StepReport {
  Step step = Step::ready;
  int error = 0;
  pid_t pid = 0;
};

// A fork whose end raises no signal and is not seen by other code that waits for its children.
long fork_silently(unsigned long flags) {
  return ::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr);
}

// Between fork and exit only system calls are made, so that a maker with threads does no harm.
class Child {
 public:
  Child(const KeeperOptions& options, uid_t user, gid_t group, int report, int alive)
      : options_(options), user_(user), group_(group), report_(report), alive_(alive) {}

  [[noreturn]] void run() {
    ::setsid();
    sigset_t all;
    sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    isolate();
    // A child of the maker, which reaps it: not every machine has an init that does.
    const auto keeper = static_cast<pid_t>(fork_silently(CLONE_PARENT));
    if (keeper < 0) fail(Step::fork);
    if (keeper == 0) keep();
    tell({Step::ready, 0, keeper});
    ::_exit(0);
  }

 private:
  void tell(const StepReport& report) {
    [[maybe_unused]] const auto told = ::write(report_, &report, sizeof report);
  }
  [[noreturn]] void fail(Step step) {
    tell({step, errno, 0});
    ::_exit(1);
  }

  void isolate() {
    if (options_.user_namespace) {
      if (::unshare(CLONE_NEWUSER) != 0) fail(Step::user_namespace);
      map_users();
    }
    if (::unshare(CLONE_NEWNS | CLONE_NEWPID) != 0) fail(Step::namespaces);
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      fail(Step::private_mounts);
    }
    if (::mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") != 0) {
      fail(Step::mount_run);
    }
    if (::mkdir(kNamespaceDirectory, 0755) != 0) fail(Step::make_directory);
  }

  void write_file(const char* path, const char* text, bool needed) {
    const int file = ::open(path, O_WRONLY | O_CLOEXEC);
    const auto length = static_cast<ssize_t>(std::strlen(text));
    const bool written = file >= 0 && ::write(file, text, std::strlen(text)) == length;
    if (!written && needed) fail(Step::map_users);
    if (file >= 0) ::close(file);
  }
  // Root inside is the caller outside; nobody else exists.
  void map_users() {
    std::array<char, 64> line{};
    write_file("/proc/self/setgroups", "deny", false);
    std::snprintf(line.data(), line.size(), "0 %u 1", user_);
    write_file("/proc/self/uid_map", line.data(), true);
    std::snprintf(line.data(), line.size(), "0 %u 1", group_);
    write_file("/proc/self/gid_map", line.data(), true);
  }

  void make_network(const char* name) {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "%s/%s", kNamespaceDirectory, name);
    if (::unshare(CLONE_NEWNET) != 0) fail(Step::network_namespace);
    const int file = ::open(path.data(), O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0444);
    if (file < 0) fail(Step::name_namespace);
    ::close(file);
    if (::mount("/proc/self/ns/net", path.data(), nullptr, MS_BIND, nullptr) != 0) {
      fail(Step::name_namespace);
    }
  }

  // The keeper proper. Its own network namespace is the switch's.
  [[noreturn]] void keep() {
    ::prctl(PR_SET_NAME, "weft-testbed");
    ::signal(SIGCHLD, SIG_IGN);  // orphans of the testbed are reaped by the kernel
    std::array<char, 16> name{};
    for (std::uint32_t host = 0; host < options_.hosts; ++host) {
      std::snprintf(name.data(), name.size(), "h%u", host);
      make_network(name.data());
    }
    make_network(kSwitchNamespace);
    leave_terminal();
    tell({Step::ready, 0, 0});
    wait_for_the_end();
    ::_exit(0);
  }

  // A reader of the caller's output must not wait for the keeper.
  void leave_terminal() {
    if (::chdir("/") != 0) fail(Step::silence);
    const int null = ::open("/dev/null", O_RDWR);
    if (null < 0) fail(Step::silence);
    for (int standard = 0; standard < 3; ++standard) ::dup2(null, standard);
    // Nothing inherited stays open but these two, first out of each other's way.
    const int report = ::fcntl(report_, F_DUPFD, 5), alive = ::fcntl(alive_, F_DUPFD, 5);
    if (report < 0 || alive < 0) fail(Step::silence);
    report_ = ::dup2(report, 3);
    alive_ = ::dup2(alive, 4);
    ::close_range(5, ~0u, 0);
  }

  void wait_for_the_end() {
    ::close(report_);
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    const auto end = now.tv_sec + options_.lifetime.ticks() / 1'000'000'000;
    while (now.tv_sec < end) {
      pollfd caller{alive_, 0, 0};  // the end of the pipe is reported unasked
      const int left = static_cast<int>(std::min<std::int64_t>(end - now.tv_sec, 3600) * 1000);
      const int events = ::poll(&caller, options_.end_with_caller ? 1 : 0, left);
      if (events > 0) return;
      ::clock_gettime(CLOCK_BOOTTIME, &now);
    }
  }

  const KeeperOptions& options_;
  uid_t user_;
  gid_t group_;
  int report_;
  int alive_;
};

Error step_error(const StepReport& report) {
  const auto& text = kSteps[static_cast<std::size_t>(report.step)];
  return make_error(ErrorCode::unavailable, "testbed: cannot {}: {}; {}", text.what,
                    std::strerror(report.error), text.help);
}

Result<std::array<Descriptor, 2>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return make_error(ErrorCode::exhausted, "testbed: pipe: {}", std::strerror(errno));
  }
  return std::array{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Two reports mean success: the keeper's process id, and that it is done.
Result<pid_t> hear(int pipe) {
  pid_t pid = 0;
  for (int heard = 0; heard < 2;) {
    StepReport report;
    const auto n = ::read(pipe, &report, sizeof report);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof report) {
      return Error{ErrorCode::unavailable, "testbed: the keeper ended before it was ready"};
    }
    if (report.step != Step::ready) return step_error(report);
    if (report.pid != 0) pid = report.pid;
    ++heard;
  }
  return pid;
}

}  // namespace

std::string host_namespace(std::uint32_t host) {
  return fmt::format("h{}", host);
}

Result<Keeper> start_keeper(const KeeperOptions& options) {
  auto report = make_pipe();
  if (!report.ok()) return std::move(report).error();
  auto alive = make_pipe();
  if (!alive.ok()) return std::move(alive).error();
  Child child(options, ::geteuid(), ::getegid(), (*report)[1].get(), (*alive)[0].get());
  const auto first = static_cast<pid_t>(fork_silently(0));
  if (first < 0) {
    return make_error(ErrorCode::exhausted, "testbed: fork: {}", std::strerror(errno));
  }
  if (first == 0) {
    (*alive)[1].reset();
    child.run();
  }
  (*report)[1].reset();
  auto pid = hear((*report)[0].get());
  while (::waitpid(first, nullptr, __WALL) < 0 && errno == EINTR) {
  }
  if (!pid.ok()) {
    // A keeper that failed is the only child of this kind that has ended.
    while (::waitpid(-1, nullptr, __WCLONE | WNOHANG) > 0) {
    }
    return std::move(pid).error();
  }
  Keeper keeper;
  keeper.pid = *pid;
  keeper.handle = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (!keeper.handle.open()) {
    return make_error(ErrorCode::unavailable,
                      "testbed: pidfd_open: {}; Linux 5.3 or later is needed",
                      std::strerror(errno));
  }
  if (options.end_with_caller) keeper.alive = std::move((*alive)[1]);
  return keeper;
}

Result<void> end_keeper(const Descriptor& handle, pid_t pid) {
  if (::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0) != 0 && errno != ESRCH) {
    return make_error(ErrorCode::io, "testbed: kill the keeper: {}", std::strerror(errno));
  }
  pollfd ended{handle.get(), POLLIN, 0};
  for (int tries = 0; tries < 50; ++tries) {
    const int events = ::poll(&ended, 1, 100);
    if (events > 0) {
      ::waitpid(pid, nullptr, __WCLONE | WNOHANG);  // if it is this process's child
      return {};
    }
  }
  return Error{ErrorCode::timed_out, "testbed: the keeper does not end"};
}

Result<std::uint64_t> start_time_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The name is in parentheses and may contain anything; behind it, the first field is the state
  // and the 20th the start.
  const auto name_end = line.rfind(')');
  if (!file || name_end == std::string::npos) {
    return make_error(ErrorCode::not_found, "no process {}", pid);
  }
  std::istringstream fields(line.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  for (int i = 0; i < 18; ++i) fields >> skipped;
  std::uint64_t ticks = 0;
  if (!(fields >> ticks) || state == "Z" || state == "X")
    return make_error(ErrorCode::not_found, "no process {}", pid);
  return ticks;
}

}  // namespace weft::testbed
