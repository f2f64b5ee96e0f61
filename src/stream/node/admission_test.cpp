// SPDX-License-Identifier: Apache-2.0
#include "stream/node/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "wire/archive/golden.hpp"

namespace weft::stream {
namespace {

using ::testing::HasSubstr;
using wire::TestDirectory;

constexpr MachineLimits a_machine{
    .bytes = 8ULL << 30, .descriptors = 1024, .mappings = 65530, .threads = 1000};

std::string files_error(const StreamOptions& options) {
  const auto good = check_files(options);
  return good ? "" : good.error().message;
}
std::string needs_error(const StreamOptions& options, NodesRun run) {
  const auto good = check_needs(options, run, a_machine);
  return good ? "" : good.error().message;
}

TEST(admission, a_sink_writes_over_a_file_only_when_told) {
  const TestDirectory directory;
  wire::write_whole(directory / "a0", std::vector<std::byte>(1));
  for (const char* sink : {"tsa:", "file:"}) {
    StreamOptions options{.source = sink + directory / "in", .sinks = {sink + directory / "a0"}};
    EXPECT_THAT(files_error(options), HasSubstr("exists already"));
    options.replaces_files = true;
    EXPECT_EQ(files_error(options), "");
  }
  EXPECT_THAT(files_error({.sinks = {"tsa:" + directory / "a%n"}}),
              HasSubstr("a0': it exists already"))
      << "what one of the compute nodes writes";
  EXPECT_EQ(files_error({.sinks = {"tsa:" + directory / "b%n", "check:", "null:"}}), "");
}

TEST(admission, a_sink_never_writes_over_what_a_source_reads) {
  const TestDirectory directory;
  const std::string path = directory / "in";
  wire::write_whole(path, std::vector<std::byte>(1));
  ASSERT_EQ(::link(path.c_str(), (directory / "link").c_str()), 0);
  for (const std::string& source : {path, directory.path().string()}) {
    for (const char* name : {"in", "link"}) {
      const StreamOptions options{.source = "file:" + source + "?cut=1KiB",
                                  .sinks = {"file:" + directory / name + "?cut=1KiB"},
                                  .replaces_files = true};
      EXPECT_THAT(files_error(options), HasSubstr("it is the input '"));
    }
  }
}

TEST(admission, a_sink_puts_together_only_what_a_source_cuts_alike) {
  const auto error_of = [](const char* source, const char* sink) {
    return files_error({.source = source, .sinks = {sink}});
  };
  EXPECT_EQ(error_of("file:/a?cut=64KiB", "file:/nowhere"), "");
  EXPECT_EQ(error_of("file:/a%i?cut=1KiB", "file:/nowhere%i?cut=1024"), "");
  EXPECT_EQ(error_of("tsa:/a", "file:/nowhere?cut=1KiB"), "") << "may have been cut alike";
  EXPECT_THAT(error_of("pattern:", "file:/nowhere"), HasSubstr("--source is pattern:"));
  EXPECT_THAT(error_of("file:/a?cut=4KiB", "file:/nowhere"),
              HasSubstr("cuts pieces of 4 KiB and the sink puts together pieces of 64 KiB"));
  EXPECT_THAT(error_of("file:/a?stride=2", "file:/nowhere"), HasSubstr("its stride=2"));
  EXPECT_THAT(error_of("file:/a%i", "file:/nowhere"), HasSubstr("a file for each input"));
  EXPECT_THAT(
      files_error(
          {.source = "file:/a", .sinks = {"file:/nowhere"}, .skip_when_sink_is_slow = true}),
      HasSubstr("--skip-when-slow: would leave holes"));
  EXPECT_EQ(files_error({.inputs = 1, .source = "file:/a%i", .sinks = {"file:/nowhere"}}), "");
}

TEST(admission, a_pipe_is_the_source_of_one_input_node) {
  const TestDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  StreamOptions options{.inputs = 2, .source = "tsa:" + path};
  EXPECT_THAT(files_error(options), HasSubstr("is a pipe, and 2 input nodes would read it"));
  options.inputs = 1;
  EXPECT_EQ(files_error(options), "");
}

TEST(admission, a_directory_and_a_file_of_two_sinks_are_refused) {
  const TestDirectory directory;
  EXPECT_THAT(
      files_error({.source = "file:/nowhere", .sinks = {"file:" + directory.path().string()}}),
      HasSubstr("is a directory; name a file in it"));
  EXPECT_THAT(files_error({.source = "file:/nowhere",
                           .sinks = {"file:" + directory / "x", "tsa:" + directory / "x"}}),
              HasSubstr("another sink writes"));
}

TEST(admission, two_sinks_may_not_name_one_file_in_two_ways) {
  const TestDirectory directory;
  std::filesystem::create_directory(directory / "b");
  std::filesystem::create_directory_symlink(directory / "b", directory / "link");
  const auto error_of = [&](const std::string& other) {
    return files_error({.sinks = {"tsa:" + directory / "b/y.tsa", "tsa:" + other}});
  };
  EXPECT_THAT(error_of(directory / "./b/y.tsa"), HasSubstr("./b/y.tsa' too; name another file"));
  EXPECT_THAT(error_of(directory / "b/../b/y.tsa"), HasSubstr("another sink writes"));
  EXPECT_THAT(error_of(directory / "link/y.tsa"), HasSubstr("another sink writes"));
  EXPECT_EQ(error_of(directory / "y.tsa"), "");
  const std::string here = std::filesystem::current_path().filename().string();
  EXPECT_THAT(files_error({.sinks = {"tsa:no-such.tsa", "tsa:../" + here + "/no-such.tsa"}}),
              HasSubstr("another sink writes"));
}

TEST(admission, jobs_are_held_against_what_the_machine_has) {
  const StreamOptions large{.inputs = 8192, .computes = 8192};
  EXPECT_THAT(needs_error(large, NodesRun::in_processes), HasSubstr("this machine has 8 GiB"));
  EXPECT_THAT(needs_error(large, NodesRun::in_one_process), HasSubstr("this machine has 8 GiB"));
  EXPECT_THAT(
      needs_error({.inputs = 600, .computes = 600, .buffer = ByteCount(4096), .descriptors = 1},
                  NodesRun::in_processes),
      HasSubstr("1264 file descriptors and may have 1024"));
  EXPECT_THAT(
      needs_error({.inputs = 200, .computes = 200, .buffer = ByteCount(4096), .descriptors = 1},
                  NodesRun::in_one_process),
      HasSubstr("vm.max_map_count"));
  const StreamOptions many{
      .inputs = 500, .computes = 4, .buffer = ByteCount(4096), .descriptors = 1};
  EXPECT_THAT(needs_error(many, NodesRun::in_processes),
              HasSubstr("their 505 processes have 1009 threads, and the system grants 1000"));
  EXPECT_EQ(needs_error(many, NodesRun::in_one_process), "");
  EXPECT_EQ(needs_error({}, NodesRun::in_processes), "");
  EXPECT_EQ(
      needs_error({.inputs = 192, .computes = 192, .one_ring = true}, NodesRun::in_one_process),
      "");
}

TEST(admission, a_job_says_what_it_starts_when_that_is_a_crowd) {
  EXPECT_EQ(crowd_notice({.inputs = 4, .computes = 3}, 1), "") << "8 with the launcher";
  EXPECT_THAT(crowd_notice({.inputs = 4, .computes = 4}, 1),
              HasSubstr("starting 9 processes on 1 core:"));
  EXPECT_THAT(crowd_notice({.inputs = 1000, .computes = 4}, 2),
              HasSubstr("starting 1005 processes on 2 cores:"));
}

TEST(admission, this_machine_has_something) {
  const MachineLimits limits = limits_of_this_machine();
  EXPECT_GT(limits.bytes, 1u << 20);
  EXPECT_GT(limits.descriptors, 3u);
  EXPECT_GT(limits.mappings, 100u);
  EXPECT_GT(limits.threads, 10u);
}

}  // namespace
}  // namespace weft::stream
