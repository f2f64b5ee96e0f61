// SPDX-License-Identifier: Apache-2.0
// History: the state of a process's messages that a later life needs to go on from the point
// stored: its place in each flow, and the messages kept for others (paper 4, 4.5.7, with
// checkpoints).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/message/name.hpp"
#include "weft/result.hpp"

namespace weft::message {

/// A message that is kept for its receiver.
struct StoredMessage {
  bool is_gone = false;  ///< nobody needs it any more; it only has its place
  std::span<const std::byte> bytes;
};

struct StoredSends {
  FlowKey flow;
  Serial first = 0;                 ///< of `kept`
  std::uint64_t digest_before = 0;  ///< of the flow, before them; 0: unknown
  std::uint64_t digest = 0;         ///< and behind them
  std::vector<StoredMessage> kept;
};

struct StoredReceives {
  FlowKey flow;
  Serial next = 0;
  std::uint64_t digest = 0;  ///< of the messages before it, as their sender said; 0: unknown
};

struct StoredPair {
  NodeId peer{};
  std::vector<StoredSends> sends;
  std::vector<StoredReceives> receives;
};

struct History {
  std::string run;  ///< of the job: another's is of no use
  NodeId self{};
  std::uint32_t nodes = 0;
  std::vector<StoredPair> pairs;
};

/// docs/formats.md, "History of messages".
std::vector<std::byte> encode(const History& history);
/// Messages lie in `bytes`. Errors: corrupt.
Result<History> decode_history(std::span<const std::byte> bytes);

}  // namespace weft::message
