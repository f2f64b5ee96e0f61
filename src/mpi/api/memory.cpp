// SPDX-License-Identifier: Apache-2.0
// Memory that the library allocates, and calls that change nothing.
#include <cstdlib>
#include <cstring>
#include <thread>

#include "mpi/api/library.hpp"

namespace weft::mpi {
namespace {

constexpr std::size_t alignment = 64;

/// Programs call MPI_Init in their main thread, and load the library there.
const std::thread::id main_thread = std::this_thread::get_id();

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Alloc_mem(MPI_Aint bytes, MPI_Info, void* address) {
  const std::size_t rounded =
      (static_cast<std::size_t>(std::max<MPI_Aint>(bytes, 1)) + alignment - 1) / alignment *
      alignment;
  void* const memory = std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) {
    return Call{"MPI_Alloc_mem"}.fail(&library().world, MPI_ERR_NO_MEM,
                                      "there are no {} bytes of memory", bytes);
  }
  std::memcpy(address, &memory, sizeof memory);
  return MPI_SUCCESS;
}

int MPI_Free_mem(void* memory) {
  std::free(memory);
  return MPI_SUCCESS;
}

int MPI_Is_thread_main(int* flag) {
  *flag = std::this_thread::get_id() == main_thread ? 1 : 0;
  return MPI_SUCCESS;
}

int MPI_Pcontrol(const int, ...) {
  return MPI_SUCCESS;
}
