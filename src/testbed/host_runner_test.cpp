// SPDX-License-Identifier: Apache-2.0
// The parts of the runner that work without namespaces; testbed_live_test.cpp has the rest.
#include "testbed/host_runner.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "testbed/line_forwarder.hpp"

namespace weft::testbed {
namespace {

TEST(placeholders, are_replaced_and_other_braces_stay) {
  const std::vector<std::string> addresses{"10.77.0.1", "10.77.0.2", "10.77.0.3"};
  const auto replaced = [&](std::string_view text) {
    return replace_placeholders(text, 2, 1, addresses);
  };
  EXPECT_EQ(replaced("plain"), "plain");
  EXPECT_EQ(replaced("{host}/{hosts} {rank} at {address}"), "2/3 1 at 10.77.0.3");
  EXPECT_EQ(replaced("{addresses}"), "10.77.0.1,10.77.0.2,10.77.0.3");
  EXPECT_EQ(replaced("http://{addresses[0]}:80"), "http://10.77.0.1:80");
  EXPECT_EQ(replaced("${HOME} {} {addresses[3]} {addresses[-1]} { {host}"),
            "${HOME} {} {addresses[3]} {addresses[-1]} { 2");
  EXPECT_EQ(replaced("{host"), "{host");
  EXPECT_EQ(replaced(""), "");
}

class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    reader = Descriptor(ends[0]);
    writer = Descriptor(ends[1]);
  }
  void put(std::string_view text) {
    EXPECT_EQ(::write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::string take() {
    std::string text(1 << 16, '\0');
    const auto n = ::read(reader.get(), text.data(), text.size());
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
  }
  Descriptor reader, writer;
};

TEST(line_forwarder, passes_whole_lines_on_with_their_prefix) {
  Pipe from, to;
  LineForwarder forwarder(std::move(from.reader), to.writer.get(), "host3: ");
  from.put("one\ntw");
  forwarder.forward();
  EXPECT_EQ(to.take(), "host3: one\n");
  from.put("o\n\nthree");
  forwarder.forward();
  EXPECT_EQ(to.take(), "host3: two\nhost3: \n");
  from.writer.reset();
  forwarder.forward();
  EXPECT_EQ(to.take(), "host3: three\n");
  EXPECT_FALSE(forwarder.open());
}

TEST(line_forwarder, finishing_passes_on_an_unfinished_line) {
  Pipe from, to;
  LineForwarder forwarder(std::move(from.reader), to.writer.get(), "");
  from.put("half a line");
  forwarder.finish();
  EXPECT_EQ(to.take(), "half a line\n");
}

}  // namespace
}  // namespace weft::testbed
