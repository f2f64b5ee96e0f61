// SPDX-License-Identifier: Apache-2.0
// GrantAgreement: compute nodes that have different numbers of grants out get different shares of
// the input nodes. Those with more get ahead, the others hold up the stream, and everybody loses.
// So each grant says how many its compute node would like to have out, the input nodes hear all of
// them, and each tells some compute nodes the median, as a whole number.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fixed_vec.hpp"

namespace weft::schedule {

/// A number of grants that a compute node would like, in sixteenths. Zero: it does not know.
using Wish = std::uint32_t;
inline constexpr double wish_unit = 16;

/// The agreement as an input node knows it. A machine without I/O.
class GrantAgreement {
 public:
  /// For at most so many compute nodes.
  explicit GrantAgreement(std::uint32_t computes_max);

  /// Other compute nodes, [0, computes), which is at most the largest number: all starts anew.
  void restart(std::uint32_t computes);
  /// A grant of that compute node said so. Unknown compute nodes are ignored.
  void on_wish(std::uint32_t compute, Wish wish);
  /// That compute node wants to be told, from now on.
  void on_listener(std::uint32_t compute);
  /// The median wish, looked at anew once in a round of grants, in whole grants; zero as long as
  /// there is none.
  std::uint32_t agreed() const { return agreed_; }
  /// A compute node that has to be told that now; it counts as told then.
  std::optional<std::uint32_t> take_untold();

 private:
  struct Listener {
    std::uint32_t compute = 0;
    std::uint32_t told = 0;
  };
  std::vector<Wish> wishes_;  // by compute node
  std::vector<Wish> sorted_;
  std::size_t heard_ = 0;  // since then
  std::uint32_t agreed_ = 0;
  FixedVec<Listener> listeners_;
  std::size_t untold_ = 0;  // listeners before it have been told
};

}  // namespace weft::schedule
