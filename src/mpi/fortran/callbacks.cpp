// SPDX-License-Identifier: Apache-2.0
// Functions to which a program in Fortran gives some of its own: for errors, generalized requests
// and representations of data in files. Operations are in functions.cpp, keys of attributes in
// attributes.cpp.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "mpi/fortran/kinds.hpp"

namespace weft::mpi::fortran {
namespace {

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
  MPI_Aint own_state = 0;
  MPI_Aint* state = nullptr;
};

int query_request(void* request, MPI_Status* status) {
  auto& own = *static_cast<Generalized*>(request);
  int error = MPI_SUCCESS;
  own.query(own.state, status, &error);
  return error;
}

int free_request(void* request) {
  const std::unique_ptr<Generalized> own(static_cast<Generalized*>(request));
  int error = MPI_SUCCESS;
  own->free(own->state, &error);
  return error;
}

int cancel_request(void* request, int complete) {
  auto& own = *static_cast<Generalized*>(request);
  int error = MPI_SUCCESS;
  own.cancel(own.state, &complete, &error);
  return error;
}

// ---- representations of data in files, which stay until the program ends

struct Representation {
  using Convert = void(void* memory, int* type, int* count, void* file, MPI_Offset* position,
                       MPI_Aint* state, int* error);
  using Extent = void(int* type, MPI_Aint* extent, MPI_Aint* state, int* error);
  Convert* read = nullptr;
  Convert* write = nullptr;
  Extent* extent = nullptr;
  MPI_Aint state = 0;
};

template <Representation::Convert* Representation::*function>
int convert(void* memory, MPI_Datatype type, int count, void* file, MPI_Offset position,
            void* representation) {
  auto& own = *static_cast<Representation*>(representation);
  int handle = abi::to_fortran<MPI_Datatype>(type), error = MPI_SUCCESS;
  (own.*function)(memory, &handle, &count, file, &position, &own.state, &error);
  return error;
}

int tell_extent(MPI_Datatype type, MPI_Aint* extent, void* representation) {
  auto& own = *static_cast<Representation*>(representation);
  int handle = abi::to_fortran<MPI_Datatype>(type), error = MPI_SUCCESS;
  own.extent(&handle, extent, &own.state, &error);
  return error;
}

}  // namespace
}  // namespace weft::mpi::fortran

using namespace weft::mpi::fortran;
namespace abi = weft::mpi::abi;

extern "C" {

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

void mpi_session_create_errhandler_(ErrorFunction* function, int* made, int* error) {
  *error = create_handler<MPI_Session>(&MPI_Session_create_errhandler, function, made);
}

void mpi_grequest_start_(Generalized::Query* query, Generalized::Free* free,
                         Generalized::Cancel* cancel, MPI_Aint* state, void* request, int* error) {
  auto own = std::make_unique<Generalized>(
      Generalized{.query = query, .free = free, .cancel = cancel, .own_state = *state});
  own->state = abi::shares_state_of_requests ? state : &own->own_state;
  RequestOut made(request, {});
  *error = MPI_Grequest_start(query_request, free_request, cancel_request, own.get(), made.c());
  if (*error == MPI_SUCCESS) own.release();
  made.done(*error);
}

/// Programs name it to mpi_register_datarep as a function that is never called.
void mpi_conversion_fn_null_(void*, int*, int*, void*, MPI_Offset*, MPI_Aint*, int* error) {
  *error = MPI_SUCCESS;
}

void mpi_register_datarep_(void* name, Representation::Convert* read,
                           Representation::Convert* write, Representation::Extent* extent,
                           MPI_Aint* state, int* error, std::size_t length) {
  static auto* const all = new std::deque<Representation>;
  static std::mutex lock;
  const std::lock_guard held(lock);
  all->push_back({.read = read, .write = write, .extent = extent, .state = *state});
  const auto of_c = [](Representation::Convert* own, MPI_Datarep_conversion_function* function) {
    return own == mpi_conversion_fn_null_ ? nullptr : function;
  };
  *error = MPI_Register_datarep(
      TextIn(name, {nullptr, length, nullptr}).c(), of_c(read, convert<&Representation::read>),
      of_c(write, convert<&Representation::write>), tell_extent, &all->back());
  if (*error != MPI_SUCCESS) all->pop_back();
}

}  // extern "C"
