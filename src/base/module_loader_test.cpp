// SPDX-License-Identifier: Apache-2.0
#include "base/module_loader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Calls {
  std::uint32_t version;
  int (*answer)();
};

void expect_refused(const ModuleRequest& request, const std::string& words) {
  const auto calls = load_module<Calls>(request);
  ASSERT_FALSE(calls.ok()) << words;
  EXPECT_EQ(calls.error().code, ErrorCode::not_found);
  EXPECT_THAT(calls.error().message, HasSubstr(request.library));
  EXPECT_THAT(calls.error().message, HasSubstr(words));
  EXPECT_THAT(calls.error().message, Not(HasSubstr("\n")));
}

TEST(module_loader, finds_a_module_beside_the_program) {
  const auto calls = load_module<Calls>({"libweft_test_module.so", "weft_test_module", 7});
  ASSERT_TRUE(calls.ok()) << calls.error().message;
  EXPECT_EQ((*calls)->answer(), 42);
}

TEST(module_loader, names_a_file_that_is_missing) {
  expect_refused({"libweft_no_module.so", "weft_test_module", 7}, "No such file");
}

TEST(module_loader, names_both_versions_when_they_differ) {
  expect_refused({"libweft_test_module.so", "weft_test_module", 8},
                 "is of another version of weft (7, not 8)");
}

TEST(module_loader, names_the_symbol_that_a_library_lacks) {
  expect_refused({"libweft_test_module.so", "weft_other_module", 7}, "has no weft_other_module");
}

TEST(module_loader, says_why_a_file_that_is_there_cannot_be_loaded) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("libweft_text_" + std::to_string(::getpid()) + ".so");
  std::ofstream(path) << "This is no library, however long it is, and however it is called.\n";
  expect_refused({path, "weft_test_module", 7}, "invalid ELF header");
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace weft
