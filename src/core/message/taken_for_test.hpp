// SPDX-License-Identifier: Apache-2.0
// A sink that remembers what it took.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "core/message/sink.hpp"

namespace weft::message::testing {

class Taken final : public Sink {
 public:
  void take(std::span<const std::byte> bytes) override {
    for (const std::byte value : bytes) text += static_cast<char>(value);
  }
  void fail(Failure) override { text += '!'; }
  std::string text;
};

}  // namespace weft::message::testing
