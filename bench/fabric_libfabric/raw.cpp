// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "contestants.hpp"
#include "fabric/libfabric/connections.hpp"

namespace weft::bench {
namespace {

constexpr std::size_t kReceives = 64;
constexpr std::size_t kMessage = 8;

void must(ssize_t result, const char* what) {
  WEFT_CHECK(result == 0, "{}: {}", what, fi_strerror(static_cast<int>(-result)));
}

class Raw final : public Contestant {
 public:
  Raw(const std::string& provider, bool active, const Exchange& exchange, bool delivery_complete)
      : memory_(kMemory, std::byte{1}), delivery_complete_(delivery_complete) {
    open(provider, active);
    for (std::size_t i = 0; i < kReceives; ++i) post_receive(i);
    connect(active, exchange);
  }

  ~Raw() override {
    fi_close(&endpoint_->fid);
    fi_close(&registration_->fid);
    fi_close(&queue_->fid);
    fi_close(&addresses_->fid);
    fi_close(&domain_->fid);
    fi_close(&fabric_->fid);
    fi_freeinfo(info_);
  }

  void push(std::size_t count, std::size_t size) override {
    std::size_t posted = 0, done = 0;
    while (done < count) {
      while (posted < count && posted - done < kInFlight && write(posted, size)) ++posted;
      done += take(FI_WRITE);
    }
    send();
    await_message();
  }

 private:
  void open(const std::string& provider, bool active) {
    fi_info* hints = fi_allocinfo();
    hints->caps = FI_MSG | FI_RMA;
    hints->ep_attr->type = FI_EP_RDM;
    hints->fabric_attr->prov_name = ::strdup(provider == "tcp" ? "tcp;ofi_rxm" : provider.c_str());
    hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_SAW;
    const std::string node =
        provider == "shm" ? fmt::format("weftbench_{}_{}", ::getppid(), active) : "127.0.0.1";
    must(fi_getinfo(FI_VERSION(1, 17), node.c_str(), nullptr, FI_SOURCE, hints, &info_), "info");
    fi_freeinfo(hints);
    must(fi_fabric(info_->fabric_attr, &fabric_, nullptr), "fabric");
    must(fi_domain(fabric_, info_, &domain_, nullptr), "domain");
    fi_av_attr addresses{};
    must(fi_av_open(domain_, &addresses, &addresses_, nullptr), "address vector");
    fi_cq_attr queue{};
    queue.format = FI_CQ_FORMAT_MSG;
    queue.size = 1024;
    must(fi_cq_open(domain_, &queue, &queue_, nullptr), "completion queue");
    must(fi_endpoint(domain_, info_, &endpoint_, nullptr), "endpoint");
    must(fi_ep_bind(endpoint_, &addresses_->fid, 0), "bind");
    must(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "bind");
    must(fi_enable(endpoint_), "enable");
    must(fi_mr_reg(domain_, memory_.data(), memory_.size(), FI_REMOTE_WRITE | FI_WRITE, 0, 4711, 0,
                   &registration_, nullptr),
         "registration");
  }

  void connect(bool active, const Exchange& exchange) {
    std::array<unsigned char, 256> name{};
    std::size_t size = name.size();
    must(fi_getname(&endpoint_->fid, name.data(), &size), "name");
    std::string line;
    for (std::size_t i = 0; i < size; ++i) line += fmt::format("{:02x}", name[i]);
    const bool virtual_addresses = (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    const std::uint64_t base =
        virtual_addresses ? reinterpret_cast<std::uintptr_t>(memory_.data()) : 0;
    const std::string peer =
        exchange(fmt::format("{} {} {}", line, base, fi_mr_key(registration_)));
    const std::size_t blank = peer.find(' ');
    std::array<unsigned char, 256> peer_name{};
    for (std::size_t i = 0; i < blank / 2; ++i) {
      peer_name[i] = static_cast<unsigned char>(std::stoi(peer.substr(2 * i, 2), nullptr, 16));
    }
    std::size_t end = 0;
    base_ = std::stoull(peer.substr(blank + 1), &end);
    key_ = std::stoull(peer.substr(blank + 1 + end));
    WEFT_CHECK(fi_av_insert(addresses_, peer_name.data(), 1, &peer_, 0, nullptr) == 1);
    // The active side connects; both ends progress until a message went each way.
    active ? ping(1) : pong(1);
    // Without this, small receive buffers stall the provider "sockets" now and then.
    ofi::widen_receive_buffers(std::as_bytes(std::span(name).first(size)),
                               std::as_bytes(std::span(peer_name).first(blank / 2)));
  }

  void post_receive(std::size_t i) {
    must(fi_recv(endpoint_, buffers_[i].data(), kMessage, nullptr, FI_ADDR_UNSPEC, &contexts_[i]),
         "receive");
  }

  // Reads events; returns how many had `flag` and counts messages.
  std::size_t take(std::uint64_t flag) {
    std::array<fi_cq_msg_entry, 16> entries;
    const ssize_t n = fi_cq_read(queue_, entries.data(), entries.size());
    WEFT_CHECK(n != -FI_EAVAIL, "an operation failed");
    std::size_t found = 0;
    for (ssize_t i = 0; i < n; ++i) {
      const fi_cq_msg_entry& entry = entries[static_cast<std::size_t>(i)];
      if ((entry.flags & flag) != 0) ++found;
      if ((entry.flags & FI_RECV) == 0) continue;
      ++messages_;
      post_receive(
          static_cast<std::size_t>(static_cast<fi_context2*>(entry.op_context) - contexts_.data()));
    }
    return found;
  }

  void await_message() override {
    while (messages_ == 0) take(0);
    --messages_;
  }

  // With manual progress (sockets), the last messages leave only while somebody polls.
  void settle() override {
    for (int i = 0; i < kSettle; ++i) take(0);
  }

  void send() override {
    ssize_t result = 0;
    while ((result = fi_inject(endpoint_, memory_.data(), kMessage, peer_)) == -FI_EAGAIN) take(0);
    must(result, "send");
  }

  bool write(std::size_t number, std::size_t size) {
    const std::size_t at = number * size % (kMemory - size + 1);
    iovec segment{memory_.data() + at, size};
    const fi_rma_iov target{base_ + at, size, key_};
    fi_msg_rma message{};
    message.msg_iov = &segment;
    message.iov_count = 1;
    message.addr = peer_;
    message.rma_iov = &target;
    message.rma_iov_count = 1;
    message.context = &write_contexts_[number % kInFlight];
    const std::uint64_t flags = FI_COMPLETION | (delivery_complete_ ? FI_DELIVERY_COMPLETE : 0);
    const ssize_t result = fi_writemsg(endpoint_, &message, flags);
    if (result != -FI_EAGAIN) must(result, "write");
    return result == 0;
  }

  fi_info* info_ = nullptr;
  fid_fabric* fabric_ = nullptr;
  fid_domain* domain_ = nullptr;
  fid_av* addresses_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  fid_mr* registration_ = nullptr;
  std::vector<std::byte> memory_;
  bool delivery_complete_;
  fi_addr_t peer_ = 0;
  std::uint64_t base_ = 0;
  std::uint64_t key_ = 0;
  std::size_t messages_ = 0;
  std::array<std::array<std::byte, kMessage>, kReceives> buffers_{};
  std::array<fi_context2, kReceives> contexts_{};
  std::array<fi_context2, kInFlight> write_contexts_{};
};

}  // namespace

std::unique_ptr<Contestant> make_raw(const std::string& provider, bool active,
                                     const Exchange& exchange, bool delivery_complete) {
  return std::make_unique<Raw>(provider, active, exchange, delivery_complete);
}

}  // namespace weft::bench
