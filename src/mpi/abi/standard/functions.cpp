// SPDX-License-Identifier: Apache-2.0
// The standard's chapter on the ABI, and its functions of a status's fields.
#include "mpi/abi/abi.hpp"
#include "mpi/abi/standard/fortran.hpp"
#include "mpi/api/errors.hpp"

#define WEFT_MPI_FUNCTION(result, name, parameters) extern "C" result name parameters;
#include "mpi/abi/standard/functions.def"
#undef WEFT_MPI_FUNCTION

namespace {

int set_size(MPI_Info info, const char* key, const char* size) {
  return MPI_Info_set(info, key, size);
}
static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);

}  // namespace

int MPI_Abi_get_version(int* major, int* minor) {
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int MPI_Abi_get_info(MPI_Info* info) {
  int error = MPI_Info_create(info);
  for (const char* key : {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"}) {
    if (error == MPI_SUCCESS) error = set_size(*info, key, "8");
  }
  return error;
}

// The sizes of Fortran's types are gfortran's, as the table of datatypes has them: nothing that a
// program says changes them.
int MPI_Abi_get_fortran_info(MPI_Info* info) {
  int error = MPI_Info_create(info);
  for (const char* key : {"mpi_logical_size", "mpi_integer_size", "mpi_real_size"}) {
    if (error == MPI_SUCCESS) error = set_size(*info, key, "4");
  }
  return error == MPI_SUCCESS ? set_size(*info, "mpi_double_precision_size", "8") : error;
}
int MPI_Abi_set_fortran_info(MPI_Info) {
  return MPI_ERR_ABI;
}

// gfortran's .true. is 1, in each size.
int MPI_Abi_get_fortran_booleans(int size, void* is_true, void* is_false, int* is_set) {
  if (size != 1 && size != 2 && size != 4 && size != 8) return MPI_ERR_ARG;
  const std::int64_t one = 1, zero = 0;  // of little-endian numbers, the first bytes
  std::memcpy(is_true, &one, static_cast<std::size_t>(size));
  std::memcpy(is_false, &zero, static_cast<std::size_t>(size));
  *is_set = 1;
  return MPI_SUCCESS;
}
int MPI_Abi_set_fortran_booleans(int, void*, void*) {
  return MPI_ERR_ABI;
}

int MPI_Remove_error_class(int error_class) {
  return weft::mpi::remove_error("MPI_Remove_error_class", error_class, true);
}
int MPI_Remove_error_code(int error) {
  return weft::mpi::remove_error("MPI_Remove_error_code", error, false);
}
int MPI_Remove_error_string(int error) {
  return weft::mpi::remove_error_string("MPI_Remove_error_string", error);
}

int MPI_Psend_init_c(const void* buffer, int parts, MPI_Count count, MPI_Datatype type, int to,
                     int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Psend_init(buffer, parts, count, type, to, tag, comm, info, request);
}
int MPI_Precv_init_c(void* buffer, int parts, MPI_Count count, MPI_Datatype type, int from, int tag,
                     MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return MPI_Precv_init(buffer, parts, count, type, from, tag, comm, info, request);
}

#define WEFT_MPI_HANDLE_NUMBER(name, Handle)             \
  int MPI_##name##_toint(Handle handle) {                \
    return weft::mpi::abi::to_fortran<Handle>(handle);   \
  }                                                      \
  Handle MPI_##name##_fromint(int number) {              \
    return weft::mpi::abi::from_fortran<Handle>(number); \
  }
#include "mpi/abi/handles.def"
WEFT_MPI_HANDLE_NUMBER(Session, MPI_Session)
#undef WEFT_MPI_HANDLE_NUMBER

#define WEFT_MPI_FIELD(name, field)                                 \
  int MPI_Status_get_##name(const MPI_Status* status, int* value) { \
    *value = status->field;                                         \
    return MPI_SUCCESS;                                             \
  }                                                                 \
  int MPI_Status_set_##name(MPI_Status* status, int value) {        \
    status->field = value;                                          \
    return MPI_SUCCESS;                                             \
  }
WEFT_MPI_FIELD(source, MPI_SOURCE)
WEFT_MPI_FIELD(tag, MPI_TAG)
WEFT_MPI_FIELD(error, MPI_ERROR)
#undef WEFT_MPI_FIELD
