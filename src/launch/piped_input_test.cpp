// SPDX-License-Identifier: Apache-2.0
#include "launch/piped_input.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "base/descriptor.hpp"

namespace weft {
namespace {

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    out = Descriptor(ends[0]);
    in = Descriptor(ends[1]);
  }
  void write() { EXPECT_EQ(::write(in.get(), "42\n", 3), 3); }
  void read() {
    std::array<char, 16> bytes;
    EXPECT_EQ(::read(out.get(), bytes.data(), bytes.size()), 3);
  }
  Descriptor out, in;
};

TEST(piped_input, an_open_pipe_in_which_there_is_nothing_is_not_in_use) {
  Pipe pipe;
  EXPECT_FALSE(PipedInput(pipe.out.get()).may_have_been_read());
}

TEST(piped_input, what_was_in_a_pipe_may_have_been_read) {
  Pipe pipe;
  pipe.write();
  const PipedInput input(pipe.out.get());
  pipe.read();
  EXPECT_TRUE(input.may_have_been_read());
}

TEST(piped_input, a_pipe_that_was_closed_later_may_have_had_something) {
  Pipe pipe;
  const PipedInput input(pipe.out.get());
  pipe.write();
  pipe.read();
  pipe.in.reset();
  EXPECT_TRUE(input.may_have_been_read());
}

TEST(piped_input, a_pipe_that_was_closed_and_empty_at_first_never_had_anything) {
  Pipe pipe;
  pipe.in.reset();
  EXPECT_FALSE(PipedInput(pipe.out.get()).may_have_been_read());
}

TEST(piped_input, a_file_is_read_again) {
  const Descriptor file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(PipedInput(file.get()).may_have_been_read());
}

}  // namespace
}  // namespace weft
