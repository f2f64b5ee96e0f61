// SPDX-License-Identifier: Apache-2.0
#include "fabric/mpi/library.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/make_error.hpp"
#include "base/module_loader.hpp"

namespace weft::mpi {
namespace {

bool is_set(const char* variable) {
  return std::getenv(variable) != nullptr;
}

}  // namespace

Result<std::string> implementation_of(std::string_view name) {
  if (name == "mpi:openmpi" || name == "mpi:mpich") return std::string(name.substr(4));
  if (name != "mpi") {
    return invalid("fabric '{}' is none of mpi, mpi:openmpi, mpi:mpich", name);
  }
  if (is_set("OMPI_COMM_WORLD_RANK")) return std::string("openmpi");
  if (is_set("PMI_RANK")) return std::string("mpich");
  if (is_set("PMIX_RANK")) return std::string("openmpi");
  return Error{
      ErrorCode::unavailable,
      "fabric 'mpi': no MPI started this process; start it by mpirun, with WEFT_FABRIC=mpi "
      "in the environment"};
}

Result<const TransportCalls*> load_transport(const std::string& implementation) {
  const std::string library = fmt::format("libweft_fabric_{}.so", implementation);
  auto calls = load_module<TransportCalls>({library, transport_symbol, transport_version});
  if (calls) return calls;
  return Error{calls.error().code,
               fmt::format("fabric 'mpi:{}': {}; install {} and {} on all machines", implementation,
                           calls.error().message, library,
                           implementation == "mpich" ? "libmpich12" : "libopenmpi3")};
}

}  // namespace weft::mpi
