// SPDX-License-Identifier: Apache-2.0
#include "stream/node/source_watch.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>

namespace weft::stream {
namespace {

class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  int end() const { return ends_[0]; }
  void fill() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }

 private:
  std::array<int, 2> ends_{};
};

bool is_readable(int descriptor) {
  pollfd file{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&file, 1, 0) == 1;
}

TEST(source_watch, tells_once_when_what_it_waits_for_is_readable) {
  SourceWatch watch;
  const Pipe pipe;
  watch.wait_for(pipe.end());
  EXPECT_FALSE(watch.has_news());
  pipe.fill();
  EXPECT_TRUE(is_readable(watch.descriptor()));
  EXPECT_TRUE(watch.has_news());
  EXPECT_FALSE(is_readable(watch.descriptor())) << "a loop would not sleep any more";
  EXPECT_FALSE(watch.has_news());
  watch.wait_for(pipe.end());
  EXPECT_TRUE(watch.has_news());
}

TEST(source_watch, waits_for_the_newest_descriptor_alone) {
  SourceWatch watch;
  const Pipe first, second;
  watch.wait_for(first.end());
  watch.wait_for(second.end());
  first.fill();
  EXPECT_FALSE(is_readable(watch.descriptor()));
  EXPECT_FALSE(watch.has_news());
  second.fill();
  EXPECT_TRUE(watch.has_news());
  watch.wait_for(second.end());
  watch.wait_for(-1);
  EXPECT_FALSE(is_readable(watch.descriptor()));
  EXPECT_FALSE(watch.has_news());
}

}  // namespace
}  // namespace weft::stream
