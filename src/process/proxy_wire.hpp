// SPDX-License-Identifier: Apache-2.0
// Questions of a real process to the simulation that has its rank, and their answers: messages of a
// Channel between processes of one machine and one version of weft. The process stands still until
// it is answered, so that simulated time passes for it alone as the simulation says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft::proxy {

/// Name of the environment's variable with the descriptor of the process's end.
inline constexpr const char* variable = "WEFT_SIMULATION";

// Kinds of questions. Each begins with the nanoseconds that the process has computed since the last
// answer; each answer begins with Answered.
inline constexpr char hello = 'h';  ///< nothing → Limits, description of the job
inline constexpr char post = 'p';  ///< PostedOp and its bytes, for each → u64: how many are taken
inline constexpr char poll = 'q';  ///< u64: at most so many → Arrived and its bytes, for each
inline constexpr char expose = 'e';   ///< the memory's bytes → RemoteRegion
inline constexpr char retract = 'r';  ///< RemoteRegion → the memory's bytes
inline constexpr char look = 't';     ///< at the clock
inline constexpr char busy = 'b';     ///< a turn did something
/// i64: deadline, ns; u64: 1 if processes that wait have told each other of it since the last idle,
/// and nothing else is to count as news; name of the call, if it has one
inline constexpr char idle = 'i';
inline constexpr char left = 'l';  ///< the process has left the job, and communicates no more

struct Answered {
  std::int64_t now_ns = 0;  ///< by the process's simulated clock
  std::uint64_t over = 0;   ///< 1: all programs are over
};

struct Limits {
  std::uint64_t max_message = 0, max_write = 0, max_outstanding = 0;
};

/// One operation of the fabric; `size` bytes follow.
struct PostedOp {
  std::uint64_t kind = 0, level = 0, peer = 0, context = 0;
  std::uint64_t key = 0, base = 0, length = 0, offset = 0;
  std::uint64_t size = 0;
};

/// One completion; `size` bytes follow.
struct Arrived {
  std::uint64_t kind = 0, peer = 0, incarnation = 0, context = 0, size = 0;
};

template <class T>
void put(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline void put_bytes(std::string& text, std::span<const std::byte> bytes) {
  text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Takes values from the front.
class Taken {
 public:
  explicit Taken(std::string_view text) : text_(text) {}

  /// False: there are not so many bytes.
  template <class T>
  bool take(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (text_.size() < sizeof value) return false;
    std::memcpy(&value, text_.data(), sizeof value);
    text_.remove_prefix(sizeof value);
    return true;
  }
  bool take_bytes(std::uint64_t size, std::span<const std::byte>& bytes) {
    if (text_.size() < size) return false;
    bytes = std::as_bytes(std::span(text_.data(), static_cast<std::size_t>(size)));
    text_.remove_prefix(static_cast<std::size_t>(size));
    return true;
  }
  std::string_view rest() const { return text_; }

 private:
  std::string_view text_;
};

}  // namespace weft::proxy
