// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/provider_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <signal.h>

#include <array>

#include "base/make_error.hpp"

namespace weft::ofi {
namespace {

constexpr const char* kLibrary = "libfabric.so.1";

/// Undoes changes of the process's signal handlers while it lives. Libraries of providers (PSM)
/// take SIGTERM, SIGINT and faults when they are loaded, print a backtrace and exit: the program
/// would end without its result.
class KeptSignalHandlers {
 public:
  KeptSignalHandlers() {
    for (int number = 1; number < count; ++number) {
      sigaction(number, nullptr, &before_[static_cast<std::size_t>(number)]);
    }
  }
  ~KeptSignalHandlers() {
    for (int number = 1; number < count; ++number) {
      const struct sigaction& before = before_[static_cast<std::size_t>(number)];
      struct sigaction now {};
      if (sigaction(number, nullptr, &now) != 0 || now.sa_sigaction == before.sa_sigaction)
        continue;
      sigaction(number, &before, nullptr);
    }
  }
  KeptSignalHandlers(const KeptSignalHandlers&) = delete;
  KeptSignalHandlers& operator=(const KeptSignalHandlers&) = delete;

 private:
  static constexpr int count = 32;  // libraries take no real-time signals
  std::array<struct sigaction, count> before_{};
};

struct Calls {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  std::string failure;
};

template <class Function>
void find(void* library, const char* name, Function& function, std::string& failure) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr && failure.empty()) failure = fmt::format("{} has no {}", kLibrary, name);
}

Calls load() {
  const KeptSignalHandlers kept;
  Calls calls;
  // Never unloaded: providers leave threads and handlers behind.
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = dlerror();
    calls.failure = why != nullptr ? why : kLibrary;
    return calls;
  }
  find(library, "fi_getinfo", calls.getinfo, calls.failure);
  find(library, "fi_freeinfo", calls.freeinfo, calls.failure);
  find(library, "fi_dupinfo", calls.dupinfo, calls.failure);
  find(library, "fi_fabric", calls.fabric, calls.failure);
  find(library, "fi_strerror", calls.strerror, calls.failure);
  return calls;
}

const Calls& calls() {
  static const Calls loaded = load();
  return loaded;
}

}  // namespace

Result<void> load_library() {
  if (calls().failure.empty()) return {};
  return make_error(ErrorCode::not_found,
                    "libfabric cannot be loaded: {}; install libfabric1, or choose --fabric tcp",
                    calls().failure);
}

}  // namespace weft::ofi

// Hidden, so that the library itself goes on finding its own.
extern "C" {

__attribute__((visibility("hidden"))) int fi_getinfo(std::uint32_t version, const char* node,
                                                     const char* service, std::uint64_t flags,
                                                     const fi_info* hints, fi_info** info) {
  const weft::ofi::KeptSignalHandlers kept;  // the first call loads providers
  const auto call = weft::ofi::calls().getinfo;
  return call != nullptr ? call(version, node, service, flags, hints, info) : -FI_ENOSYS;
}

__attribute__((visibility("hidden"))) void fi_freeinfo(fi_info* info) {
  if (const auto call = weft::ofi::calls().freeinfo) call(info);
}

__attribute__((visibility("hidden"))) fi_info* fi_dupinfo(const fi_info* info) {
  const auto call = weft::ofi::calls().dupinfo;
  return call != nullptr ? call(info) : nullptr;
}

__attribute__((visibility("hidden"))) int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric,
                                                    void* context) {
  const auto call = weft::ofi::calls().fabric;
  return call != nullptr ? call(attributes, fabric, context) : -FI_ENOSYS;
}

__attribute__((visibility("hidden"))) const char* fi_strerror(int error) {
  const auto call = weft::ofi::calls().strerror;
  return call != nullptr ? call(error) : "libfabric is not loaded";
}

}  // extern "C"
