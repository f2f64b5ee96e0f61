// SPDX-License-Identifier: Apache-2.0
// Impossible command lines, refused before any work begins; files that a command never destroys;
// help texts.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "weft_run.hpp"

namespace weft::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr int usage = 2;

/// One line on standard error, which begins "weft: " and contains `words`; nothing was done.
void expect_refused(const Ended& ended, const std::string& words) {
  EXPECT_FALSE(ended.hung) << ended.describe();
  EXPECT_EQ(ended.code, usage) << ended.describe();
  EXPECT_EQ(ended.output, "") << ended.describe();
  EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  EXPECT_THAT(ended.errors, StartsWith("weft: ")) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr(words)) << ended.describe();
}

std::string scenario(const std::string& name) {
  return WEFT_SCENARIOS "/" + name;
}

struct Refusal {
  const char* name;
  std::vector<std::string> arguments;
  const char* words;
};
void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}
class Impossible : public testing::TestWithParam<Refusal> {};

TEST_P(Impossible, is_refused_before_work_begins) {
  expect_refused(run_weft(GetParam().arguments, 30), GetParam().words);
}

INSTANTIATE_TEST_SUITE_P(
    command_line, Impossible,
    testing::Values(
        Refusal{
            "one_unknown_schedule", {"stream", "compare", "--schedules", "dfs,fastest"}, "fastest"},
        Refusal{"too_many_nodes",
                {"stream", "local", "--inputs", "8192", "--computes", "8192", "--duration", "1s"},
                "this machine has"},
        Refusal{"too_many_simulated_nodes",
                {"stream", "local", "--fabric", "sim:" + scenario("star-100mbit.toml"), "--inputs",
                 "8192", "--computes", "8192"},
                "--inputs 8192"},
        Refusal{"a_simulation_of_one_node",
                {"stream", "node", "--fabric", "sim:aries-128.toml"},
                "use weft stream local"},
        Refusal{"too_many_nodes_of_a_limit",
                {"stream", "limit", "--inputs", "8192", "--computes", "8192"},
                "--inputs 8192"},
        Refusal{"no_nodes_of_a_limit", {"stream", "limit", "--inputs", "0"}, "--inputs"},
        Refusal{"unknown_option_with_a_value",
                {"archive", "cut", "x.tsa", "--first", "99", "--out", "y.tsa"},
                "unknown option '--first' of weft archive cut"},
        Refusal{"packet_of_nothing",
                {"simulate", "uniform", "--packet", "0"},
                "--packet: 0 B is no size of a packet; use 1 B to 1MiB"},
        Refusal{"shaped_links_of_a_testbed",
                {"stream", "local", "--link", "200Mbit", "--testbed", "100Mbit"},
                "--link: the nodes of --testbed have real links"},
        Refusal{"no_time_for_a_limit",
                {"stream", "local", "--limit-duration", "0"},
                "--limit-duration: 0 leaves no time to measure in"},
        Refusal{"no_time_for_peers",
                {"run", "-n", "2", "--timeout", "0", "--", "true"},
                "--timeout: 0 leaves processes no time to find each other"},
        Refusal{"provider_that_is_missing",
                {"stream", "local", "--timeslices", "3", "--fabric", "libfabric:nosuch"},
                "--fabric libfabric:nosuch: libfabric provider \"nosuch\" offers no"},
        Refusal{"reference_that_is_no_toml",
                {"stream", "local", "--reference", WEFT_SCENARIOS "/../ring.cpp"},
                "; correct that line, or name a file such as examples/references/paper-1.toml"},
        Refusal{"topology_that_is_no_toml",
                {"simulate", "uniform", "--topology", "file:" WEFT_SCENARIOS "/../ring.cpp"},
                "; correct that line, or name another topology"},
        Refusal{
            "socket_in_a_directory_that_is_missing",
            {"stream", "local", "--timeslices", "3", "--computes", "1", "--sink", "shm:no/such"},
            "--sink: cannot create 'no/such.0': No such file or directory; make its directory"},
        Refusal{"overlap",
                {"stream", "local", "--timeslices", "10", "--overlap", "4000000000"},
                "--overlap 4000000000"},
        Refusal{"sink_directory",
                {"stream", "local", "--timeslices", "10", "--sink", "file:/tmp"},
                "--sink: 'file:/tmp': is a directory; name a file in it"},
        Refusal{"group_that_nobody_joins",
                {"stream", "local", "--timeslices", "10", "--inputs", "1", "--computes", "1",
                 "--no-limit", "--sink", "shm:nobody-joins-this?groups=a:one:2&wait=200ms"},
                "group a still lacks 2"},
        Refusal{"foreign_program",
                {"run", "--fabric", "sim:" + scenario("programs.toml"), "-n", "2", "--", "true"},
                "never called weft::run_program"},
        Refusal{"program_in_an_experiment",
                {"run", "--fabric", "sim:" + scenario("qos-small.toml"), "-n", "2", "--", "true"},
                "run it with weft qos --scenario"},
        Refusal{"foreign_program_by_seeds",
                {"run", "--fabric", "sim:" + scenario("programs.toml"), "-n", "2", "--seeds",
                 "1..2", "--", "true"},
                "never called weft::run_program"},
        Refusal{"load", {"simulate", "uniform", "--load", "7"}, "--load: 7"},
        Refusal{"congestion_control",
                {"testbed", "run", "--hosts", "2", "--congestion-control", "nosuch", "--", "true"},
                "use one of"},
        Refusal{"schedule_of_a_comparison",
                {"stream", "compare", "--schedule", "dfs"},
                "did you mean --schedules?"},
        Refusal{"option_of_another_schedule",
                {"stream", "local", "--schedule", "best-effort", "--grant-late-factor", "3"},
                "--grant-late-factor: is of schedule grant, and best-effort has no use for it"},
        Refusal{"option_of_no_schedule_of_a_comparison",
                {"stream", "compare", "--schedules", "offset,grant", "--history", "3"},
                "--history: is of schedule dfs, and offset,grant has no use for it"},
        Refusal{"sink_of_a_limit",
                {"stream", "limit", "--sink", "check:"},
                "--sink: weft stream limit"},
        Refusal{
            "options_in_front_of_a_command", {"simulate", "--json", "uniform"}, "behind uniform"},
        Refusal{"jobs_without_seeds", {"run", "--jobs", "2", "--", "true"}, "--seeds"},
        Refusal{"failing_outbox_without_outbox",
                {"run", "--restart", "on-failure", "--outbox-fails", "--", "true"},
                "--outbox SIZE"},
        Refusal{
            "restarts_without_restart", {"run", "--most-restarts", "2", "--", "true"}, "--restart"},
        Refusal{"link_of_programs_that_is_none",
                {"run", "-n", "2", "--link", "1Gbit,20us,cutthrough", "--", "true"},
                "--link '1Gbit,20us,cutthrough'"},
        Refusal{"link_of_programs_names_cut_through",
                {"run", "-n", "2", "--link", "nonsense", "--", "true"},
                "RATE,LATENCY,cut-through"},
        Refusal{"link_of_a_stream_that_cuts_through",
                {"stream", "local", "--link", "1Gbit,20us,cut-through"},
                "do not cut through"},
        Refusal{"schedule_twice",
                {"stream", "compare", "--schedules", "grant,offset,grant"},
                "--schedules: 'grant' is there twice; leave one out"},
        Refusal{"schedule_without_name",
                {"stream", "compare", "--schedules", "grant,"},
                "--schedules: 'grant,' has an empty entry"},
        Refusal{"schedules_without_name", {"stream", "compare", "--schedules="}, "--schedules"},
        Refusal{"method_twice",
                {"emulate", "--method", "spin,spin", "--", "true"},
                "--method: 'spin' is there twice"},
        Refusal{"level_without_weight",
                {"testbed", "run", "--hosts", "2", "--levels", "1,,2", "--", "true"},
                "--levels: '1,,2' has an empty entry"},
        Refusal{"level_of_no_weight",
                {"testbed", "run", "--hosts", "2", "--levels", "1,256", "--", "true"},
                "--levels: '256' is no weight of a level: give 1 to 255"},
        Refusal{"avoidance_twice",
                {"odp", "simulate", "--avoid", "dummy,dummy"},
                "--avoid: 'dummy' is there twice"},
        Refusal{"latency_twice", {"sweep", "--latency", "1us,1us", "--", "true"}, "twice"},
        Refusal{
            "latency_without_amount", {"sweep", "--latency", "1us,", "--", "true"}, "--latency"},
        Refusal{"number_beyond_32_bits",
                {"stream", "local", "--grant-late-factor", "18446744073709551615"},
                "'18446744073709551615' is too large: give at most 4294967295"},
        Refusal{"descriptors_beyond_32_bits",
                {"stream", "local", "--descriptors", "99999999999"},
                "--descriptors: '99999999999' is too large: give at most 4294967295"},
        Refusal{"number_beyond_64_bits",
                {"stream", "local", "--seed", "18446744073709551616"},
                "is too large: give at most 18446744073709551615"},
        Refusal{"negative_number_of_another_command",
                {"testbed", "run", "--hosts", "-1", "--", "true"},
                "'-1' is negative"},
        Refusal{"size_beyond_63_bits",
                {"stream", "local", "--buffer", "99999999999999999999"},
                "is too large: write at most 8000000TiB"},
        Refusal{"time_beyond_63_bits",
                {"stream", "local", "--duration", "99999999999999999999s"},
                "longer than ten years"},
        Refusal{"number_of_processes_as_mpirun_has_it",
                {"run", "-np", "2", "--", "true"},
                "-np is mpirun's option; write -n N"},
        Refusal{"hosts_as_mpirun_has_them",
                {"run", "-host", "a,b", "--", "true"},
                "unknown option '-host' of weft run: write --hosts FILE"},
        Refusal{"option_in_place_of_a_program",
                {"run", "--", "-n", "2", "true"},
                "COMMAND: '-n' is no program"},
        Refusal{"network_of_programs_that_is_none",
                {"run", "-n", "2", "--network", "nonsense", "--", "true"},
                "--network: 'nonsense' is no network"},
        Refusal{"scenario_of_programs_that_is_missing",
                {"run", "-n", "2", "--fabric", "sim:/no/such.toml", "--", "true"},
                "--fabric: scenario: cannot open '/no/such.toml'"},
        Refusal{"no_value_of_an_option",
                {"testbed", "run", "--hosts", "2", "--on", "", "--", "true"},
                "--on: '' is empty; give a value, or leave the option out"},
        Refusal{"no_server",
                {"emulate", "--server", "", "--", "true"},
                "--server: '' is empty; give a value"},
        Refusal{"no_setting",
                {"simulate", scenario("star-100mbit.toml"), "--set", ""},
                "--set: '' is empty; give a value"},
        Refusal{
            "controller",
            {"qos", "--scenario", scenario("qos-small.toml"), "--controller", "nosuch"},
            "--controller: 'nosuch' is none of best, algorithm-1, climb, model-predictive, none"},
        Refusal{"links_of_a_sweep",
                {"sweep", "--links", "/no/such.toml", "--", "mpirun.mpich", "-n", "2", "true"},
                "weft: --links: cannot open '/no/such.toml': No such file or directory; name one "
                "that is there"},
        Refusal{"links_that_are_no_toml",
                {"emulate", "--links", WEFT_SCENARIOS "/../ring.cpp", "--", "mpirun.mpich", "-n",
                 "2", "true"},
                "correct that line, or name a TOML file of links"},
        Refusal{"latency_of_a_sweep_twice",
                {"sweep", "--latency", "1us,1us", "--", "true"},
                "--latency: '1us,1us' names a latency twice; leave one out"},
        Refusal{"merge_of_nothing",
                {"sweep", "--merge"},
                "--resume: is missing: --merge reads a directory"},
        Refusal{"sweep_into_a_file",
                {"sweep", "--resume", WEFT_SCENARIOS "/star-100mbit.toml", "--", "mpirun.mpich",
                 "-n", "2", "true"},
                "--resume: " WEFT_SCENARIOS "/star-100mbit.toml is a file; name a directory"},
        Refusal{"program_that_is_missing",
                {"emulate", "--", "no-such-program"},
                "no-such-program: is no program that can be started; give a path, or a name"},
        Refusal{"record_in_place_of_a_directory",
                {"emulate", "--json", "/tmp", "--", "true"},
                "--json: /tmp: is there and no ordinary file; name another one"},
        Refusal{"record_in_no_directory",
                {"emulate", "--json", "/no/such/file", "--", "true"},
                "--json: cannot create '/no/such/file': No such file or directory; make its "
                "directory first"},
        Refusal{"share_of_a_link",
                {"simulate", "uniform", "--load", "70%"},
                "--load: '70%' is no number; write one such as 0.5"},
        Refusal{"server_without_port",
                {"odp", "bench", "nohost"},
                "HOST:PORT: 'nohost' is no server; write one such as node1:7000"},
        Refusal{"server_and_no_port",
                {"odp", "bench"},
                "HOST:PORT: is missing: name the server, or give --listen PORT"},
        Refusal{"archive_that_is_missing",
                {"archive", "info", "/no/such.tsa"},
                "cannot open '/no/such.tsa': No such file or directory; name one that is there"},
        Refusal{"capture_that_is_missing",
                {"odp", "diagnose", "/no/such.pcap"},
                "cannot open '/no/such.pcap': No such file or directory; name one that is there"},
        Refusal{"sink_in_no_directory",
                {"stream", "local", "--timeslices", "3", "--sink", "tsa:/no/such/%n.tsa"},
                "make its directory first"},
        Refusal{"goal_that_is_missing",
                {"trace", "info", "/no/such.goal"},
                "cannot open '/no/such.goal': No such file or directory; name one that is there"},
        Refusal{"hosts_backwards",
                {"testbed", "run", "--hosts", "4", "--on", "host3-1", "--", "true"},
                "--on: 'host3-1' runs backwards; write host1-3"},
        Refusal{"no_time_in_a_testbed",
                {"testbed", "run", "--hosts", "2", "--time-limit", "0s", "--", "true"},
                "--time-limit: '0s' leaves no time to run in; give more than 0"},
        Refusal{"item_beyond_an_archives_end",
                {"archive", "cut", "--from", "5", "/dev/null", "--out", "x"},
                "/dev/null: is empty; name a .tsa or .msa file"},
        Refusal{"microslice_beyond_the_buffer",
                {"stream", "local", "--timeslices", "3", "--source", "pattern:?size=1GiB"},
                "--source 'pattern:?size=1GiB': microslice 0 of 1 GiB does not fit the input's "
                "buffer, which takes 8 MiB at most; use smaller microslices, or raise "
                "--input-buffer"},
        Refusal{"program_of_a_sink_that_is_missing",
                {"stream", "local", "--timeslices", "3", "--sink", "exec:nosuchprogram"},
                "--sink: 'exec:nosuchprogram': cannot run 'nosuchprogram': No such file or "
                "directory; name a program that is installed"},
        Refusal{"secret_that_is_a_directory",
                {"stream", "node", "--nodes", "127.0.0.1:1,127.0.0.1:2", "--rank", "0",
                 "--secret-file", "/tmp"},
                "--secret-file: /tmp is not a file; name one with at least 16 bytes"},
        Refusal{"options_that_are_no_toml",
                {"stream", "local", "--config", WEFT_SCENARIOS "/../ring.cpp"},
                "; correct that line"},
        Refusal{"name_with_control_characters",
                {"stream", "local", "--config", "/no/two\n\x1b[31mlines.toml"},
                "--config: cannot open '/no/two??[31mlines.toml': No such file"},
        Refusal{"source_without_scheme",
                {"stream", "local", "--timeslices", "3", "--source", "data"},
                "--source: 'data': no scheme"},
        Refusal{"source_that_is_missing",
                {"stream", "local", "--timeslices", "3", "--source", "msa:/no/such.msa"},
                "--source: cannot open '/no/such.msa'"},
        Refusal{"sink_of_no_known_scheme",
                {"stream", "local", "--timeslices", "3", "--sink", "chek:"},
                "--sink: 'chek:': unknown sink; known are check:"},
        Refusal{
            "mistyped_scenario", {"simulate", "unifrom"}, "did you mean weft simulate uniform?"},
        Refusal{
            "missing_trace", {"trace", "info", "/no/it.otf2"}, "cannot open '/no/it.otf2': No "},
        Refusal{"reversed_sizes",
                {"stream", "limit", "--sizes", "1MiB..1KiB"},
                "--sizes: '1MiB..1KiB' ends below its beginning"},
        Refusal{"sizes_with_a_colon",
                {"stream", "limit", "--sizes", "1M:1K"},
                "--sizes: '1M:1K' is no range of sizes; write one size, or a range such as"},
        Refusal{
            "report_of_a_file", {"report", scenario("star-100mbit.toml")}, "DIR: this is a file"},
        Refusal{
            "report_of_nothing", {"report", "/no/such"}, "DIR: there is no directory '/no/such'"},
        Refusal{"testbed_that_is_not_up",
                {"testbed", "down", "--name", "nobody-made-this"},
                "--name nobody-made-this: no testbed of this name is up; weft testbed list"},
        Refusal{"directory_without_name",
                {"stream", "local", "--timeslices", "3", "--out", ""},
                "--out: '' names nothing; give the name of a directory"},
        Refusal{
            "file_without_name", {"trace", "info", ""}, "FILE: '' names nothing; give the name"},
        Refusal{"options_file_that_is_missing",
                {"stream", "local", "--config", "/no/such.toml"},
                "--config: cannot open '/no/such.toml': No such file or directory; name one that"},
        Refusal{"late_after_the_end",
                {"stream", "local", "--late-after", "20ms", "--give-up-after", "10ms"},
                "--late-after: 20 ms is not before --give-up-after"},
        Refusal{"minutes_as_one_letter",
                {"stream", "local", "--duration", "1m"},
                "'1m' is not a duration: write it like 20us, 1.5ms, 10s, 2min or 1h"},
        Refusal{"buffer_of_nothing",
                {"stream", "local", "--timeslices", "3", "--buffer", "0"},
                "--buffer: 0 B are not between 1 B and 16 TiB; use more"},
        Refusal{
            "value_in_another_case", {"stream", "local", "--schedule", "DFS"}, "did you mean dfs?"},
        Refusal{"unknown_command", {"strem", "local"}, "did you mean stream?"},
        Refusal{"unknown_command_with_help", {"bogus", "--help"}, "unknown command 'bogus' of"},
        Refusal{"command_as_mpi_has_it", {"mpirun", "-n", "2", "true"}, "did you mean run?"},
        Refusal{"unknown_command_below", {"stream", "lokal"}, "did you mean local?"},
        Refusal{
            "unknown_option", {"stream", "local", "--shedule", "dfs"}, "did you mean --schedule?"},
        Refusal{"no_command", {}, "name a command: weft stream|"},
        Refusal{"no_command_below",
                {"archive"},
                "name a command: weft archive info|check|cut|merge|recover;"},
        Refusal{"help_of_nothing", {"help", "stream", "comparr"}, "did you mean compare?"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(command_line, number_of_processes_behind_the_program_gets_a_hint) {
  const Ended behind = run_weft({"run", "--", "true", "-n", "2"}, 30);
  EXPECT_EQ(behind.code, 0) << behind.describe();
  EXPECT_THAT(behind.errors, HasSubstr("for 2 processes, write -n 2 before the program"));
  const Ended both = run_weft({"run", "-n", "1", "--", "true", "-n", "2"}, 30);
  EXPECT_EQ(both.code, 0) << both.describe();
  EXPECT_EQ(both.errors, "") << "the program's own";
}

TEST(command_line, copies_that_mpirun_started_get_one_hint) {
  for (const char* launcher : {"OMPI_COMM_WORLD", "PMI"}) {
    const std::string size = fmt::format("{}_SIZE", launcher);
    const std::string rank = fmt::format("{}_RANK", launcher);
    const auto run_as = [&](const char* own, const char* of) {
      ::setenv(size.c_str(), of, 1);
      ::setenv(rank.c_str(), own, 1);
      Ended ended = run_weft({"run", "-n", "1", "--", "true"}, 30);
      ::unsetenv(size.c_str());
      ::unsetenv(rank.c_str());
      return ended;
    };
    const Ended first = run_as("0", "3");
    EXPECT_EQ(first.code, 0) << first.describe();
    EXPECT_THAT(first.errors, HasSubstr("write weft run -n 3 without mpirun")) << launcher;
    EXPECT_EQ(run_as("1", "3").errors, "") << launcher << ": the first has told it";
    EXPECT_EQ(run_as("0", "1").errors, "") << launcher << ": there is one copy only";
  }
}

TEST(command_line, launcher_in_place_of_a_program_gets_a_hint) {
  ScratchDirectory directory;
  const std::string launcher = directory / "mpirun";
  write_file(launcher, "#!/bin/sh\n");
  ASSERT_EQ(::chmod(launcher.c_str(), 0700), 0);
  const Ended ended = run_weft({"run", "-n", "2", "--", launcher, "-n", "2", "true"}, 30);
  EXPECT_EQ(ended.code, 0) << ended.describe();
  EXPECT_THAT(ended.errors, HasSubstr("write weft run -n N -- PROGRAM without it"));
}

TEST(command_line, out_that_is_a_file_is_refused_and_stays) {
  ScratchDirectory directory;
  const std::string file = directory / "file";
  write_file(file, "mine");
  const std::string fat_tree = "fat-tree:16";
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"stream", "local"},
                                             {"stream", "compare"},
                                             {"stream", "limit"},
                                             {"simulate", scenario("star-100mbit.toml")},
                                             {"simulate", "uniform", "--topology", fat_tree}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--out", file});
    expect_refused(run_weft(arguments, 30), "is a file; name a directory");
  }
  EXPECT_EQ(read_file(file), "mine");
}

TEST(command_line, files_that_weft_did_not_write_stay_in_its_directory) {
  ScratchDirectory directory;
  const std::vector<std::string> simulate{"simulate", "uniform",        "--topology", "fat-tree:16",
                                          "--out",    directory.path(), "--duration", "10us"};
  write_file(directory / "network.html", "<p>mine</p>");
  expect_refused(run_weft(simulate, 30), "--force");
  EXPECT_EQ(read_file(directory / "network.html"), "<p>mine</p>");
  std::vector<std::string> forced = simulate;
  forced.emplace_back("--force");
  EXPECT_EQ(run_weft(forced, 30).code, 0);
  EXPECT_EQ(run_weft(simulate, 30).code, 0) << "its own are replaced";
}

TEST(command_line, archives_are_never_written_over_their_inputs) {
  ScratchDirectory directory;
  const std::string path = directory / "run.tsa";
  const Ended written = run_weft({"stream", "local", "--inputs", "2", "--computes", "1",
                                  "--timeslices", "20", "--no-limit", "--sink", "tsa:" + path});
  ASSERT_EQ(written.code, 0) << written.describe();
  const std::string bytes = read_file(path);
  const std::string link = directory / "link.tsa";
  ASSERT_EQ(::link(path.c_str(), link.c_str()), 0);
  for (const std::string& out : {path, link}) {
    for (const char* force : {"--json", "--force"}) {
      const bool forced = std::string(force) == "--force";
      std::vector<std::string> cut{"archive", "cut", path, "--count", "3", "--out", out};
      std::vector<std::string> merge{"archive", "merge", path, "--out", out};
      if (forced) cut.emplace_back(force);
      if (forced) merge.emplace_back(force);
      expect_refused(run_weft(cut, 30), "it is the input");
      expect_refused(run_weft(merge, 30), "it is the input");
    }
  }
  EXPECT_EQ(read_file(path), bytes);
  const std::string other = directory / "other.tsa";
  write_file(other, "mine");
  expect_refused(run_weft({"archive", "cut", path, "--count", "3", "--out", other}, 30), "--force");
  EXPECT_EQ(read_file(other), "mine");
  EXPECT_EQ(run_weft({"archive", "cut", path, "--count", "3", "--out", other, "--force"}, 30).code,
            0);
  EXPECT_NE(read_file(other), "mine");
}

TEST(command_line, sinks_and_traces_leave_files_that_exist) {
  ScratchDirectory directory;
  const std::string file = directory / "file";
  write_file(file, "mine");
  const std::vector<std::string> job{"stream",       "local", "--inputs",  "1", "--computes", "1",
                                     "--timeslices", "5",     "--no-limit"};
  for (const char* scheme : {"tsa:", "file:"}) {
    std::vector<std::string> arguments = job;
    arguments.insert(arguments.end(), {"--sink", scheme + file});
    expect_refused(run_weft(arguments, 30), "--force");
    arguments = {"stream", "compare", "--sink", scheme + (directory / "new")};
    expect_refused(run_weft(arguments, 30), "would write over the files of the one before");
  }
  expect_refused(
      run_weft({"stream", "local", "--force", "--source", "file:" + file, "--sink", "file:" + file},
               30),
      "it is the input");
  expect_refused(run_weft({"simulate", scenario("star-100mbit.toml"), "--trace", file}, 30),
                 "--force");
  EXPECT_EQ(read_file(file), "mine");
}

/// What the script of bash's completion offers behind an option.
std::string offered_behind(const std::string& option, const std::string& script) {
  const std::size_t begin = script.find("'" + option + "')");
  return begin == std::string::npos ? "" : script.substr(begin, script.find('\n', begin) - begin);
}

TEST(command_line, completion_offers_a_simulation_where_there_can_be_one) {
  const Ended script = run_weft({"generate", "bash"});
  EXPECT_THAT(offered_behind("weft stream local --fabric", script.output),
              HasSubstr("libfabric:shm sim:"));
  const std::string of_a_node = offered_behind("weft stream node --fabric", script.output);
  EXPECT_THAT(of_a_node, HasSubstr("tcp:unix"));
  EXPECT_THAT(of_a_node, Not(HasSubstr("sim:")));
}

TEST(command_line, help_is_that_of_the_command) {
  const Ended help = run_weft({"help", "stream", "compare"});
  EXPECT_EQ(help.code, 0) << help.describe();
  EXPECT_EQ(help.output, run_weft({"stream", "compare", "--help"}).output);
  for (const char* fabric :
       {"auto", "tcp:unix", "shm", "libfabric:PROVIDER", "sim:SCENARIO.toml"}) {
    EXPECT_THAT(help.output, HasSubstr(fabric));
  }
  EXPECT_EQ(run_weft({"help"}).output, run_weft({"--help"}).output);
}

/// The help of a command and of those below it is text: no control character but the line's end.
/// Its examples are of that command or of those beside it. Returns the number of commands.
std::size_t expect_plain_help(const std::vector<std::string>& command) {
  std::vector<std::string> arguments = command;
  arguments.emplace_back("--help");
  const Ended help = run_weft(arguments);
  EXPECT_EQ(help.code, 0) << help.describe();
  const auto is_control = [](unsigned char c) { return (c < ' ' && c != '\n') || c == 127; };
  EXPECT_EQ(std::count_if(help.output.begin(), help.output.end(), is_control), 0)
      << help.describe();
  std::size_t commands = 1;
  std::istringstream lines(help.output);
  bool lists_commands = false, has_examples = false;
  for (std::string line; std::getline(lines, line);) {
    has_examples = has_examples || line == "Examples:";
    if (has_examples && line.starts_with("  ") && line[2] != ' ') {
      EXPECT_THAT(line, HasSubstr("weft " + (command.empty() ? "" : command.front())));
    }
    if (lists_commands && line.starts_with("  ") && line[2] != ' ') {
      arguments.back() = line.substr(2, line.find(' ', 2) - 2);
      commands += expect_plain_help(arguments);
    }
    lists_commands = line == "Subcommands:" || (lists_commands && !line.empty());
  }
  return commands;
}

TEST(command_line, no_help_has_a_control_character) {
  EXPECT_GE(expect_plain_help({}), 15u);
}

TEST(command_line, tables_fit_80_columns_of_a_pipe) {
  ScratchDirectory directory;
  const std::vector<std::vector<std::string>> commands{
      {"stream", "compare", "--fabric", "sim:" + scenario("star-100mbit.toml"), "--schedules",
       "best-effort,grant", "--timeslices", "4", "--no-limit"},
      {"stream", "limit", "--fabric", "sim:" + scenario("star-100mbit.toml"), "--sizes", "1KiB",
       "--limit-duration", "100us"},
      {"simulate", "uniform", "--topology", "fat-tree:16", "--duration", "10us"}};
  for (const auto& command : commands) {
    const Ended ended = run_weft(command);
    EXPECT_EQ(ended.code, 0) << ended.describe();
    EXPECT_EQ(ended.errors, "") << ended.describe();
    std::istringstream lines(ended.output);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST(help, shows_amounts_as_what_they_are) {
  const std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> commands = {
      {{"stream", "local"},
       {"--duration TIME", "--peer-timeout TIME=10s", "--late-after TIME", "--buffer SIZE=1MiB",
        "--input-buffer SIZE", "--timeslices COUNT", "--limit-duration TIME"}},
      {{"stream", "node"}, {"--duration TIME", "--give-up-after TIME", "--timeslices COUNT"}},
      {{"stream", "compare"}, {"--limit-sizes SIZE[..SIZE]", "--sample-every TIME"}},
      {{"stream", "limit"}, {"--sizes SIZE[..SIZE]=1KiB..1MiB"}},
      {{"run"}, {"--timeout TIME=", "--inbox SIZE=16MiB", "--heartbeat TIME="}},
      {{"testbed", "up"},
       {"--link RATE=0", "--queue SIZE=128KiB", "--delay TIME=0", "--lifetime TIME="}},
      {{"testbed", "run"}, {"--time-limit TIME=60min"}}};
  for (auto [command, options] : commands) {
    command.push_back("--help");
    const Ended help = run_weft(command, 30);
    for (const std::string& option : options) {
      EXPECT_THAT(help.output, HasSubstr(option)) << help.command;
    }
  }
}

TEST(help, of_experiments_has_examples_that_end_soon) {
  std::istringstream help(run_weft({"qos", "--help"}, 30).output);
  std::size_t examples = 0;
  for (std::string line; std::getline(help, line);) {
    if (line.find("weft qos --scenario") == std::string::npos) continue;
    ++examples;
    EXPECT_THAT(line, HasSubstr("--iterations 20 --placements 1"));
  }
  EXPECT_GE(examples, 3u);
}

}  // namespace
}  // namespace weft::e2e
