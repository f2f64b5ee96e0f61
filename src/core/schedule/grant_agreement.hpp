// SPDX-License-Identifier: Apache-2.0
// GrantAgreement: makes all compute nodes keep the same number of grants in flight. Compute nodes
// with different numbers get different shares of the input nodes' links: those with more run ahead,
// and the slower ones hold up the stream. Each grant therefore carries the number that its compute
// node wishes for, so every input node receives the wishes of all compute nodes. An input node
// sends the median, rounded to a whole number, to the compute nodes that listen to it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fixed_vec.hpp"

namespace weft::schedule {

/// The number of grants in flight that a compute node wishes for, in sixteenths. Zero: no wish.
using Wish = std::uint32_t;
inline constexpr double wish_unit = 16;

/// An input node's view of the agreement. A machine without I/O; one thread.
class GrantAgreement {
 public:
  /// Allocates memory for at most `computes_max` compute nodes.
  explicit GrantAgreement(std::uint32_t computes_max);

  /// Forgets all wishes and listeners, and continues with compute nodes [0, computes).
  void restart(std::uint32_t computes);
  /// Records the wish in a grant of that compute node. Ignores unknown compute nodes.
  void on_wish(std::uint32_t compute, Wish wish);
  /// Registers a compute node as a listener, to which this input node sends the median.
  void on_listener(std::uint32_t compute);
  /// Returns the median wish in whole grants; zero while no compute node has a wish. The machine
  /// computes it once per round of grants, and ignores small changes.
  std::uint32_t agreed() const { return agreed_; }
  /// Returns a listener that does not know the present median yet, and marks it as informed.
  std::optional<std::uint32_t> take_untold();

 private:
  struct Listener {
    std::uint32_t compute = 0;
    std::uint32_t told = 0;
  };
  std::vector<Wish> wishes_;  // by compute node
  std::vector<Wish> sorted_;
  std::size_t heard_ = 0;  // wishes since the median was last computed
  std::uint32_t agreed_ = 0;
  FixedVec<Listener> listeners_;
  std::size_t untold_ = 0;  // all listeners before this index know the median
};

}  // namespace weft::schedule
