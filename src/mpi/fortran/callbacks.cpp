// SPDX-License-Identifier: Apache-2.0
// Functions to which a program in Fortran gives some of its own: for attributes, errors and
// generalized requests. Operations are in functions.cpp.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "mpi/fortran/kinds.hpp"

namespace weft::mpi::fortran {
namespace {

// ---- attributes: C gives back what a key was made with

/// `Number`: of values and of the key's state; MPI-1 had plain integers.
template <class Number>
struct Key {
  using Copy = void(int* object, int* key, Number* state, Number* from, Number* to, int* flag,
                    int* error);
  using Delete = void(int* object, int* key, Number* value, Number* state, int* error);
  Copy* copy = nullptr;
  Delete* remove = nullptr;
  Number state = 0;
};

template <class Handle, class Number>
int copy_attribute(Handle object, int key, void* state, void* value, void* copied, int* flag) {
  auto& own = *static_cast<Key<Number>*>(state);
  int handle = abi::to_fortran<Handle>(object), error = MPI_SUCCESS;
  auto from = static_cast<Number>(reinterpret_cast<MPI_Aint>(value));
  Number to = 0;
  own.copy(&handle, &key, &own.state, &from, &to, flag, &error);
  if (error == MPI_SUCCESS && *flag != 0) {
    *static_cast<void**>(copied) = reinterpret_cast<void*>(MPI_Aint{to});
  }
  return error;
}

template <class Handle, class Number>
int delete_attribute(Handle object, int key, void* value, void* state) {
  auto& own = *static_cast<Key<Number>*>(state);
  int handle = abi::to_fortran<Handle>(object), error = MPI_SUCCESS;
  auto old = static_cast<Number>(reinterpret_cast<MPI_Aint>(value));
  own.remove(&handle, &key, &old, &own.state, &error);
  return error;
}

/// Attributes outlive their keys.
template <class Number>
Key<Number>* keep_key(const Key<Number>& key) {
  static std::mutex lock;
  static std::deque<Key<Number>> kept;
  const std::lock_guard held(lock);  // the program may have threads
  return &kept.emplace_back(key);
}

// ---- error handlers: C does not say which one is meant, so that each has a function of its own

using ErrorFunction = void(int* object, int* code);
constexpr std::size_t most_handlers = 32;

template <class Handle>
struct Handlers {
  using OfC = void(Handle*, int*, ...);
  static inline std::array<ErrorFunction*, most_handlers> functions{};
  static inline std::size_t used = 0;

  template <std::size_t number>
  static void call(Handle* object, int* code, ...) {
    int handle = abi::to_fortran<Handle>(*object);
    functions[number](&handle, code);
  }
  template <std::size_t... I>
  static constexpr std::array<OfC*, most_handlers> all(std::index_sequence<I...>) {
    return {&call<I>...};
  }
  /// Null: there are too many of them.
  static OfC* c_function_for(ErrorFunction* function) {
    static std::mutex lock;
    const std::lock_guard held(lock);
    static constexpr auto calls = all(std::make_index_sequence<most_handlers>());
    const auto end = functions.begin() + used;
    const auto found = std::find(functions.begin(), end, function);
    if (found == end) {
      if (used == most_handlers) return nullptr;
      functions[used++] = function;
    }
    return calls[static_cast<std::size_t>(found - functions.begin())];
  }
};

template <class Handle, class Create>
int create_handler(Create* create, ErrorFunction* function, int* made) {
  auto* const of_c = Handlers<Handle>::c_function_for(function);
  if (of_c == nullptr) return MPI_ERR_OTHER;
  MPI_Errhandler handler{};
  const int error = create(of_c, &handler);
  if (error == MPI_SUCCESS) *made = abi::to_fortran<MPI_Errhandler>(handler);
  return error;
}

// ---- generalized requests

struct Generalized {
  using Query = void(MPI_Aint* state, void* status, int* error);
  using Free = void(MPI_Aint* state, int* error);
  using Cancel = void(MPI_Aint* state, int* complete, int* error);
  Query* query = nullptr;
  Free* free = nullptr;
  Cancel* cancel = nullptr;
  MPI_Aint state = 0;
};

int query_request(void* request, MPI_Status* status) {
  auto& own = *static_cast<Generalized*>(request);
  int error = MPI_SUCCESS;
  own.query(&own.state, status, &error);
  return error;
}

int free_request(void* request) {
  const std::unique_ptr<Generalized> own(static_cast<Generalized*>(request));
  int error = MPI_SUCCESS;
  own->free(&own->state, &error);
  return error;
}

int cancel_request(void* request, int complete) {
  auto& own = *static_cast<Generalized*>(request);
  int error = MPI_SUCCESS;
  own.cancel(&own.state, &complete, &error);
  return error;
}

}  // namespace
}  // namespace weft::mpi::fortran

using namespace weft::mpi::fortran;
namespace abi = weft::mpi::abi;
using NewKey = Key<MPI_Aint>;
using OldKey = Key<int>;

extern "C" {

void mpi_comm_create_keyval_(NewKey::Copy* copy, NewKey::Delete* remove, int* key,
                             const MPI_Aint* state, int* error) {
  *error = MPI_Comm_create_keyval(
      copy_attribute<MPI_Comm, MPI_Aint>, delete_attribute<MPI_Comm, MPI_Aint>, key,
      keep_key(NewKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_type_create_keyval_(NewKey::Copy* copy, NewKey::Delete* remove, int* key,
                             const MPI_Aint* state, int* error) {
  *error = MPI_Type_create_keyval(
      copy_attribute<MPI_Datatype, MPI_Aint>, delete_attribute<MPI_Datatype, MPI_Aint>, key,
      keep_key(NewKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_win_create_keyval_(NewKey::Copy* copy, NewKey::Delete* remove, int* key,
                            const MPI_Aint* state, int* error) {
  *error =
      MPI_Win_create_keyval(copy_attribute<MPI_Win, MPI_Aint>, delete_attribute<MPI_Win, MPI_Aint>,
                            key, keep_key(NewKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_keyval_create_(OldKey::Copy* copy, OldKey::Delete* remove, int* key, const int* state,
                        int* error) {
  *error =
      MPI_Comm_create_keyval(copy_attribute<MPI_Comm, int>, delete_attribute<MPI_Comm, int>, key,
                             keep_key(OldKey{.copy = copy, .remove = remove, .state = *state}));
}

void mpi_comm_set_attr_(void* comm, const int* key, const MPI_Aint* value, int* error) {
  *error = MPI_Comm_set_attr(Comm(comm, {}).c(), *key, reinterpret_cast<void*>(*value));
}

void mpi_attr_put_(void* comm, const int* key, const int* value, int* error) {
  *error = MPI_Comm_set_attr(Comm(comm, {}).c(), *key, reinterpret_cast<void*>(MPI_Aint{*value}));
}

void mpi_type_set_attr_(void* type, const int* key, const MPI_Aint* value, int* error) {
  *error = MPI_Type_set_attr(Type(type, {}).c(), *key, reinterpret_cast<void*>(*value));
}

void mpi_type_get_attr_(void* type, const int* key, MPI_Aint* value, int* flag, int* error) {
  void* found = nullptr;
  *error = MPI_Type_get_attr(Type(type, {}).c(), *key, &found, flag);
  if (*error == MPI_SUCCESS && *flag != 0) *value = reinterpret_cast<MPI_Aint>(found);
}

void mpi_win_set_attr_(void* window, const int* key, const MPI_Aint* value, int* error) {
  *error = MPI_Win_set_attr(Win(window, {}).c(), *key, reinterpret_cast<void*>(*value));
}

/// MPI's own are numbers here, to which C gets pointers; but the address of the window.
void mpi_win_get_attr_(void* window, const int* fortran_key, MPI_Aint* value, int* flag,
                       int* error) {
  const int key = abi::key_from_fortran(*fortran_key);
  void* found = nullptr;
  *error = MPI_Win_get_attr(Win(window, {}).c(), key, &found, flag);
  if (*error != MPI_SUCCESS || *flag == 0) return;
  const bool is_small =
      key == MPI_WIN_DISP_UNIT || key == MPI_WIN_CREATE_FLAVOR || key == MPI_WIN_MODEL;
  *value = is_small              ? *static_cast<const int*>(found)
           : key == MPI_WIN_SIZE ? *static_cast<const MPI_Aint*>(found)
                                 : reinterpret_cast<MPI_Aint>(found);
}

void mpi_comm_create_errhandler_(ErrorFunction* function, int* made, int* error) {
  *error = create_handler<MPI_Comm>(&MPI_Comm_create_errhandler, function, made);
}

void mpi_errhandler_create_(ErrorFunction* function, int* made, int* error) {
  mpi_comm_create_errhandler_(function, made, error);
}

void mpi_win_create_errhandler_(ErrorFunction* function, int* made, int* error) {
  *error = create_handler<MPI_Win>(&MPI_Win_create_errhandler, function, made);
}

void mpi_file_create_errhandler_(ErrorFunction* function, int* made, int* error) {
  *error = create_handler<MPI_File>(&MPI_File_create_errhandler, function, made);
}

void mpi_grequest_start_(Generalized::Query* query, Generalized::Free* free,
                         Generalized::Cancel* cancel, const MPI_Aint* state, void* request,
                         int* error) {
  auto own = std::make_unique<Generalized>(
      Generalized{.query = query, .free = free, .cancel = cancel, .state = *state});
  RequestOut made(request, {});
  *error = MPI_Grequest_start(query_request, free_request, cancel_request, own.get(), made.c());
  if (*error == MPI_SUCCESS) own.release();
  made.done(*error);
}

// Functions for keys that MPI has itself.
#define WEFT_ATTRIBUTE_FUNCTIONS(kind, Number)                                                     \
  void mpi_##kind##null_copy_fn_(int*, int*, Number*, Number*, Number*, int* flag, int* error) {   \
    *flag = 0;                                                                                     \
    *error = MPI_SUCCESS;                                                                          \
  }                                                                                                \
  void mpi_##kind##dup_fn_(int*, int*, Number*, Number* from, Number* to, int* flag, int* error) { \
    *to = *from;                                                                                   \
    *flag = 1;                                                                                     \
    *error = MPI_SUCCESS;                                                                          \
  }                                                                                                \
  void mpi_##kind##null_delete_fn_(int*, int*, Number*, Number*, int* error) {                     \
    *error = MPI_SUCCESS;                                                                          \
  }
WEFT_ATTRIBUTE_FUNCTIONS(, int)
WEFT_ATTRIBUTE_FUNCTIONS(comm_, MPI_Aint)
WEFT_ATTRIBUTE_FUNCTIONS(type_, MPI_Aint)
WEFT_ATTRIBUTE_FUNCTIONS(win_, MPI_Aint)
#undef WEFT_ATTRIBUTE_FUNCTIONS

}  // extern "C"
