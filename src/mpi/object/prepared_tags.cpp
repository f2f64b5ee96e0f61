// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/prepared_tags.hpp"

#include <algorithm>

#include "mpi/object/collectives.hpp"

namespace weft::mpi {

PreparedTag PreparedTags::take(Transfer& transfer, const Group& group) {
  if (free_.empty() && all_.size() >= most_) find_free(transfer, group);
  if (free_.empty()) return take_new();
  const std::size_t place = free_.back();
  free_.pop_back();
  const auto tag = std::make_shared<const std::int32_t>(tag_at(place));
  all_[place] = tag;
  return tag;
}

PreparedTag PreparedTags::take_new() {
  const auto tag = std::make_shared<const std::int32_t>(tag_at(all_.size()));
  all_.push_back(tag);
  return tag;
}

void PreparedTags::find_free(Transfer& transfer, const Group& group) {
  std::vector<std::byte> own, any(all_.size());
  for (const auto& tag : all_) own.push_back(std::byte{!tag.expired()});
  run_collective(transfer, group,
                 {.operation = collective::Operation::allreduce, .bytes = own.size()}, own.data(),
                 any.data(), [](const std::byte* in, std::byte* inout, std::uint64_t bytes) {
                   for (std::uint64_t i = 0; i < bytes; ++i) inout[i] |= in[i];
                 });
  for (std::size_t i = any.size(); i-- > 0;) {
    if (any[i] != std::byte{0}) continue;
    free_.push_back(i);
    transfer.forget_collective_on(group, tag_at(i));
  }
  most_ = std::max(most_, 2 * (all_.size() - free_.size()));
}

}  // namespace weft::mpi
