// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/operations.hpp"

#include <sys/mman.h>

#include "base/make_error.hpp"

namespace weft::ofi {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t stride(std::size_t frame_size) {
  return (frame_size + kAlignment - 1) / kAlignment * kAlignment;
}

// Pages become real when they are first used: buffers that never are cost nothing.
Result<std::span<std::byte>> map_buffers(std::size_t count, std::size_t frame_size) {
  const std::size_t size = count * stride(frame_size);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return make_error(ErrorCode::exhausted, "no address space for {} buffers of {} bytes", count,
                      frame_size);
  }
  return std::span(static_cast<std::byte*>(memory), size);
}

void* description_of(const MemoryRegistration& registration) {
  return registration ? fi_mr_desc(registration.get()) : nullptr;
}

}  // namespace

void ProviderOperation::clear() {
  for (LocalRegistration& registration : registrations) registration.reset();
  peer = nullptr;
  previous = whole = nullptr;
  segment_count = segments_issued = parts_pending = 0;
  frame_size = size = chunked = 0;
}

void OperationList::push_back(ProviderOperation& operation) {
  operation.next = nullptr;
  operation.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &operation;
  last_ = &operation;
}

void OperationList::remove(ProviderOperation& operation) {
  (operation.previous != nullptr ? operation.previous->next : first_) = operation.next;
  (operation.next != nullptr ? operation.next->previous : last_) = operation.previous;
  operation.next = operation.previous = nullptr;
}

Result<std::unique_ptr<SendPool>> SendPool::make(Endpoint& endpoint, std::size_t count,
                                                 std::size_t frame_size) {
  std::unique_ptr<SendPool> pool(new SendPool(count));
  auto memory = map_buffers(count, frame_size);
  if (!memory) return std::move(memory).error();
  pool->memory_ = *memory;
  if (endpoint.traits().local_registration) {
    auto registration = endpoint.register_memory(*memory, FI_SEND);
    if (!registration) return std::move(registration).error();
    pool->registration_ = std::move(*registration);
  }
  std::size_t i = 0;
  for (ProviderOperation& operation : pool->operations_.all()) {
    operation.buffer = memory->subspan(i++ * stride(frame_size), frame_size);
  }
  return pool;
}

SendPool::~SendPool() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

void* SendPool::buffer_description() const {
  return description_of(registration_);
}

Result<std::unique_ptr<ReceivePool>> ReceivePool::make(Endpoint& endpoint, std::size_t count,
                                                       std::size_t frame_size) {
  std::unique_ptr<ReceivePool> pool(new ReceivePool(endpoint, count));
  auto memory = map_buffers(count, frame_size);
  if (!memory) return std::move(memory).error();
  pool->memory_ = *memory;
  if (endpoint.traits().local_registration) {
    auto registration = endpoint.register_memory(*memory, FI_RECV);
    if (!registration) return std::move(registration).error();
    pool->registration_ = std::move(*registration);
  }
  pool->backlog_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    pool->receives_[i].type = Tracked::Type::receive;
    pool->receives_[i].buffer = memory->subspan(i * stride(frame_size), frame_size);
    pool->give_back(pool->receives_[i]);
  }
  return pool;
}

ReceivePool::~ReceivePool() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

void ReceivePool::give_back(Receive& receive) {
  const ssize_t result = endpoint_.receive(receive.buffer, description_of(registration_), &receive);
  if (result != 0) backlog_.push_back(&receive);
}

void ReceivePool::post_backlog() {
  while (!backlog_.empty()) {
    Receive& receive = *backlog_.back();
    if (endpoint_.receive(receive.buffer, description_of(registration_), &receive) != 0) return;
    backlog_.pop_back();
  }
}

}  // namespace weft::ofi
