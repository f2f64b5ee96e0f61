// SPDX-License-Identifier: Apache-2.0
// The tables against Open MPI's own header, as it is installed, and the library against the symbols
// of the installed one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <mpi.h>

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>

// MPI-1's names: the library has them, also where the header does not let programs use them.
extern "C" {
extern ompi_predefined_datatype_t ompi_mpi_lb, ompi_mpi_ub;
}
#undef MPI_LB
#undef MPI_UB
#define MPI_LB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb)
#define MPI_UB OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)

namespace {

#define WEFT_MPI_CONSTANT(name, value) \
  static_assert(static_cast<long>(name) == static_cast<long>(value), #name);
#define WEFT_MPI_HANDLE(type, name, object, ...) \
  static_assert(std::is_same_v<decltype(name), type>, #name);
#define WEFT_MPI_TYPE(name, object, ...) WEFT_MPI_HANDLE(MPI_Datatype, name, object)
#include "mpi/abi/openmpi/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT

#define WEFT_MPI_FUNCTION(result, name, parameters) \
  static_assert(std::is_same_v<decltype(name), result parameters>, #name);
#include WEFT_MPI_FUNCTIONS
#undef WEFT_MPI_FUNCTION

static_assert(sizeof(MPI_Status) == 24 && offsetof(MPI_Status, MPI_SOURCE) == 0 &&
              offsetof(MPI_Status, MPI_TAG) == 4 && offsetof(MPI_Status, MPI_ERROR) == 8 &&
              offsetof(MPI_Status, _cancelled) == 12 && offsetof(MPI_Status, _ucount) == 16);
static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Comm) == 8 && sizeof(MPI_Request) == 8);

TEST(openmpi_abi, in_place_and_ignored_statuses_are_the_same) {
  EXPECT_EQ(MPI_IN_PLACE, reinterpret_cast<void*>(1));
  EXPECT_EQ(MPI_STATUS_IGNORE, nullptr);
  EXPECT_EQ(MPI_STATUSES_IGNORE, nullptr);
  EXPECT_EQ(MPI_BOTTOM, nullptr);
}

TEST(openmpi_abi, handles_are_addresses_of_the_objects_of_the_header) {
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(type, name, object, ...) \
  EXPECT_EQ(static_cast<void*>(name), static_cast<void*>(&object)) << #name;
#define WEFT_MPI_TYPE(name, object, ...) WEFT_MPI_HANDLE(MPI_Datatype, name, object)
#include "mpi/abi/openmpi/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
  EXPECT_EQ(MPI_C_FLOAT_COMPLEX, MPI_C_COMPLEX);
}

/// The size of an object of a loaded library, as programs copy it; 0: the library has none.
std::size_t size_in(void* library, const char* name) {
  void* const address = dlsym(library, name);
  if (address == nullptr) return 0;
  Dl_info info;
  const ElfW(Sym)* symbol = nullptr;
  if (dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)),
              RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr) {
    return 0;
  }
  return symbol->st_size;
}

struct Libraries {
  void* own = dlopen(WEFT_OPENMPI, RTLD_NOW | RTLD_LOCAL);
  void* original = dlopen("libmpi.so.40", RTLD_NOW | RTLD_LOCAL);
};

TEST(openmpi_abi, objects_have_the_sizes_of_the_installed_library) {
  const Libraries libraries;
  ASSERT_NE(libraries.own, nullptr) << dlerror();
  ASSERT_NE(libraries.original, nullptr) << dlerror();
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_OBJECT(type, name)             \
  EXPECT_NE(size_in(libraries.own, #name), 0u); \
  EXPECT_EQ(size_in(libraries.own, #name), size_in(libraries.original, #name)) << #name;
#define WEFT_MPI_HANDLE(type, name, object, ...) WEFT_MPI_OBJECT(type, object)
#define WEFT_MPI_TYPE(name, object, ...) WEFT_MPI_OBJECT(MPI_Datatype, object)
#include "mpi/abi/openmpi/constants.def"
#include "mpi/abi/openmpi/objects.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_OBJECT
#undef WEFT_MPI_CONSTANT
}

TEST(openmpi_abi, handles_of_fortran_have_the_numbers_of_the_installed_file) {
  std::ifstream file(WEFT_OPENMPI_FORTRAN_HANDLES);
  ASSERT_TRUE(file) << WEFT_OPENMPI_FORTRAN_HANDLES;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto check = [&](const std::string& name, const std::string& number) {
    if (name == "MPI_FILE_NULL") return;  // another file of Open MPI's has it
    // The file has the other one of the object's two names.
    const std::string known = name == "MPI_C_COMPLEX" ? "MPI_C_FLOAT_COMPLEX" : name;
    EXPECT_NE(text.find("parameter (" + known + "=" + number + ")"), std::string::npos) << name;
  };
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(type, name, object, number) check(#name, #number);
#define WEFT_MPI_TYPE(name, object, basic, number) check(#name, #number);
#include "mpi/abi/openmpi/constants.def"
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
}

TEST(openmpi_abi, all_functions_of_the_installed_library_are_there_under_both_names) {
  const Libraries libraries;
  ASSERT_NE(libraries.own, nullptr) << dlerror();
  ASSERT_NE(libraries.original, nullptr) << dlerror();
  const auto check = [&](const std::string& name) {
    EXPECT_NE(dlsym(libraries.original, name.c_str()), nullptr) << name;
    EXPECT_NE(dlsym(libraries.own, name.c_str()), nullptr) << name;
    EXPECT_EQ(dlsym(libraries.own, name.c_str()), dlsym(libraries.own, ("P" + name).c_str()))
        << name;
  };
#define WEFT_MPI_FUNCTION(result, name, parameters) check(#name);
#include WEFT_MPI_FUNCTIONS
#undef WEFT_MPI_FUNCTION
#define WEFT_MPI_ABSENT(name) check(#name);
#include WEFT_MPI_ABSENT_TABLE
#undef WEFT_MPI_ABSENT
  for (const char* const name : {"Barrier",
                                 "Bcast",
                                 "Reduce",
                                 "Allreduce",
                                 "Gather",
                                 "Gatherv",
                                 "Scatter",
                                 "Scatterv",
                                 "Allgather",
                                 "Allgatherv",
                                 "Alltoall",
                                 "Alltoallv",
                                 "Alltoallw",
                                 "Reduce_scatter",
                                 "Reduce_scatter_block",
                                 "Scan",
                                 "Exscan",
                                 "Neighbor_allgather",
                                 "Neighbor_allgatherv",
                                 "Neighbor_alltoall",
                                 "Neighbor_alltoallv",
                                 "Neighbor_alltoallw"}) {
    check(std::string("MPIX_") + name + "_init");
  }
}

}  // namespace
