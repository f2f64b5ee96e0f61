// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/operations.hpp"

#include <algorithm>
#include <array>

namespace weft::tcp {
namespace {

constexpr std::size_t kPiecesPerOperation = 3;

}  // namespace

QueuedFrame& QueuedFrame::begin(const TxOp& posted) {
  op = posted;
  const bool is_write = posted.kind == OpKind::write;
  is_borrowed = !is_write;
  header = encode({is_write ? FrameType::write : FrameType::message,
                   static_cast<std::uint32_t>(posted.size()), is_write ? posted.region.key : 0,
                   is_write ? posted.region_offset : 0});
  return *this;
}

void SendQueue::push(QueuedFrame& operation) {
  (first_ == nullptr ? first_ : last_->next) = &operation;
  last_ = &operation;
  if (operation.is_borrowed && first_borrowed_ == nullptr) first_borrowed_ = &operation;
}

void SendQueue::pop() {
  if (first_borrowed_ == first_) first_borrowed_ = first_->next;
  first_ = first_->next;
}

std::size_t SendQueue::gather(std::span<iovec> out, std::size_t skip, std::size_t limit,
                              std::size_t& bytes) const {
  std::size_t pieces = 0;
  bytes = 0;
  for (const QueuedFrame* operation = first_; operation != nullptr && limit > 0; --limit) {
    if (pieces + kPiecesPerOperation > out.size()) break;
    if (operation->op.service_level != first_->op.service_level) break;
    const std::array<std::span<const std::byte>, kPiecesPerOperation> parts = {
        operation->header, operation->op.segments[0], operation->op.segments[1]};
    for (std::span<const std::byte> part : parts) {
      const std::size_t skipped = std::min(skip, part.size());
      skip -= skipped;
      part = part.subspan(skipped);
      if (part.empty()) continue;
      out[pieces++] = {const_cast<std::byte*>(part.data()), part.size()};
      bytes += part.size();
    }
    operation = operation->next;
  }
  return pieces;
}

void SendQueue::own_messages() {
  for (QueuedFrame* operation = first_borrowed_; operation != nullptr;
       operation = operation->next) {
    if (!operation->is_borrowed) continue;
    operation->is_borrowed = false;
    operation->op.segments = {operation->copy.take(operation->op.segments)};
  }
  first_borrowed_ = nullptr;
}

}  // namespace weft::tcp
