// SPDX-License-Identifier: Apache-2.0
#include "stream/local/killed_files.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "wire/archive/golden.hpp"

namespace weft::stream {
namespace {

// In a container each run may have the same process number.
TEST(killed_files, are_not_written_by_a_later_run_of_the_same_number) {
  for (const char* left : {"incomplete", "part"}) {
    const wire::TestDirectory directory;
    StreamOptions options;
    options.sinks = {"file:" + directory / "out?cut=100"};
    begin_files(options);
    EXPECT_EQ(options.run, fmt::format("{}", ::getpid()));
    std::ofstream(directory / fmt::format("out.{}-{}", left, ::getpid()));
    begin_files(options);
    EXPECT_EQ(options.run, fmt::format("{}-2", ::getpid())) << left;
  }
}

}  // namespace
}  // namespace weft::stream
