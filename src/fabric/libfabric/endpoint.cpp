// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/endpoint.hpp"

#include <fmt/format.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>

#include "base/make_error.hpp"
#include "fabric/libfabric/frame_key.hpp"

namespace weft::ofi {
namespace {

constexpr std::size_t kMaxNameSize = 256;
constexpr int kKeyAttempts = 16;

}  // namespace

Endpoint::Endpoint(Provider provider, const LibfabricOptions& options)
    : info_(std::move(provider.info)), traits_(provider.traits), provider_name_(options.provider) {
  if (!options.domain.empty()) place_ += fmt::format(" on device \"{}\"", options.domain);
  if (!options.bind_address.empty()) place_ += fmt::format(" at {}", options.bind_address);
}

Result<std::unique_ptr<Endpoint>> Endpoint::open(const LibfabricOptions& options,
                                                 const std::string& shm_name,
                                                 std::size_t queue_size) {
  auto provider = choose_provider(options, shm_name);
  if (!provider) return std::move(provider).error();
  std::unique_ptr<Endpoint> endpoint(new Endpoint(std::move(*provider), options));
  if (auto ready = endpoint->set_up(queue_size, !options.spin); !ready)
    return std::move(ready).error();
  return endpoint;
}

void Endpoint::restrict_to(const Restrictions& restrictions) {
  if (restrictions.one_segment) traits_.segments = 1;
  if (restrictions.unordered) traits_.send_after_write = traits_.write_after_write = false;
  if (restrictions.local_registration) traits_.local_registration = true;
}

Error Endpoint::refused(const char* step, int result) const {
  return make_error(ErrorCode::io, "libfabric provider \"{}\"{} refused {}: {}", provider_name_,
                    place_, step, fi_strerror(-result));
}

Result<void> Endpoint::set_up(std::size_t queue_size, bool sleeps) {
  fid_fabric* fabric = nullptr;
  if (const int r = fi_fabric(info_->fabric_attr, &fabric, nullptr)) return refused("fabric", r);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int r = fi_domain(fabric, info_.get(), &domain, nullptr)) return refused("domain", r);
  domain_.reset(domain);
  fi_av_attr av_attributes{};
  av_attributes.type = info_->domain_attr->av_type;
  fid_av* addresses = nullptr;
  if (const int r = fi_av_open(domain, &av_attributes, &addresses, nullptr)) {
    return refused("address vector", r);
  }
  addresses_.reset(addresses);
  if (auto opened = open_queue(queue_size, sleeps); !opened) return opened;
  fid_ep* endpoint = nullptr;
  if (const int r = fi_endpoint(domain, info_.get(), &endpoint, nullptr)) {
    return refused("endpoint", r);
  }
  endpoint_.reset(endpoint);
  if (const int r = fi_ep_bind(endpoint, &addresses->fid, 0)) return refused("binding", r);
  if (const int r = fi_ep_bind(endpoint, &queue_->fid, FI_TRANSMIT | FI_RECV)) {
    return refused("binding", r);
  }
  if (const int r = fi_enable(endpoint)) return refused("to enable the endpoint", r);
  return read_name();
}

// A descriptor costs the providers work at each event: only a process that sleeps asks for one.
Result<void> Endpoint::open_queue(std::size_t size, bool sleeps) {
  fi_cq_attr attributes{};
  attributes.size = size;
  attributes.format = FI_CQ_FORMAT_MSG;
  fid_cq* queue = nullptr;
  attributes.wait_obj = FI_WAIT_FD;
  if (sleeps && fi_cq_open(domain_.get(), &attributes, &queue, nullptr) == 0) {
    queue_.reset(queue);
    if (fi_control(&queue->fid, FI_GETWAIT, &descriptor_) != 0) descriptor_ = -1;
    return {};
  }
  attributes.wait_obj = FI_WAIT_NONE;
  if (const int r = fi_cq_open(domain_.get(), &attributes, &queue, nullptr)) {
    return refused("completion queue", r);
  }
  queue_.reset(queue);
  return {};
}

Result<void> Endpoint::read_name() {
  name_.resize(kMaxNameSize);
  std::size_t size = name_.size();
  if (const int r = fi_getname(&endpoint_->fid, name_.data(), &size)) {
    return refused("to tell its address", r);
  }
  name_.resize(size);
  return {};
}

bool Endpoint::may_sleep() {
  fid* object = &queue_->fid;
  return descriptor_ < 0 || fi_trywait(fabric_.get(), &object, 1) == 0;
}

Result<fi_addr_t> Endpoint::insert(std::span<const std::byte> name) {
  fi_addr_t where = FI_ADDR_NOTAVAIL;
  const int inserted = fi_av_insert(addresses_.get(), name.data(), 1, &where, 0, nullptr);
  if (inserted != 1 || where == FI_ADDR_NOTAVAIL) {
    return refused("a peer's address", inserted < 0 ? inserted : -FI_EINVAL);
  }
  return where;
}

void Endpoint::remove(fi_addr_t where) {
  fi_av_remove(addresses_.get(), &where, 1, 0);
}

Result<MemoryRegistration> Endpoint::register_memory(std::span<const std::byte> memory,
                                                     std::uint64_t access) {
  const std::uint64_t mask =
      traits_.key_bytes < 8 ? (std::uint64_t{1} << (8 * traits_.key_bytes)) - 1 : ~std::uint64_t{0};
  fid_mr* registration = nullptr;
  int result = -FI_ENOKEY;
  // Short keys may be in use already.
  for (int attempt = 0; attempt < kKeyAttempts && result == -FI_ENOKEY; ++attempt) {
    result = fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, fresh_key() & mask,
                       0, &registration, nullptr);
  }
  if (result != 0) {
    Error error = refused("to register memory", result);
    error.message +=
        fmt::format(" ({} bytes; is there a limit on locked memory, ulimit -l?)", memory.size());
    error.code = ErrorCode::exhausted;
    return error;
  }
  MemoryRegistration owned(registration);
  if (traits_.endpoint_regions) {
    result = fi_mr_bind(registration, &endpoint_->fid, 0);
    if (result == 0) result = fi_mr_enable(registration);
    if (result != 0) return refused("to bind memory to the endpoint", result);
  }
  return owned;
}

ssize_t Endpoint::write(std::span<const iovec> segments, void** descriptions, fi_addr_t to,
                        const fi_rma_iov& target, Tracked* what) {
  fi_msg_rma message{};
  message.msg_iov = segments.data();
  message.desc = descriptions;
  message.iov_count = segments.size();
  message.addr = to;
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = what;
  const std::uint64_t flags =
      FI_COMPLETION | (traits_.delivery_complete ? FI_DELIVERY_COMPLETE : 0);
  return fi_writemsg(endpoint_.get(), &message, flags);
}

std::size_t Endpoint::read(std::span<Event> events) {
  constexpr std::size_t kBatch = 16;
  std::array<fi_cq_msg_entry, kBatch> entries;
  const std::size_t wanted = std::min(kBatch, events.size());
  const ssize_t result = fi_cq_read(queue_.get(), entries.data(), wanted);
  if (result > 0) {
    std::size_t count = 0;
    for (const fi_cq_msg_entry& entry :
         std::span(entries).first(static_cast<std::size_t>(result))) {
      if (entry.op_context == nullptr) continue;  // nothing of ours
      events[count++] = {static_cast<Tracked*>(entry.op_context), entry.len, 0};
    }
    return count;
  }
  return result == -FI_EAVAIL && read_error(events[0]) ? 1 : 0;
}

bool Endpoint::read_error(Event& event) {
  fi_cq_err_entry entry{};
  if (fi_cq_readerr(queue_.get(), &entry, 0) != 1 || entry.op_context == nullptr) return false;
  event = {static_cast<Tracked*>(entry.op_context), 0, entry.err != 0 ? entry.err : FI_EOTHER};
  return true;
}

}  // namespace weft::ofi
