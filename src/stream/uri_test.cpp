// SPDX-License-Identifier: Apache-2.0
#include "stream/uri.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft {
namespace {

using ::testing::HasSubstr;

TEST(uri, takes_scheme_path_and_keys_apart) {
  const auto uri = Uri::parse("tsa:/data/run_%n.tsa?zstd&bytes=1GiB&items=5");
  ASSERT_TRUE(uri) << uri.error().message;
  EXPECT_EQ(uri->scheme(), "tsa");
  EXPECT_EQ(uri->path(), "/data/run_%n.tsa");
  EXPECT_TRUE(*uri->flag("zstd"));
  EXPECT_FALSE(*uri->flag("crc"));
  EXPECT_EQ(*uri->bytes("bytes", ByteCount(0), ByteCount(1), ByteCount::gib(4)), ByteCount::gib(1));
  EXPECT_EQ(*uri->number("items", 0, 1, 100), 5u);
  EXPECT_EQ(*uri->number("absent", 17, 1, 100), 17u);
  EXPECT_EQ(uri->get("items"), "5");
  EXPECT_EQ(uri->get("absent", "x"), "x");
}

TEST(uri, path_may_be_empty_or_hold_colons_and_a_quoted_question_mark) {
  EXPECT_EQ(Uri::parse("pattern:")->path(), "");
  EXPECT_EQ(Uri::parse("pattern:?size=1")->path(), "");
  EXPECT_EQ(Uri::parse("file:a:b%3Fc%3F")->path(), "a:b?c?");
  EXPECT_EQ(Uri::parse("file:x?")->path(), "x");
}

TEST(uri, names_the_part_that_is_wrong) {
  EXPECT_THAT(Uri::parse("data.bin").error().message, HasSubstr("'data.bin': no scheme"));
  EXPECT_THAT(Uri::parse(":x").error().message, HasSubstr("scheme before ':'"));
  EXPECT_THAT(Uri::parse("File:x").error().message, HasSubstr("lower-case"));
  EXPECT_THAT(Uri::parse("a:?x=1&x=2").error().message, HasSubstr("key 'x' is given twice"));
  EXPECT_THAT(Uri::parse("a:?=1").error().message, HasSubstr("'=1' after '?' is no key=value"));
  const auto uri = Uri::parse("pattern:?siez=3&size=many&n=-1&d=5&f=maybe");
  EXPECT_THAT(uri->allow({"size", "rate"}).error().message,
              HasSubstr("unknown key 'siez': did you mean size? pattern: has size, rate"));
  EXPECT_THAT(uri->allow({}).error().message, HasSubstr("pattern: knows none"));
  EXPECT_THAT(uri->bytes("size", {}, {}, ByteCount::kib(1)).error().message,
              HasSubstr("size=many: "));
  EXPECT_THAT(uri->number("n", 0, 1, 9).error().message,
              HasSubstr("n=-1: must be a whole number from 1 to 9"));
  EXPECT_THAT(uri->duration("d", {}).error().message, HasSubstr("d=5: "));
  EXPECT_THAT(uri->flag("f").error().message, HasSubstr("f=maybe: must be yes or no"));
  EXPECT_THAT(uri->need_path("the file").error().message,
              HasSubstr("the file is missing after 'pattern:'"));
}

TEST(uri, refuses_amounts_out_of_range) {
  const auto uri = Uri::parse("a:?b=2KiB&d=0s");
  EXPECT_THAT(uri->bytes("b", {}, ByteCount(1), ByteCount::kib(1)).error().message,
              HasSubstr("b=2KiB: must be from 1 B to 1 KiB"));
  EXPECT_THAT(uri->duration("d", {}).error().message, HasSubstr("more than 0"));
}

TEST(uri, placeholders_are_replaced_by_their_letter) {
  EXPECT_EQ(expand_placeholders("a%i.%s%%i%x%", {{'i', "3"}, {'s', "0001"}}), "a3.0001%i%x%");
  EXPECT_TRUE(has_placeholder("in%i", 'i'));
  EXPECT_FALSE(has_placeholder("in%%i", 'i'));
  EXPECT_FALSE(has_placeholder("ini", 'i'));
}

}  // namespace
}  // namespace weft
