// SPDX-License-Identifier: Apache-2.0
// The functions that take a program's calls before their libraries do: libuct's that open
// interfaces and set handlers, and MPI's beginning and end.
#include "emulate/ucx/module.hpp"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {

Process process = {{nullptr, nullptr, kUnknownRank, false}, 0, 0};
void take_over(uct_iface_h handle, uct_worker_h worker, const uct_iface_params_t& parameters);

void enrol() {
  if (process.record != nullptr) return;
  process.enrol();
  if (process.record == nullptr) return;
  ::strncpy(process.record->interposer, "ucx", sizeof process.record->interposer - 1);
}

namespace {

/// Returns whether the UCX here is one whose tables this module was compiled for.
bool is_known_version() {
  using GetVersion = void (*)(unsigned*, unsigned*, unsigned*);
  void* const library = ::dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return true;  // UCT without UCP
  const auto get_version = reinterpret_cast<GetVersion>(::dlsym(library, "ucp_get_version"));
  if (get_version == nullptr) return false;
  unsigned major = 0;
  unsigned minor = 0;
  unsigned patch = 0;
  get_version(&major, &minor, &patch);
  return major == UCP_API_MAJOR && minor == UCP_API_MINOR;
}

/// The time that `work` takes: the least of a few tries of some microseconds.
template <class Work>
Picoseconds measure(Work work) {
  constexpr int kTries = 8;
  constexpr int kTimes = 256;
  Picoseconds least = 0;
  for (int i = 0; i < kTries; ++i) {
    const Picoseconds start = process.block->clock.now();
    for (int j = 0; j < kTimes; ++j) work(start);
    const Picoseconds each = (process.block->clock.now() - start) / kTimes;
    if (i == 0 || each < least) least = each;
  }
  return least;
}
Picoseconds measure_link_cost() {
  SharedLink link;
  return measure([&](Picoseconds start) { (void)link.send(start, 16, 1'000'000'000); });
}

ucs_status_t sent_nowhere(uct_ep_h /*handle*/, std::uint8_t /*id*/, std::uint64_t /*header*/,
                          const void* /*payload*/, unsigned /*length*/) {
  return UCS_OK;
}
/// By a transport that does nothing, as it is and taken over. 0 where nobody subtracts it.
Picoseconds measure_send_cost() {
  if (is_native() || is_spinning() || padding_ratio() != 0) return 0;
  uct_iface iface = {};
  iface.ops.ep_am_short = sent_nowhere;
  uct_ep endpoint = {&iface};
  const char payload[8] = {};
  const auto send = [&](Picoseconds start) {
    uct_ep_am_short(&endpoint, 0, static_cast<std::uint64_t>(start), payload, sizeof payload);
    asm volatile("" : : "r"(payload) : "memory");
  };
  const Picoseconds alone = measure(send);
  TransportForMeasuring transport(iface);
  return std::max<Picoseconds>(0, measure(send) - alone);
}

// A profiler's MPI_Init calls PMPI_Init, and both come by here: the first counts.
void note_running() {
  if (process.record == nullptr || (process.record->stage.load() & stage_running) != 0) return;
  process.note_running();
}

void note_finished() {
  if (process.record == nullptr || (process.record->stage.load() & stage_finished) != 0) return;
  process.note_finished();
}

bool has_session = false;

[[gnu::constructor]] void loaded() {
  process.block = attach_block(::getenv(kBlockVariable));
  // Launchers' ranks say by their record that the module is there; others only when they turn out
  // to communicate.
  if (process.block != nullptr && rank_from_environment().rank >= 0) enrol();
}

[[gnu::destructor]] void exiting() {
  // A child of a fork is not the process of the record.
  if (process.record == nullptr || process.record->pid.load() != ::getpid()) return;
  const std::uint32_t stage = process.record->stage.load();
  const bool lacks_end = (stage & (stage_running | stage_finished)) == stage_running;
  if (lacks_end && is_mpi_program() && !has_session) {
    process.record->stage.fetch_or(stage_exited);
  } else {
    note_finished();
  }
}

}  // namespace

bool note_interposed() {
  enrol();
  if (process.record == nullptr) return false;
  if (!is_known_version()) {
    process.record->stage.fetch_or(stage_refused);
    return false;
  }
  process.record->stage.fetch_or(stage_interposed);
  if (process.link_cost == 0) {
    process.link_cost = measure_link_cost();
    process.send_cost = measure_send_cost();
  }
  if (!is_mpi_program()) note_running();
  return true;
}

void* real_function(const char* name) {
  if (void* const library = ::dlopen("libuct.so.0", RTLD_LAZY | RTLD_NOLOAD)) {
    if (void* const function = ::dlsym(library, name)) return function;
  }
  return ::dlsym(RTLD_NEXT, name);
}

template <class Function>
Function* next_function(const char* name) {
  if (void* const function = ::dlsym(RTLD_NEXT, name)) return reinterpret_cast<Function*>(function);
  // An interpreter loads its MPI for itself alone.
  for (const char* library :
       {"libmpich.so.12", "libmpi.so.40", "libmpichfort.so.12", "libmpi_mpifh.so.40"}) {
    void* const loaded = ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const function = loaded != nullptr ? ::dlsym(loaded, name) : nullptr;
    if (function != nullptr) return reinterpret_cast<Function*>(function);
  }
  return nullptr;
}

namespace {

int init(const char* name, int* argc, char*** argv) {
  const int code = next_function<int(int*, char***)>(name)(argc, argv);
  note_running();
  return code;
}

int init_thread(const char* name, int* argc, char*** argv, int required, int* provided) {
  using Init = int(int*, char***, int, int*);
  const int code = next_function<Init>(name)(argc, argv, required, provided);
  note_running();
  return code;
}

int finalize(const char* name) {
  note_finished();
  return next_function<int()>(name)();
}

/// Handles are integers in one MPI and pointers in another: either passes in a register.
int session_init(const char* name, std::intptr_t info, std::intptr_t errors, void* session) {
  using Init = int(std::intptr_t, std::intptr_t, void*);
  const int code = next_function<Init>(name)(info, errors, session);
  has_session = true;
  note_running();
  return code;
}

}  // namespace

}  // namespace weft::emulate::ucx

// ---- seen by the program
#pragma GCC visibility push(default)
namespace ucx = weft::emulate::ucx;

extern "C" {

ucs_status_t uct_iface_open(uct_md_h md, uct_worker_h worker, const uct_iface_params_t* parameters,
                            const uct_iface_config_t* config, uct_iface_h* opened) {
  using Open = ucs_status_t (*)(uct_md_h, uct_worker_h, const uct_iface_params_t*,
                                const uct_iface_config_t*, uct_iface_h*);
  const auto real = reinterpret_cast<Open>(ucx::real_function("uct_iface_open"));
  const ucs_status_t status = real(md, worker, parameters, config, opened);
  if (status != UCS_OK || ucx::process.block == nullptr) return status;
  // A rank's messages to itself pass no network.
  const bool to_itself = (parameters->open_mode & UCT_IFACE_OPEN_MODE_DEVICE) != 0 &&
                         ::strcmp(parameters->mode.device.tl_name, "self") == 0;
  if (!to_itself) ucx::take_over(*opened, worker, *parameters);
  return status;
}

ucs_status_t uct_iface_set_am_handler(uct_iface_h iface, uint8_t id, uct_am_callback_t call,
                                      void* argument, uint32_t flags) {
  using SetHandler = ucs_status_t (*)(uct_iface_h, uint8_t, uct_am_callback_t, void*, uint32_t);
  if (ucx::Interface* const interface = ucx::interface_of(iface)) {
    return ucx::set_handler(*interface, id, call, argument, flags);
  }
  return reinterpret_cast<SetHandler>(ucx::real_function("uct_iface_set_am_handler"))(
      iface, id, call, argument, flags);
}

/// Memory that a peer maps is read without any operation that could be made to wait: upper layers
/// are told to use operations.
ucs_status_t uct_md_query(uct_md_h md, uct_md_attr_t* attributes) {
  using Query = ucs_status_t (*)(uct_md_h, uct_md_attr_t*);
  const ucs_status_t status =
      reinterpret_cast<Query>(ucx::real_function("uct_md_query"))(md, attributes);
  if (status == UCS_OK && ucx::process.block != nullptr) {
    attributes->cap.flags &= ~static_cast<uint64_t>(UCT_MD_FLAG_RKEY_PTR);
  }
  return status;
}

/// For the module of another layer in the same process.
void* weft_emulate_record(void) {
  ucx::enrol();
  return ucx::process.record;
}

// By both names: Fortran's mpi_f08 and profilers call PMPI_…, and a library resolves one name to
// the other without passing here.
int MPI_Init(int* argc, char*** argv) {
  return ucx::init("MPI_Init", argc, argv);
}
int PMPI_Init(int* argc, char*** argv) {
  return ucx::init("PMPI_Init", argc, argv);
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return ucx::init_thread("MPI_Init_thread", argc, argv, required, provided);
}
int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return ucx::init_thread("PMPI_Init_thread", argc, argv, required, provided);
}
int MPI_Finalize(void) {
  return ucx::finalize("MPI_Finalize");
}
int PMPI_Finalize(void) {
  return ucx::finalize("PMPI_Finalize");
}
// A process may open and close several sessions; it has finished when it exits.
int MPI_Session_init(intptr_t info, intptr_t errors, void* session) {
  return ucx::session_init("MPI_Session_init", info, errors, session);
}
int PMPI_Session_init(intptr_t info, intptr_t errors, void* session) {
  return ucx::session_init("PMPI_Session_init", info, errors, session);
}

// Fortran's names: its library need not call the ones above.
void mpi_init_(int* code) {
  ucx::next_function<void(int*)>("mpi_init_")(code);
  ucx::note_running();
}

void mpi_init_thread_(int* required, int* provided, int* code) {
  ucx::next_function<void(int*, int*, int*)>("mpi_init_thread_")(required, provided, code);
  ucx::note_running();
}

void mpi_finalize_(int* code) {
  ucx::note_finished();
  ucx::next_function<void(int*)>("mpi_finalize_")(code);
}

}  // extern "C"
#pragma GCC visibility pop
