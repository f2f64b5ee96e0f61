// SPDX-License-Identifier: Apache-2.0
#include "launch/needed_libraries.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace weft {
namespace {

std::vector<std::byte> own_program() {
  const std::filesystem::path program("/proc/self/exe");
  std::vector<std::byte> bytes(std::filesystem::file_size(std::filesystem::canonical(program)));
  std::ifstream(program, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

TEST(needed_libraries, names_those_of_a_program) {
  const auto names = needed_libraries(own_program());
  EXPECT_NE(std::find(names.begin(), names.end(), "libc.so.6"), names.end());
}

TEST(needed_libraries, of_what_is_no_program_there_are_none) {
  EXPECT_TRUE(needed_libraries({}).empty());
  const std::vector<std::byte> script(2000, std::byte{'#'});
  EXPECT_TRUE(needed_libraries(script).empty());
}

TEST(needed_libraries, a_program_that_was_cut_off_does_no_harm) {
  const auto program = own_program();
  for (const std::size_t length : {4, 63, 64, 100, 1000, 5000}) {
    (void)needed_libraries(std::span(program).first(std::min<std::size_t>(length, program.size())));
  }
  // Its tables lie beyond its end.
  auto damaged = program;
  std::fill(damaged.begin() + 32, damaged.begin() + 40, std::byte{0xff});
  EXPECT_TRUE(needed_libraries(damaged).empty());
}

}  // namespace
}  // namespace weft
