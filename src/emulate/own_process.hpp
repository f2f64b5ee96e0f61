// SPDX-License-Identifier: Apache-2.0
// A piece of work in a process of its own, which may join namespaces that it can never leave again.
#pragma once

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <type_traits>

#include "weft/result.hpp"

namespace weft::emulate {

/// How a process of weft's own learns that its work is to end: weft was told to end, or is gone.
class StopRequest {
 public:
  explicit StopRequest(int descriptor) : descriptor_(descriptor) {}
  /// Readable once the request came, and for ever after.
  int descriptor() const { return descriptor_; }
  bool came() const {
    pollfd one{descriptor_, POLLIN, 0};
    return ::poll(&one, 1, 0) > 0;
  }

 private:
  int descriptor_;
};

/// Calls `work` in a forked process with one thread, and returns when that has ended. The process
/// ignores SIGINT and SIGTERM, which a terminal sends to all processes at once: the request tells
/// it of them, when weft counts them (runtime/stop_signals.hpp). The kernel kills it with the
/// calling thread.
void call_in_own_process(const std::function<void(const StopRequest&)>& work);

/// Calls `work`, which returns a Result<T>, in such a process and returns its result. Error (io):
/// the process could not be started, or died.
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
  call_in_own_process([&](const StopRequest& stop) {
    const Result<T> result = work(stop);
    told->good = result.ok();
    if (result) {
      told->value = *result;
    } else {
      told->code = result.error().code;
      const std::string& text = result.error().message;
      std::memcpy(told->message, text.data(), std::min(text.size(), sizeof told->message - 1));
    }
    told->told = true;
  });
  Result<T> result = Error{ErrorCode::io, "a process of weft's own died, or could not be started"};
  if (told->told) {
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
