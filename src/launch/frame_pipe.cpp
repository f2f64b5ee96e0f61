// SPDX-License-Identifier: Apache-2.0
#include "launch/frame_pipe.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace weft {
namespace {

constexpr std::size_t header = 9;  // length of the text, kind, rank

void set_non_blocking(int file) {
  ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK);
}

/// Forgets used bytes, now and then.
void compact(std::string& bytes, std::size_t& first) {
  if (first < bytes.size() && first < bytes.size() / 2) return;
  bytes.erase(0, first);
  first = 0;
}

}  // namespace

FramePipe::FramePipe(int in, int out) : in_(in), out_(out) {
  set_non_blocking(in_);
  set_non_blocking(out_);
}

void FramePipe::close() {
  close_out();
  if (in_ >= 0) ::close(in_);
  in_ = -1;
}

void FramePipe::close_out() {
  if (out_ < 0) return;
  if (out_ != in_) {
    ::close(out_);
  } else {
    ::shutdown(out_, SHUT_WR);
  }
  out_ = -1;
}

void FramePipe::send(char kind, std::uint32_t rank, std::string_view text) {
  if (out_ < 0) return;
  if (queued() + header + text.size() > most_queued) return close();
  const auto length = static_cast<std::uint32_t>(text.size());
  std::array<char, header> head{};
  std::memcpy(head.data(), &length, sizeof length);
  head[4] = kind;
  std::memcpy(head.data() + 5, &rank, sizeof rank);
  compact(out_bytes_, out_first_);
  out_bytes_.append(head.data(), head.size());
  out_bytes_ += text;
  flush();
}

void FramePipe::flush() {
  while (out_ >= 0 && queued() > 0) {
    const auto n = ::write(out_, out_bytes_.data() + out_first_, queued());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {  // nobody reads any more; their frames may still come
      close_out();
      out_bytes_.clear();
      out_first_ = 0;
      return;
    }
    out_first_ += static_cast<std::size_t>(n);
  }
}

std::optional<FramePipe::Frame> FramePipe::take() {
  const std::size_t size = in_bytes_.size() - in_first_;
  if (size < header) return std::nullopt;
  const char* bytes = in_bytes_.data() + in_first_;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes, sizeof length);
  if (length > longest) {
    nonsense_ = true;
    close();
    in_bytes_.clear();
    in_first_ = 0;
    return std::nullopt;
  }
  if (size - header < length) return std::nullopt;
  Frame frame{.kind = bytes[4], .rank = 0, .text = std::string(bytes + header, length)};
  std::memcpy(&frame.rank, bytes + 5, sizeof frame.rank);
  in_first_ += header + length;
  return frame;
}

std::optional<FramePipe::Frame> FramePipe::receive() {
  for (;;) {
    if (auto frame = take()) return frame;
    if (in_ < 0) return std::nullopt;
    compact(in_bytes_, in_first_);
    std::array<char, 64 << 10> part;
    const auto n = ::read(in_, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return std::nullopt;
    if (n <= 0) {
      close();
      return std::nullopt;
    }
    in_bytes_.append(part.data(), static_cast<std::size_t>(n));
  }
}

void FramePipe::add_to(std::vector<pollfd>& files, bool reading) const {
  if (in_ >= 0 && reading) files.push_back({.fd = in_, .events = POLLIN, .revents = 0});
  if (out_ >= 0 && queued() > 0) files.push_back({.fd = out_, .events = POLLOUT, .revents = 0});
}

}  // namespace weft
