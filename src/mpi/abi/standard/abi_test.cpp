// SPDX-License-Identifier: Apache-2.0
// The header that programs are compiled with against the standard's ABI, and the library against
// the header. Nothing of another library is installed to compare with: values that the standard's
// own text names are written out here.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace {

#define WEFT_MPI_CONSTANT(name, value) \
  static_assert(static_cast<long>(name) == static_cast<long>(value), #name);
#define WEFT_MPI_HANDLE(type, name, value) \
  static_assert(std::is_same_v<decltype(name), type>, #name);
#define WEFT_MPI_TYPE(name, value, basic) WEFT_MPI_HANDLE(MPI_Datatype, name, value)
#include "mpi/abi/standard/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT

#define WEFT_MPI_FUNCTION(result, name, parameters) \
  static_assert(std::is_same_v<decltype(name), result parameters>, #name);
#include "mpi/abi/standard/functions.def"
#undef WEFT_MPI_FUNCTION

static_assert(sizeof(MPI_Status) == 32 && alignof(MPI_Status) == 4 &&
              offsetof(MPI_Status, MPI_SOURCE) == 0 && offsetof(MPI_Status, MPI_TAG) == 4 &&
              offsetof(MPI_Status, MPI_ERROR) == 8 && offsetof(MPI_Status, MPI_internal) == 12);
static_assert(sizeof(MPI_Aint) == sizeof(void*) && sizeof(MPI_Offset) == 8 &&
              sizeof(MPI_Count) == 8 && sizeof(MPI_Comm) == sizeof(void*));

std::uintptr_t number(const void* handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

TEST(standard_abi, handles_are_the_small_numbers_of_the_standard) {
  EXPECT_EQ(number(MPI_OP_NULL), 0x20u);
  EXPECT_EQ(number(MPI_SUM), 0x21u);
  EXPECT_EQ(number(MPI_COMM_NULL), 0x100u);
  EXPECT_EQ(number(MPI_COMM_WORLD), 0x101u);
  EXPECT_EQ(number(MPI_COMM_SELF), 0x102u);
  EXPECT_EQ(number(MPI_REQUEST_NULL), 0x180u);
  EXPECT_EQ(number(MPI_DATATYPE_NULL), 0x200u);
  EXPECT_EQ(number(MPI_INT), 0x209u);
  EXPECT_EQ(number(MPI_DOUBLE), 0x214u);
  EXPECT_EQ(number(MPI_BYTE), 0x247u);
}

TEST(standard_abi, every_predefined_handle_is_in_the_range_kept_for_them_and_the_only_one) {
  std::uint64_t handles = 0;
  std::string seen(4096, '\0');
  const auto check = [&](const char* name, const void* handle, std::uintptr_t value) {
    EXPECT_EQ(number(handle), value) << name;
    ASSERT_LT(value, seen.size()) << name;
    EXPECT_EQ(seen[value]++, '\0') << name;
    ++handles;
  };
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(type, name, value) check(#name, name, value);
#define WEFT_MPI_TYPE(name, value, basic) check(#name, name, value);
#include "mpi/abi/standard/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
  EXPECT_GT(handles, 90u);
}

/// With a number in bits 3 to 5, a datatype's handle says its size.
TEST(standard_abi, types_of_fixed_size_have_the_size_that_their_handles_say) {
  const auto size_in = [](const void* type) { return 1u << ((number(type) >> 3) & 7); };
  EXPECT_EQ(size_in(MPI_BYTE), 1u);
  EXPECT_EQ(size_in(MPI_INT16_T), 2u);
  EXPECT_EQ(size_in(MPI_UINT32_T), 4u);
  EXPECT_EQ(size_in(MPI_REAL8), 8u);
  EXPECT_EQ(size_in(MPI_LOGICAL1), 1u);
  EXPECT_EQ(size_in(MPI_COMPLEX16), 16u);
}

TEST(standard_abi, all_functions_are_there_under_both_names) {
  void* const library = dlopen(WEFT_STANDARD, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto check = [&](const std::string& name) {
    EXPECT_NE(dlsym(library, name.c_str()), nullptr) << name;
    EXPECT_EQ(dlsym(library, name.c_str()), dlsym(library, ("P" + name).c_str())) << name;
  };
#define WEFT_MPI_FUNCTION(result, name, parameters) check(#name);
#include "mpi/abi/standard/functions.def"
#include "mpi/functions.def"
#undef WEFT_MPI_FUNCTION
#define WEFT_MPI_ABSENT(name) check(#name);
#include WEFT_MPI_ABSENT_TABLE
#undef WEFT_MPI_ABSENT
}

TEST(standard_abi, handles_become_integers_and_come_back) {
  void* const library = dlopen(WEFT_STANDARD, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto to = reinterpret_cast<decltype(&MPI_Type_toint)>(dlsym(library, "MPI_Type_toint"));
  const auto from =
      reinterpret_cast<decltype(&MPI_Type_fromint)>(dlsym(library, "MPI_Type_fromint"));
  ASSERT_TRUE(to != nullptr && from != nullptr);
  EXPECT_EQ(to(MPI_INT), 0x209);
  EXPECT_EQ(from(0x209), MPI_INT);
  EXPECT_EQ(to(from(5000)), 5000);
  EXPECT_GE(number(from(4096)), 4096u);
}

}  // namespace
