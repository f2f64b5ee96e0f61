// SPDX-License-Identifier: Apache-2.0
// Sink: takes the messages of a flow as they come, without a receive for each. EarlyWatch: hears of
// messages that come before their receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/message/name.hpp"
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

/// Called from within calls of the machine: it makes none itself.
class EarlyWatch {
 public:
  /// A message of so many bytes has come, or was announced, before its receive was started. All
  /// that the peer had sent to this process before it is here or announced, too: it is not called
  /// on a connection where the order may be another one.
  virtual void on_early(NodeId from, const FlowKey& flow, std::uint64_t bytes) = 0;

 protected:
  EarlyWatch() = default;
  ~EarlyWatch() = default;
  EarlyWatch(const EarlyWatch&) = delete;
  EarlyWatch& operator=(const EarlyWatch&) = delete;
};

}  // namespace weft::message
