// SPDX-License-Identifier: Apache-2.0
// ProcessOutput: the standard output of a process, through a pipe, in whole lines.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// So long after the last process of a job has ended, the launcher waits for output of what the
/// processes have left behind: a filter ends by itself, a service may never.
constexpr Duration patience_for_output = Duration::seconds(2);

class ProcessOutput {
 public:
  /// Returns the end for the process. Errors: no descriptors left.
  Result<Descriptor> open_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return make_error(ErrorCode::exhausted,
                        "cannot make a pipe for a process's output: {}; raise the limit of open "
                        "files (ulimit -n)",
                        std::strerror(errno));
    }
    file_ = Descriptor(ends[0]);
    line_.clear();  // what an earlier life had left behind
    ::fcntl(file_.get(), F_SETFL, O_NONBLOCK);
    return Descriptor(ends[1]);
  }

  bool open() const { return file_.open(); }
  int descriptor() const { return file_.get(); }

  /// Reads all there is, and passes on whole lines; at the end, when no process holds the pipe any
  /// more, the rest and then nothing.
  template <class PassOn>
  void read(PassOn&& pass_on) {
    for (std::size_t read = 0; open() && read < most_at_once;) {
      std::array<char, 64 << 10> part;
      const auto n = ::read(file_.get(), part.data(), part.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) {
        give_up(pass_on);
        return pass_on(std::string_view());
      }
      read += static_cast<std::size_t>(n);
      line_.append(part.data(), static_cast<std::size_t>(n));
      const std::size_t end = line_.rfind('\n');
      const std::size_t whole = end != std::string::npos      ? end + 1
                                : line_.size() > longest_line ? line_.size()
                                                              : 0;
      if (whole == 0) continue;
      pass_on(std::string_view(line_).substr(0, whole));
      line_.erase(0, whole);
    }
  }
  /// Passes on a line that is not finished, and reads no more.
  template <class PassOn>
  void give_up(PassOn&& pass_on) {
    file_.reset();
    if (!line_.empty()) pass_on(std::string_view(line_));
    line_.clear();
  }

 private:
  static constexpr std::size_t most_at_once = 1u << 20;
  /// An unfinished line is passed on when it is longer.
  static constexpr std::size_t longest_line = 64 << 10;

  Descriptor file_;
  std::string line_;
};

}  // namespace weft
