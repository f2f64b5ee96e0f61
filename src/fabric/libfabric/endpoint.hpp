// SPDX-License-Identifier: Apache-2.0
// Endpoint: one reliable-datagram endpoint with its domain, address vector and completion queue;
// owns the libfabric objects and closes them in the right order.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/libfabric/provider.hpp"
#include "weft/result.hpp"

namespace weft::ofi {

struct FidDeleter {
  template <class T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <class T>
using FidPointer = std::unique_ptr<T, FidDeleter>;
using MemoryRegistration = FidPointer<fid_mr>;

/// The target of an operation's context pointer. Some providers write into the context while they
/// process the operation; it must therefore not move until its event was read.
struct Tracked {
  enum class Type : std::uint8_t { receive, transmit };
  fi_context2 context{};
  Type type = Type::transmit;
};

/// One entry of the completion queue.
struct Event {
  Tracked* what = nullptr;
  std::size_t length = 0;  ///< of a received message
  int error = 0;           ///< positive errno, or 0
};

/// Threads: one at a time. Functions that return `ssize_t` return 0 or a negative libfabric error,
/// −FI_EAGAIN meaning "later".
class Endpoint {
 public:
  /// `queue_size` operations may be in the provider's hands at a time.
  static Result<std::unique_ptr<Endpoint>> open(const LibfabricOptions& options,
                                                const std::string& shm_name,
                                                std::size_t queue_size);

  /// Takes everything back from the provider; nothing may be posted afterwards. Memory that was
  /// registered can be released after this and must be before the Endpoint is destroyed.
  void stop() { endpoint_.reset(); }

  const Traits& traits() const { return traits_; }
  /// Before anything is posted.
  void restrict_to(const Restrictions& restrictions);
  /// The endpoint's own address, as peers insert it.
  std::span<const std::byte> name() const { return name_; }
  /// Readable when events wait; −1 when the provider has nothing of the kind or options.spin.
  int descriptor() const { return descriptor_; }
  /// Returns whether it is safe to sleep on `descriptor` now.
  bool may_sleep();

  Result<fi_addr_t> insert(std::span<const std::byte> name);
  void remove(fi_addr_t where);
  std::size_t address_size() const { return name_.size(); }

  /// Registers memory for `access` (FI_REMOTE_WRITE, FI_SEND, …). If this side chooses keys, the
  /// key cannot be guessed: knowing it is the right to write.
  Result<MemoryRegistration> register_memory(std::span<const std::byte> memory,
                                             std::uint64_t access);

  ssize_t send(std::span<const std::byte> bytes, void* description, fi_addr_t to, Tracked* what) {
    return fi_send(endpoint_.get(), bytes.data(), bytes.size(), description, to, what);
  }
  /// Sends at most traits().inject_size bytes without an event; they may be reused at once.
  ssize_t inject(std::span<const std::byte> bytes, fi_addr_t to) {
    return fi_inject(endpoint_.get(), bytes.data(), bytes.size(), to);
  }
  ssize_t receive(std::span<std::byte> buffer, void* description, Tracked* what) {
    return fi_recv(endpoint_.get(), buffer.data(), buffer.size(), description, FI_ADDR_UNSPEC,
                   what);
  }
  ssize_t write(std::span<const iovec> segments, void** descriptions, fi_addr_t to,
                const fi_rma_iov& target, Tracked* what);

  /// Makes progress and reads events; returns how many.
  std::size_t read(std::span<Event> events);

 private:
  Endpoint(Provider provider, const LibfabricOptions& options);
  Result<void> set_up(std::size_t queue_size, bool sleeps);
  Result<void> open_queue(std::size_t size, bool sleeps);
  Result<void> read_name();
  bool read_error(Event& event);
  Error refused(const char* step, int result) const;

  InfoPointer info_;
  Traits traits_;
  std::string provider_name_;
  std::string place_;  // for error messages
  // Closed in the opposite order.
  FidPointer<fid_fabric> fabric_;
  FidPointer<fid_domain> domain_;
  FidPointer<fid_av> addresses_;
  FidPointer<fid_cq> queue_;
  FidPointer<fid_ep> endpoint_;
  int descriptor_ = -1;
  std::vector<std::byte> name_;
};

}  // namespace weft::ofi
