// SPDX-License-Identifier: Apache-2.0
// Descriptor: a file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace weft {

/// Owns a file descriptor and closes it in the destructor. Holds none when the number is negative.
/// One thread at a time.
class Descriptor {
 public:
  Descriptor() = default;
  /// Takes ownership of `number`.
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  /// Closes the descriptor now; does nothing without one.
  void reset() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

}  // namespace weft
