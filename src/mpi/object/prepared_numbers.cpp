// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/prepared_numbers.hpp"

#include <algorithm>

#include "mpi/object/collectives.hpp"

namespace weft::mpi {

PreparedNumber PreparedNumbers::take(Transfer& transfer, const Group& group) {
  if (free_.empty() && all_.size() >= most_) find_free(transfer, group);
  if (free_.empty()) return take_new();
  const auto number = std::make_shared<const std::int32_t>(free_.back());
  free_.pop_back();
  all_[static_cast<std::size_t>(*number)] = number;
  return number;
}

PreparedNumber PreparedNumbers::take_new() {
  const auto number = std::make_shared<const std::int32_t>(static_cast<std::int32_t>(all_.size()));
  all_.push_back(number);
  return number;
}

void PreparedNumbers::find_free(Transfer& transfer, const Group& group) {
  std::vector<std::byte> own, any(all_.size());
  for (const auto& number : all_) own.push_back(std::byte{!number.expired()});
  run_collective(transfer, group,
                 {.operation = collective::Operation::allreduce, .bytes = own.size()}, own.data(),
                 any.data(), [](const std::byte* in, std::byte* inout, std::uint64_t bytes) {
                   for (std::uint64_t i = 0; i < bytes; ++i) inout[i] |= in[i];
                 });
  for (std::size_t i = any.size(); i-- > 0;) {
    if (any[i] == std::byte{0}) free_.push_back(static_cast<std::int32_t>(i));
  }
  most_ = std::max(most_, 2 * (all_.size() - free_.size()));
}

}  // namespace weft::mpi
