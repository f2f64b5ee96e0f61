// SPDX-License-Identifier: Apache-2.0
// The verbs module: it is loaded before a program's libibverbs, and takes over the contexts that
// the program opens. It leaves those of UCX and libfabric alone, which have their own modules. It
// lives in other people's programs: no exceptions, no logging, no aborts, no C++ library.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulate/verbs/connection.hpp"
#include "emulate/verbs/queue.hpp"

namespace weft::emulate::verbs {
namespace {

template <class Function>
Function* real_function(const char* name) {
  void* function = nullptr;
  if (void* const library = ::dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD)) {
    function = ::dlsym(library, name);
  }
  if (function == nullptr) function = ::dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(function);
}

/// Returns whether the code at `address` is of a library whose traffic another module emulates.
bool is_emulated_above(const void* address) {
  Dl_info where{};
  if (::dladdr(address, &where) == 0 || where.dli_fname == nullptr) return false;
  for (const char* library : {"libuct", "libucp", "libfabric", "verbs-fi"}) {
    if (::strstr(where.dli_fname, library) != nullptr) return true;
  }
  return false;
}

[[gnu::constructor]] void loaded() {
  process.block = attach_block(::getenv(kBlockVariable));
}

[[gnu::destructor]] void exiting() {
  process.note_exit();
}

void take_address(End& end, const ibv_gid& gid) {
  ::memcpy(end.address, gid.raw, sizeof end.address);
}
void take_address(End& end, std::uint16_t lid) {
  ::memcpy(end.address, &lid, sizeof lid);
}

/// Both ends of a queue pair that `attributes` connect; false where they do not say.
bool ends_of(const ibv_qp& pair, const ibv_qp_attr& attributes, End& own, End& peer) {
  const ibv_ah_attr& way = attributes.ah_attr;
  own.number = pair.qp_num;
  peer.number = attributes.dest_qp_num;
  if (way.is_global != 0) {
    ibv_gid gid;
    using Query = int(ibv_context*, std::uint8_t, int, ibv_gid*);
    if (real_function<Query>("ibv_query_gid")(pair.context, way.port_num, way.grh.sgid_index,
                                              &gid) != 0) {
      return false;
    }
    take_address(own, gid);
    take_address(peer, way.grh.dgid);
    return true;
  }
  ibv_port_attr port;
  ::memset(&port, 0, sizeof port);
  using Query = int(ibv_context*, std::uint8_t, ibv_port_attr*);
  if (real_function<Query>("ibv_query_port")(pair.context, way.port_num, &port) != 0) return false;
  take_address(own, port.lid);
  take_address(peer, way.dlid);
  return true;
}

/// Completions name queue pairs by number; whether all operations are signaled only the provider
/// knows.
void note_connected(ibv_qp& pair, const ibv_qp_attr& attributes) {
  ibv_qp_attr current;
  ibv_qp_init_attr made;
  ::memset(&made, 0, sizeof made);
  using Query = int(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*);
  const bool knows = real_function<Query>("ibv_query_qp")(&pair, &current, IBV_QP_CAP, &made) == 0;
  End own{}, peer{};
  const bool has_ends = pair.qp_type == IBV_QPT_RC && ends_of(pair, attributes, own, peer);
  const Locked locked;
  Connection* const connection = make_connection(pair.context, pair.qp_num);
  if (connection == nullptr) return;
  connection->signals_all = knows && made.sq_sig_all != 0;
  if (has_ends) connect(*connection, own, peer);
}

}  // namespace
}  // namespace weft::emulate::verbs

// ---- seen by the program
#pragma GCC visibility push(default)
namespace verbs = weft::emulate::verbs;

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) {
  const void* const caller = __builtin_return_address(0);
  ibv_context* const context =
      verbs::real_function<ibv_context*(ibv_device*)>("ibv_open_device")(device);
  if (context == nullptr || verbs::process.block == nullptr) return context;
  if (verbs::is_emulated_above(caller)) return context;
  verbs::process.enrol_beside();
  if (verbs::process.record == nullptr) return context;
  verbs::process.note_interposed("verbs");
  verbs::take_over(context);
  return context;
}

int ibv_close_device(ibv_context* context) {
  verbs::leave(context);
  return verbs::real_function<int(ibv_context*)>("ibv_close_device")(context);
}

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
  // Noted before the peer can send anything, so that the first message finds its stamp.
  const bool connects = (mask & IBV_QP_AV) != 0 && (mask & IBV_QP_DEST_QPN) != 0;
  if (connects && verbs::is_taken(pair->context)) verbs::note_connected(*pair, *attributes);
  return verbs::real_function<int(ibv_qp*, ibv_qp_attr*, int)>("ibv_modify_qp")(pair, attributes,
                                                                                mask);
}

int ibv_destroy_qp(ibv_qp* pair) {
  const ibv_context* const context = pair->context;
  const std::uint32_t number = pair->qp_num;
  const int code = verbs::real_function<int(ibv_qp*)>("ibv_destroy_qp")(pair);
  if (code == 0 && verbs::process.record != nullptr) {
    verbs::leave(reinterpret_cast<const ibv_qp_ex*>(pair));
    const verbs::Locked locked;
    verbs::drop_connection(context, number);
  }
  return code;
}

int ibv_destroy_cq(ibv_cq* queue) {
  const int code = verbs::real_function<int(ibv_cq*)>("ibv_destroy_cq")(queue);
  if (code == 0 && verbs::process.record != nullptr) verbs::drop_queue(queue);
  return code;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* pair) {
  ibv_qp_ex* const extended = verbs::real_function<ibv_qp_ex*(ibv_qp*)>("ibv_qp_to_qp_ex")(pair);
  if (extended != nullptr && verbs::is_taken(pair->context)) verbs::take_over(extended);
  return extended;
}

}  // extern "C"
#pragma GCC visibility pop
