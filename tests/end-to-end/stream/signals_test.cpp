// SPDX-License-Identifier: Apache-2.0
// Streams that somebody ends early, by SIGINT (Ctrl-C) or SIGTERM (a service manager).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

constexpr const char* first_came = "a second signal kills";

std::vector<std::string> endless(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"stream",     more[0], "--inputs", "2",     "--computes", "2",
                                     "--duration", "10min", "--json",   "--log", "info"};
  arguments.insert(arguments.end(), more.begin() + 1, more.end());
  return arguments;
}

/// Files below a directory that somebody began and did not finish.
std::vector<std::string> half_written(const ScratchDirectory& directory) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    const std::string name = entry.path().filename().string();
    if (name.find(".part") != std::string::npos || name.find(".tmp") != std::string::npos) {
      found.push_back(name);
    }
  }
  return found;
}

/// Waits until sinks have had something to write.
bool has_begun(const std::string& path) {
  for (int i = 0; i < 3000; ++i) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(path, none)) {
      if (entry.file_size(none) > 0 && !none) return true;
    }
    ::usleep(10'000);
  }
  return false;
}

void expect_whole(const Ended& ended, int number) {
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, 128 + number) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
}

TEST(stream_signals, end_local_in_order_with_result_and_report_and_whole_archives) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ScratchDirectory directory;
    std::filesystem::create_directory(directory / "archives");
    WeftProcess process(
        endless({"local", "--sink", "check:", "--sink", "tsa:" + (directory / "archives/%n.tsa"),
                 "--out", directory / "out", "--source", "pattern:?size=4KiB&rate=1kHz"}));
    ASSERT_TRUE(has_begun(directory / "archives"));
    process.signal(number);
    const Ended ended = process.wait();
    expect_whole(ended, number);
    const Figures f = figures_of(ended);
    EXPECT_GT(f.complete, 0u) << ended.describe();
    EXPECT_EQ(f.lost + f.errors + f.incomplete, 0u) << ended.describe();
    EXPECT_EQ(ended.json()["interrupted"], true) << ended.describe();
    EXPECT_EQ(nlohmann::json::parse(read_file(directory / "out/run.json"))["interrupted"], true);
    EXPECT_NE(read_file(directory / "out/report.html").find("</html>"), std::string::npos);
    for (const char* archive : {"archives/0.tsa", "archives/1.tsa"}) {
      const Ended checked = run_weft({"archive", "check", directory / archive});
      EXPECT_EQ(checked.code, 0) << checked.describe();
    }
    EXPECT_TRUE(half_written(directory).empty());
  }
}

/// An error at a sink's end is part of the result.
TEST(stream_signals, end_a_stream_whose_archive_somebody_else_has_written_meanwhile_with_an_error) {
  for (int i = 0; i < 4; ++i) {
    ScratchDirectory directory;
    std::filesystem::create_directory(directory / "archives");
    WeftProcess process(endless({"local", "--sink", "tsa:" + (directory / "archives/%n.tsa"),
                                 "--source", "pattern:?size=4KiB&rate=1kHz"}));
    ASSERT_TRUE(has_begun(directory / "archives"));
    std::filesystem::create_directory(directory / "archives/0.tsa");
    process.signal(SIGINT);
    const Ended ended = process.wait();
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_NE(ended.errors.find("0.tsa"), std::string::npos) << ended.describe();
  }
}

TEST(stream_signals, end_compare_in_order_with_the_runs_so_far) {
  for (const int number : {SIGINT, SIGTERM}) {
    ScratchDirectory directory;
    std::filesystem::create_directory(directory / "archives");
    WeftProcess process(endless({"compare", "--force", "--schedules", "best-effort,offset",
                                 "--sink", "tsa:" + (directory / "archives/%n.tsa"), "--out",
                                 directory / "out", "--source", "pattern:?size=4KiB&rate=1kHz"}));
    ASSERT_TRUE(has_begun(directory / "archives"));
    process.signal(number);
    const Ended ended = process.wait();
    expect_whole(ended, number);
    const auto record = nlohmann::json::parse(read_file(directory / "out/compare.json"));
    ASSERT_EQ(record["runs"].size(), 1u) << ended.describe();
    EXPECT_EQ(record["runs"][0]["interrupted"], true) << ended.describe();
    EXPECT_NE(read_file(directory / "out/report.html").find("</html>"), std::string::npos);
    EXPECT_TRUE(half_written(directory).empty());
  }
}

TEST(stream_signals, a_second_one_ends_a_stream_whose_sink_s_program_never_ends) {
  for (const int number : {SIGINT, SIGTERM}) {
    // The shell's child, too, holds the pipes of this test open for as long as it lives.
    WeftProcess process(
        endless({"local", "--sink", "exec:sh -c 'echo begun >&2; sleep 1000 & wait'"}));
    ASSERT_TRUE(process.says("begun"));
    process.signal(number);
    ASSERT_TRUE(process.says(first_came));
    process.signal(number);
    const Ended ended = process.wait(20);
    expect_whole(ended, number);
    EXPECT_EQ(ended.output, "") << ended.describe();
  }
}

TEST(stream_signals, a_second_one_leaves_no_file_half_written) {
  for (const char* scheme : {"tsa:", "file:"}) {
    ScratchDirectory directory;
    std::filesystem::create_directory(directory / "written");
    const std::string source = directory / "in";
    write_file(source, std::string(1 << 20, 'x'));
    // The program is the second sink: by the time it runs the first has been given a timeslice.
    WeftProcess process(endless({"local", "--source", "file:" + source + "?loop=0&rate=100Hz",
                                 "--sink", scheme + (directory / "written/%n"), "--sink",
                                 "exec:sh -c 'echo begun >&2; sleep 1000'"}));
    ASSERT_TRUE(process.says("begun"));
    process.signal(SIGTERM);
    ASSERT_TRUE(process.says(first_came));
    process.signal(SIGTERM);
    expect_whole(process.wait(20), SIGTERM);
    // The archive has its name and keeps its whole timeslices.
    for (const auto& entry : std::filesystem::directory_iterator(directory / "written")) {
      EXPECT_EQ(scheme, std::string("tsa:")) << entry.path();
      const Ended checked = run_weft({"archive", "check", entry.path()});
      EXPECT_EQ(checked.code, 0) << checked.describe();
      EXPECT_EQ(entry.path().string().find(".part"), std::string::npos) << entry.path();
    }
  }
}

/// A capture of packets of 100 bytes, as libpcap writes it on this machine.
std::string capture(std::uint32_t packets) {
  std::string bytes;
  const auto put = [&bytes](auto... values) {
    (bytes.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  };
  put(std::uint32_t{0xa1b2c3d4}, std::uint16_t{2}, std::uint16_t{4}, std::uint64_t{0},
      std::uint32_t{65535}, std::uint32_t{1});
  for (std::uint32_t i = 0; i < packets; ++i) {
    put(std::uint32_t{1000}, i, std::uint32_t{100}, std::uint32_t{100});
    bytes.append(100, 'p');
  }
  return bytes;
}

TEST(stream_signals, end_a_stream_whose_disk_stands_still) {
  ScratchDirectory directory;
  const std::string path = directory / "disk.pcap";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  // Open for reading too: nobody waits here, and weft never sees an end.
  const int disk = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const std::string bytes = capture(20);
  ASSERT_EQ(::write(disk, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  WeftProcess process({"stream", "local", "--inputs", "1", "--computes", "1", "--duration", "10min",
                       "--json", "--no-limit", "--source", "pcap:" + path + "?cut=250", "--sink",
                       "exec:sh -c 'echo begun >&2'"});
  ASSERT_TRUE(process.says("begun"));
  process.signal(SIGTERM);
  const Ended ended = process.wait(30);
  ::close(disk);
  expect_whole(ended, SIGTERM);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.complete, 0u) << ended.describe();
  EXPECT_EQ(f.lost + f.errors, 0u) << ended.describe();
}

/// Nodes that agree on an end take several round trips.
TEST(stream_signals, end_a_stream_on_links_that_take_seconds) {
  ScratchDirectory directory;
  WeftProcess process({"stream", "local", "--inputs", "1", "--computes", "1", "--duration", "10min",
                       "--json", "--no-limit", "--link", "1Tbit,2s", "--log", "info", "--sink",
                       "tsa:" + (directory / "x.tsa")});
  ASSERT_TRUE(has_begun(directory.path()));
  process.signal(SIGTERM);
  ASSERT_TRUE(process.says("each ends with what its sink has got"));
  const Ended ended = process.wait();
  expect_whole(ended, SIGTERM);
  const Figures f = figures_of(ended);
  EXPECT_GT(f.complete, 0u) << ended.describe();
  EXPECT_EQ(f.lost + f.errors, 0u) << ended.describe();
  const Ended checked = run_weft({"archive", "check", directory / "x.tsa"});
  EXPECT_EQ(checked.code, 0) << checked.describe();
}

/// A writer of that pipe as soon as somebody reads it.
int open_when_read(const std::string& path) {
  for (int i = 0; i < 3000; ++i) {
    const int writer = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (writer >= 0 || errno != ENXIO) return writer;
    ::usleep(10'000);
  }
  return -1;
}

TEST(stream_signals, end_a_stream_whose_source_has_nothing_to_begin_with) {
  for (const char* scheme : {"tsa:", "pcap:"}) {
    ScratchDirectory directory;
    const std::string path = directory / "pipe";
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    WeftProcess process({"stream", "local", "--inputs", "1", "--computes", "1", "--no-limit",
                         "--source", scheme + path, "--sink", "null:"});
    const int writer = open_when_read(path);
    ASSERT_GE(writer, 0);
    process.signal(SIGTERM);
    const Ended ended = process.wait(30);
    ::close(writer);
    expect_whole(ended, SIGTERM);
  }
}

TEST(stream_signals, end_a_stream_whose_consumers_have_not_come) {
  for (const int number : {SIGINT, SIGTERM}) {
    // The program is the first sink: consumers are waited for when it has seen a timeslice.
    WeftProcess process(endless({"local", "--sink", "exec:sh -c 'echo begun >&2'", "--sink",
                                 "shm:signals-" + std::to_string(::getpid()) +
                                     "?groups=nobody:one,some:all:2&wait=3600s"}));
    ASSERT_TRUE(process.says("begun"));
    process.signal(number);
    const Ended ended = process.wait(60);
    expect_whole(ended, number);
    const Figures f = figures_of(ended);
    EXPECT_GT(f.complete, 0u) << ended.describe();
    EXPECT_EQ(f.dropped, f.complete) << ended.describe();
    EXPECT_EQ(f.lost + f.errors, 0u) << ended.describe();
    EXPECT_EQ(ended.errors.find("ended by signal"), std::string::npos) << ended.describe();
  }
}

TEST(stream_signals, a_program_of_a_sink_can_be_ended_by_others) {
  // Nodes ignore both signals; the programs that they start do not.
  const Ended ended =
      run_weft({"stream", "local", "--inputs", "1", "--computes", "1", "--timeslices", "1",
                "--no-limit", "--json", "--sink", "exec:sh -c 'kill -TERM $$; exit 0'"});
  EXPECT_EQ(figures_of(ended).errors, 1u) << ended.describe();
  EXPECT_NE(ended.output.find("was ended by signal 15"), std::string::npos) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e
