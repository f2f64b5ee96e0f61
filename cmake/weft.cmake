# SPDX-License-Identifier: Apache-2.0
# The functions by which folders declare themselves: one static library each, unit tests beside it.
# Dependencies point down (docs/architecture.md); a wrong one is a link error.

add_library(weft_flags INTERFACE)
# Designated initialisers leave the rest at its default on purpose.
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Werror -Wno-missing-field-initializers)
# No other library replaces weft's functions: in position-independent code, too, the compiler may
# inline the definitions that it sees.
target_compile_options(weft_flags INTERFACE -fno-semantic-interposition)
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # Types in a file's anonymous namespace stay its own when files are compiled together.
  target_compile_options(weft_flags INTERFACE -Wno-subobject-linkage)
endif()
if(WEFT_SANITIZE)
  # A finding ends the program: a test that only prints it would pass.
  target_compile_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # ThreadSanitizer does not see fences, and GCC warns of it. Weft's fences order atomics only.
    target_compile_options(weft_flags INTERFACE -Wno-tsan)
  endif()
endif()
if(WEFT_FUZZ)
  # libFuzzer steers by the code that an input reaches. Tests do not mind being counted along.
  target_compile_options(weft_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Options, pages and records cost microseconds per command however they are compiled, but a third of
# the build when they are compiled for speed. Code that runs per message or per event has to be fast.
function(weft_runs_once name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# The headers of nearly every library, compiled once for those that run once and once for all others:
# they were a quarter of the build. Not with a compiler cache, which does not keep what uses them.
if(WEFT_PRECOMPILED_HEADERS AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/headers.cpp CONTENT "")
  foreach(target weft_headers weft_headers_once)
    add_library(${target} STATIC EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/headers.cpp)
    target_link_libraries(${target} PRIVATE fmt::fmt spdlog::spdlog weft_flags)
    target_precompile_headers(${target} PRIVATE
      <fmt/format.h> <fmt/ranges.h> <spdlog/spdlog.h> <algorithm> <array> <atomic> <charconv> <chrono>
      <cmath> <cstring> <deque> <filesystem> <fstream> <functional> <map> <memory> <mutex> <numeric>
      <optional> <set> <span> <sstream> <string> <string_view> <thread> <unordered_map> <variant> <vector>)
  endforeach()
  weft_runs_once(weft_headers_once)
  target_precompile_headers(weft_headers_once PRIVATE <nlohmann/json.hpp>)
endif()

# weft_precompiled(NAME HEADERS): lets a library use those of HEADERS, which was compiled alike.
function(weft_precompiled name headers)
  if(TARGET ${headers})
    target_precompile_headers(${name} REUSE_FROM ${headers})
  endif()
endfunction()

# weft_library(NAME [WHOLE] [RUNS_ONCE] SOURCES a.cpp … DEPENDS weft_base fmt::fmt …). WHOLE: compiled
# as one piece, where calls from file to file are made per message and shall be inlined. RUNS_ONCE:
# once per command.
function(weft_library name)
  cmake_parse_arguments(ARG "WHOLE;RUNS_ONCE" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  if(ARG_WHOLE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
  endif()
  if(ARG_RUNS_ONCE)
    weft_runs_once(${name})
    weft_precompiled(${name} weft_headers_once)
  else()
    weft_precompiled(${name} weft_headers)
  endif()
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE $<BUILD_INTERFACE:weft_flags>)
endfunction()

# Headers of nearly every test, compiled once: GoogleTest alone was two fifths of a test's time.
# A program, as a library's code is generated in another way and its headers would not fit.
function(weft_test_headers)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/test_headers.cpp CONTENT "int main() {}\n")
  add_executable(weft_test_headers EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/test_headers.cpp)
  target_link_libraries(weft_test_headers PRIVATE GTest::gmock fmt::fmt weft_flags)
  target_compile_options(weft_test_headers PRIVATE -O0)
  target_precompile_headers(weft_test_headers PRIVATE
    <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h> <algorithm> <array> <chrono> <filesystem>
    <functional> <map> <memory> <optional> <set> <span> <string> <string_view> <vector>)
endfunction()

# Of tests that start processes and wait for most of their time. ./test runs these by themselves, more
# than others at a time. -L end-to-end selects them, too.
set(weft_waiting_label end-to-end-waiting)

# weft_test(NAME SOURCES a_test.cpp … DEPENDS weft_base …): one GoogleTest program, one ctest
# entry per test; with WEFT_WHOLE_PROGRAMS one for all tests of a library, NAME/all. LABELS long keeps
# it out of the ordinary run, LONG those tests that the patterns match. TIMEOUT in seconds for each
# test, 120 by default. ALONE: it starts so many processes that they must not starve because of
# another test. WAITING: patterns of its tests that wait for most of their time; they get
# weft_waiting_label. APART: sources with names of their own that other sources have too; all others
# are compiled together. RELEASE: some of it only runs without sanitizers, so that it is there without
# WEFT_UNIT_TESTS, too.
function(weft_test name)
  if(NOT WEFT_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "ALONE;RELEASE" "TIMEOUT" "SOURCES;APART;DEPENDS;LABELS;LONG;WAITING" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  # What tests include took two thirds of the time of compiling them one by one.
  set_target_properties(${name} PROPERTIES UNITY_BUILD "$CACHE{CMAKE_UNITY_BUILD}"
    UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${ARG_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gmock GTest::gtest_main weft_flags)
  # The code under test is in the libraries. Half the time of a build was the optimiser's, over
  # assertions.
  target_compile_options(${name} PRIVATE -O0)
  if(NOT TARGET weft_test_headers)
    weft_test_headers()
  endif()
  target_precompile_headers(${name} REUSE_FROM weft_test_headers)
  set(is_unit_test ON)
  if(ARG_ALONE OR "end-to-end" IN_LIST ARG_LABELS)
    set(is_unit_test OFF)
  endif()
  if(is_unit_test AND NOT ARG_RELEASE AND NOT WEFT_UNIT_TESTS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  if(is_unit_test AND WEFT_WHOLE_PROGRAMS)
    add_test(NAME ${name}/all COMMAND ${name})
    set_tests_properties(${name}/all PROPERTIES TIMEOUT 900 LABELS "${ARG_LABELS}")
    return()
  endif()
  list(JOIN ARG_LONG ":" long)
  list(JOIN ARG_WAITING ":" waiting)
  weft_discover(${name} "*-${long}:${waiting}" "${ARG_LABELS}" ${ARG_ALONE})
  if(ARG_LONG)
    weft_discover(${name} "${long}" long ${ARG_ALONE})
  endif()
  if(ARG_WAITING)
    weft_discover(${name} "${waiting}-${long}" ${weft_waiting_label} OFF)
  endif()
endfunction()

# Adds an entry of ctest for each test that the filter takes.
function(weft_discover name filter labels alone)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}/ TEST_FILTER "${filter}"
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${labels}" RUN_SERIAL ${alone})
endfunction()

# weft_fuzz(NAME SOURCES a_fuzz.cpp DEPENDS …): a libFuzzer target, built by the asan preset only.
# tests/fuzz/corpus/NAME, when present, seeds it.
function(weft_fuzz name)
  if(NOT WEFT_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} weft_flags)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()

# weft_mpi_headers(TARGET IMPLEMENTATION): builds it against that MPI: openmpi or mpich. As a system's
# headers: they have warnings of their own.
function(weft_mpi_headers target implementation)
  string(REPLACE openmpi ompi package ${implementation})
  target_include_directories(${target} SYSTEM PRIVATE
    $<TARGET_PROPERTY:PkgConfig::${package},INTERFACE_INCLUDE_DIRECTORIES>)
  target_link_libraries(${target} PRIVATE PkgConfig::${package})
  # Open MPI's C++ interface of old is a library of its own; MPICH's likewise.
  target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
endfunction()

# weft_mpi_module(NAME a.cpp …): a module that uses an MPI. Nothing links to it. Warnings yes,
# sanitizers no: MPI has races and leaks of its own.
function(weft_mpi_module name)
  include(GNUInstallDirs)
  add_library(${name} MODULE ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror -Wno-missing-field-initializers)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT mpi)
endfunction()

# weft_mpi_program(PROGRAM COMPILER SOURCE [FOR TARGET] [DEPENDS files…] [FLAGS …]): SOURCE, compiled by
# the MPI's own COMPILER, as a user's program is; left out without that compiler. For TARGET or for all.
function(weft_mpi_program program compiler source)
  cmake_parse_arguments(PARSE_ARGV 3 ARG "" "FOR" "DEPENDS;FLAGS")
  find_program(WEFT_${compiler} ${compiler})
  if(NOT WEFT_${compiler})
    return()
  endif()
  cmake_path(GET program FILENAME target)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${program} VERBATIM
    COMMAND ${WEFT_${compiler}} ${ARG_FLAGS} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      -o ${CMAKE_BINARY_DIR}/${program}
    DEPENDS ${source} ${ARG_DEPENDS})
  if(ARG_FOR)
    add_custom_target(${target} DEPENDS ${CMAKE_BINARY_DIR}/${program})
    add_dependencies(${ARG_FOR} ${target})
  else()
    add_custom_target(${target} ALL DEPENDS ${CMAKE_BINARY_DIR}/${program})
  endif()
endfunction()
