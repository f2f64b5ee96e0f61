// SPDX-License-Identifier: Apache-2.0
// The objects that predefined handles of Open MPI's ABI point to. Nothing is in them: handles are
// told apart by their addresses.
#include "mpi/abi/openmpi/abi.hpp"

#define WEFT_MPI_OBJECT(type, name) ompi_##type##_t name;
#include "mpi/abi/openmpi/objects.def"
#undef WEFT_MPI_OBJECT

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
