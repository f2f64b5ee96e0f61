// SPDX-License-Identifier: Apache-2.0
// The objects that predefined handles of Open MPI's ABI point to. Nothing is in them: handles are
// told apart by their addresses.
#include "mpi/abi/openmpi/abi.hpp"

#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(type, name, object, ...) std::remove_pointer_t<type> object;
#define WEFT_MPI_TYPE(name, object, ...) WEFT_MPI_HANDLE(MPI_Datatype, name, object)
#define WEFT_MPI_OBJECT(type, name) ompi_##type##_t name;
#include WEFT_MPI_CONSTANTS
#include "mpi/abi/openmpi/objects.def"
#undef WEFT_MPI_OBJECT
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT

// What Fortran passes for no status: of whatever has that common block.
extern "C" {
[[gnu::weak]] extern double mpi_fortran_status_ignore_;
[[gnu::weak]] extern double mpi_fortran_statuses_ignore_;
void* MPI_F_STATUS_IGNORE = &mpi_fortran_status_ignore_;
void* MPI_F_STATUSES_IGNORE = &mpi_fortran_statuses_ignore_;

#define WEFT_MPI_FUNCTION(result, name, parameters) result name parameters;
#include "mpi/abi/openmpi/functions.def"
#undef WEFT_MPI_FUNCTION

/// No memory of a GPU can be sent.
int MPIX_Query_cuda_support() {
  return 0;
}
}

// The copy and delete functions of attributes that mpi.h names. They have one form for all kinds of
// objects, whose handles are pointers.
extern "C" {

#define WEFT_MPI_ATTRIBUTE_FUNCTIONS(null_copy, dup, null_delete)  \
  int null_copy(void*, int, void*, void*, void*, int* flag) {      \
    *flag = 0;                                                     \
    return MPI_SUCCESS;                                            \
  }                                                                \
  int dup(void*, int, void*, void* value, void* copy, int* flag) { \
    *flag = 1;                                                     \
    *static_cast<void**>(copy) = value;                            \
    return MPI_SUCCESS;                                            \
  }                                                                \
  int null_delete(void*, int, void*, void*) {                      \
    return MPI_SUCCESS;                                            \
  }
WEFT_MPI_ATTRIBUTE_FUNCTIONS(OMPI_C_MPI_COMM_NULL_COPY_FN, OMPI_C_MPI_COMM_DUP_FN,
                             OMPI_C_MPI_COMM_NULL_DELETE_FN)
WEFT_MPI_ATTRIBUTE_FUNCTIONS(OMPI_C_MPI_TYPE_NULL_COPY_FN, OMPI_C_MPI_TYPE_DUP_FN,
                             OMPI_C_MPI_TYPE_NULL_DELETE_FN)
WEFT_MPI_ATTRIBUTE_FUNCTIONS(OMPI_C_MPI_WIN_NULL_COPY_FN, OMPI_C_MPI_WIN_DUP_FN,
                             OMPI_C_MPI_WIN_NULL_DELETE_FN)
WEFT_MPI_ATTRIBUTE_FUNCTIONS(OMPI_C_MPI_NULL_COPY_FN, OMPI_C_MPI_DUP_FN, OMPI_C_MPI_NULL_DELETE_FN)
#undef WEFT_MPI_ATTRIBUTE_FUNCTIONS

}  // extern "C"
