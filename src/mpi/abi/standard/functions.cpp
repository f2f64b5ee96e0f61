// SPDX-License-Identifier: Apache-2.0
// The standard's chapter on the ABI, and functions that came after MPI 4.0: of a status's fields,
// of the buffers of communicators and sessions.
#include "mpi/abi/abi.hpp"
#include "mpi/abi/standard/fortran.hpp"
#include "mpi/api/buffered.hpp"
#include "mpi/api/errors.hpp"
#include "mpi/api/info.hpp"

#define WEFT_MPI_FUNCTION(result, name, parameters) extern "C" result name parameters;
#include "mpi/abi/standard/functions.def"
#undef WEFT_MPI_FUNCTION

using weft::mpi::Call;

namespace {

int create_info(const char* function, MPI_Info* info) {
  const int error = Call{function}.check_results(info);
  return error == MPI_SUCCESS ? MPI_Info_create(info) : error;
}
int set_size(MPI_Info info, const char* key, const char* size) {
  return MPI_Info_set(info, key, size);
}
static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);

}  // namespace

int MPI_Abi_get_version(int* major, int* minor) {
  if (const int error = Call{"MPI_Abi_get_version"}.check_results(major, minor)) return error;
  *major = MPI_ABI_VERSION;
  *minor = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int MPI_Abi_get_info(MPI_Info* info) {
  int error = create_info("MPI_Abi_get_info", info);
  for (const char* key : {"mpi_aint_size", "mpi_count_size", "mpi_offset_size"}) {
    if (error == MPI_SUCCESS) error = set_size(*info, key, "8");
  }
  return error;
}

// The sizes of Fortran's types are gfortran's, as the table of datatypes has them: nothing that a
// program says changes them.
int MPI_Abi_get_fortran_info(MPI_Info* info) {
  int error = create_info("MPI_Abi_get_fortran_info", info);
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
  if (const int error =
          Call{"MPI_Abi_get_fortran_booleans"}.check_results(is_true, is_false, is_set)) {
    return error;
  }
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

#define WEFT_MPI_BUFFER(name, parameters, owner, action) \
  int name parameters {                                  \
    const Call call{#name};                              \
    return weft::mpi::owner.action;                      \
  }
#define WEFT_MPI_BUFFER_OF(kind, Handle, owner)                                                    \
  WEFT_MPI_BUFFER(MPI_##kind##_attach_buffer, (Handle of, void* at, int n), owner, attach(at, n))  \
  WEFT_MPI_BUFFER(MPI_##kind##_attach_buffer_c, (Handle of, void* at, MPI_Count n), owner,         \
                  attach(at, n))                                                                   \
  WEFT_MPI_BUFFER(MPI_##kind##_detach_buffer, (Handle of, void* at, int* n), owner, detach(at, n)) \
  WEFT_MPI_BUFFER(MPI_##kind##_detach_buffer_c, (Handle of, void* at, MPI_Count* n), owner,        \
                  detach(at, n))                                                                   \
  WEFT_MPI_BUFFER(MPI_##kind##_flush_buffer, (Handle of), owner, flush())                          \
  WEFT_MPI_BUFFER(MPI_##kind##_iflush_buffer, (Handle of, MPI_Request * made), owner,              \
                  start_flush(made))
WEFT_MPI_BUFFER_OF(Comm, MPI_Comm, buffer_of_communicator(call, of))
WEFT_MPI_BUFFER_OF(Session, MPI_Session, buffer_of_session(call, of))
WEFT_MPI_BUFFER(MPI_Buffer_flush, (), buffer_of_process(call), flush())
WEFT_MPI_BUFFER(MPI_Buffer_iflush, (MPI_Request * made), buffer_of_process(call), start_flush(made))
#undef WEFT_MPI_BUFFER_OF
#undef WEFT_MPI_BUFFER

int MPI_Request_get_status_all(int count, const MPI_Request* requests, int* flag,
                               MPI_Status* statuses) {
  const Call call{"MPI_Request_get_status_all"};
  if (const int error = call.check_results(flag)) return error;
  if (const int error = count > 0 ? call.check_results(requests) : MPI_SUCCESS) return error;
  return weft::mpi::look_at_all(call, count, requests, flag, statuses);
}
int MPI_Request_get_status_some(int count, const MPI_Request* requests, int* done, int* indices,
                                MPI_Status* statuses) {
  const Call call{"MPI_Request_get_status_some"};
  if (const int error = call.check_results(done, indices)) return error;
  if (const int error = count > 0 ? call.check_results(requests) : MPI_SUCCESS) return error;
  return weft::mpi::look_at_some(call, count, requests, false, done, indices, statuses);
}
int MPI_Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                               MPI_Status* status) {
  const Call call{"MPI_Request_get_status_any"};
  if (const int error = call.check_results(index, flag)) return error;
  if (const int error = count > 0 ? call.check_results(requests) : MPI_SUCCESS) return error;
  *index = MPI_UNDEFINED;
  const int error = weft::mpi::look_at_some(call, count, requests, true, flag, index, status);
  if (*flag != MPI_UNDEFINED) return error;
  *flag = 1;
  if (status != weft::mpi::abi::status_ignore)
    *status = {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, {}};
  return error;
}

// weft knows nothing of the hardware below hosts.
int MPI_Get_hw_resource_info(MPI_Info* info) {
  return create_info("MPI_Get_hw_resource_info", info);
}

int MPI_Type_get_value_index(MPI_Datatype value, MPI_Datatype index, MPI_Datatype* pair) {
  if (const int error = Call{"MPI_Type_get_value_index"}.check_results(pair)) return error;
  struct Pair {
    MPI_Datatype value, index, pair;
  };
  const Pair pairs[] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
                        {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
                        {MPI_LONG, MPI_INT, MPI_LONG_INT},
                        {MPI_INT, MPI_INT, MPI_2INT},
                        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
                        {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
                        {MPI_REAL, MPI_REAL, MPI_2REAL},
                        {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
                        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}};
  *pair = MPI_DATATYPE_NULL;
  for (const Pair& p : pairs) {
    if (p.value == value && p.index == index) *pair = p.pair;
  }
  return MPI_SUCCESS;
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

#define WEFT_MPI_FIELD(name, field)                                                          \
  int MPI_Status_get_##name(const MPI_Status* status, int* value) {                          \
    const Call call{"MPI_Status_get_" #name};                                                \
    if (const int error = call.check_results(status, value)) return error;                   \
    *value = status->field;                                                                  \
    return MPI_SUCCESS;                                                                      \
  }                                                                                          \
  int MPI_Status_set_##name(MPI_Status* status, int value) {                                 \
    if (const int error = Call{"MPI_Status_set_" #name}.check_results(status)) return error; \
    status->field = value;                                                                   \
    return MPI_SUCCESS;                                                                      \
  }
WEFT_MPI_FIELD(source, MPI_SOURCE)
WEFT_MPI_FIELD(tag, MPI_TAG)
WEFT_MPI_FIELD(error, MPI_ERROR)
#undef WEFT_MPI_FIELD
