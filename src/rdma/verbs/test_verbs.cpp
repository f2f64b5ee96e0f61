// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>

#include "rdma/verbs/verbs_for_test.hpp"

namespace weft::rdma {
namespace {

FakeVerbs* fake = nullptr;
ibv_device device;
ibv_device* devices[] = {&device, nullptr};

int query_port(ibv_context* /*context*/, std::uint8_t /*port*/, ibv_port_attr* attributes,
               std::size_t /*bytes*/) {
  *attributes = {};
  attributes->state = IBV_PORT_ACTIVE;
  attributes->active_mtu = IBV_MTU_4096;
  attributes->link_layer = IBV_LINK_LAYER_INFINIBAND;
  attributes->lid = 1;
  return 0;
}

int query_device(ibv_context* /*context*/, const ibv_query_device_ex_input* /*input*/,
                 ibv_device_attr_ex* attributes, std::size_t /*bytes*/) {
  *attributes = {};
  attributes->odp_caps.general_caps = fake->general_paging;
  attributes->odp_caps.per_transport_caps.rc_odp_caps = fake->connection_paging;
  return 0;
}

int advise(ibv_pd* domain, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* ranges,
           std::uint32_t count) {
  fake->advised.push_back({domain, advice, flags, {ranges, ranges + count}});
  return fake->advice_result;
}

}  // namespace

FakeVerbs::FakeVerbs() {
  EXPECT_EQ(fake, nullptr);
  fake = this;
  verbs_.sz = sizeof(verbs_);
  verbs_.query_port = query_port;
  verbs_.query_device_ex = query_device;
  verbs_.advise_mr = advise;
  verbs_.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
  domain_.context = &verbs_.context;
}

FakeVerbs::~FakeVerbs() {
  EXPECT_TRUE(regions_.empty()) << "a region is still registered";
  fake = nullptr;
}

ibv_mr* FakeVerbs::register_memory(void* address, std::size_t bytes, int access) {
  if (registration_error != 0) {
    errno = registration_error;
    return nullptr;
  }
  const auto key = static_cast<std::uint32_t>(100 + registered.size());
  registered.push_back({reinterpret_cast<std::uint64_t>(address), bytes, access, key});
  auto region = std::make_unique<ibv_mr>();
  region->pd = domain();
  region->addr = address;
  region->length = bytes;
  region->lkey = region->rkey = key;
  ibv_mr* const made = region.get();
  regions_[made] = std::move(region);
  return made;
}

int FakeVerbs::deregister(ibv_mr* region) {
  const auto found = regions_.find(region);
  if (found == regions_.end()) {
    ADD_FAILURE() << "deregistered twice, or never registered";
    return EINVAL;
  }
  deregistered.push_back(region->lkey);
  regions_.erase(found);
  return 0;
}

}  // namespace weft::rdma

// ---- libibverbs, as far as the programs under test link to it
using weft::rdma::fake;

#undef ibv_reg_mr
extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  *count = 1;
  return static_cast<ibv_device**>(weft::rdma::devices);
}
void ibv_free_device_list(ibv_device** /*list*/) {}
const char* ibv_get_device_name(ibv_device* /*device*/) {
  return "fake0";
}
ibv_context* ibv_open_device(ibv_device* /*device*/) {
  return fake->context();
}
int ibv_close_device(ibv_context* /*context*/) {
  return 0;
}
ssize_t _ibv_query_gid_table(ibv_context* /*context*/, ibv_gid_entry* /*entries*/,
                             std::size_t /*most*/, std::uint32_t /*flags*/, std::size_t /*size*/) {
  return 0;
}
ibv_pd* ibv_alloc_pd(ibv_context* /*context*/) {
  return fake->domain();
}
int ibv_dealloc_pd(ibv_pd* /*domain*/) {
  return 0;
}
ibv_mr* ibv_reg_mr(ibv_pd* /*domain*/, void* address, std::size_t bytes, int access) {
  return fake->register_memory(address, bytes, access);
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* /*domain*/, void* address, std::size_t bytes,
                         std::uint64_t /*iova*/, unsigned access) {
  return fake->register_memory(address, bytes, static_cast<int>(access));
}
int ibv_dereg_mr(ibv_mr* region) {
  return fake->deregister(region);
}

}  // extern "C"
