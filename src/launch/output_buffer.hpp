// SPDX-License-Identifier: Apache-2.0
// OutputBuffer: output of processes on other machines, on its way to standard output, which may be
// slower than they are.
#pragma once

#include <string>
#include <string_view>

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
  /// Writes as much as possible without waiting for long. If nobody reads any more, it is lost.
  void flush();
  /// Writes all, and waits for that.
  void flush_all();

 private:
  bool write_some();

  int file_;
  std::string bytes_;
  std::size_t first_ = 0;
};

}  // namespace weft
