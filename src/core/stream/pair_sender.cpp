// SPDX-License-Identifier: Apache-2.0
#include "core/stream/pair_sender.hpp"

#include <algorithm>

namespace weft::stream {
namespace {

constexpr std::uint64_t max_descriptors = 1 << 20;

std::span<const std::byte> part(std::span<const std::byte> bytes, std::size_t from,
                                std::size_t to) {
  from = std::min(from, bytes.size());
  to = std::min(to, bytes.size());
  return bytes.subspan(from, to - from);
}

/// Bytes [from, to) of two segments taken as one.
std::array<std::span<const std::byte>, 2> slice(
    const std::array<std::span<const std::byte>, 2>& segments, std::size_t from, std::size_t to) {
  const std::size_t first = segments[0].size();
  return {part(segments[0], from, to),
          part(segments[1], from > first ? from - first : 0, to > first ? to - first : 0)};
}

}  // namespace

PairSender::PairSender(NodeId peer, std::uint32_t pair) : peer_(peer), pair_(pair) {}

void PairSender::open(const Hello& hello, std::uint32_t count) {
  const std::uint64_t slots = hello.descriptors.length / sizeof(ContributionDescriptor);
  open_ = slots > 0 && slots <= max_descriptors && hello.data.length > 0;
  if (!open_) return;
  view_ = hello.view;
  view_count_ = count;
  data_ = hello.data;
  descriptors_ = hello.descriptors;
  records_.assign(slots, Record{});
  written_ = received_ = acknowledged_ = released_ = consumed_ = 0;
  position_ = released_bytes_ = 0;
}

bool PairSender::has_credit(std::uint64_t bytes) const {
  return open_ && written_ - consumed_ < records_.size() &&
         position_ + bytes - released_bytes_ <= data_.length;
}

void PairSender::write(std::uint64_t offset, std::array<std::span<const std::byte>, 2> segments,
                       const RemoteRegion& region, ServiceLevel level, Outbox& out) {
  TxOp op;
  op.kind = OpKind::write;
  op.service_level = level;
  op.peer = peer_;
  op.context = std::uint64_t{1} << 63 | (view_count_ & view_bits) << 54 |
               (pair_ & pair_bits) << 40 | (written_ & ((std::uint64_t{1} << 40) - 1));
  op.segments = segments;
  op.region = region;
  op.region_offset = offset;
  out.tx.push_back(op);
}

void PairSender::start(Instant now, const ContributionDescriptor& descriptor,
                       const std::array<std::span<const std::byte>, 2>& content, ServiceLevel level,
                       Outbox& out) {
  Record& record = records_[written_ % records_.size()];
  record = {.descriptor = descriptor, .writes_left = 1, .started = now};
  record.descriptor.position = static_cast<std::uint32_t>(position_);
  const std::uint64_t size = descriptor.size;
  const std::uint64_t offset = position_ % data_.length;
  const std::uint64_t before_end = std::min(size, data_.length - offset);
  if (before_end > 0) {
    write(offset, slice(content, 0, before_end), data_, level, out);
    ++record.writes_left;
  }
  if (before_end < size) {
    write(0, slice(content, before_end, size), data_, level, out);
    ++record.writes_left;
  }
  write((written_ % records_.size()) * sizeof(ContributionDescriptor),
        {std::as_bytes(std::span(&record.descriptor, 1)), {}}, descriptors_, level, out);
  position_ += size;
  ++written_;
}

void PairSender::write_completed(std::uint64_t record) {
  if (record < consumed_ || record >= written_) return;  // of an earlier view
  auto& left = records_[record % records_.size()].writes_left;
  if (left > 0) --left;
}

bool PairSender::on_credit(const Credit& credit) {
  if (credit.view != view_ || !open_) return true;
  if (credit.received > written_ || credit.released > credit.received ||
      credit.released_bytes > position_) {
    return false;
  }
  received_ = std::max(received_, credit.received);
  released_ = std::max(released_, credit.released);
  released_bytes_ = std::max(released_bytes_, credit.released_bytes);
  return true;
}

std::optional<PairSender::Acknowledged> PairSender::take_acknowledged() {
  if (acknowledged_ == received_) return std::nullopt;
  const Record& record = records_[acknowledged_++ % records_.size()];
  return Acknowledged{TimesliceIndex(record.descriptor.timeslice), record.started};
}

std::optional<TimesliceIndex> PairSender::take_consumed() {
  if (consumed_ == std::min(released_, acknowledged_)) return std::nullopt;
  const Record& record = records_[consumed_ % records_.size()];
  if (record.writes_left > 0) return std::nullopt;
  ++consumed_;
  return TimesliceIndex(record.descriptor.timeslice);
}

}  // namespace weft::stream
