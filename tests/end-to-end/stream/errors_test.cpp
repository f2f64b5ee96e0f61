// SPDX-License-Identifier: Apache-2.0
// Errors of users, and refusals of the system: one clear line, the documented exit code, an end.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

constexpr int found_wrong = 1;
constexpr int usage = 2;
constexpr int system_refused = 3;

std::vector<std::string> short_job(const std::vector<std::string>& more) {
  std::vector<std::string> arguments{"stream", "local",        "--no-limit",
                                     "--json", "--timeslices", "50"};
  for (const char* nodes : {"--inputs", "--computes"}) {
    if (std::find(more.begin(), more.end(), nodes) != more.end()) continue;
    arguments.insert(arguments.end(), {nodes, "2"});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// One line on standard error, which begins "weft: " and contains `word`; nothing on standard
/// output.
void expect_one_line(const Ended& ended, int code, std::string_view word) {
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, code) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_EQ(ended.output, "") << ended.describe();
  std::size_t lines = 0, from = 0;
  while (from < ended.errors.size()) {
    const std::size_t end = std::min(ended.errors.find('\n', from), ended.errors.size());
    EXPECT_EQ(ended.errors.compare(from, 6, "weft: "), 0) << ended.describe();
    from = end + 1;
    ++lines;
  }
  EXPECT_EQ(lines, 1u) << ended.describe();
  EXPECT_NE(ended.errors.find(word), std::string::npos) << ended.describe();
}

struct Mistake {
  const char* name;
  std::vector<std::string> arguments;
  const char* word;
};
void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}
class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, get_one_line_and_exit_code_2) {
  expect_one_line(run_weft(short_job(GetParam().arguments), 30), usage, GetParam().word);
}

INSTANTIATE_TEST_SUITE_P(
    stream, Mistakes,
    testing::Values(
        Mistake{"option", {"--shedule", "dfs"}, "--shedule"},
        Mistake{"schedule", {"--schedule", "fastest"}, "fastest"},
        Mistake{"fabric", {"--fabric", "ether"}, "ether"},
        Mistake{"provider", {"--fabric", "libfabric:ether"}, "ether"},
        Mistake{"link", {"--link", "12xyz"}, "12xyz"},
        Mistake{"latency", {"--link", "200Mbit,soon"}, "soon"},
        Mistake{"number", {"--inputs", "many"}, "many"},
        Mistake{"negative", {"--seed", "-1"}, "seed"},
        Mistake{"no_inputs", {"--inputs", "0"}, "--inputs"},
        Mistake{"no_computes", {"--computes", "0"}, "--computes"},
        Mistake{"buffer", {"--buffer", "1MB2"}, "1MB2"},
        Mistake{"buffer_too_large", {"--buffer", "17TiB"}, "--buffer"},
        Mistake{"input_buffer_too_large", {"--input-buffer", "17TiB"}, "--input-buffer"},
        Mistake{"microslices",
                {"--microslices-per-timeslice", "16777216"},
                "--microslices-per-timeslice"},
        Mistake{"overlap", {"--overlap", "4000000000"}, "--overlap"},
        Mistake{"duration", {"--duration", "soon"}, "soon"},
        Mistake{"start_timeout", {"--start-timeout", "0s"}, "--start-timeout"},
        Mistake{"log", {"--log", "loud"}, "loud"},
        Mistake{"source", {"--source", "nope:"}, "nope:"},
        Mistake{"source_key", {"--source", "pattern:?sise=1KiB"}, "sise"},
        Mistake{"source_value", {"--source", "pattern:?size=big"}, "big"},
        Mistake{"source_file", {"--source", "file:/no/such/file"}, "/no/such/file"},
        Mistake{"source_archive", {"--source", "tsa:/no/such.tsa"}, "/no/such.tsa"},
        Mistake{"source_capture", {"--source", "pcap:/no/such.pcap"}, "/no/such.pcap"},
        Mistake{"sink", {"--sink", "nope:"}, "nope:"},
        Mistake{"sink_folder", {"--sink", "tsa:/no/such/%n.tsa"}, "/no/such/"},
        Mistake{"sink_program", {"--sink", "exec:/no/such/program"}, "/no/such/program"},
        Mistake{"shared_file", {"--sink", "tsa:/tmp/one.tsa"}, "%n"},
        Mistake{"fault", {"--fault", "at=1s eat host1"}, "eat"},
        Mistake{"fault_host", {"--fault", "at=1s kill host9"}, "host9"},
        Mistake{"fault_without_testbed", {"--fault", "at=0s link-down host1"}, "testbed"},
        Mistake{"slow_without_link", {"--fault", "at=0s slow host1 1Mbit"}, "slow"},
        Mistake{"testbed", {"--testbed", "nope"}, "nope"},
        Mistake{"testbed_shares_no_memory", {"--testbed", "1Gbit", "--fabric", "shm"}, "tcp"},
        Mistake{"metrics", {"--metrics", "nope"}, "nope"},
        Mistake{"config", {"--config", "/no/such.toml"}, "/no/such.toml"},
        Mistake{"contribution_larger_than_the_buffer",
                {"--source", "pattern:?size=2MiB", "--buffer", "1MiB"},
                "--buffer"},
        Mistake{"timeslice_larger_than_the_buffer",
                {"--source", "pattern:?size=300KiB", "--microslices-per-timeslice", "4", "--buffer",
                 "1MiB"},
                "--buffer"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(stream_errors, archive_that_is_none_is_refused) {
  ScratchDirectory directory;
  write_file(directory / "junk.tsa", std::string(4000, 'j'));
  expect_one_line(run_weft(short_job({"--source", "tsa:" + (directory / "junk.tsa")}), 30), usage,
                  "junk.tsa");
}

TEST(stream_errors, archive_that_is_truncated_or_damaged_is_noticed) {
  ScratchDirectory directory;
  const Ended written = run_weft({"stream", "local", "--inputs", "2", "--computes", "1", "--source",
                                  "pattern:?size=1KiB", "--timeslices", "50", "--sink",
                                  "tsa:" + (directory / "good.tsa"), "--no-limit", "--json"});
  expect_all_complete(written);
  const std::string good = read_file(directory / "good.tsa");
  ASSERT_GT(good.size(), 10000u);
  write_file(directory / "short.tsa", good.substr(0, good.size() * 2 / 3 + 1));
  expect_one_line(run_weft({"archive", "check", directory / "short.tsa"}, 30), found_wrong,
                  "short.tsa");
  expect_one_line(run_weft(short_job({"--source", "tsa:" + (directory / "short.tsa")}), 30),
                  found_wrong, "short.tsa");
  // The length of something becomes huge: eight bytes of ones in the middle of the second item.
  std::string damaged = good;
  damaged.replace(good.size() / 25, 8, 8, '\xff');
  write_file(directory / "damaged.tsa", damaged);
  const Ended ended = run_weft(
      short_job({"--source", "tsa:" + (directory / "damaged.tsa"), "--sink", "check:"}), 30);
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, found_wrong) << ended.describe();
  EXPECT_EQ(ended.orphans, 0u) << ended.describe();
  EXPECT_LT(ended.largest_kib, memory_factor * (256L << 10)) << ended.describe();
}

TEST(stream_errors, full_disk_ends_the_run) {
  expect_one_line(run_weft({"stream", "local", "--inputs", "2", "--computes", "1", "--sink",
                            "tsa:/dev/full", "--timeslices", "200", "--no-limit", "--json"},
                           30),
                  system_refused, "/dev/full");
}

TEST(stream_errors, a_report_of_what_weft_did_not_write_names_a_command_that_does) {
  ScratchDirectory directory;
  expect_one_line(run_weft({"report", directory.path()}, 30), usage,
                  "make such a directory with weft stream local --out DIR");
  std::ofstream(directory / "run.json") << "{}";
  expect_one_line(run_weft({"report", directory.path()}, 30), usage,
                  "run.json is there, and weft did not write it; make such a directory with weft");
}

TEST(stream_errors, memory_that_ends_is_told) {
  if (memory_factor > 1) GTEST_SKIP() << "sanitizers reserve more addresses than the limit";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const rlimit little{.rlim_cur = 300'000'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  WeftProcess simulation({"simulate", "uniform", "--topology", "fat-tree:65536"});
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  expect_one_line(simulation.wait(30), system_refused, "out of memory; use fewer processes");
}

TEST(stream_errors, numbers_that_no_type_has_are_told_with_the_options_limits) {
  expect_one_line(run_weft({"stream", "local", "--computes", "4294967296"}, 30), usage,
                  "--computes: '4294967296' is no number from 1 to 8192");
}

TEST(stream_errors, a_limit_of_file_sizes_is_told) {
  ScratchDirectory directory;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  WeftProcess simulation(
      {"simulate", "uniform", "--topology", "fat-tree:64", "--trace", directory / "trace"});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  expect_one_line(simulation.wait(30), system_refused, "File too large; raise the limit");
}

TEST(stream_errors, standard_output_that_cannot_be_written_is_told) {
  ScratchDirectory directory;
  const std::string errors = directory / "errors";
  const int status = std::system((program() + " generate man > /dev/full 2> " + errors).c_str());
  EXPECT_EQ(WEXITSTATUS(status), system_refused);
  std::ifstream text(errors);
  std::string line;
  std::getline(text, line);
  EXPECT_NE(line.find("cannot write"), std::string::npos) << line;
}

TEST(stream_errors, disk_that_becomes_full_ends_the_run) {
  for (const char* scheme : {"tsa:", "file:"}) {
    ScratchDirectory directory;
    const std::string source = directory / "in";
    write_file(source, std::string(16 << 20, 'x'));
    WeftProcess process(
        {"stream", "local", "--inputs", "2", "--computes", "1", "--source", "file:" + source,
         "--sink", scheme + (directory / "grows"), "--buffer", "256KiB", "--no-limit", "--json"},
        4 << 20);
    expect_one_line(process.wait(30), system_refused, "grows");
  }
}

/// A shell's exit code in a mount namespace whose `directory` is a disk of 4 MiB.
int run_on_small_disk(const std::string& directory, const std::string& script) {
  const std::string command = fmt::format(
      "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs -o size=4m none {} && cd {} && "
      "{}'",
      directory, directory, script);
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(stream_errors, full_disk_keeps_the_timeslices_that_are_whole) {
  ScratchDirectory directory;
  const std::string disk = directory / "disk";
  std::filesystem::create_directory(disk);
  if (run_on_small_disk(disk, "true") != 0) GTEST_SKIP() << "no mount namespaces here";
  std::string noise(16 << 20, ' ');  // that zstd cannot shrink
  std::mt19937 random(1);
  for (char& c : noise) c = static_cast<char>(random());
  write_file(directory / "in", noise);
  for (const char* sink :
       {"tsa:whole.tsa", "tsa:whole.tsa?zstd", "tsa:%s.tsa?items=3", "tsa:large.tsa", "file:out"}) {
    // Timeslices of two inputs: 128 KiB of which the disk has room for several, or 6 MiB.
    const bool is_large = std::string_view(sink).find("large") != std::string_view::npos;
    const bool is_archive = !is_large && std::string_view(sink).starts_with("tsa:");
    const std::string script = fmt::format(
        "{} stream local --inputs 2 --computes 1 --source file:{}/in --sink \"{}\" --buffer 8MiB "
        "--microslices-per-timeslice {} --no-limit --json 2> {}/errors; code=$?; ls -A > {}/left; "
        "for f in *.tsa; do [ ! -e $f ] || {} archive check $f || exit 9; done > {}/checked; "
        "exit $code",
        program(), directory.path(), sink, is_large ? 48 : 1, directory.path(), directory.path(),
        program(), directory.path());
    EXPECT_EQ(run_on_small_disk(disk, script), system_refused) << sink;
    const std::string errors = read_file(directory / "errors");
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
    EXPECT_NE(errors.find("No space left on device; free space"), std::string::npos) << errors;
    const std::string left = read_file(directory / "left");
    EXPECT_EQ(left.find("part"), std::string::npos) << left;
    EXPECT_EQ(left.empty(), !is_archive) << sink << " left " << left;
    EXPECT_EQ(errors.find("timeslices before it are kept") != std::string::npos, is_archive)
        << errors;
    EXPECT_EQ(errors.find("nothing is kept") != std::string::npos, is_large) << errors;
    // Each line: FILE: N timeslices, …
    std::istringstream checked(read_file(directory / "checked"));
    std::uint64_t kept = 0;
    for (std::string line; std::getline(checked, line);) {
      kept += std::stoull(line.substr(line.find(": ") + 2));
    }
    if (is_archive) {
      EXPECT_NE(errors.find(fmt::format("the {} timeslices before", kept)), std::string::npos)
          << errors << kept;
    }
  }
}

TEST(stream_errors, full_disk_names_the_archive_of_the_node_that_met_it) {
  ScratchDirectory directory;
  const std::string disk = directory / "disk";
  std::filesystem::create_directory(disk);
  if (run_on_small_disk(disk, "true") != 0) GTEST_SKIP() << "no mount namespaces here";
  const std::string script = fmt::format(
      "{} stream local --inputs 2 --computes 2 --sink \"tsa:run_%n.tsa\" --no-limit --json "
      "2> {}/errors; code=$?; {} archive check *.tsa || exit 9; exit $code",
      program(), directory.path(), program());
  EXPECT_EQ(run_on_small_disk(disk, script), system_refused);
  // The node that meets the full disk first ends the job; the other may have no timeslice then.
  const std::string errors = read_file(directory / "errors");
  EXPECT_TRUE(errors.find("'run_0.tsa'") != std::string::npos ||
              errors.find("'run_1.tsa'") != std::string::npos)
      << errors;
  EXPECT_EQ(errors.find("%n"), std::string::npos) << errors;
}

TEST(stream_errors, metrics_port_in_use_is_named) {
  const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) GTEST_SKIP() << "no IPv6 on this machine";
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  socklen_t length = sizeof any;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&any), &length), 0);
  const std::string port = fmt::format("{}", ntohs(any.sin6_port));
  expect_one_line(run_weft(short_job({"--metrics", ":" + port}), 30), system_refused, port);
  close(listener);
}

TEST(stream_errors, directory_for_the_report_that_cannot_be_made_is_named) {
  const Ended ended = run_weft(short_job({"--out", "/dev/null/out"}), 30);
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, system_refused) << ended.describe();
  EXPECT_NE(ended.errors.find("weft: "), std::string::npos) << ended.describe();
  EXPECT_NE(ended.errors.find("/dev/null/out"), std::string::npos) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e
