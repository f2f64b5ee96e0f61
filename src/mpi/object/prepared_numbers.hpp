// SPDX-License-Identifier: Apache-2.0
// Numbers of the persistent collectives of one communicator, which the tags of their flows contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/object/group.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// A number that nobody else has. It is given back when the last copy goes.
using PreparedNumber = std::shared_ptr<const std::int32_t>;

/// All members make their persistent collectives in the same order, and get the same number for
/// each. But they may free them in any order and at any time: a number is free when it is so in all
/// of them. The members ask each other for that when they have made twice as many as were in use
/// when they last asked, so that numbers, and the memory for the flows of each, have a bound.
class PreparedNumbers {
 public:
  /// Collective over the group, in which members may wait for each other.
  PreparedNumber take(Transfer& transfer, const Group& group);
  /// One that is never used again, where the members cannot ask each other.
  PreparedNumber take_new();

 private:
  void find_free(Transfer& transfer, const Group& group);

  std::vector<std::weak_ptr<const std::int32_t>> all_;  // by number
  std::vector<std::int32_t> free_;                      // in all members, the next one last
  std::size_t most_ = 64;                               // before they ask again
};

}  // namespace weft::mpi
