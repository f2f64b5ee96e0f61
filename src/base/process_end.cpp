// SPDX-License-Identifier: Apache-2.0
#include "base/process_end.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace weft {
namespace {

std::string named(int signal) {
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

}  // namespace

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return "was ended by " + named(WTERMSIG(status));
  return fmt::format("ended with code {}", WEXITSTATUS(status));
}

std::string describe_end_code(int code) {
  const int signal = code - 128;
  const std::string by = signal > 0 && signal < SIGRTMIN ? ", as by " + named(signal) : "";
  return fmt::format("ended with code {}{}", code, by);
}

int code_of_end(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace weft
