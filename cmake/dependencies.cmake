# SPDX-License-Identifier: Apache-2.0
# Every library comes from Debian; scripts/packages.txt is the list that installs them.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Boost REQUIRED COMPONENTS context)
if(WEFT_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
# Regular expressions of users, on text of any program: it takes linear time.
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
# Its -pthread is libc's by now, and would keep precompiled headers from being used.
set_property(TARGET PkgConfig::re2 PROPERTY INTERFACE_COMPILE_OPTIONS)
pkg_check_modules(libfabric REQUIRED IMPORTED_TARGET libfabric)
pkg_check_modules(ompi REQUIRED IMPORTED_TARGET ompi-c)
pkg_check_modules(mpich REQUIRED IMPORTED_TARGET mpich)
pkg_check_modules(pmix REQUIRED IMPORTED_TARGET pmix)
# Traces of other tools; without it weft reads and writes none.
pkg_check_modules(otf2 IMPORTED_TARGET otf2)
# Real RDMA adapters: without it `weft odp bench` says so.
pkg_check_modules(verbs IMPORTED_TARGET libibverbs)
# UCX's headers: without them unmodified programs cannot be emulated on it.
pkg_check_modules(ucx IMPORTED_TARGET ucx)
