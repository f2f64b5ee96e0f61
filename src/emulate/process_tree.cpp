// SPDX-License-Identifier: Apache-2.0
#include "emulate/process_tree.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/number_text.hpp"

namespace weft::emulate {
namespace {

namespace fs = std::filesystem;

struct Parentage {
  pid_t pid;
  pid_t parent;
};

/// Of all processes that this one sees.
std::vector<Parentage> parentages() {
  std::vector<Parentage> all;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = parse_number<pid_t>(entry->path().filename().string());
    if (!pid) continue;
    std::ifstream file(entry->path() / "stat");
    // Not by iterators, which throw when the process ends between opening and reading.
    std::string text;
    std::getline(file, text, '\0');
    // "PID (NAME) STATE PARENT": the name may have spaces and brackets of its own.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;  // it has just ended
    std::istringstream behind_name(text.substr(name_end + 1));
    char state = 0;
    pid_t parent = 0;
    if (behind_name >> state >> parent) all.push_back({*pid, parent});
  }
  return all;
}

}  // namespace

ProcessTree::Process::Process(pid_t number)
    : pid(number), handle(static_cast<int>(::syscall(SYS_pidfd_open, number, 0))) {}

bool ProcessTree::Process::runs() const {
  pollfd one{handle.get(), POLLIN, 0};
  return handle.open() && ::poll(&one, 1, 0) == 0;
}

bool ProcessTree::knows(pid_t pid) const {
  return std::ranges::any_of(
      below_, [&](const Process& process) { return process.pid == pid && process.runs(); });
}

bool ProcessTree::any_runs() const {
  return std::ranges::any_of(below_, &Process::runs);
}

void ProcessTree::add(pid_t pid) {
  if (knows(pid)) return;
  Process process(pid);
  if (process.runs()) below_.push_back(std::move(process));
}

void ProcessTree::look() {
  const std::vector<Parentage> all = parentages();
  std::vector<pid_t> above;
  if (root_.runs()) above.push_back(root_.pid);
  for (const Process& process : below_) {
    if (process.runs()) above.push_back(process.pid);
  }
  for (std::size_t i = 0; i < above.size(); ++i) {
    for (const auto& [pid, parent] : all) {
      if (parent != above[i] || std::ranges::find(above, pid) != above.end()) continue;
      add(pid);
      above.push_back(pid);
    }
  }
}

void ProcessTree::signal(int number) const {
  for (const Process& process : below_) {
    ::syscall(SYS_pidfd_send_signal, process.handle.get(), number, nullptr, 0);
  }
}

void ProcessTree::end(std::chrono::milliseconds patience) {
  constexpr auto kKernelEndsWithin = std::chrono::seconds(2);
  const auto until = std::chrono::steady_clock::now() + patience;
  look();
  signal(SIGTERM);
  signal(SIGCONT);  // a stopped process would not notice
  for (look(); any_runs(); look()) {
    const auto now = std::chrono::steady_clock::now();
    if (now > until + kKernelEndsWithin) return;
    if (now > until) signal(SIGKILL);
    ::usleep(1'000);
  }
}

}  // namespace weft::emulate
