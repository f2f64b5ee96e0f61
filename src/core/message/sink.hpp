// SPDX-License-Identifier: Apache-2.0
// Sink: takes the messages of a flow as they come, without a receive for each.
#pragma once

#include <cstddef>
#include <span>

#include "core/message/operations.hpp"

namespace weft::message {

/// Called from within calls of the machine: it makes none itself.
class Sink {
 public:
  /// The flow's next message, valid until it returns.
  virtual void take(std::span<const std::byte> bytes) = 0;
  /// There will be no more messages.
  virtual void fail(Failure failure) = 0;

 protected:
  Sink() = default;
  ~Sink() = default;
  Sink(const Sink&) = default;
  Sink& operator=(const Sink&) = default;
};

}  // namespace weft::message
