// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/rng.hpp"
#include "stream/sources/collecting_writer.hpp"
#include "stream/sources/pieces.hpp"
#include "wire/archive/golden.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using wire::TestDirectory;
using wire::write_whole;

std::vector<std::byte> random_bytes(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::byte> bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(rng.next());
  return bytes;
}

/// Runs all inputs and puts the pieces together by their descriptors.
std::vector<std::byte> put_together(const std::string& uri, std::uint32_t inputs,
                                    std::uint32_t per_timeslice, std::uint64_t cut) {
  std::vector<std::byte> joined;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < inputs; ++i) {
    const auto microslices =
        collect(uri, {.input = i, .inputs = inputs, .microslices_per_timeslice = per_timeslice});
    EXPECT_TRUE(microslices) << microslices.error().message;
    if (i == 0) count = microslices->size();
    EXPECT_EQ(microslices->size(), count);
    EXPECT_EQ(count % per_timeslice, 0u);
    for (std::size_t m = 0; m < microslices->size(); ++m) {
      const auto& [descriptor, content] = (*microslices)[m];
      EXPECT_EQ(descriptor.index, m * inputs * cut);
      EXPECT_EQ(descriptor.crc, crc32c(content));
      const std::size_t offset = descriptor.index + i * cut;
      if (content.empty()) continue;
      joined.resize(std::max(joined.size(), offset + content.size()));
      std::copy(content.begin(), content.end(),
                joined.begin() + static_cast<std::ptrdiff_t>(offset));
    }
  }
  return joined;
}

TEST(file_source, pieces_dealt_to_the_inputs_are_the_file_again) {
  const TestDirectory directory;
  for (const std::size_t size : {0, 1, 99, 100, 101, 400, 799, 800, 801, 12'345}) {
    const auto bytes = random_bytes(size, size + 1);
    write_whole(directory / "data", bytes);
    for (const std::uint32_t inputs : {1, 2, 4, 7}) {
      EXPECT_EQ(put_together("file:" + directory / "data?cut=100", inputs, 3, 100), bytes)
          << size << " bytes, " << inputs << " inputs";
    }
  }
}

TEST(file_source, a_directory_is_its_files_in_order_of_their_paths) {
  const TestDirectory directory;
  std::filesystem::create_directories(directory / "tree/b");
  write_whole(directory / "tree/b/1", random_bytes(150, 1));
  write_whole(directory / "tree/a", random_bytes(70, 2));
  write_whole(directory / "tree/b.x", random_bytes(0, 3));
  write_whole(directory / "tree/c", random_bytes(1'000, 4));
  std::filesystem::create_symlink(directory / "tree/c", directory / "tree/link");
  std::vector<std::byte> expected = random_bytes(70, 2);
  for (const auto& part : {random_bytes(150, 1), random_bytes(1'000, 4)}) {
    expected.insert(expected.end(), part.begin(), part.end());
  }
  EXPECT_EQ(put_together("file:" + directory / "tree?cut=64", 3, 2, 64), expected);
  const auto list = FileList::open(directory / "tree");
  ASSERT_EQ(list->entries().size(), 4u);
  EXPECT_EQ(list->entries()[1].path, directory / "tree/b.x");
}

TEST(file_source, repeats_without_a_seam) {
  const TestDirectory directory;
  const auto bytes = random_bytes(130, 1);
  write_whole(directory / "data", bytes);
  std::vector<std::byte> thrice;
  for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(put_together("file:" + directory / "data?cut=50&loop=3", 2, 1, 50), thrice);
  const auto forever = collect("file:" + directory / "data?cut=50&loop=0", {}, 5'000);
  ASSERT_EQ(forever->size(), 5'000u);
  EXPECT_EQ(forever->back().content.size(), 50u);
}

TEST(file_source, percent_i_gives_each_input_its_own_file) {
  const TestDirectory directory;
  write_whole(directory / "in0", random_bytes(120, 1));
  write_whole(directory / "in1", random_bytes(80, 2));
  const auto microslices = collect("file:" + directory / "in%i?cut=50", {.input = 1, .inputs = 2});
  ASSERT_EQ(microslices->size(), 2u);
  EXPECT_EQ((*microslices)[1].content.size(), 30u);
  EXPECT_EQ((*microslices)[1].descriptor.index, 50u);
}

TEST(file_source, seeks) {
  const TestDirectory directory;
  write_whole(directory / "data", random_bytes(1'000, 1));
  const std::string uri = "file:" + directory / "data?cut=10&stride=3";
  const auto all = collect(uri, {});
  auto source = open_source(uri, {});
  ASSERT_TRUE((*source)->seek(30));
  const auto rest = collect(**source);
  ASSERT_EQ(rest->size(), all->size() - 30);
  EXPECT_EQ((*rest)[0].content, (*all)[30].content);
}

TEST(file_source, says_what_is_wrong) {
  const TestDirectory directory;
  EXPECT_EQ(open_source("file:/dev/null/x", {}).error().code, ErrorCode::not_found);
  EXPECT_THAT(open_source("file:/dev/null/x", {}).error().message,
              HasSubstr("cannot read '/dev/null/x'"));
  EXPECT_THAT(open_source("file:", {}).error().message, HasSubstr("directory is missing"));
  EXPECT_THAT(open_source("file:/dev/null", {}).error().message, HasSubstr("neither a file nor"));
  EXPECT_THAT(open_source("file:/etc/passwd?rate=native", {}).error().message,
              HasSubstr("no speed of its own"));
  std::filesystem::create_directories(directory / "tree/b");
  EXPECT_THAT(open_source("file:" + directory / "tree", {}).error().message,
              HasSubstr("no ordinary file below the directory"));
  write_whole(directory / "tree/b/.keep", random_bytes(0, 1));
  EXPECT_FALSE(open_source("file:" + directory / "tree", {}));
  write_whole(directory / "tree/b/.hidden", random_bytes(1, 1));
  EXPECT_TRUE(open_source("file:" + directory / "tree", {}));
  write_whole(directory / "data", random_bytes(1'000, 1));
  auto source = open_source("file:" + directory / "data?cut=10", {});
  std::filesystem::resize_file(directory / "data", 500);
  EXPECT_THAT(collect(**source).error().message,
              HasSubstr("became shorter while it was read: 500 bytes instead of 1000"));
}

}  // namespace
}  // namespace weft
