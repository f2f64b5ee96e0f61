// SPDX-License-Identifier: Apache-2.0
// FramePipe: messages between a launcher and its agent on another machine. They travel over a pair
// of byte streams, the standard input and output of ssh.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft {

/// No call blocks. The object owns its descriptors, which may be one and the same. One thread.
class FramePipe {
 public:
  struct Frame {
    char kind = 0;
    std::uint32_t rank = 0;
    std::string text;
  };
  static constexpr std::size_t longest = 64u << 20;       ///< of a frame's text, in bytes
  static constexpr std::size_t most_queued = 256u << 20;  ///< bytes that wait to be written

  FramePipe() = default;
  FramePipe(int in, int out);
  ~FramePipe() { close(); }
  FramePipe(const FramePipe&) = delete;
  FramePipe& operator=(const FramePipe&) = delete;

  /// Returns whether frames may still arrive. The pipe closes when the other end closes, when it
  /// sends bytes that are no frame, or when more than `most_queued` would wait to be written.
  bool open() const { return in_ >= 0; }
  /// Returns whether the other end sent bytes that are no frame.
  bool heard_nonsense() const { return nonsense_; }
  void close();

  /// Queues a frame, with a text of at most `longest` bytes, and writes as much as the stream
  /// takes. Does nothing when the other end reads no more.
  void send(char kind, std::uint32_t rank, std::string_view text);
  /// Writes as much of the queued frames as the stream takes.
  void flush();
  /// Returns how many bytes wait to be written.
  std::size_t queued() const { return out_bytes_.size() - out_first_; }

  /// Returns the next complete frame, if there is one. Reads from the stream only when no complete
  /// frame is buffered. Frames that arrived before the other end closed still come.
  std::optional<Frame> receive();

  /// Appends the descriptors to wait for: while frames wait to be written the output, and if
  /// `reading` is true the input.
  void add_to(std::vector<pollfd>& files, bool reading = true) const;

 private:
  std::optional<Frame> take();
  void close_out();

  int in_ = -1;
  int out_ = -1;
  bool nonsense_ = false;
  std::string in_bytes_, out_bytes_;
  std::size_t in_first_ = 0, out_first_ = 0;  // of the bytes still in use
};

}  // namespace weft
