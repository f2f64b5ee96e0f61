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
  bool is_gone = false;              ///< nobody needs it any more; it only keeps its serial
  std::span<const std::byte> bytes;  ///< in memory of others, which outlives the history
};

struct StoredSends {
  FlowKey flow;
  Serial first = 0;                 ///< of `kept`
  std::uint64_t digest_before = 0;  ///< of the flow, before them; 0: unknown
  std::uint64_t digest = 0;         ///< of the flow, after them; 0: unknown
  std::vector<StoredMessage> kept;
};

struct StoredReceives {
  FlowKey flow;
  Serial next = 0;           ///< of the next message
  std::uint64_t digest = 0;  ///< of the messages before it, as their sender said; 0: unknown
};

struct StoredPair {
  NodeId peer{};
  std::vector<StoredSends> sends;
  std::vector<StoredReceives> receives;
};

struct History {
  std::string run;  ///< names the job's run, in 1024 bytes: the history of another is of no use
  NodeId self{};
  std::uint32_t nodes = 0;
  std::vector<StoredPair> pairs;
};

/// Returns the bytes of a file, as docs/formats.md has them in "History of messages".
std::vector<std::byte> encode(const History& history);
/// Reads such a file. Messages refer to `bytes`. Errors: corrupt.
Result<History> decode_history(std::span<const std::byte> bytes);

}  // namespace weft::message
