// SPDX-License-Identifier: Apache-2.0
// One rule for all commands that read a file: not there, a directory, empty or of another kind is
// 2, damaged 1, and one that may not be read 3. Each error is one line that names the file and a
// fix.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/wait.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "weft_run.hpp"

namespace weft::e2e {
namespace {

namespace fs = std::filesystem;

/// A command in which FILE stands for the file that it reads.
struct Reader {
  std::string name;
  std::vector<std::string> arguments;
  std::string damaged;            ///< one of the files below; empty: no file of the kind is damaged
  bool takes_empty_ones = false;  ///< as of options
};
void PrintTo(const Reader& reader, std::ostream* out) {
  *out << reader.name;
}

const std::string star = WEFT_SCENARIOS "/star-100mbit.toml";
const std::string ring = WEFT_SCENARIOS "/../traces/ring-8.goal";

std::vector<std::string> source(const std::string& uri) {
  return {"stream", "local", "--timeslices", "1", "--source", uri};
}

const Reader readers[] = {
    {"archive_info", {"archive", "info", "FILE"}, "cut.tsa"},
    {"archive_info_json", {"archive", "info", "--json", "FILE"}, "cut.tsa"},
    {"archive_check", {"archive", "check", "FILE"}, "cut.tsa"},
    {"archive_cut", {"archive", "cut", "FILE", "--out", "out.tsa"}, "cut.tsa"},
    {"archive_merge", {"archive", "merge", "FILE", "--out", "out.tsa"}, "cut.tsa"},
    {"trace_info", {"trace", "info", "FILE"}, "cut.goal"},
    {"trace_check", {"trace", "check", "FILE"}, "cut.goal"},
    {"trace_replay", {"trace", "replay", "FILE", "--scenario", star}, "cut.goal"},
    {"replay_scenario", {"trace", "replay", ring, "--scenario", "FILE"}, ""},
    {"diagnose", {"odp", "diagnose", "FILE"}, "cut.pcap"},
    {"simulate", {"simulate", "FILE"}, ""},
    {"qos", {"qos", "--scenario", "FILE"}, ""},
    {"fabric", {"run", "-n", "2", "--fabric", "sim:FILE", "--", "true"}, ""},
    {"hosts", {"run", "--hosts", "FILE", "--", "true"}, ""},
    {"job_file", {"run", "--config", "FILE", "--", "true"}, "", true},
    {"topology", {"simulate", "uniform", "--topology", "file:FILE"}, ""},
    {"links", {"emulate", "--links", "FILE", "--", "mpirun.mpich", "-n", "2", "true"}, ""},
    {"config", {"stream", "local", "--config", "FILE"}, ""},
    {"reference", {"stream", "local", "--reference", "FILE"}, ""},
    {"sizes", source("pattern:?sizes=FILE"), ""},
    {"tsa", source("tsa:FILE"), ""},
    {"msa", source("msa:FILE"), ""},
    {"pcap", source("pcap:FILE"), ""}};

class InputFiles : public testing::TestWithParam<Reader> {
 protected:
  /// A file with contents of every kind that is none of theirs.
  std::string put(const char* name, const std::string& text) const {
    write_file(directory_ / name, text);
    return directory_ / name;
  }
  /// Runs the command on a file, which it has to refuse.
  void expect(int code, const std::string& file) const {
    std::vector<std::string> arguments = GetParam().arguments;
    for (std::string& argument : arguments) {
      if (const auto at = argument.find("FILE"); at != std::string::npos) {
        argument.replace(at, 4, file);
      }
      if (argument == "out.tsa") argument = directory_ / "out.tsa";
    }
    const Ended ended = run_weft(arguments, 30);
    EXPECT_EQ(ended.code, code) << ended.describe();
    EXPECT_TRUE(ended.output.empty() || code == 1) << ended.describe();
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
    EXPECT_TRUE(ended.errors.starts_with("weft: ")) << ended.describe();
    EXPECT_NE(ended.errors.find(file), std::string::npos) << ended.describe();
  }
  /// A damaged file of the kind that the command reads.
  std::string damaged() const {
    const std::string& kind = GetParam().damaged;
    const std::string whole = directory_ / ("whole" + kind.substr(kind.find('.')));
    if (kind == "cut.tsa") {
      run_weft({"stream", "local", "--no-limit", "--computes", "1", "--timeslices", "3", "--sink",
                "tsa:" + whole});
    } else if (kind == "cut.pcap") {
      run_weft({"odp", "simulate", "--interval", "6ms", "--capture", whole});
    } else {
      fs::copy_file(ring, whole);
    }
    const std::string bytes = read_file(whole);
    EXPECT_GT(bytes.size(), 10U);
    return put(kind.c_str(), bytes.substr(0, bytes.size() - 5));
  }

  const ScratchDirectory directory_;
};

TEST_P(InputFiles, that_are_wrong_have_one_exit_code) {
  expect(2, directory_ / "no-such-file");
  fs::create_directory(directory_ / "folder");
  expect(2, directory_ / "folder");
  expect(2, put("other", "these words\nare of no kind: = {\n"));
  if (!GetParam().takes_empty_ones) expect(2, put("empty", ""));
}

/// Of commands that tell a damaged file from one of another kind.
class DamagedFiles : public InputFiles {};

TEST_P(DamagedFiles, have_one_exit_code) {
  expect(1, damaged());
}

TEST_P(InputFiles, that_may_not_be_read_have_one_exit_code) {
  fs::permissions(directory_.path(), fs::perms(0755));
  const std::string file = put("locked", "these words\n");
  fs::permissions(file, fs::perms::none);
  std::string command = ::geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  command += program();
  for (std::string argument : GetParam().arguments) {
    if (const auto at = argument.find("FILE"); at != std::string::npos) {
      argument.replace(at, 4, file);
    }
    command += " '" + argument + "'";
  }
  const std::string said = directory_ / "said";
  const int status = std::system((command + " 2>" + said + " </dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3) << command << "\n" << read_file(said);
  EXPECT_NE(read_file(said).find("Permission denied; allow it"), std::string::npos)
      << command << "\n"
      << read_file(said);
}

const auto name_of = [](const auto& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(commands, InputFiles, testing::ValuesIn(readers), name_of);
INSTANTIATE_TEST_SUITE_P(commands, DamagedFiles, testing::ValuesIn([] {
                           std::vector<Reader> some;
                           std::ranges::copy_if(readers, std::back_inserter(some),
                                                [](const Reader& r) { return !r.damaged.empty(); });
                           return some;
                         }()),
                         name_of);

/// The simulation's process finds that the scenario has too few hosts.
TEST(exit_codes, of_a_simulation_are_those_of_the_command_that_starts_it) {
  const ScratchDirectory directory;
  write_file(directory / "small.toml",
             "[network]\ntopology = \"star:2\"\n[programs]\nper-host = 1\n");
  const Ended ended = run_weft({"run", "-n", "3", "--fabric", "sim:" + (directory / "small.toml"),
                                "--", WEFT_JAC3D, "10", "1"});
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_NE(ended.errors.find("3 processes"), std::string::npos) << ended.describe();
}

}  // namespace
}  // namespace weft::e2e
