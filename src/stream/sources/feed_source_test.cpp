// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feed_source.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/sources/collecting_writer.hpp"
#include "stream/sources/read_ahead.hpp"
#include "wire/archive/golden.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

/// Microslices that hold their number. It counts what is done to it.
class CountedFeed final : public MicrosliceFeed {
 public:
  struct Counts {
    int rewinds = 0;
    int reads = 0;
  };
  CountedFeed(std::uint64_t size, Counts& counts) : size_(size), counts_(counts) {}

  Result<std::optional<NextMicroslice>> peek() override {
    if (next_ == size_) return std::optional<NextMicroslice>();
    return std::optional(NextMicroslice{.size = 1, .index = next_ * 10});
  }
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override {
    content[0] = static_cast<std::byte>(next_);
    (void)drop();
    return MicrosliceDescriptor{};
  }
  Result<void> drop() override {
    ++next_;
    ++counts_.reads;
    return {};
  }
  Result<void> rewind() override {
    ++counts_.rewinds;
    next_ = 0;
    return {};
  }

 private:
  std::uint64_t size_;
  Counts& counts_;
  std::uint64_t next_ = 0;
};

class Seeking : public testing::Test {
 protected:
  FeedSource source_of(std::uint64_t size, FeedOptions options = {}) {
    return {std::make_unique<CountedFeed>(size, counts_), options, "counted:"};
  }
  static std::vector<int> take(FeedSource& source, std::size_t most = SIZE_MAX) {
    const auto all = collect(source, most);
    std::vector<int> found;
    for (const auto& m : *all) found.push_back(std::to_integer<int>(m.content.at(0)));
    return found;
  }
  CountedFeed::Counts counts_;
};

/// The feed may be a pipe, which cannot, or a file so long that there would be no catching up.
TEST_F(Seeking, forward_reads_nothing_again) {
  FeedSource source = source_of(100);
  EXPECT_EQ(take(source, 5), (std::vector{0, 1, 2, 3, 4}));
  ASSERT_TRUE(source.seek(50));
  EXPECT_EQ(take(source, 2), (std::vector{50, 51}));
  ASSERT_TRUE(source.seek(52));
  EXPECT_EQ(take(source, 1), (std::vector{52}));
  ASSERT_TRUE(source.seek(98));
  ASSERT_TRUE(source.seek(96)) << "not as far as the one that nothing was done about";
  EXPECT_EQ(take(source), (std::vector{96, 97, 98, 99}));
  EXPECT_EQ(counts_.rewinds, 0);
  EXPECT_EQ(counts_.reads, 100);
}

TEST_F(Seeking, back_begins_anew) {
  FeedSource source = source_of(20);
  EXPECT_EQ(take(source).size(), 20u);
  ASSERT_TRUE(source.seek(18));
  EXPECT_EQ(take(source), (std::vector{18, 19}));
  EXPECT_EQ(counts_.rewinds, 1);
}

TEST_F(Seeking, past_the_end_stays_there) {
  FeedSource source = source_of(3);
  EXPECT_EQ(take(source).size(), 3u);
  ASSERT_TRUE(source.seek(5));
  EXPECT_TRUE(take(source).empty());
  EXPECT_EQ(counts_.rewinds, 0);
}

TEST_F(Seeking, forward_keeps_count_of_strides_and_loops) {
  FeedSource source = source_of(5, {.rate = {}, .loop = 3, .stride = 2});
  EXPECT_EQ(take(source, 2), (std::vector{0, 2}));
  ASSERT_TRUE(source.seek(4));
  const auto rest = collect(source);
  ASSERT_TRUE(rest);
  ASSERT_EQ(rest->size(), 5u);
  for (std::size_t m = 0; m < rest->size(); ++m) {
    EXPECT_EQ(std::to_integer<int>((*rest)[m].content.at(0)), (m + 4) % 3 * 2) << m;
    EXPECT_EQ((*rest)[m].descriptor.index, (m + 4) * 20) << m;
  }
  EXPECT_EQ(counts_.rewinds, 2) << "one for each further loop";
}

/// A pipe with both microslices of an archive in it, or with packets, and no writer any more.
class Pipe {
 public:
  Pipe(std::string_view source, ByteCount read_ahead) {
    const std::string path = directory_ / "pipe";
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int writer = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    const auto bytes =
        wire::golden(source.starts_with("pcap") ? "packets.pcap" : "microslices.msa");
    EXPECT_EQ(::write(writer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const auto query = source.find('?');
    auto opened =
        open_source(fmt::format("{}:{}{}", source.substr(0, source.find(':')), path,
                                query == std::string_view::npos ? "" : source.substr(query)),
                    {.input = 0, .inputs = 1, .read_ahead = read_ahead});
    ::close(writer);
    EXPECT_TRUE(opened) << opened.error().message;
    source_ = std::move(opened).value();
  }
  /// Whoever opens it again notices.
  void forget_name() { ::unlink((directory_ / "pipe").c_str()); }
  Source& source() { return *source_; }

 private:
  const wire::TestDirectory directory_;
  std::unique_ptr<Source> source_;
};

class SeekingInPipe : public testing::TestWithParam<int> {
 protected:
  static ByteCount read_ahead() { return ByteCount(GetParam()); }
};

TEST_P(SeekingInPipe, forward_goes_on_in_the_same_pipe) {
  Pipe pipe("msa:", read_ahead());
  pipe.forget_name();
  ASSERT_TRUE(pipe.source().seek(1));
  const auto rest = collect(pipe.source());
  ASSERT_TRUE(rest) << rest.error().message;
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ(rest->front().descriptor.index, 2000u);
}

TEST_P(SeekingInPipe, back_is_an_error_that_says_so) {
  for (const char* uri : {"msa:", "pcap:?cut=1"}) {
    Pipe pipe(uri, read_ahead());
    ASSERT_TRUE(collect(pipe.source(), 1));
    const auto sought = pipe.source().seek(0);
    ASSERT_FALSE(sought);
    EXPECT_THAT(sought.error().message, HasSubstr("a pipe cannot go back")) << uri;
  }
}

INSTANTIATE_TEST_SUITE_P(with_bytes_to_read_ahead, SeekingInPipe, testing::Values(0, 1, 1000));

}  // namespace
}  // namespace weft
