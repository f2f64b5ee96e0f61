// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/provider.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "base/make_error.hpp"

namespace weft::ofi {
namespace {

constexpr std::uint32_t kApiVersion = FI_VERSION(1, 17);
constexpr std::size_t kLargestWrite = std::size_t{1} << 30;

// The abilities to request; weaker requests follow when a stronger one has no answer.
struct Request {
  bool write = true;
  bool send_after_write = true;
  bool delivery_complete = true;
};
constexpr Request kRequests[] = {
    {true, true, true}, {true, false, true}, {true, true, false}, {false, false, false}};

InfoPointer hints_for(const LibfabricOptions& options, const std::string& provider,
                      const Request& request) {
  InfoPointer hints(fi_allocinfo());
  hints->caps = request.write ? FI_MSG | FI_RMA : FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV;
  hints->ep_attr->type = FI_EP_RDM;
  hints->fabric_attr->prov_name = ::strdup(provider.c_str());
  if (!options.domain.empty()) hints->domain_attr->name = ::strdup(options.domain.c_str());
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  const std::uint64_t order =
      FI_ORDER_SAS | (request.send_after_write ? FI_ORDER_SAW | FI_ORDER_WAW : 0);
  hints->tx_attr->msg_order = order;
  hints->rx_attr->msg_order = order;
  if (request.delivery_complete) hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  if (options.service_level.value() > 0) {
    hints->tx_attr->tclass = fi_tc_dscp_set(options.service_level.value() / 2 * 8);
  }
  return hints;
}

// "[::1]" is how people write addresses of IP version 6 that a port may follow.
std::string without_brackets(const std::string& address) {
  const bool bracketed = address.starts_with('[') && address.ends_with(']');
  return bracketed ? address.substr(1, address.size() - 2) : address;
}

int query(const LibfabricOptions& options, const std::string& shm_name, fi_info* hints,
          InfoPointer& info) {
  const bool shm = std::string_view(hints->fabric_attr->prov_name) == "shm";
  const std::string source = shm ? shm_name : without_brackets(options.bind_address);
  fi_info* found = nullptr;
  const int result = fi_getinfo(kApiVersion, source.empty() ? nullptr : source.c_str(), nullptr,
                                source.empty() ? 0 : FI_SOURCE, hints, &found);
  info.reset(found);
  return result;
}

Traits traits_of(const fi_info& info, const Request& request) {
  Traits traits;
  const std::string_view name = info.fabric_attr->prov_name;
  const auto mode = static_cast<std::uint64_t>(info.domain_attr->mr_mode);
  const std::uint64_t order = info.tx_attr->msg_order & info.rx_attr->msg_order;
  traits.max_write = std::min(info.ep_attr->max_msg_size, kLargestWrite);
  traits.native_write = request.write && (info.caps & FI_RMA) != 0;
  traits.delivery_complete = request.delivery_complete;
  traits.send_after_write = (order & FI_ORDER_SAW) != 0;
  traits.write_after_write =
      (order & FI_ORDER_WAW) != 0 && info.ep_attr->max_order_waw_size >= traits.max_write;
  traits.local_registration = (mode & FI_MR_LOCAL) != 0;
  traits.virtual_addresses = (mode & FI_MR_VIRT_ADDR) != 0;
  traits.endpoint_regions = (mode & FI_MR_ENDPOINT) != 0;
  traits.shared_memory = name == "shm";
  traits.hides_connections = name == "net" || name == "sockets" || name.ends_with("ofi_rxm");
  traits.peeks_at_headers = name == "sockets";
  traits.answers_connections = name == "tcp;ofi_rxm";
  traits.inject_size = info.tx_attr->inject_size;
  traits.segments = std::max<std::size_t>(info.tx_attr->iov_limit, 1);
  traits.key_bytes = std::min<std::size_t>(info.domain_attr->mr_key_size, 8);
  return traits;
}

// The first that is exactly the provider asked for: libfabric also offers layers over it.
InfoPointer exact(InfoPointer list, std::string_view name) {
  for (fi_info* info = list.get(); info != nullptr; info = info->next) {
    if (info->fabric_attr->prov_name == name) return InfoPointer(fi_dupinfo(info));
  }
  return nullptr;
}

Error nothing_suits(const LibfabricOptions& options) {
  std::string place;
  if (!options.domain.empty()) place += fmt::format(" on device \"{}\"", options.domain);
  if (!options.bind_address.empty()) place += fmt::format(" at {}", options.bind_address);
  const auto available = libfabric_providers();
  return make_error(ErrorCode::not_found,
                    "libfabric provider \"{}\" offers no reliable datagrams{} on this machine; "
                    "available: {} (fi_info -t FI_EP_RDM lists them)",
                    options.provider, place, fmt::join(available, ", "));
}

}  // namespace

std::vector<std::string> full_names(std::string_view name) {
  if (name == "tcp") return {"tcp;ofi_rxm", "tcp"};
  if (name == "verbs") return {"verbs;ofi_rxm"};
  if (name == "psm") return {"psm3", "psm2", "psm"};
  return {std::string(name)};
}

Result<Provider> choose_provider(const LibfabricOptions& options, const std::string& shm_name) {
  for (const std::string& name : full_names(options.provider)) {
    for (const Request& request : kRequests) {
      if (options.emulate_writes && request.write) continue;
      const InfoPointer hints = hints_for(options, name, request);
      InfoPointer list;
      if (query(options, shm_name, hints.get(), list) != 0) {
        // Not every provider can be asked for a traffic class; the class is a wish.
        hints->tx_attr->tclass = FI_TC_UNSPEC;
        if (query(options, shm_name, hints.get(), list) != 0) continue;
      }
      InfoPointer info = exact(std::move(list), name);
      if (info == nullptr) continue;
      // Asked for to learn whether it exists; set on writes only, messages need not pay for it.
      info->tx_attr->op_flags = 0;
      info->rx_attr->op_flags = 0;
      const Traits traits = traits_of(*info, request);
      return Provider{std::move(info), traits};
    }
  }
  return nothing_suits(options);
}

Result<void> check_provider(const std::string& name) {
  for (const std::string& full : full_names(name)) {
    const InfoPointer hints(fi_allocinfo());
    hints->mode = ~std::uint64_t{0};
    hints->domain_attr->mr_mode = ~(FI_MR_BASIC | FI_MR_SCALABLE);
    hints->fabric_attr->prov_name = ::strdup(full.c_str());
    fi_info* found = nullptr;
    if (fi_getinfo(kApiVersion, nullptr, nullptr, 0, hints.get(), &found) != 0) continue;
    fi_freeinfo(found);
    return {};
  }
  return nothing_suits({.provider = name});
}

}  // namespace weft::ofi

namespace weft {

std::vector<std::string> libfabric_providers() {
  const ofi::InfoPointer hints(fi_allocinfo());
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode =
      FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  fi_info* found = nullptr;
  if (fi_getinfo(ofi::kApiVersion, nullptr, nullptr, 0, hints.get(), &found) != 0) return {};
  const ofi::InfoPointer list(found);
  std::vector<std::string> names;
  for (const fi_info* info = list.get(); info != nullptr; info = info->next) {
    std::string name = info->fabric_attr->prov_name;
    if (name == "tcp;ofi_rxm" || name == "verbs;ofi_rxm") name.resize(name.find(';'));
    names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace weft
