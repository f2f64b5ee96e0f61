// SPDX-License-Identifier: Apache-2.0
// OutputBuffer: output of processes on its way to standard output, which may be slower than they
// are.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace weft {

/// One thread.
class OutputBuffer {
 public:
  /// From so many bytes on no more is wanted.
  static constexpr std::size_t most = 1u << 20;

  explicit OutputBuffer(int file) : file_(file) {}
  void append(std::string_view bytes);
  bool full() const { return size() >= most; }
  std::size_t size() const { return bytes_.size() - first_; }
  int descriptor() const { return file_; }
  /// Writes as much as possible without waiting for long. After a failure it writes nothing more.
  void flush();
  std::optional<Error> error() const;

 private:
  bool write_some();

  int file_;
  int failure_ = 0;  // the system's number of the error that ended the writing
  std::string bytes_;
  std::size_t first_ = 0;
};

}  // namespace weft
