// SPDX-License-Identifier: Apache-2.0
#include "testbed/tool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "base/split.hpp"

namespace weft::testbed {
namespace {

constexpr std::string_view kSystemPath = "/usr/sbin:/sbin:/usr/bin:/bin";
constexpr std::size_t kLongestComplaint = 400;
constexpr int kCouldNotStart = 127;

Error failed(const Tool& tool, std::string_view what) {
  return make_error(ErrorCode::io, "testbed: {}: {}", tool.name, what);
}

Result<Descriptor> memory_file(const Tool& tool, std::string_view content) {
  Descriptor file(::memfd_create("weft-testbed", MFD_CLOEXEC));
  if (!file.open()) return failed(tool, std::strerror(errno));
  while (!content.empty()) {
    const auto n = ::write(file.get(), content.data(), content.size());
    if (n < 0) return failed(tool, std::strerror(errno));
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// In the child: system calls only.
[[noreturn]] void become(const Spaces& spaces, std::uint32_t host, const char* path,
                         char* const* arguments, int input, int output) {
  int error = spaces.enter_user();
  if (error == 0) error = spaces.enter_network(host);
  if (error == 0) error = spaces.enter_mounts();
  if (error == 0) {
    ::dup2(input, 0);
    ::dup2(output, 1);
    ::dup2(output, 2);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::array<char*, 3> environment{const_cast<char*>("PATH=/usr/sbin:/sbin:/usr/bin:/bin"),
                                     const_cast<char*>("LC_ALL=C"), nullptr};
    ::execve(path, arguments, environment.data());
    error = errno;
  }
  const char* text = strerrordesc_np(error);
  [[maybe_unused]] const auto told = ::write(output, text, std::strlen(text));
  ::_exit(kCouldNotStart);
}

Result<int> wait_for(const Tool& tool, pid_t pid) {
  const Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{handle.get(), POLLIN, 0};
  int events = -1;
  do {
    events = ::poll(&ended, 1, kToolSeconds * 1000);
  } while (events < 0 && errno == EINTR);
  if (events <= 0) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return failed(tool, std::strerror(errno));
  }
  if (events == 0) return failed(tool, fmt::format("does not end within {} s", kToolSeconds));
  return status;
}

// The first lines of the tool's output, joined into one.
std::string said(const Descriptor& output) {
  std::string text(kLongestComplaint, '\0');
  const auto n = ::pread(output.get(), text.data(), text.size(), 0);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
    text.replace(at, 1, "; ");
  }
  return text.empty() ? "failed without a word" : text;
}

}  // namespace

Result<std::string> find_tool(const Tool& tool) {
  const char* given = std::getenv("PATH");
  const std::string path = fmt::format("{}:{}", given != nullptr ? given : "", kSystemPath);
  for (const std::string_view directory : split(path, ':')) {
    const std::string candidate = fmt::format("{}/{}", directory, tool.name);
    if (candidate.front() == '/' && candidate[1] != '/' && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  return make_error(ErrorCode::not_found,
                    "testbed: the program {} is missing: install the package {}", tool.name,
                    tool.package);
}

Result<void> run_tool(const Spaces& spaces, std::uint32_t host, const Tool& tool,
                      std::span<const std::string> arguments, std::string_view input) {
  auto path = find_tool(tool);
  if (!path.ok()) return std::move(path).error();
  auto in = memory_file(tool, input);
  if (!in.ok()) return std::move(in).error();
  auto out = memory_file(tool, {});
  if (!out.ok()) return std::move(out).error();
  std::vector<char*> raw{path->data()};
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid < 0) return failed(tool, std::strerror(errno));
  if (pid == 0) become(spaces, host, path->c_str(), raw.data(), in->get(), out->get());
  const auto status = wait_for(tool, pid);
  if (!status.ok()) return status.error();
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  return failed(tool, said(*out));
}

}  // namespace weft::testbed
