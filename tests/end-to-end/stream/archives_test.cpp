// SPDX-License-Identifier: Apache-2.0
// Streams of finite sources: sinks get the sources' bytes, one for one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

/// Bytes that are the same in every run, and alike nowhere.
std::string some_bytes(std::size_t size) {
  std::mt19937_64 random(7);
  std::string bytes(size, '\0');
  for (char& b : bytes) b = static_cast<char>(random());
  return bytes;
}

TEST(file_source, is_put_together_again_behind_the_compute_nodes) {
  ScratchDirectory directory;
  const std::string source = directory / "in";
  write_file(source, some_bytes(20'000'001));
  for (const char* schedule : {"best-effort", "dfs", "grant"}) {
    const std::string target = directory / schedule;
    const Ended ended = run_weft(by_schedule(
        {"stream", "local", "--inputs", "3", "--computes", "4", "--microslices-per-timeslice", "2",
         "--source", "file:" + source + "?cut=64KiB", "--sink", "file:" + target + "?cut=64KiB",
         "--no-limit", "--json"},
        schedule, 16));
    expect_all_complete(ended);
    EXPECT_EQ(sha256_of(target), sha256_of(source)) << ended.describe();
  }
}

TEST(file_source, keeps_its_bytes_when_timeslices_overlap) {
  ScratchDirectory directory;
  const std::string source = directory / "in";
  const std::string target = directory / "out";
  write_file(source, some_bytes(5'000'000));
  const Ended ended = run_weft({"stream", "local", "--inputs", "3", "--computes", "2",
                                "--microslices-per-timeslice", "4", "--overlap", "2", "--fabric",
                                "libfabric:tcp", "--source", "file:" + source + "?cut=32KiB",
                                "--sink", "file:" + target + "?cut=32KiB", "--no-limit", "--json"});
  expect_all_complete(ended);
  EXPECT_EQ(sha256_of(target), sha256_of(source)) << ended.describe();
}

TEST(file_source, keeps_its_bytes_when_a_compute_node_is_killed) {
  ScratchDirectory directory;
  const std::string source = directory / "in";
  const std::string target = directory / "out";
  write_file(source, some_bytes(16'000'000));
  // 245 pieces over 3 inputs at 30 Hz: about three seconds.
  const Ended ended = run_weft({"stream", "local", "--inputs", "3", "--computes", "3", "--source",
                                "file:" + source + "?cut=64KiB&rate=30Hz", "--sink",
                                "file:" + target + "?cut=64KiB", "--peer-timeout", "1s", "--fault",
                                "at=1s kill host4", "--no-limit", "--json"});
  expect_nothing_lost(ended);
  EXPECT_EQ(sha256_of(target), sha256_of(source)) << ended.describe();
}

TEST(file_source, that_is_empty_is_a_stream_of_nothing) {
  ScratchDirectory directory;
  const std::string file = directory / "in";
  write_file(file, "");
  const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--source",
                                "file:" + file, "--sink", "check:", "--no-limit", "--json"});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.errors, "") << ended.describe();
  const Figures f = figures_of(ended);
  EXPECT_EQ(f.sent + f.complete + f.incomplete + f.lost + f.errors, 0u) << ended.describe();
  const Ended in_words = run_weft({"stream", "local", "--inputs", "1", "--computes", "1",
                                   "--source", "file:" + file, "--sink", "check:", "--no-limit"});
  EXPECT_EQ(in_words.code, 0) << in_words.describe();
  EXPECT_NE(in_words.output.find("no timeslice came"), std::string::npos) << in_words.describe();
  EXPECT_EQ(in_words.output.find("nothing wrong"), std::string::npos) << in_words.describe();
}

TEST(exec_sink, does_not_say_that_contents_were_checked) {
  const Ended ended = run_weft({"stream", "local", "--inputs", "1", "--computes", "1",
                                "--timeslices", "3", "--sink", "exec:cat", "--no-limit"});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.output.find("contents checked"), std::string::npos) << ended.describe();
  EXPECT_NE(ended.output.find("ended with code 0"), std::string::npos) << ended.describe();
}

TEST(file_source, that_is_a_directory_without_a_byte_is_refused) {
  ScratchDirectory directory;
  const std::string folder = directory / "folder";
  std::filesystem::create_directory(folder);
  write_file(folder + "/in", "");
  const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--source",
                                "file:" + folder, "--sink", "check:", "--no-limit"});
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_NE(ended.errors.find(folder), std::string::npos) << ended.describe();
}

TEST(archive_source, replays_what_a_stream_wrote) {
  ScratchDirectory directory;
  const Ended written = run_weft({"stream", "local", "--inputs", "3", "--computes", "1", "--source",
                                  "pattern:?size=4KiB&sizes=uniform", "--timeslices", "200",
                                  "--sink", "tsa:" + (directory / "run.tsa") + "?zstd", "--sink",
                                  "check:", "--no-limit", "--json"});
  expect_all_complete(written);
  const Ended checked = run_weft({"archive", "check", directory / "run.tsa"});
  EXPECT_EQ(checked.code, 0) << checked.describe();
  const Ended replayed =
      run_weft({"stream", "local", "--inputs", "3", "--computes", "2", "--source",
                "tsa:" + (directory / "run.tsa"), "--sink", "check:", "--no-limit", "--json"});
  expect_all_complete(replayed);
  EXPECT_EQ(figures_of(replayed).complete, figures_of(written).complete) << replayed.describe();
}

TEST(archive_source, replays_what_several_compute_nodes_wrote_in_parts) {
  ScratchDirectory directory;
  const Ended written =
      run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--source",
                "pattern:?size=4KiB", "--timeslices", "100", "--sink",
                "tsa:" + (directory / "node%n-%s.tsa") + "?items=20", "--no-limit", "--json"});
  expect_all_complete(written);
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    files.push_back(entry.path().string());
  }
  EXPECT_GE(files.size(), 4u) << written.describe();
  std::sort(files.begin(), files.end());
  std::vector<std::string> merge{"archive", "merge"};
  merge.insert(merge.end(), files.begin(), files.end());
  merge.insert(merge.end(), {"--out", directory / "all.tsa"});
  const Ended merged = run_weft(merge);
  ASSERT_EQ(merged.code, 0) << merged.describe();
  const Ended replayed = run_weft(
      {"stream", "local", "--inputs", "2", "--computes", "3", "--schedule", "dfs", "--source",
       "tsa:" + (directory / "all.tsa"), "--sink", "check:", "--no-limit", "--json"});
  expect_all_complete(replayed);
  EXPECT_EQ(figures_of(replayed).complete, figures_of(written).complete) << replayed.describe();
}

TEST(archive_merge, whose_level_stands_behind_a_space_says_how_to_write_it) {
  ScratchDirectory directory;
  const std::string run = directory / "run.tsa";
  const Ended written = run_weft({"stream", "local", "--inputs", "1", "--computes", "1",
                                  "--timeslices", "3", "--sink", "tsa:" + run, "--no-limit"});
  ASSERT_EQ(written.code, 0) << written.describe();
  const std::string all = directory / "all.tsa";
  const Ended refused = run_weft({"archive", "merge", "--out", all, "--zstd", "5", run});
  EXPECT_EQ(refused.code, 2) << refused.describe();
  EXPECT_NE(refused.errors.find("weft: --zstd 5: there is no file '5'"), std::string::npos)
      << refused.describe();
  EXPECT_NE(refused.errors.find("write --zstd=5"), std::string::npos) << refused.describe();
  for (const char* flag : {"--zstd", "--zstd=5"}) {
    const Ended merged = run_weft({"archive", "merge", "--force", "--out", all, flag, run});
    EXPECT_EQ(merged.code, 0) << merged.describe();
  }
}

// The source of an empty one ends before the input node has met the compute nodes.
TEST(stream_archives, files_of_unequal_inputs_are_all_whole) {
  for (const std::size_t bytes : {25'000, 0}) {
    ScratchDirectory directory;
    write_file(directory / "in0", std::string(bytes, 'a'));
    write_file(directory / "in1", std::string(90'000, 'b'));
    const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--source",
                                  "file:" + directory / "in%i" + "?cut=1KiB", "--sink",
                                  "file:" + directory / "out%i" + "?cut=1KiB", "--no-limit",
                                  "--descriptors", "16"});
    EXPECT_EQ(ended.code, 0) << ended.describe();
    for (const char* number : {"0", "1"}) {
      EXPECT_TRUE(read_file(directory / "in" + number) == read_file(directory / "out" + number));
    }
  }
}

}  // namespace
}  // namespace weft::e2e
