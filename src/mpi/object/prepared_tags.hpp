// SPDX-License-Identifier: Apache-2.0
// PreparedTags: tags of the flows of one communicator's persistent collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/object/group.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// A tag of collectives' flows that nobody else has. It is given back when the last copy goes.
using PreparedTag = std::shared_ptr<const std::int32_t>;

/// All members make their persistent collectives in the same order, and get the same tag for each.
/// But they may free them in any order and at any time: a tag is free when it is so in all of them.
/// The members ask each other for that when they have made twice as many as were in use when they
/// last asked, so that tags, and the memory for the flows of each, have a bound.
class PreparedTags {
 public:
  /// Tags from `first` on.
  explicit PreparedTags(std::int32_t first) : first_(first) {}
  /// Collective over the group, in which members may wait for each other.
  PreparedTag take(Transfer& transfer, const Group& group);
  /// One that is never used again, where the members cannot ask each other.
  PreparedTag take_new();

 private:
  void find_free(Transfer& transfer, const Group& group);
  std::int32_t tag_at(std::size_t place) const { return first_ + static_cast<std::int32_t>(place); }

  const std::int32_t first_;
  std::vector<std::weak_ptr<const std::int32_t>> all_;  // by tag
  std::vector<std::size_t> free_;                       // in all members, the next one last
  std::size_t most_ = 64;                               // before they ask again
};

}  // namespace weft::mpi
