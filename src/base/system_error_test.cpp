// SPDX-License-Identifier: Apache-2.0
#include "base/system_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <new>
#include <stdexcept>
#include <thread>

namespace weft {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(system_error_death, an_exception_that_leaves_a_thread_is_told) {
  const auto die = [] {
    std::set_terminate(end_by_exception);
    std::thread([] { throw std::bad_alloc(); }).join();
  };
  EXPECT_EXIT(die(), testing::ExitedWithCode(3), "^weft: out of memory; use fewer");
}

TEST(system_error, tells_an_exception_and_what_to_do_without_memory) {
  EXPECT_EQ(text_of(std::runtime_error("no such word")), "no such word");
  EXPECT_EQ(text_of(std::bad_alloc()).find("out of memory; use fewer"), 0U);
}

TEST(system_error, names_the_file_and_what_to_do_about_it) {
  for (const int number : {ENOENT, EACCES, EISDIR, ENOTDIR, ENAMETOOLONG, EMFILE}) {
    const Error error = system_error("read", "x", number);
    EXPECT_THAT(error.message, testing::StartsWith("cannot read 'x': "));
    EXPECT_THAT(error.message, HasSubstr("; ")) << "no fix";
  }
  EXPECT_THAT(system_error("run", "x", ENOENT).message,
              EndsWith("name a program that is installed"));
  EXPECT_THAT(system_error("write", "x", ENOENT).message, EndsWith("make its directory first"));
}

TEST(system_error, wrong_names_are_told_from_refusals) {
  EXPECT_EQ(system_error("read", "x", ENOENT).code, ErrorCode::not_found);
  EXPECT_EQ(system_error("read", "x", EISDIR).code, ErrorCode::invalid_argument);
  EXPECT_EQ(system_error("read", "x", EACCES).code, ErrorCode::io);
  EXPECT_EQ(system_error("write", "x", ENOSPC).code, ErrorCode::exhausted);
}

TEST(read_text_file, reads_all_up_to_a_limit) {
  const std::string path = testing::TempDir() + "/read_text_file";
  const std::string text(100'000, 'x');
  std::ofstream(path) << text;
  EXPECT_EQ(*read_text_file(path), text);
  EXPECT_EQ(*read_text_file(path, text.size()), text);
  EXPECT_THAT(read_text_file(path, 1024).error().message,
              HasSubstr("more than 1 KiB; use a small"));
  EXPECT_THAT(read_text_file(testing::TempDir()).error().message,
              HasSubstr("Is a directory; name a file"));
}

}  // namespace
}  // namespace weft
