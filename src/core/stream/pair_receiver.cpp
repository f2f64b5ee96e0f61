// SPDX-License-Identifier: Apache-2.0
#include "core/stream/pair_receiver.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace weft::stream {

PairReceiver::PairReceiver(const PairMemory& memory)
    : memory_(memory),
      slots_(memory.descriptors.size() / sizeof(ContributionDescriptor)),
      records_(slots_) {
  WEFT_CHECK(slots_ > 0 && memory.data.size > 0);
}

void PairReceiver::restart(std::uint32_t view) {
  WEFT_CHECK(drained());
  view_ = view;
  written_ = seen_ = released_ = position_ = released_bytes_ = 0;
  told_released_ = told_bytes_ = 0;
  corrupt_ = false;
  offered_ = true;
}

Hello PairReceiver::hello() const {
  return {.data = memory_.data_region, .descriptors = memory_.descriptor_region, .view = view_};
}

PairReceiver::Accepted PairReceiver::on_written(const Written& written) {
  if (!offered_ || written.view != view_ || corrupt_) return Accepted::ignored;
  if (written.descriptors > released_ + slots_) return Accepted::refused;
  written_ = std::max(written_, written.descriptors);
  return Accepted::yes;
}

std::optional<PairReceiver::Arrival> PairReceiver::take_arrival() {
  if (seen_ == written_ || corrupt_) return std::nullopt;
  Arrival arrival;
  arrival.record = seen_;
  arrival.position = position_;
  const std::size_t at = (seen_ % slots_) * sizeof(ContributionDescriptor);
  std::memcpy(&arrival.descriptor, memory_.descriptors.data() + at, sizeof arrival.descriptor);
  const auto& d = arrival.descriptor;
  const std::uint64_t count = d.microslices & microslice_count_mask;
  if (d.position != static_cast<std::uint32_t>(position_) ||
      position_ + d.size - released_bytes_ > memory_.data.size ||
      count * sizeof(MicrosliceDescriptor) > d.size) {
    corrupt_ = true;
    return std::nullopt;
  }
  records_[seen_ % slots_] = {.size = d.size, .released = false};
  position_ += d.size;
  ++seen_;
  return arrival;
}

void PairReceiver::release(std::uint64_t record) {
  WEFT_CHECK(record >= released_ && record < seen_, "record {} is not in [{}, {})", record,
             released_, seen_);
  records_[record % slots_].released = true;
  while (released_ < seen_ && records_[released_ % slots_].released) {
    released_bytes_ += records_[released_ % slots_].size;
    ++released_;
  }
}

}  // namespace weft::stream
