// SPDX-License-Identifier: Apache-2.0
// MPI_Sizeof of MPICH's module mpi: the procedures of its module mpi_sizeofs, as gfortran names
// them. Each is for a type and one for arrays of it.
#define WEFT_MPI_SIZEOF_OF(name, bytes)                                               \
  extern "C" void __mpi_sizeofs_MOD_mpi_sizeof_##name(void*, int* size, int* error) { \
    *size = bytes;                                                                    \
    *error = 0;                                                                       \
  }
#define WEFT_MPI_SIZEOF(name, bytes) \
  WEFT_MPI_SIZEOF_OF(name, bytes) WEFT_MPI_SIZEOF_OF(name##v, bytes)
WEFT_MPI_SIZEOF(ch, 1)
WEFT_MPI_SIZEOF(l, 4)
WEFT_MPI_SIZEOF(i1, 1)
WEFT_MPI_SIZEOF(i2, 2)
WEFT_MPI_SIZEOF(i, 4)
WEFT_MPI_SIZEOF(i8, 8)
WEFT_MPI_SIZEOF(r, 4)
WEFT_MPI_SIZEOF(d, 8)
WEFT_MPI_SIZEOF(cx, 8)
#undef WEFT_MPI_SIZEOF
#undef WEFT_MPI_SIZEOF_OF
