// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/device.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/make_error.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint8_t most_reads = 16;  // of a queue pair at a time, as UCX has it by default
constexpr std::uint32_t psn_bits = 0xFF'FFFF;

Error failed(const std::string& what, int code) {
  return make_error(ErrorCode::io, "{}: {}", what, std::strerror(code));
}

struct DeviceList {
  DeviceList() : devices(ibv_get_device_list(&count)) {}
  ~DeviceList() {
    if (devices != nullptr) ibv_free_device_list(devices);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  int count = 0;
  ibv_device** devices;
};

bool has_active_port(ibv_device* device, std::uint8_t port) {
  const ContextHandle context(ibv_open_device(device));
  ibv_port_attr attributes{};
  return context && ibv_query_port(context.get(), port, &attributes) == 0 &&
         attributes.state == IBV_PORT_ACTIVE;
}

bool is_ipv4(const ibv_gid& gid) {
  constexpr std::array<std::uint8_t, 12> prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  return std::equal(prefix.begin(), prefix.end(), gid.raw);
}

/// RoCE v2 with IPv4 passes routers and is read most easily; RoCE v1 comes last.
int rank_of(const ibv_gid_entry& entry) {
  if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) return 2;
  return is_ipv4(entry.gid) ? 0 : 1;
}

}  // namespace

Result<Device> Device::open(const DeviceChoice& choice) {
  Device device;
  device.port_ = choice.port;
  if (auto good = device.open_by(choice); !good) return std::move(good).error();
  if (auto good = device.look_at_port(); !good) return std::move(good).error();
  if (auto good = device.look_at_limits(); !good) return std::move(good).error();
  if (auto good = device.choose_gid(choice.gid_index); !good) return std::move(good).error();
  device.domain_.reset(ibv_alloc_pd(device.context_.get()));
  if (!device.domain_) return failed(device.name_ + ": protection domain", errno);
  const auto registrations = [&](int access) {
    return std::make_unique<Registrations>(
        DomainRegistrar::Options{.domain = device.domain_.get(),
                                 .access = IBV_ACCESS_LOCAL_WRITE | access,
                                 .has_paging = device.has_paging_,
                                 .device = device.name_});
  };
  device.own_ = registrations(0);
  device.readable_ = registrations(IBV_ACCESS_REMOTE_READ);
  return device;
}

Result<void> Device::open_by(const DeviceChoice& choice) {
  const DeviceList list;
  if (list.devices == nullptr || list.count == 0) {
    return Error{ErrorCode::io,
                 "there is no RDMA device here: load the driver of an adapter, or make a software "
                 "one: modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0"};
  }
  ibv_device* chosen = nullptr;
  std::string names;
  for (int i = 0; i < list.count; ++i) {
    ibv_device* const one = list.devices[i];
    const std::string name = ibv_get_device_name(one);
    names += (names.empty() ? "" : ", ") + name;
    const bool fits = choice.name.empty() ? has_active_port(one, choice.port) : name == choice.name;
    if (chosen == nullptr && fits) chosen = one;
  }
  if (chosen == nullptr) {
    const std::string what = choice.name.empty()
                                 ? fmt::format("no device has an active port {}", choice.port)
                                 : fmt::format("--device: there is no '{}'", choice.name);
    return make_error(ErrorCode::io, "{}: there are {}", what, names);
  }
  name_ = ibv_get_device_name(chosen);
  context_.reset(ibv_open_device(chosen));
  if (!context_) return failed(name_ + ": cannot be opened, see /dev/infiniband", errno);
  return {};
}

Result<void> Device::look_at_port() {
  ibv_port_attr attributes{};
  if (const int code = ibv_query_port(context_.get(), port_, &attributes); code != 0) {
    return failed(fmt::format("{} has no port {}", name_, port_), code);
  }
  if (attributes.state != IBV_PORT_ACTIVE) {
    return make_error(ErrorCode::io, "port {} of {} is not active but {}: bring its link up", port_,
                      name_, ibv_port_state_str(attributes.state));
  }
  is_ethernet_ = attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  address_.lid = attributes.lid;
  address_.mtu = static_cast<std::uint8_t>(attributes.active_mtu);
  return {};
}

Result<void> Device::look_at_limits() {
  ibv_device_attr_ex attributes{};
  if (const int code = ibv_query_device_ex(context_.get(), nullptr, &attributes); code != 0) {
    return failed(name_ + ": its properties", code);
  }
  has_paging_ = (attributes.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0 &&
                (attributes.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_READ) != 0;
  const ibv_device_attr& limits = attributes.orig_attr;
  const auto reads = [](int most) {
    return static_cast<std::uint8_t>(std::clamp<int>(most, 1, most_reads));
  };
  started_reads_ = reads(limits.max_qp_init_rd_atom);
  address_.read_depth = reads(limits.max_qp_rd_atom);
  queue_depth_ = static_cast<std::uint32_t>(std::max(1, limits.max_qp_wr));
  completions_ = static_cast<std::uint32_t>(std::max(1, limits.max_cqe));
  return {};
}

Result<void> Device::choose_gid(int wanted) {
  std::vector<ibv_gid_entry> entries(512);
  const auto count = ibv_query_gid_table(context_.get(), entries.data(), entries.size(), 0);
  entries.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  const ibv_gid_entry* best = nullptr;
  for (const ibv_gid_entry& entry : entries) {
    if (entry.port_num != port_) continue;
    if (wanted >= 0 && entry.gid_index != static_cast<std::uint32_t>(wanted)) continue;
    if (best == nullptr || rank_of(entry) < rank_of(*best)) best = &entry;
  }
  if (best != nullptr) {
    std::copy(std::begin(best->gid.raw), std::end(best->gid.raw), address_.gid.begin());
    gid_index_ = static_cast<std::uint8_t>(best->gid_index);
    return {};
  }
  if (wanted < 0 && !is_ethernet_) return {};  // LIDs will do
  return Error{ErrorCode::io,
               wanted >= 0
                   ? fmt::format("--gid-index: port {} of {} has no GID {}", port_, name_, wanted)
                   : fmt::format("port {} of {} has no GID: give its network interface an "
                                 "address",
                                 port_, name_)};
}

void GiveBackPages::operator()(void* pages) const {
  if (cache != nullptr) {
    // Other pages may come to this address.
    cache->invalidate(reinterpret_cast<std::uint64_t>(pages), bytes);
    cache->release(use);
  }
  ::munmap(pages, bytes);
}

Result<Buffer> Buffer::create(const Device& device, const BufferOptions& options) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (options.bytes + page - 1) / page * page;
  void* const pages =
      ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return failed(fmt::format("a buffer of {} bytes", whole), errno);
  Buffer buffer;
  buffer.pages_ = {pages, GiveBackPages{.bytes = whole, .cache = nullptr, .use = {}}};
  fabric::RegistrationCache& cache = device.registrations(options.is_readable);
  const auto use = cache.acquire(buffer.address(), whole, options.memory);
  if (!use) return use.error();
  buffer.pages_.get_deleter().use = *use;
  buffer.pages_.get_deleter().cache = &cache;
  return buffer;
}

Result<QueuePairs> QueuePairs::create(const Device& device, std::uint32_t count,
                                      std::uint32_t depth) {
  const std::uint64_t entries = std::uint64_t{count} * depth;
  if (depth > device.queue_depth() || entries > device.completions()) {
    return make_error(ErrorCode::io,
                      "{} has room for {} completions, {} queue pairs need {}: use fewer",
                      device.name(), device.completions(), count, entries);
  }
  QueuePairs made;
  made.completions_.reset(
      ibv_create_cq(device.context(), static_cast<int>(entries), nullptr, nullptr, 0));
  if (!made.completions_) return failed(device.name() + ": completion queue", errno);
  std::random_device random;
  for (std::uint32_t i = 0; i < count; ++i) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = made.completions_.get();
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap = {.max_send_wr = depth,
                      .max_recv_wr = 1,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 0};
    QueuePairHandle handle(ibv_create_qp(device.domain(), &attributes));
    if (!handle) {
      return failed(fmt::format("{}: queue pair {} of {}", device.name(), i + 1, count), errno);
    }
    ibv_qp_attr initial{};
    initial.qp_state = IBV_QPS_INIT;
    initial.port_num = device.port();
    initial.qp_access_flags = IBV_ACCESS_REMOTE_READ;
    const int code =
        ibv_modify_qp(handle.get(), &initial,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (code != 0) return failed(device.name() + ": initialising a queue pair", code);
    made.addresses_.push_back({handle->qp_num, random() & psn_bits});
    made.queue_pairs_.push_back(std::move(handle));
  }
  return made;
}

namespace {

ibv_ah_attr path_to(const Device& device, const PortAddress& port) {
  constexpr std::uint8_t most_hops = 64;
  ibv_ah_attr path{};
  path.dlid = port.lid;
  path.port_num = device.port();
  // InfiniBand between ports of one subnet needs none.
  path.is_global = device.is_ethernet() ? 1 : 0;
  std::copy(port.gid.begin(), port.gid.end(), path.grh.dgid.raw);
  path.grh.sgid_index = device.gid_index();
  path.grh.hop_limit = most_hops;
  return path;
}

Result<void> ready_to_receive(ibv_qp* queue_pair, const Device& device, const PortAddress& port,
                              const QueuePairAddress& peer, const ConnectOptions& options) {
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = static_cast<ibv_mtu>(std::min(port.mtu, device.address().mtu));
  attributes.dest_qp_num = peer.number;
  attributes.rq_psn = peer.psn;
  attributes.max_dest_rd_atomic = device.address().read_depth;
  attributes.min_rnr_timer = options.rnr_timer;
  attributes.ah_attr = path_to(device, port);
  const int code =
      ibv_modify_qp(queue_pair, &attributes,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (code == 0) return {};
  return failed(device.name() + ": no way to the other host's adapter (are both in one network?)",
                code);
}

Result<void> ready_to_send(ibv_qp* queue_pair, const Device& device, const PortAddress& port,
                           const QueuePairAddress& own, const ConnectOptions& options) {
  constexpr std::uint8_t for_ever = 7;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = options.ack_timeout;
  attributes.retry_cnt = options.retry_count;
  attributes.rnr_retry = for_ever;
  attributes.sq_psn = own.psn;
  attributes.max_rd_atomic = std::min(device.started_reads(), port.read_depth);
  const int code = ibv_modify_qp(queue_pair, &attributes,
                                 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  if (code == 0) return {};
  return failed(device.name() + ": a queue pair does not send", code);
}

}  // namespace

Result<void> QueuePairs::connect(const Device& device, const PortAddress& port,
                                 const std::vector<QueuePairAddress>& peers,
                                 const ConnectOptions& options) {
  for (std::size_t i = 0; i < queue_pairs_.size(); ++i) {
    ibv_qp* const one = queue_pairs_[i].get();
    auto good = ready_to_receive(one, device, port, peers[i], options);
    if (good) good = ready_to_send(one, device, port, addresses_[i], options);
    if (!good) return good;
  }
  return {};
}

}  // namespace weft::rdma
