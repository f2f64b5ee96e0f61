// SPDX-License-Identifier: Apache-2.0
// What Open MPI's own library of C++ bindings, libmpi_cxx.so.40, takes from libmpi.so.40 beside
// MPI. Its functions are short and call MPI's, so programs of C++ need no other library. Compilers
// of Open MPI link every program of C++ with it, mostly in vain.
#include <cstddef>

#include "mpi/api/absent.hpp"
#include "mpi/api/library.hpp"

namespace weft::mpi {

/// The size that the object has in Open MPI 4.1.
constexpr std::size_t size_of_array = 0x78;

/// A list of Open MPI 4.1: both ends point to `ends` while it is empty.
struct OpalItem {
  void* object[2];
  OpalItem* next;
  OpalItem* previous;
  int is_free;
};
struct OpalList {
  void* object[2];
  OpalItem ends;
  std::size_t length;
};
static_assert(sizeof(OpalList) == 0x40);

}  // namespace weft::mpi

extern "C" {

/// Open MPI's internal error codes, which nothing here returns.
int ompi_errcode_intern_lastused = 0;
alignas(32) char ompi_errcodes_intern[weft::mpi::size_of_array] = {};
/// The representations that MPI::Register_datarep has registered: it appends to the list.
weft::mpi::OpalList ompi_registered_datareps = {
    {}, {{}, &ompi_registered_datareps.ends, &ompi_registered_datareps.ends, 0}, 0};

/// The operation calls `function`, of C++, through the function that it was made with.
void ompi_op_set_cxx_callback(MPI_Op operation, MPI_User_function* function) {
  using namespace weft::mpi;
  const Call call{"MPI::Op::Init"};
  UserOperation* const made =
      is_of(abi::made_op, operation) ? library().operations.find(number_of(operation)) : nullptr;
  if (made == nullptr) return;
  made->outer = reinterpret_cast<UserOperation::Outer*>(reinterpret_cast<void*>(made->function));
  made->inner = function;
}

int ompi_attr_create_keyval(int, void*, void*, int*, void*, int, void*) {
  return weft::mpi::absent("Create_keyval of Open MPI's C++ bindings");
}

MPI_Errhandler ompi_errhandler_create(int, void*, int) {
  weft::mpi::absent("Create_errhandler of Open MPI's C++ bindings");
  return MPI_ERRHANDLER_NULL;
}

int ompi_errhandler_invoke(MPI_Errhandler, void*, int, int, const char*) {
  return weft::mpi::absent("an error handler of Open MPI's C++ bindings");
}
}
