// SPDX-License-Identifier: Apache-2.0
// LoopbackHub: fabric endpoints that live in one process and exchange bytes by copying. For tests
// of code that uses a fabric; nothing is timed and nothing is lost by chance.
#pragma once

#include <cstddef>
#include <memory>

#include "weft/fabric.hpp"

namespace weft {

struct LoopbackOptions {
  std::size_t max_message = 64 * 1024;
  std::size_t max_write = std::size_t{1} << 32;
  std::size_t max_outstanding = 256;  ///< per endpoint; also messages in flight per pair
  /// Connections say that they lose nothing (Completion::is_lossless), which `break_connection`
  /// makes a lie of.
  bool is_lossless = false;
};

/// The hub through which endpoints find each other. They share its state, and may outlive it.
///
/// Threads: one thread drives the hub and all its endpoints.
class LoopbackHub {
 public:
  explicit LoopbackHub(const LoopbackOptions& options = {});
  ~LoopbackHub();

  /// An endpoint without peers. Destroying it acts like killing a process: peers see `peer_down`.
  /// Fails (exhausted) when the process has no descriptor left.
  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation);

  /// Breaks the connection of two endpoints, as a glitch of the network would: both see
  /// `peer_down` and then, since both live, `peer_up` with the same incarnation. Operations in
  /// flight are lost. Nothing happens when they are not connected.
  void break_connection(NodeId a, NodeId b);

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace weft
