// SPDX-License-Identifier: Apache-2.0
// The functions that programs in Fortran call, as gfortran names them: in small letters, with an
// underscore behind. All arguments are addresses.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "mpi/fortran/kinds.hpp"

namespace weft::mpi::fortran {
namespace {

template <class Function, class... Kinds, std::size_t... I>
int call_with(Function* function, const Context& context, void* const* addresses,
              std::index_sequence<I...>, std::tuple<Kinds...>*) {
  std::tuple<Kinds...> kinds{Kinds(addresses[I], context)...};
  const int error = function(std::get<I>(kinds).c()...);
  (std::get<I>(kinds).done(error), ...);
  return error;
}

template <class... Kinds, class Function>
int call(Function* function, std::size_t text_length,
         const std::array<void*, sizeof...(Kinds)>& addresses) {
  return call_with(function, Context{addresses[0], text_length, addresses.data()}, addresses.data(),
                   std::index_sequence_for<Kinds...>(),
                   static_cast<std::tuple<Kinds...>*>(nullptr));
}

/// Operations of the program get datatypes as Fortran's handles. C's do not say which function is
/// meant: each has a function of its own that knows it by its number.
using Operation = void(void*, void*, int*, int*);
constexpr std::size_t most_operations = 64;
std::array<Operation*, most_operations> operations;
std::size_t used_operations = 0;

template <std::size_t number>
void operate(void* in, void* inout, int* count, MPI_Datatype* type) {
  int fortran_type = abi::to_fortran<MPI_Datatype>(*type);
  operations[number](in, inout, count, &fortran_type);
}

template <std::size_t... I>
constexpr std::array<MPI_User_function*, most_operations> all_operates(std::index_sequence<I...>) {
  return {&operate<I>...};
}

/// Null: there are too many of them.
MPI_User_function* c_function_for(Operation* operation) {
  static std::mutex lock;  // the program may have threads
  const std::lock_guard held(lock);
  static constexpr auto operates = all_operates(std::make_index_sequence<most_operations>());
  const auto end = operations.begin() + used_operations;
  const auto found = std::find(operations.begin(), end, operation);
  if (found == end) {
    if (used_operations == most_operations) return nullptr;
    operations[used_operations++] = operation;
  }
  return operates[static_cast<std::size_t>(found - operations.begin())];
}

/// Ends the job with one line that names the function.
[[maybe_unused]] void absent(std::string_view symbol) {
  symbol.remove_suffix(1);
  std::fprintf(stderr,
               "%.*s: weft does not have it for Fortran yet; docs/mpi.md lists what it has\n",
               static_cast<int>(symbol.size()), symbol.data());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace
}  // namespace weft::mpi::fortran

using namespace weft::mpi::fortran;
namespace abi = weft::mpi::abi;

// Parameters a1 to aN, and their names alone.
#define WEFT_P1 void* a1
#define WEFT_P2 WEFT_P1, void* a2
#define WEFT_P3 WEFT_P2, void* a3
#define WEFT_P4 WEFT_P3, void* a4
#define WEFT_P5 WEFT_P4, void* a5
#define WEFT_P6 WEFT_P5, void* a6
#define WEFT_P7 WEFT_P6, void* a7
#define WEFT_P8 WEFT_P7, void* a8
#define WEFT_P9 WEFT_P8, void* a9
#define WEFT_P10 WEFT_P9, void* a10
#define WEFT_P11 WEFT_P10, void* a11
#define WEFT_P12 WEFT_P11, void* a12
#define WEFT_P13 WEFT_P12, void* a13
#define WEFT_A1 a1
#define WEFT_A2 WEFT_A1, a2
#define WEFT_A3 WEFT_A2, a3
#define WEFT_A4 WEFT_A3, a4
#define WEFT_A5 WEFT_A4, a5
#define WEFT_A6 WEFT_A5, a6
#define WEFT_A7 WEFT_A6, a7
#define WEFT_A8 WEFT_A7, a8
#define WEFT_A9 WEFT_A8, a9
#define WEFT_A10 WEFT_A9, a10
#define WEFT_A11 WEFT_A10, a11
#define WEFT_A12 WEFT_A11, a12
#define WEFT_A13 WEFT_A12, a13
#define WEFT_NTH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, ...) n
#define WEFT_COUNT(...) WEFT_NTH(__VA_ARGS__, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define WEFT_JOIN_(a, b) a##b
#define WEFT_JOIN(a, b) WEFT_JOIN_(a, b)
#define WEFT_P(...) WEFT_JOIN(WEFT_P, WEFT_COUNT(__VA_ARGS__))
#define WEFT_A(...) WEFT_JOIN(WEFT_A, WEFT_COUNT(__VA_ARGS__))

extern "C" {

int MPI_Pready_list(int count, const int* parts, MPI_Request request);  // headers disagree on const

#define WEFT_MPI_FORTRAN(name, function, ...)                        \
  void name##_(WEFT_P(__VA_ARGS__), int* error) {                    \
    *error = call<__VA_ARGS__>(&function, 0, {WEFT_A(__VA_ARGS__)}); \
  }
#define WEFT_MPI_FORTRAN_TEXT(name, function, ...)                                   \
  void name##_(WEFT_P(__VA_ARGS__), int* error, std::size_t length) {                \
    *error = call<__VA_ARGS__>(&function, length_of(length), {WEFT_A(__VA_ARGS__)}); \
  }
#define WEFT_MPI_FORTRAN_COLLECTIVE(Name, name, ...)                        \
  WEFT_MPI_FORTRAN(mpi_##name, MPI_##Name, __VA_ARGS__, Comm)               \
  WEFT_MPI_FORTRAN(mpi_i##name, MPI_I##name, __VA_ARGS__, Comm, RequestOut) \
  WEFT_MPI_FORTRAN(mpi_##name##_init, MPI_##Name##_init, __VA_ARGS__, Comm, Info, RequestOut)
#include "mpi/fortran/functions.def"
#undef WEFT_MPI_FORTRAN_COLLECTIVE
#undef WEFT_MPI_FORTRAN_TEXT
#undef WEFT_MPI_FORTRAN

// Functions whose arguments differ from C's.
void mpi_init_(int* error) {
  *error = MPI_Init(nullptr, nullptr);
}

void mpi_init_thread_(int* required, int* provided, int* error) {
  *error = MPI_Init_thread(nullptr, nullptr, *required, provided);
}

void mpi_finalize_(int* error) {
  *error = MPI_Finalize();
}

double mpi_wtime_() {
  return MPI_Wtime();
}

double mpi_wtick_() {
  return MPI_Wtick();
}

void mpi_op_create_(Operation* operation, int* commutes, int* made, int* error) {
  MPI_Op op = MPI_OP_NULL;
  MPI_User_function* const function = c_function_for(operation);
  *error = function != nullptr ? MPI_Op_create(function, *commutes, &op) : MPI_ERR_OTHER;
  *made = abi::to_fortran<MPI_Op>(op);
}

void mpi_info_set_(void* info, void* key, void* value, int* error, std::size_t key_length,
                   std::size_t value_length) {
  *error =
      MPI_Info_set(Info(info, {}).c(), TextIn(key, {nullptr, length_of(key_length), nullptr}).c(),
                   TextIn(value, {nullptr, length_of(value_length), nullptr}).c());
}

void mpi_info_get_(void* info, void* key, int* most, char* value, int* flag, int* error,
                   std::size_t key_length, std::size_t value_length) {
  std::string found(static_cast<std::size_t>(std::max(*most, 0)) + 1, '\0');
  *error =
      MPI_Info_get(Info(info, {}).c(), TextIn(key, {nullptr, length_of(key_length), nullptr}).c(),
                   *most, found.data(), flag);
  if (*error == MPI_SUCCESS && *flag != 0) {
    copy_padded(found.c_str(), value, length_of(value_length));
  }
}

void mpi_info_create_env_(void* info, int* error) {
  InfoOut made(info, {});
  *error = MPI_Info_create_env(0, nullptr, made.c());
  made.done(*error);
}

/// C's length counts a zero byte, Fortran's does not.
void mpi_info_get_string_(void* info, void* key, int* length, char* value, int* flag, int* error,
                          std::size_t key_length, std::size_t value_length) {
  const int most = std::max(*length, 0);
  int needed = most + 1;
  std::string found(static_cast<std::size_t>(needed), '\0');
  *error = MPI_Info_get_string(Info(info, {}).c(),
                               TextIn(key, {nullptr, length_of(key_length), nullptr}).c(), &needed,
                               found.data(), flag);
  if (*error != MPI_SUCCESS || *flag == 0) return;
  *length = needed - 1;
  if (most > 0) copy_padded(found.c_str(), value, length_of(value_length));
}

/// The same of a set's name; a length of 0 asks for the one that is needed.
void mpi_session_get_nth_pset_(void* session, void* info, const int* n, int* length, char* name,
                               int* error, std::size_t name_length) {
  const bool asks = *length <= 0;
  int needed = asks ? 0 : *length + 1;
  std::string found(static_cast<std::size_t>(needed) + 1, '\0');
  *error = MPI_Session_get_nth_pset(Session(session, {}).c(), Info(info, {}).c(), *n, &needed,
                                    found.data());
  if (*error != MPI_SUCCESS) return;
  if (!asks) copy_padded(found.c_str(), name, length_of(name_length));
  *length = needed - 1;
}

/// Programs know where their buffer is.
void mpi_buffer_detach_(void*, int* bytes, int* error) {
  void* buffer = nullptr;
  *error = MPI_Buffer_detach(&buffer, bytes);
}

void mpi_pcontrol_(const int* level) {
  (void)MPI_Pcontrol(*level);
}

void mpi_type_get_contents_(void* type, const int* integers, const int* addresses, const int* types,
                            int* all_integers, MPI_Aint* all_addresses, int* all_types,
                            int* error) {
  std::vector<MPI_Datatype> found(static_cast<std::size_t>(std::max(*types, 0)), MPI_DATATYPE_NULL);
  *error = MPI_Type_get_contents(Type(type, {}).c(), *integers, *addresses, *types, all_integers,
                                 all_addresses, found.data());
  if (*error != MPI_SUCCESS) return;
  std::transform(found.begin(), found.end(), all_types, abi::to_fortran<MPI_Datatype>);
}

/// Keeps a compiler from moving a buffer's accesses across it.
void mpi_f_sync_reg_(void*) {}

MPI_Aint mpi_aint_add_(const MPI_Aint* base, const MPI_Aint* displacement) {
  return *base + *displacement;
}

MPI_Aint mpi_aint_diff_(const MPI_Aint* a, const MPI_Aint* b) {
  return *a - *b;
}

// MPI-1's, whose addresses are integers.
void mpi_address_(void* location, int* address, int* error) {
  MPI_Aint found = 0;
  *error = MPI_Get_address(location, &found);
  *address = static_cast<int>(found);
}

void mpi_type_extent_(void* type, int* extent, int* error) {
  MPI_Aint lower = 0, found = 0;
  *error = MPI_Type_get_extent(Type(type, {}).c(), &lower, &found);
  *extent = static_cast<int>(found);
}

void mpi_type_lb_(void* type, int* lower, int* error) {
  MPI_Aint found = 0, extent = 0;
  *error = MPI_Type_get_extent(Type(type, {}).c(), &found, &extent);
  *lower = static_cast<int>(found);
}

void mpi_type_ub_(void* type, int* upper, int* error) {
  MPI_Aint lower = 0, extent = 0;
  *error = MPI_Type_get_extent(Type(type, {}).c(), &lower, &extent);
  *upper = static_cast<int>(lower + extent);
}

void mpi_type_hvector_(int* count, int* length, int* stride, void* type, void* made, int* error) {
  TypeOut result(made, {});
  *error =
      MPI_Type_create_hvector(*count, *length, MPI_Aint{*stride}, Type(type, {}).c(), result.c());
  result.done(*error);
}

void mpi_type_hindexed_(int* count, int* lengths, int* displacements, void* type, void* made,
                        int* error) {
  const std::vector<MPI_Aint> places(displacements, displacements + std::max(*count, 0));
  TypeOut result(made, {});
  *error = MPI_Type_create_hindexed(*count, lengths, places.data(), Type(type, {}).c(), result.c());
  result.done(*error);
}

void mpi_type_struct_(int* count, int* lengths, int* displacements, void* types, void* made,
                      int* error) {
  const std::vector<MPI_Aint> places(displacements, displacements + std::max(*count, 0));
  TypeOut result(made, {});
  *error = MPI_Type_create_struct(*count, lengths, places.data(),
                                  Types(types, {count, 0, nullptr}).c(), result.c());
  result.done(*error);
}

}  // extern "C"

#define WEFT_MPI_ABSENT(name) \
  extern "C" void name() {    \
    absent(#name);            \
  }
#include WEFT_MPI_FORTRAN_ABSENT_TABLE
#undef WEFT_MPI_ABSENT
