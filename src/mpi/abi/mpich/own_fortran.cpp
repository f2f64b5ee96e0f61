// SPDX-License-Identifier: Apache-2.0
// The symbols by which MPICH's own library of Fortran, libmpichfort.so.12, knows its libmpich.so.12
// beyond MPI's functions. With them it runs on weft: programs that use the module mpi_f08 need it.
#include <cstring>
#include <memory>

#include "mpi/api/attributes.hpp"
#include "mpi/api/generalized.hpp"

namespace weft::mpi {
namespace {

/// What a value of an attribute is to the caller, in MPICH's numbers: 0 is C's pointer.
constexpr int kind_pointer = 0;

/// Predefined keys of attributes are one more in Fortran.
int key_of(int key, int first, int last) {
  return key > first && key <= last + 1 && (key - first) % 2 == 1 ? key - 1 : key;
}

void write_number(void* to, MPI_Aint number) {
  std::memcpy(to, &number, sizeof number);
}

/// What `get` finds. Fortran's number of a predefined one is where C's pointer points.
template <class Get>
int get_attribute(Get&& get, void* value, int* flag, int kind, std::size_t bytes) {
  void* found = nullptr;
  const int error = get(&found, flag);
  if (error != MPI_SUCCESS || *flag == 0) return error;
  auto number = reinterpret_cast<MPI_Aint>(found);
  if (kind != kind_pointer && bytes == sizeof(int)) number = *static_cast<const int*>(found);
  if (kind != kind_pointer && bytes == sizeof(MPI_Aint)) {
    number = *static_cast<const MPI_Aint*>(found);
  }
  write_number(value, number);
  return error;
}

/// A generalized request's functions in Fortran, which return their error in an argument.
struct FortranRequest {
  using Query = void(void* extra, MPI_Status* status, int* error);
  using Free = void(void* extra, int* error);
  using Cancel = void(void* extra, int* complete, int* error);
  Query* query;
  Free* free;
  Cancel* cancel;
  void* extra;
};

/// Of functions that a program in Fortran has given as C's.
template <class Function, class OfC>
Function* of_fortran(OfC* function) {
  return reinterpret_cast<Function*>(reinterpret_cast<void*>(function));
}

int query_fortran(void* own, MPI_Status* status) {
  const auto& request = *static_cast<const FortranRequest*>(own);
  int error = MPI_SUCCESS;
  request.query(request.extra, status, &error);
  return error;
}

int free_fortran(void* own) {
  const std::unique_ptr<FortranRequest> request(static_cast<FortranRequest*>(own));
  int error = MPI_SUCCESS;
  request->free(request->extra, &error);
  return error;
}

int cancel_fortran(void* own, int complete) {
  const auto& request = *static_cast<const FortranRequest*>(own);
  int error = MPI_SUCCESS;
  request.cancel(request.extra, &complete, &error);
  return error;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

extern "C" {

int MPIR_F08_MPI_STATUS_IGNORE_OBJ[5];
int MPIR_F08_MPI_STATUSES_IGNORE_OBJ[5];
void* MPI_F08_STATUS_IGNORE = MPIR_F08_MPI_STATUS_IGNORE_OBJ;
void* MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
/// Set by the library of Fortran when it begins.
int* MPI_F_STATUS_IGNORE = nullptr;
int* MPI_F_STATUSES_IGNORE = nullptr;

int MPII_Comm_get_attr(MPI_Comm comm, int fortran_key, void* value, int* flag, int kind) {
  const int key = key_of(fortran_key, MPI_TAG_UB, MPI_APPNUM);
  const bool is_number = key >= MPI_TAG_UB && key <= MPI_APPNUM;
  return get_attribute(
      [&](void* to, int* found) { return MPI_Comm_get_attr(comm, key, to, found); }, value, flag,
      kind, is_number ? sizeof(int) : 0);
}

int MPII_Comm_set_attr(MPI_Comm comm, int key, void* value, int) {
  return MPI_Comm_set_attr(comm, key, value);
}

int MPII_Type_get_attr(MPI_Datatype type, int key, void* value, int* flag, int kind) {
  return get_attribute(
      [&](void* to, int* found) { return MPI_Type_get_attr(type, key, to, found); }, value, flag,
      kind, 0);
}

int MPII_Type_set_attr(MPI_Datatype type, int key, void* value, int) {
  return MPI_Type_set_attr(type, key, value);
}

int MPII_Win_get_attr(MPI_Win window, int fortran_key, void* value, int* flag, int kind) {
  const int key = key_of(fortran_key, MPI_WIN_BASE, MPI_WIN_MODEL);
  const bool is_number = key > MPI_WIN_BASE && key <= MPI_WIN_MODEL;
  const std::size_t bytes = !is_number ? 0 : key == MPI_WIN_SIZE ? sizeof(MPI_Aint) : sizeof(int);
  return get_attribute(
      [&](void* to, int* found) { return MPI_Win_get_attr(window, key, to, found); }, value, flag,
      kind, bytes);
}

int MPII_Win_set_attr(MPI_Win window, int key, void* value, int) {
  return MPI_Win_set_attr(window, key, value);
}

/// The key's functions are Fortran's, and called by these.
void MPII_Keyval_set_proxy(int key, Keys<MPI_Comm>::CopyProxy* copy,
                           Keys<MPI_Comm>::DeleteProxy* remove) {
  // Handles of all kinds are integers; numbers of keys tell their kinds apart.
  if (communicator_keys().set_proxies(key, copy, remove)) return;
  if (type_keys().set_proxies(key, copy, remove)) return;
  (void)window_keys().set_proxies(key, copy, remove);
}

void MPII_Grequest_set_lang_f77(MPI_Request handle) {
  const Request* const request = library().requests.find(number_of(handle));
  Generalized* const found = request != nullptr ? find_generalized(*request) : nullptr;
  if (found == nullptr) return;
  auto own = std::make_unique<FortranRequest>(
      FortranRequest{.query = of_fortran<FortranRequest::Query>(found->query),
                     .free = of_fortran<FortranRequest::Free>(found->free),
                     .cancel = of_fortran<FortranRequest::Cancel>(found->cancel),
                     .extra = found->extra});
  found->query = query_fortran;
  found->free = free_fortran;
  found->cancel = cancel_fortran;
  found->extra = own.release();
}

}  // extern "C"
