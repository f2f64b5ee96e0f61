// SPDX-License-Identifier: Apache-2.0
// Operations: everything that was accepted and has not ended, in one block of memory that does not
// move, each with a send buffer of its own.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/free_list.hpp"
#include "fabric/libfabric/endpoint.hpp"
#include "fabric/libfabric/local_memory.hpp"
#include "weft/fabric.hpp"

namespace weft::ofi {

struct ProviderPeer;

struct ProviderOperation : Tracked {
  enum class Purpose : std::uint8_t {
    user,   ///< posted by the application, ends with a completion
    frame,  ///< a frame of our own
    part,   ///< the second segment of a write whose provider takes one at a time
  };
  Purpose purpose = Purpose::user;
  OpKind kind = OpKind::send;
  /// Null once the peer went down: the provider still holds the operation, nobody else does.
  ProviderPeer* peer = nullptr;
  std::uint64_t user_context = 0;
  ProviderOperation* previous = nullptr;  ///< in the peer's queue or list of issued operations
  ProviderOperation* next = nullptr;
  ProviderOperation* whole = nullptr;  ///< of a part

  std::span<std::byte> buffer;  ///< room for a whole frame
  std::size_t frame_size = 0;   ///< of a send: used bytes of `buffer`

  // The progress of a write.
  std::array<iovec, 2> segments{};
  std::size_t segment_count = 0;
  std::size_t segments_issued = 0;
  std::size_t parts_pending = 0;  ///< issued to the provider and not completed
  std::size_t size = 0;
  std::size_t chunked = 0;  ///< bytes already sent in messages, where writes are emulated
  RemoteRegion region{};
  std::uint64_t offset = 0;
  std::array<LocalRegistration, 2> registrations;

  /// Lets go of all but its buffer.
  void clear();
};

/// A list threaded through operations.
class OperationList {
 public:
  bool empty() const { return first_ == nullptr; }
  ProviderOperation* first() const { return first_; }
  void push_back(ProviderOperation& operation);
  void remove(ProviderOperation& operation);

 private:
  ProviderOperation* first_ = nullptr;
  ProviderOperation* last_ = nullptr;
};

/// The operations that are free, with their send buffers.
class SendPool {
 public:
  /// `frame_size` is the size of each buffer. With `local_registration` buffers are registered.
  static Result<std::unique_ptr<SendPool>> make(Endpoint& endpoint, std::size_t count,
                                                std::size_t frame_size);
  ~SendPool();
  SendPool(const SendPool&) = delete;
  SendPool& operator=(const SendPool&) = delete;

  /// A cleared operation, or null when all are in use.
  ProviderOperation* take() { return operations_.empty() ? nullptr : &operations_.take(); }
  void give_back(ProviderOperation& operation) { operations_.give(operation); }
  /// The provider's descriptor of the buffers.
  void* buffer_description() const;

 private:
  explicit SendPool(std::size_t count) : operations_(count) {}
  std::span<std::byte> memory_;
  MemoryRegistration registration_;
  FreeList<ProviderOperation> operations_;
};

/// One posted receive buffer.
struct Receive : Tracked {
  std::span<std::byte> buffer;
};

/// The receive buffers: posted, or being looked at.
class ReceivePool {
 public:
  static Result<std::unique_ptr<ReceivePool>> make(Endpoint& endpoint, std::size_t count,
                                                   std::size_t frame_size);
  ~ReceivePool();
  ReceivePool(const ReceivePool&) = delete;
  ReceivePool& operator=(const ReceivePool&) = delete;

  /// Posts the buffer again, now or when the provider has room.
  void give_back(Receive& receive);
  /// Posts the receives that the provider had no room for.
  void post_backlog();

 private:
  ReceivePool(Endpoint& endpoint, std::size_t count) : endpoint_(endpoint), receives_(count) {}
  Endpoint& endpoint_;
  std::span<std::byte> memory_;
  MemoryRegistration registration_;
  std::vector<Receive> receives_;
  std::vector<Receive*> backlog_;
};

}  // namespace weft::ofi
