// SPDX-License-Identifier: Apache-2.0
// The output of runs, their endpoints, and the files that they leave behind.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

using testing::HasSubstr;

/// A TCP port that nobody listens on at the moment.
std::uint16_t free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  (void)bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address);
  (void)getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length);
  close(probe);
  return ntohs(address.sin_port);
}

/// The whole answer to a request for PATH; empty when nobody listens.
std::string http_get(std::uint16_t port, std::string_view path) {
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    (void)send(client, request.data(), request.size(), MSG_NOSIGNAL);
    std::array<char, 4096> bytes;
    ssize_t count = 0;
    while ((count = recv(client, bytes.data(), bytes.size(), 0)) > 0) {
      answer.append(bytes.data(), static_cast<std::size_t>(count));
    }
  }
  close(client);
  return answer;
}

/// Everything that the program writes to a terminal on its standard error.
std::string shown_on_terminal(std::vector<std::string> command) {
  command.insert(command.begin(), program());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int terminal = -1;
  const winsize wide{.ws_row = 24, .ws_col = 200, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, &wide);
  if (pid == 0) {
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  std::string shown;
  std::array<char, 4096> bytes;
  ssize_t count = 0;
  // Reading fails when the last process has closed the terminal.
  while ((count = ::read(terminal, bytes.data(), bytes.size())) > 0) {
    shown.append(bytes.data(), static_cast<std::size_t>(count));
  }
  ::close(terminal);
  (void)::waitpid(pid, nullptr, 0);
  return shown;
}

TEST(stream_output, progress_has_no_rate_before_there_is_one) {
  const std::string shown = shown_on_terminal({"stream", "local", "--inputs", "1", "--computes",
                                               "1", "--duration", "1200ms", "--no-limit"});
  EXPECT_THAT(shown, HasSubstr("of 1.2 s")) << "progress is shown";
  EXPECT_THAT(shown, testing::Not(HasSubstr(", 0 B/s")));
}

TEST(stream_output, says_that_nobody_took_what_was_built) {
  const Ended ended =
      run_weft({"stream", "local", "--inputs", "1", "--computes", "1", "--timeslices", "5",
                "--no-limit", "--sink", fmt::format("shm:weft-output-test-{}", getpid())});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_THAT(ended.output, HasSubstr("5 timeslices dropped")) << ended.describe();
}

TEST(stream_output, says_that_a_source_is_empty) {
  ScratchDirectory directory;
  write_file(directory / "empty", "");
  std::vector<std::string> job{"stream", "local",      "--inputs", "2",      "--computes",
                               "1",      "--no-limit", "--sink",   "check:", "--source"};
  job.push_back("file:" + (directory / "empty"));
  const Ended ended = run_weft(job);
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr("the source gave no data")) << ended.describe();
  job.back() = "file:" + directory.path();
  const Ended refused = run_weft(job);
  EXPECT_EQ(refused.code, 2) << refused.describe();
  EXPECT_THAT(refused.errors, HasSubstr("no ordinary file below the directory"))
      << refused.describe();
}

TEST(stream_output, json_is_one_object_with_every_documented_member) {
  const Ended ended =
      run_weft({"stream", "local", "--inputs", "2", "--computes", "3", "--schedule", "dfs",
                "--timeslices-per-interval", "32", "--seed", "42", "--sink",
                "check:", "--timeslices", "600", "--limit-duration", "300ms", "--json"});
  expect_all_complete(ended);
  const auto json = ended.json();
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.describe();
  for (const char* member : {"schedule",
                             "fabric",
                             "inputs",
                             "computes",
                             "timeslices_sent",
                             "timeslices_complete",
                             "timeslices_incomplete",
                             "timeslices_lost",
                             "bytes",
                             "seconds",
                             "goodput_bytes_per_s",
                             "limit_bytes_per_s",
                             "goodput_of_limit",
                             "spread_us",
                             "spread_floor_us",
                             "buffer_fill",
                             "credit_waits",
                             "intervals",
                             "seed",
                             "version"}) {
    EXPECT_TRUE(json.contains(member)) << member << "\n" << ended.describe();
  }
  EXPECT_EQ(json.value("schedule", ""), "dfs");
  EXPECT_EQ(json.value("inputs", 0), 2);
  EXPECT_EQ(json.value("computes", 0), 3);
  EXPECT_EQ(json.value("seed", 0), 42);
  // Content is at least the pattern's: 600 timeslices of 2 × 64 KiB.
  EXPECT_GE(json.value("bytes", 0ll), 600ll * 2 * 65536) << ended.describe();
  for (const char* member : {"limit_bytes_per_s", "goodput_of_limit", "goodput_bytes_per_s",
                             "seconds", "spread_floor_us"}) {
    ASSERT_TRUE(json[member].is_number()) << member << "\n" << ended.describe();
    EXPECT_GT(json[member].get<double>(), 0) << member << "\n" << ended.describe();
  }
  for (const char* figure : {"min", "p10", "median", "p90", "max"}) {
    EXPECT_TRUE(json["spread_us"].contains(figure)) << ended.describe();
    EXPECT_TRUE(json["buffer_fill"].contains(figure)) << ended.describe();
  }
  ASSERT_FALSE(json["intervals"].empty()) << ended.describe();
  for (const char* member : {"id", "proposed_us", "actual_us"}) {
    EXPECT_TRUE(json["intervals"][0].contains(member)) << ended.describe();
  }
}

TEST(stream_output, log_does_not_go_between_the_json) {
  const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                                "check:", "--duration", "2s", "--peer-timeout", "1s", "--fault",
                                "at=500ms kill host3", "--log", "debug", "--no-limit", "--json"});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_TRUE(ended.json().is_object()) << ended.describe();
  EXPECT_NE(ended.errors, "") << ended.describe();
}

TEST(stream_output, same_seed_is_the_same_data) {
  std::array<long long, 3> bytes{};
  for (int i = 0; i < 3; ++i) {
    const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2", "--source",
                                  "pattern:?size=8KiB&sizes=uniform&count=200", "--seed",
                                  i < 2 ? "5" : "6", "--sink", "check:", "--no-limit", "--json"});
    expect_all_complete(ended);
    bytes[static_cast<std::size_t>(i)] = ended.json().value("bytes", 0ll);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_NE(bytes[0], bytes[2]);
}

TEST(stream_output, out_leaves_a_record_and_a_report) {
  ScratchDirectory directory;
  const std::string out = directory / "new/folder";
  const Ended ended = run_weft({"stream", "local", "--inputs", "2", "--computes", "2",
                                "--timeslices", "200", "--no-limit", "--out", out});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  const auto record = nlohmann::json::parse(read_file(out + "/run.json"), nullptr, false);
  ASSERT_TRUE(record.is_object()) << ended.describe();
  EXPECT_FALSE(record["series"]["timeslices"].empty());
  EXPECT_THAT(record.value("command", ""), HasSubstr("stream local"));
  EXPECT_THAT(read_file(out + "/report.html"), HasSubstr("</html>"));
  EXPECT_THAT(ended.output, HasSubstr("report.html"));
}

TEST(stream_output, compare_leaves_one_record_of_all_schedules) {
  ScratchDirectory directory;
  const Ended ended =
      run_weft({"stream", "compare", "--inputs", "2", "--computes", "2", "--timeslices", "200",
                "--limit-duration", "300ms", "--sink", "check:", "--schedules",
                "best-effort,offset,dfs,grant", "--json", "--out", directory.path()});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  const auto printed = ended.json();
  ASSERT_TRUE(printed.is_object()) << ended.describe();
  const auto record = nlohmann::json::parse(read_file(directory / "compare.json"), nullptr, false);
  ASSERT_TRUE(record.is_object()) << ended.describe();
  std::vector<std::string> schedules;
  for (const auto& run : record["runs"]) {
    schedules.push_back(run.value("schedule", ""));
    EXPECT_EQ(run["timeslices_complete"], run["timeslices_sent"]) << ended.describe();
  }
  EXPECT_THAT(schedules, testing::ElementsAre("best-effort", "offset", "dfs", "grant"));
  EXPECT_EQ(printed["runs"].size(), 4u);
  EXPECT_THAT(read_file(directory / "report.html"), HasSubstr("</html>"));
}

TEST(stream_output, compare_prints_one_row_per_schedule) {
  const Ended ended =
      run_weft({"stream", "compare", "--inputs", "2", "--computes", "2", "--timeslices", "100",
                "--no-limit", "--schedules", "offset,grant"});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 3) << ended.describe();
  EXPECT_THAT(ended.output, HasSubstr("\noffset"));
  EXPECT_THAT(ended.output, HasSubstr("\ngrant"));
}

TEST(stream_output, compare_says_in_which_run_a_node_died) {
  const Ended ended =
      run_weft({"stream", "compare", "--inputs", "2", "--computes", "2", "--schedules",
                "offset,grant", "--duration", "700ms", "--peer-timeout", "1s", "--fault",
                "at=200ms kill host3", "--no-limit"});
  EXPECT_EQ(ended.code, 0) << ended.describe();
  for (const char* schedule : {"offset", "grant"}) {
    EXPECT_THAT(ended.errors, HasSubstr(fmt::format("[{}] node 3 ended by signal 9", schedule)))
        << ended.describe();
  }
}

TEST(stream_output, limit_measures_each_size_with_and_without_small_messages) {
  for (const char* fabric : {"tcp", "libfabric:shm"}) {
    const Ended ended =
        run_weft({"stream", "limit", "--inputs", "2", "--computes", "2", "--fabric", fabric,
                  "--sizes", "16KiB..64KiB", "--mix", "--limit-duration", "200ms", "--json"});
    EXPECT_EQ(ended.code, 0) << ended.describe();
    const auto json = ended.json();
    ASSERT_TRUE(json.is_object()) << ended.describe();
    std::vector<std::pair<long, bool>> rows;
    for (const auto& row : json["limit"]) {
      rows.emplace_back(row["message_bytes"], row["mix"]);
      EXPECT_GT(row["round_us"].get<double>(), 0) << ended.describe();
      EXPECT_GT(row["aggregate_bytes_per_s"].get<double>(), 0) << ended.describe();
      EXPECT_NEAR(row["aggregate_bytes_per_s"].get<double>(),
                  2 * row["bandwidth_per_sender_bytes_per_s"].get<double>(), 1)
          << ended.describe();
    }
    using Row = std::pair<long, bool>;
    EXPECT_THAT(rows, testing::ElementsAre(Row(16384, false), Row(16384, true), Row(32768, false),
                                           Row(32768, true), Row(65536, false), Row(65536, true)));
  }
}

TEST(stream_output, metrics_can_be_scraped_while_a_stream_runs) {
  const std::uint16_t port = free_port();
  WeftProcess process({"stream", "local", "--inputs", "2", "--computes", "2", "--sink",
                       "check:", "--sink", "exec:sh -c 'echo has begun >&2'", "--source",
                       "pattern:?size=4KiB&rate=50Hz", "--duration", "60s", "--no-limit", "--json",
                       "--metrics", fmt::format("127.0.0.1:{}", port)});
  ASSERT_TRUE(process.says("has begun"));
  // The first figures come with the first progress; ask until they are there.
  std::string answer;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  do {
    answer = http_get(port, "/metrics");
  } while ((answer.empty() || answer.find("weft_timeslices_total 0\n") != std::string::npos) &&
           std::chrono::steady_clock::now() < deadline);
  EXPECT_THAT(answer, HasSubstr("200 OK"));
  EXPECT_THAT(answer, HasSubstr("application/openmetrics-text"));
  for (const char* name :
       {"weft_timeslices_total", "weft_delivered_bytes_total", "weft_goodput_bytes_per_second",
        "weft_spread_seconds", "weft_buffer_fill_ratio", "# EOF\n"}) {
    EXPECT_THAT(answer, HasSubstr(name));
  }
  EXPECT_THAT(answer, testing::Not(HasSubstr("weft_timeslices_total 0\n")));
  EXPECT_THAT(http_get(port, "/elsewhere"), HasSubstr("404"));
  process.signal(SIGINT);
  const Ended ended = process.wait();
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(http_get(port, "/metrics"), "");
}

TEST(stream_output, options_can_come_from_a_file) {
  ScratchDirectory directory;
  write_file(directory / "job.toml",
             "inputs = 2\ncomputes = 3\nschedule = \"offset\"\ntimeslices = 120\n"
             "sink = [\"check:\"]\nno-limit = true\njson = true\n");
  const Ended ended =
      run_weft({"stream", "local", "--config", directory / "job.toml", "--inputs", "3"});
  expect_all_complete(ended);
  EXPECT_EQ(ended.json().value("schedule", ""), "offset") << ended.describe();
  EXPECT_EQ(ended.json().value("computes", 0), 3) << ended.describe();
  EXPECT_EQ(ended.json().value("inputs", 0), 3) << "the command line wins\n" << ended.describe();
}

TEST(stream_output, a_file_of_options_is_told_of_wrong_values_as_the_command_line_is) {
  ScratchDirectory directory;
  for (const auto& [line, words] : std::vector<std::pair<std::string, std::string>>{
           {"descriptors = 99999999999", "too large: give at most 4294967295"},
           {"inputs = \"many\"", "'many' is no number from 1 to 8192"},
           {"schedules = [\"dfs\", \"dfs\"]", "'dfs' is there twice"},
           {"schedules = \"fast\"", "'fast' is none of best-effort, offset, dfs, grant"}}) {
    write_file(directory / "job.toml", line + "\n");
    const Ended ended = run_weft({"stream", "compare", "--config", directory / "job.toml"}, 30);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_THAT(ended.errors, HasSubstr("job.toml:1: --" + line.substr(0, line.find(' ')) + ": "))
        << ended.describe();
    EXPECT_THAT(ended.errors, HasSubstr(words)) << ended.describe();
  }
}

TEST(stream_output, help_ends_with_three_examples) {
  for (const char* command : {"local", "compare", "limit"}) {
    const Ended ended = run_weft({"stream", command, "--help"});
    EXPECT_EQ(ended.code, 0) << ended.describe();
    const std::size_t examples = ended.output.rfind("Examples:\n");
    ASSERT_NE(examples, std::string::npos) << ended.describe();
    EXPECT_EQ(
        std::count(ended.output.begin() + static_cast<long>(examples), ended.output.end(), '\n'), 4)
        << ended.describe();
  }
}

int exit_code_of(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(stream_output, record_and_report_do_not_depend_on_a_reader_of_the_output) {
  if (exit_code_of("stdbuf -o0 true 2> /dev/null") != 0) GTEST_SKIP() << "no stdbuf here";
  const std::pair<const char*, const char*> commands[] = {
      {"stream local", "run.json"},
      {"stream local --json", "run.json"},
      {"stream compare --schedules offset", "compare.json"}};
  for (const auto& [command, record] : commands) {
    ScratchDirectory directory;
    // Without a buffer, so that the first word that is printed meets the full device.
    EXPECT_EQ(exit_code_of(fmt::format(
                  "stdbuf -o0 {} {} --inputs 1 --computes 1 --timeslices 20 --no-limit --out "
                  "{}/out > /dev/full 2> /dev/null",
                  program(), command, directory.path())),
              3);
    EXPECT_TRUE(nlohmann::json::accept(read_file(directory / "out/" + record))) << command;
    EXPECT_NE(read_file(directory / "out/report.html"), "") << command;
  }
}

TEST(stream_output, warnings_that_nobody_takes_change_no_exit_code) {
  ScratchDirectory directory;
  write_file(directory / "empty", "");
  const std::string command =
      fmt::format("{} stream local --inputs 1 --computes 1 --no-limit --source file:{}/empty",
                  program(), directory.path());
  EXPECT_EQ(exit_code_of(command + " > /dev/null 2> " + (directory / "errors")), 0);
  EXPECT_THAT(read_file(directory / "errors"), HasSubstr("the source gave no data"));
  EXPECT_EQ(exit_code_of(command + " > /dev/null 2> /dev/full"), 0);
}

TEST(crowd, of_processes_is_announced_before_they_start) {
  const auto notices = [](std::uint32_t computes, const char* level) {
    // The job ends as soon as its sinks find no directory.
    const Ended ended =
        run_weft({"stream", "local", "--inputs", "1", "--computes", std::to_string(computes),
                  "--sink", "tsa:/no/such/%n", "--log", level, "--no-limit", "--timeslices", "1"},
                 30);
    EXPECT_NE(ended.code, 0);
    return ended.errors.find("processes on ");
  };
  const std::uint32_t cores = std::thread::hardware_concurrency();
  if (8 * cores > 40) GTEST_SKIP() << "too many processes for a test";
  EXPECT_EQ(notices(8 * cores - 2, "warning"), std::string::npos);
  EXPECT_NE(notices(8 * cores - 1, "warning"), std::string::npos);
  EXPECT_EQ(notices(8 * cores - 1, "error"), std::string::npos);
}

}  // namespace
}  // namespace weft::e2e
