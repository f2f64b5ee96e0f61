// SPDX-License-Identifier: Apache-2.0
// Spaces: descriptors of a testbed's namespaces, and how a process moves into them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/descriptor.hpp"
#include "weft/result.hpp"

namespace weft::testbed {

/// The namespaces of one keeper, held open.
class Spaces {
 public:
  /// Opens those of the keeper `pid`. The caller must be the user that started it, or root.
  static Result<Spaces> open(pid_t pid, std::uint32_t hosts);

  /// The functions below are made of system calls only and return 0 or an errno, so that they may
  /// be called between fork and exec. They concern the calling thread; with a user namespace the
  /// process must have only that one.

  /// Joins the testbed's user namespace; nothing happens when there is none or when in it already.
  int enter_user() const;
  /// Joins the network of a host, or of the switch with `host == switch_index()`.
  int enter_network(std::uint32_t host) const;
  /// Joins the mounts, in which network namespaces have names (for `ip netns`).
  int enter_mounts() const;
  /// Makes children of the caller members of the testbed's PID namespace: they end with it.
  int adopt_children() const;

  std::uint32_t switch_index() const { return static_cast<std::uint32_t>(networks_.size()) - 1; }

 private:
  Descriptor user_;
  Descriptor mounts_;
  Descriptor processes_;
  std::vector<Descriptor> networks_;  // hosts, then the switch
};

}  // namespace weft::testbed
