// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/message/machine.hpp"

namespace weft::message::testing {

/// One machine, whose peer is the test.
class OneMachine : public ::testing::Test {
 protected:
  static constexpr NodeId peer{1};
  static constexpr FlowKey flow{.generation = Generation(1), .tag = Tag(7)};

  explicit OneMachine(bool retain = false)
      : machine_({.self = NodeId(0), .nodes = 2, .inbox = ByteCount::mib(1), .retain = retain},
                 Instant()) {}
  void hear(const Frame& frame, const std::string& content = {}) {
    std::vector<std::byte> bytes(longest_control_frame);
    wire::Writer writer(bytes);
    encode(writer, frame);
    bytes.resize(writer.size());
    for (const char c : content) bytes.push_back(static_cast<std::byte>(c));
    machine_.on_completion(Instant(), {.peer = peer, .data = bytes}, out_);
  }

  /// The frames of that kind that leave now.
  std::vector<Frame> leave(FrameKind kind) {
    std::vector<Frame> left;
    for (bool has_more = true; has_more;) {
      has_more = !machine_.pump(out_);
      for (const TxOp& op : out_.tx.view()) {
        const auto frame = decode(op.segments[0]);
        if (frame && frame->kind == kind) left.push_back(*frame);
      }
      out_.posted(out_.tx.size());
    }
    return left;
  }

  MessageMachine machine_;
  TransmitQueue out_{64, 16 << 10};
};

}  // namespace weft::message::testing
