// SPDX-License-Identifier: Apache-2.0
#include "base/parse_toml.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft {
namespace {

/// "a.a.a", of so many parts.
std::string key_of(std::size_t parts) {
  std::string key = "a";
  while (--parts > 0) key += ".a";
  return key;
}

std::string refusal_of(const std::string& text) {
  try {
    parse_toml(text, "x.toml");
  } catch (const toml::parse_error& error) {
    return *error.source().path + ":" + std::to_string(error.source().begin.line) + ": " +
           std::string(error.description());
  }
  return "";
}

TEST(parse_toml, refuses_keys_and_headers_of_so_many_parts_that_the_stack_is_too_small) {
  const std::string deep = key_of(40'000);
  const std::string why = "a key has more than 64 parts";
  EXPECT_EQ(refusal_of("x = 1\n" + deep + " = 1\n"), "x.toml:2: " + why);
  EXPECT_EQ(refusal_of("[" + deep + "]\n"), "x.toml:1: " + why);
  EXPECT_EQ(refusal_of("[[" + deep + "]]\n"), "x.toml:1: " + why);
  EXPECT_EQ(refusal_of("x = \"\"\"\n\n\"\"\"\ny = {" + deep + " = 1}\n"), "x.toml:4: " + why);
  EXPECT_EQ(refusal_of("x = 'a\n" + deep + " = 1\n"), "x.toml:2: " + why);
  EXPECT_EQ(refusal_of(key_of(65) + " = 1\n"), "x.toml:1: " + why);
}

TEST(parse_toml, takes_64_parts_and_dots_that_part_no_keys) {
  const std::string dots(100, '.');
  EXPECT_EQ(refusal_of(key_of(64) + " = 1.5\n[b." + key_of(63) + "]\n"), "");
  EXPECT_EQ(refusal_of("# " + dots + "\nx = \"\\\"" + dots + "\"\ny = '" + dots + "'\n"), "");
  EXPECT_EQ(refusal_of("x = \"\"\"\n" + dots + "\n\"\"\"\ny = '''\n" + dots + "'''\n"), "");
  EXPECT_EQ(refusal_of("x = [" + std::string(100, '[') + std::string(100, ']') + "]\n"), "");
}

}  // namespace
}  // namespace weft
