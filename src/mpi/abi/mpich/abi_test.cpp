// SPDX-License-Identifier: Apache-2.0
// The tables against MPICH's own header, as it is installed, and the library against its symbols.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <string>
#include <type_traits>

#include "mpi/object/datatype.hpp"

namespace {

#define WEFT_MPI_CONSTANT(name, value) \
  static_assert(static_cast<long>(name) == static_cast<long>(static_cast<int>(value)), #name);
#define WEFT_MPI_TYPE(name, value, basic) WEFT_MPI_CONSTANT(name, value)
#include "mpi/abi/mpich/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_CONSTANT

#define WEFT_MPI_FUNCTION(result, name, parameters) \
  static_assert(std::is_same_v<decltype(name), result parameters>, #name);
#include WEFT_MPI_FUNCTIONS
#undef WEFT_MPI_FUNCTION

static_assert(sizeof(MPI_Status) == 20 && offsetof(MPI_Status, MPI_SOURCE) == 8 &&
              offsetof(MPI_Status, MPI_TAG) == 12 && offsetof(MPI_Status, MPI_ERROR) == 16);
static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Comm) == 4 && sizeof(MPI_Request) == 4);

TEST(mpich_abi, in_place_and_ignored_statuses_are_the_same) {
  EXPECT_EQ(MPI_IN_PLACE, reinterpret_cast<void*>(-1));
  EXPECT_EQ(MPI_STATUS_IGNORE, reinterpret_cast<MPI_Status*>(1));
  EXPECT_EQ(MPI_STATUSES_IGNORE, reinterpret_cast<MPI_Status*>(1));
  EXPECT_EQ(MPI_BOTTOM, nullptr);
}

TEST(mpich_abi, types_have_the_size_that_their_handles_say) {
  using weft::mpi::Basic;
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_TYPE(name, value, basic) \
  EXPECT_EQ(weft::mpi::bytes_of(Basic::basic), (unsigned{value} >> 8) & 0xff) << #name;
#include "mpi/abi/mpich/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_CONSTANT
}

TEST(mpich_abi, all_functions_are_there_under_both_names) {
  void* const library = dlopen(WEFT_MPICH, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto check = [&](const std::string& name) {
    EXPECT_NE(dlsym(library, name.c_str()), nullptr) << name;
    EXPECT_EQ(dlsym(library, name.c_str()), dlsym(library, ("P" + name).c_str())) << name;
  };
#define WEFT_MPI_FUNCTION(result, name, parameters) check(#name);
#include WEFT_MPI_FUNCTIONS
#undef WEFT_MPI_FUNCTION
#define WEFT_MPI_ABSENT(name) check(#name);
#include WEFT_MPI_ABSENT_TABLE
#undef WEFT_MPI_ABSENT
}

}  // namespace
