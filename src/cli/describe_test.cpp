// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

namespace weft::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A program with everything that a command line may have.
struct Program {
  CLI::App root{"Moves data.\n\nIn two paragraphs.", "demo"};
  bool verbose = false;
  int number = 4;
  std::string word;
  std::vector<std::string> files;

  Program() {
    root.add_flag("-v,--verbose", verbose, "say more, it's free");
    CLI::App* stream = root.add_subcommand("stream", "Streams of data");
    CLI::App* local = stream->add_subcommand("local", "On this machine");
    local->add_option("--inputs", number, "how many: 1 or more")->capture_default_str();
    local->add_option("--schedule", word, "which")->check(CLI::IsMember({"offset", "dfs"}));
    local->add_option("-o,--out", word, "where to")->type_name("DIR");
    local->footer("Examples:\n  demo stream local --inputs 2\n  demo stream local -o 'x'\\y\n");
    local->add_option("--fabric", word, "over which");
    local->add_option("--plan", files, "which, in this order")->type_name(words_type);
    CLI::App* limits = local->add_option_group("limits", "Limits");
    limits->add_option("--link", word, "rate")->type_name("RATE");
    CLI::App* report = root.add_subcommand("report", "Make a report");
    report->add_option("FILE", files, "what to read")->required();
    CLI::App* help = root.add_subcommand("help", "Show what a command does");
    help->add_option("COMMAND", files, "which");
    CLI::App* secret = root.add_subcommand("secret", "Nobody sees this");
    secret->group("");
    add_generate_command(root, "1.2");
  }
  CommandDescription description() {
    return describe(
        root, {{"--fabric", {"tcp", "tcp:unix", "sim:"}}, {"--plan", {"best", "dfs", "grant"}}});
  }
};

std::string run_shell(const std::string& command) {
  std::string output;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  for (char buffer[4096]; std::fgets(buffer, sizeof(buffer), pipe.get()) != nullptr;) {
    output += buffer;
  }
  return output;
}

bool has(const char* program) {
  return run_shell(fmt::format("command -v {}", program)).find('/') != std::string::npos;
}

// A file that is gone after the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content, const char* suffix) {
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("describe-test-{}{}", ::getpid(), suffix);
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(describe, finds_commands_options_choices_and_positionals_but_nothing_hidden) {
  Program program;
  const CommandDescription d = program.description();
  ASSERT_EQ(d.commands.size(), 3u);
  const CommandDescription& local = d.commands[0].commands.at(0);
  EXPECT_EQ(local.name, "demo stream local");
  ASSERT_EQ(local.options.size(), 7u) << "with --help and the option group's";
  EXPECT_EQ(local.options[1].default_value, "4");
  EXPECT_THAT(local.options[2].choices, ElementsAre("offset", "dfs"));
  EXPECT_THAT(local.options[3].names, ElementsAre("-o", "--out"));
  EXPECT_TRUE(local.options[3].takes_file);
  EXPECT_THAT(local.options[4].suggestions, ElementsAre("tcp", "tcp:unix", "sim:"));
  EXPECT_TRUE(local.options[5].is_list);
  EXPECT_EQ(local.options[6].names.front(), "--link");
  EXPECT_EQ(local.options[6].value, "RATE");
  const CommandDescription& report = d.commands[1];
  EXPECT_TRUE(report.options[1].positional);
  EXPECT_TRUE(report.options[1].required);
  EXPECT_TRUE(report.options[1].takes_file);
}

TEST(man_page, has_every_section_and_escapes_what_roff_would_eat) {
  Program program;
  const std::string page = man_page(program.description(), "1.2");
  for (const char* part :
       {".TH DEMO 1", ".SH NAME\ndemo \\- Moves data.", ".SH COMMANDS", ".SS demo stream local",
        "\\fB\\-o\\fR, \\fB\\-\\-out\\fR \\fIDIR\\fR", "(one of offset, dfs)", "(default 4)",
        ".PP\nlimits:\n.TP\n\\fB\\-\\-link", "\\fIFILE\\fR", "demo stream local \\-o 'x'\\ey",
        ".SH EXIT STATUS"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("secret")));
  EXPECT_THAT(page, Not(HasSubstr("generate")));
}

TEST(man_page, is_laid_out_by_man_without_a_warning) {
  if (!has("man") || !has("groff")) GTEST_SKIP() << "man or groff is not installed";
  Program program;
  const TemporaryFile page(man_page(program.description(), "1.2"), ".1");
  const std::string warnings = run_shell(
      fmt::format("LC_ALL=C MANWIDTH=80 man --warnings -l {} 2>&1 >/dev/null", page.path()));
  EXPECT_EQ(warnings, "");
  const std::string text = run_shell(fmt::format("LC_ALL=C man -l {} 2>/dev/null", page.path()));
  EXPECT_THAT(text, HasSubstr("demo stream local -o 'x'\\y"));
}

// The completions that bash offers for `line`, whose last word is being typed.
std::string bash_offers(const std::string& script, const std::string& line) {
  const TemporaryFile file(script + "\nCOMP_LINE='" + line +
                               "'\nCOMP_POINT=${#COMP_LINE}\n_demo\n"
                               "echo \"${COMPREPLY[*]}\"\n",
                           ".bash");
  return run_shell("bash --norc " + file.path() + " 2>&1");
}

TEST(bash_completion, offers_commands_options_and_choices) {
  Program program;
  const std::string script = bash_completion(program.description());
  EXPECT_EQ(bash_offers(script, "demo "), "stream report help -h --help -v --verbose\n");
  EXPECT_EQ(bash_offers(script, "demo st"), "stream\n");
  EXPECT_EQ(bash_offers(script, "demo stream "), "local -h --help\n");
  EXPECT_EQ(bash_offers(script, "demo help "), "stream report -h --help\n");
  EXPECT_EQ(bash_offers(script, "demo help stream "), "local\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --o"), "--out\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --schedule "), "offset dfs\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --schedule dfs --in"), "--inputs\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --inputs "), "\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --schedule=o"), "offset\n");
}

TEST(bash_completion, offers_the_beginnings_of_values_and_files_behind_them) {
  Program program;
  const std::string script = bash_completion(program.description());
  EXPECT_EQ(bash_offers(script, "demo stream local --fabric "), "tcp tcp:unix sim:\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --fabric=tc"), "tcp tcp:unix\n");
  // Readline replaces the text behind the colon.
  EXPECT_EQ(bash_offers(script, "demo stream local --fabric tcp:u"), "unix\n");
  const TemporaryFile file("", ".toml");
  EXPECT_EQ(bash_offers(script, "demo stream local --fabric sim:" +
                                    file.path().substr(0, file.path().size() - 3)),
            file.path() + "\n");
}

TEST(bash_completion, offers_the_rest_of_a_list_behind_a_comma) {
  Program program;
  const std::string script = bash_completion(program.description());
  EXPECT_EQ(bash_offers(script, "demo stream local --plan "), "best dfs grant\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --plan dfs,"), "dfs,best dfs,grant\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --plan=dfs,best,g"), "dfs,best,grant\n");
  EXPECT_EQ(bash_offers(script, "demo stream local --schedule dfs,"), "\n");
}

TEST(fish_completion, offers_commands_options_and_choices) {
  if (!has("fish")) GTEST_SKIP() << "fish is not installed";
  Program program;
  const TemporaryFile file(fish_completion(program.description()), ".fish");
  const TemporaryFile no_directory("", ".home");  // fish would write into one
  const auto offers = [&](const char* line) {
    return run_shell(
        fmt::format("HOME={} fish --no-config -c 'source {}; complete -C \"{}\"' 2>/dev/null",
                    no_directory.path(), file.path(), line));
  };
  EXPECT_THAT(offers("demo st"), HasSubstr("stream\tStreams of data"));
  EXPECT_THAT(offers("demo stream "), HasSubstr("local\tOn this machine"));
  EXPECT_THAT(offers("demo stream "), Not(HasSubstr("report")));
  EXPECT_THAT(offers("demo help stream "), HasSubstr("local\tOn this machine"));
  EXPECT_THAT(offers("demo stream local --schedule "), HasSubstr("dfs"));
  EXPECT_THAT(offers("demo stream local --fabric "), HasSubstr("tcp:unix"));
  const TemporaryFile scenario("", ".toml");
  EXPECT_THAT(offers(("demo stream local --fabric sim:" + scenario.path()).c_str()),
              HasSubstr("sim:" + scenario.path()));
  EXPECT_EQ(offers("demo stream local --plan dfs,"),
            "dfs,best\twhich, in this order\ndfs,grant\twhich, in this order\n");
  EXPECT_THAT(offers("demo -"), HasSubstr("--verbose\tsay more, it's free"));
}

TEST(zsh_completion, is_a_script_that_zsh_reads) {
  if (!has("zsh")) GTEST_SKIP() << "zsh is not installed";
  Program program;
  const std::string script = zsh_completion(program.description());
  EXPECT_THAT(script, HasSubstr("#compdef demo\n"));
  // Stand-ins for zsh's completion functions show what would be offered.
  const auto offers = [&](const char* words, int current) {
    const TemporaryFile file(
        fmt::format("compdef() {{ }}\n_describe() {{ print -rl -- \"${{(@P)@[-1]}}\" }}\n"
                    "_files() {{ print files }}\ncompadd() {{ print -- \"$@\" }}\n"
                    "_message() {{ print -- \"$@\" }}\n_sequence() {{ print -- \"$@\" "
                    "}}\ncompset() {{ return 1 "
                    "}}\n{}\nwords=({})\nCURRENT={}\n"
                    "PREFIX=$words[CURRENT]\n_demo\n",
                    script, words, current),
        ".zsh");
    return run_shell("zsh -f " + file.path() + " 2>&1");
  };
  EXPECT_EQ(offers("demo ''", 2),
            "stream:Streams of data\nreport:Make a report\nhelp:Show what a command does\n");
  EXPECT_EQ(offers("demo help ''", 3), "stream:Streams of data\nreport:Make a report\n");
  EXPECT_EQ(offers("demo stream ''", 3), "local:On this machine\n");
  EXPECT_THAT(offers("demo stream local -", 4), HasSubstr("--inputs:how many: 1 or more"));
  EXPECT_EQ(offers("demo stream local --schedule ''", 5), "-- offset dfs\n");
  EXPECT_EQ(offers("demo stream local --out ''", 5), "files\n");
  EXPECT_EQ(offers("demo stream local --link ''", 5), "RATE\n");
  EXPECT_EQ(offers("demo stream local --fabric ''", 5), "-S  -- tcp tcp:unix sim:\n");
  EXPECT_EQ(offers("demo stream local --plan dfs,", 5), "compadd - best dfs grant\n");
}

TEST(generate_command, prints_what_is_asked_for) {
  for (const char* what : {"man", "bash", "zsh", "fish"}) {
    Program program;
    testing::internal::CaptureStdout();
    program.root.parse(std::string("generate ") + what);
    std::fflush(stdout);
    EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("demo"));
  }
}

}  // namespace
}  // namespace weft::cli
