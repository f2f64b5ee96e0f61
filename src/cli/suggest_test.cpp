// SPDX-License-Identifier: Apache-2.0
#include "cli/suggest.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weft::cli {
namespace {

/// The error for a command line.
std::string said(const std::string& line) {
  CLI::App root("", "weft");
  root.require_subcommand(1);
  root.set_version_flag("--version", "1");
  CLI::App* stream = root.add_subcommand("stream", "");
  stream->require_subcommand(1);
  CLI::App* local = stream->add_subcommand("local", "");
  int inputs = 0;
  local->add_option("--inputs", inputs, "");
  CLI::App* runs = root.add_subcommand("run", "");
  std::vector<std::string> command;
  runs->add_option("COMMAND", command, "")->required();
  std::string scenario;
  root.add_subcommand("qos", "")->add_option("--scenario", scenario, "");
  CLI::App* hidden = root.add_subcommand("strean", "");
  hidden->group("");
  try {
    root.parse(line);
  } catch (const CLI::ParseError&) {
    return explain_unknown(root);
  }
  return "";
}

TEST(suggest, says_what_to_write_in_place_of_a_value_that_an_option_refuses) {
  EXPECT_EQ(explain_value("Could not convert: --inputs = x"),
            "--inputs: 'x' is no number; write one such as 4");
  EXPECT_EQ(explain_value("--inputs: At Most 1 required but received 2"),
            "--inputs: is given 2 times; give it once");
  EXPECT_EQ(explain_value("--out: 1 required FILE missing"),
            "--out: has no value; write --out FILE");
  EXPECT_EQ(explain_value("--schedule: offse not in {best-effort,offset,dfs,grant}"),
            "--schedule: 'offse' is none of best-effort, offset, dfs, grant; did you mean offset?");
  EXPECT_EQ(explain_value("--schedule: zzz not in {dfs}"), "--schedule: 'zzz' is none of dfs");
  EXPECT_EQ(explain_value("--seeds: Value 0 not in range 1 to 9"),
            "--seeds: '0' is no number from 1 to 9; write one of those");
  EXPECT_EQ(explain_value("--link: 'x' is no link"), "--link: 'x' is no link");
}

TEST(suggest, names_the_command_that_does_not_know_a_word) {
  EXPECT_EQ(said("strem"), "unknown command 'strem' of weft: did you mean stream? See weft --help");
  EXPECT_EQ(said("stream lokal --inputs 3"),
            "unknown command 'lokal' of weft stream: did you mean local? See weft stream --help");
  EXPECT_EQ(said("stream lokal --topology star:4"),
            "unknown command 'lokal' of weft stream: did you mean local? See weft stream --help");
  EXPECT_EQ(said("stream local --input=3"),
            "unknown option '--input' of weft stream local: did you mean --inputs? See weft "
            "stream local --help");
  EXPECT_EQ(said("stream local --frobnicate"),
            "unknown option '--frobnicate' of weft stream local; see weft stream local --help");
  EXPECT_EQ(said("stream local --input 3 here"),
            "unknown option '--input' of weft stream local: did you mean --inputs? See weft "
            "stream local --help");
  EXPECT_EQ(said("stream local --frobnicate -- --other"),
            "unknown option '--frobnicate' of weft stream local; see weft stream local --help");
  EXPECT_EQ(said("stream local here"),
            "'here' is one word too many for weft stream local; see weft stream local --help");
  EXPECT_EQ(said("qos a.toml"),
            "'a.toml' is one word too many for weft qos: write --scenario a.toml");
  EXPECT_EQ(said("run --"),
            "nothing follows '--' of weft run: write a program there; see weft run --help");
}

TEST(suggest, translates_the_options_of_other_launchers) {
  EXPECT_EQ(said("run --np 2 true"),
            "unknown option '--np' of weft run: write -n N for N processes, or -- before the "
            "program if it is "
            "the program's; see weft run --help");
  EXPECT_EQ(said("run -machinefile hosts true"),
            "unknown option '-machinefile' of weft run: write --hosts FILE, a file with a line for "
            "each host, or -- before the program if it is the program's; see weft run --help");
  EXPECT_EQ(said("run --oversubscribe true"),
            "unknown option '--oversubscribe' of weft run: leave it out, weft run needs no such "
            "permission, or -- before the program if it is the program's; see weft run --help");
  EXPECT_EQ(said("stream local --np 2"),
            "unknown option '--np' of weft stream local; see weft stream local --help");
}

TEST(suggest, says_where_options_of_a_program_belong) {
  EXPECT_EQ(said("run true --frobnicate"),
            "unknown option '--frobnicate' of weft run: write -- before the program if it is the "
            "program's; see weft run --help");
}

TEST(suggest, says_where_options_of_a_command_belong) {
  EXPECT_EQ(
      said("stream local -- --inputs 2"),
      "--inputs has to stand behind weft stream local, and in front of any --; see weft stream "
      "local --help");
}

TEST(suggest, guesses_options_by_their_letter_or_word) {
  EXPECT_EQ(said("-V"), "unknown option '-V' of weft: did you mean --version? See weft --help");
  EXPECT_EQ(said("version"),
            "unknown command 'version' of weft: did you mean --version? See weft --help");
}

}  // namespace
}  // namespace weft::cli
