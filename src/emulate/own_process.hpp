// SPDX-License-Identifier: Apache-2.0
// A piece of work in a process of its own, which may join namespaces that it can never leave again.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

#include "weft/result.hpp"

namespace weft::emulate {

/// Calls `work`, which returns a Result<T>, in a forked process with one thread, and returns its
/// result. The process ignores SIGINT and SIGTERM, which its own children get as well, and ends
/// with the calling thread. Error (io): the process could not be started, or died.
template <class T, class Work>
Result<T> in_own_process(Work work) {
  static_assert(std::is_trivially_copyable_v<T>);
  struct Told {
    bool told = false;
    bool good = false;
    ErrorCode code = ErrorCode::io;
    char message[1024] = {};
    T value{};
  };
  void* memory =
      ::mmap(nullptr, sizeof(Told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error{ErrorCode::io, "no memory to share with a process"};
  auto* told = new (memory) Told;
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGTERM, SIG_IGN);
    const Result<T> result = work();
    told->good = result.ok();
    if (result) {
      told->value = *result;
    } else {
      told->code = result.error().code;
      const std::string& text = result.error().message;
      std::memcpy(told->message, text.data(), std::min(text.size(), sizeof told->message - 1));
    }
    told->told = true;
    ::_exit(0);
  }
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  Result<T> result = Error{ErrorCode::io, "a process of weft's own died, or could not be started"};
  if (child > 0 && told->told) {
    if (told->good) {
      result = told->value;
    } else {
      result = Error{told->code, told->message};
    }
  }
  ::munmap(memory, sizeof(Told));
  return result;
}

}  // namespace weft::emulate
