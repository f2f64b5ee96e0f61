// SPDX-License-Identifier: Apache-2.0
// FrameKey: the proofs and tokens of frames that processes of one job send each other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "fabric/job_key/job_key.hpp"
#include "fabric/libfabric/frame.hpp"
#include "weft/ids.hpp"

namespace weft::ofi {

/// Immutable; any thread.
class FrameKey {
 public:
  explicit FrameKey(std::string_view job_secret);

  /// Proves that `from` knows the secret and said `part`; `kind` keeps hello and welcome apart.
  Proof prove(FrameKind kind, NodeId from, std::span<const std::byte> part) const;
  bool verify(FrameKind kind, NodeId from, std::span<const std::byte> part,
              const Proof& proof) const;
  /// The token of every frame from `from` to `to` in the session of these two nonces. Never 0.
  std::uint64_t token(NodeId from, NodeId to, const Nonce& from_nonce, const Nonce& to_nonce) const;
  /// Eight hexadecimal digits that tell jobs apart and tell nothing about the secret.
  const std::string& tag() const { return tag_; }

 private:
  JobKey key_;
  std::string tag_;
};

/// Unpredictable, never the same again.
Nonce fresh_nonce();
std::uint64_t fresh_key();

}  // namespace weft::ofi
