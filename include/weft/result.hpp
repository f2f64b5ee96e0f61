// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error, for failures in operation. A programmer's error ends
// the process and is never a Result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace weft {

enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< an option, a file or a message says something impossible
  not_found,         ///< a file, a provider or a peer that does not exist
  corrupt,           ///< bytes that do not decode, or whose checksum differs
  unauthorised,      ///< a peer that could not prove that it belongs to the job
  unavailable,       ///< the peer or resource is gone or refuses, perhaps for now
  exhausted,         ///< no space, memory, descriptors left
  io,                ///< the operating system refused a request
  timed_out,         ///< the operation took longer than it may
  cancelled,         ///< a signal or the caller ended the operation
};

/// An error, as one line that names the option or file, the value and the fix.
struct Error {
  ErrorCode code = ErrorCode::io;
  std::string message;
};

/// A value of type T or an Error. Never empty. Call `value`, `*` and `->` only if `ok` returns
/// true, and `error` only if it returns false.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace weft
