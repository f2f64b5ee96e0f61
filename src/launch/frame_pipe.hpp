// SPDX-License-Identifier: Apache-2.0
// FramePipe: messages between a launcher and its agent on another machine, over a pair of byte
// streams: the standard input and output of ssh.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft {

/// Never blocks. Owns its descriptors, which may be one and the same. One thread.
class FramePipe {
 public:
  struct Frame {
    char kind = 0;
    std::uint32_t rank = 0;
    std::string text;
  };
  /// Bytes of a frame's text, and of all that waits to be written.
  static constexpr std::size_t longest = 64u << 20;
  static constexpr std::size_t most_queued = 256u << 20;

  FramePipe() = default;
  FramePipe(int in, int out);
  ~FramePipe() { close(); }
  FramePipe(const FramePipe&) = delete;
  FramePipe& operator=(const FramePipe&) = delete;

  /// Closed by the other end's end, by nonsense, or when too much waits to be written.
  bool open() const { return in_ >= 0; }
  /// Bytes arrived that are no frames.
  bool heard_nonsense() const { return nonsense_; }
  void close();
  /// This side sends nothing more; frames from the other end are still received.
  void finish();

  /// Queues a frame and writes as much as the stream takes.
  void send(char kind, std::uint32_t rank, std::string_view text);
  void flush();
  /// Bytes that wait to be written.
  std::size_t queued() const { return out_bytes_.size() - out_first_; }

  /// The next frame that is complete. It reads on only when there is none. Frames that were
  /// received before the other end closed still come.
  std::optional<Frame> receive();

  /// Appends the descriptors to wait for; `reading`: also for something to receive.
  void add_to(std::vector<pollfd>& files, bool reading = true) const;

 private:
  std::optional<Frame> take();
  void close_out();

  int in_ = -1;
  int out_ = -1;
  bool finishing_ = false;
  bool nonsense_ = false;
  std::string in_bytes_, out_bytes_;
  std::size_t in_first_ = 0, out_first_ = 0;  // of the bytes still in use
};

}  // namespace weft
