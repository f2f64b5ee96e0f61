// SPDX-License-Identifier: Apache-2.0
#include "emulate/command.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>

#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

/// A file that can be started as far as its mode says, with a header as a linker makes it.
std::string elf_file(const std::string& name, bool dynamic, mode_t mode) {
  const std::string path = ::testing::TempDir() + "/" + name;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = dynamic ? PT_INTERP : PT_LOAD;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(&segment), sizeof segment);
  file.close();
  ::chmod(path.c_str(), mode);
  return path;
}

TEST(command, the_program_is_found_behind_the_launchers_options) {
  const std::string program = elf_file("dynamic_program", true, 0755);
  const auto command = inspect_command({"mpirun.mpich", "-n", "2", program, "/bin/sh"});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->mpi, "mpich");
  EXPECT_EQ(command->program, program);
  EXPECT_EQ(command->program_at, 3U);
}

TEST(command, a_value_of_a_launchers_option_is_not_the_program) {
  const std::string program = elf_file("launched_program", true, 0755);
  const auto command =
      inspect_command({"mpirun.mpich", "-genv", "SHELL", "/bin/sh", "-n", "2", program, "sh"});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->program, program);
  EXPECT_EQ(command->program_at, 6U);
}

TEST(command, a_program_without_a_launcher_is_one) {
  const auto command = inspect_command({"sh", "-c", "true"});
  ASSERT_TRUE(command.ok());
  EXPECT_TRUE(command->mpi.empty());
}

TEST(command, weft_run_communicates_by_libfabric) {
  const std::string weft = elf_file("weft", true, 0755);
  const std::string program = elf_file("program_of_weft_run", true, 0755);
  const auto command = inspect_command({weft, "run", "-n", "2", "--", program, "--fabric", "tcp"});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->program, program);
  EXPECT_EQ(command->program_at, 7U);
  EXPECT_EQ(command->words,
            (std::vector<std::string>{weft, "run", "--fabric", "libfabric:tcp", "-n", "2", "--",
                                      program, "--fabric", "tcp"}));
  const std::vector<std::string> chosen = {weft, "run", "--fabric=libfabric:shm", "--", program};
  const auto as_it_is = inspect_command(chosen);
  ASSERT_TRUE(as_it_is.ok());
  EXPECT_EQ(as_it_is->words, chosen);
}

TEST(command, weft_run_over_another_fabric_is_refused) {
  const std::string weft = elf_file("weft", true, 0755);
  const auto command = inspect_command({weft, "run", "-n", "2", "--fabric", "tcp", "--", "true"});
  ASSERT_FALSE(command.ok());
  EXPECT_EQ(command.error().message,
            "--fabric tcp: messages of weft run cannot be held there; leave it out for "
            "libfabric:tcp, or give weft run its own --link without weft emulate");
}

TEST(command, a_static_program_is_refused) {
  const std::string program = elf_file("static_program", false, 0755);
  const auto command = inspect_command({"mpirun.mpich", "-n", "2", program});
  ASSERT_FALSE(command.ok());
  EXPECT_EQ(command.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(command.error().message.find("statically"), std::string::npos);
}

TEST(command, a_setuid_program_is_refused) {
  const std::string program = elf_file("setuid_program", true, 04755);
  const auto command = inspect_command({"mpirun.mpich", "-n", "2", program});
  ASSERT_FALSE(command.ok());
  EXPECT_NE(command.error().message.find("setuid"), std::string::npos);
}

TEST(command, a_launcher_that_is_not_there_is_named) {
  const auto command = inspect_command({"no-such-launcher", "-n", "2"});
  ASSERT_FALSE(command.ok());
  EXPECT_NE(command.error().message.find("no-such-launcher"), std::string::npos);
  EXPECT_FALSE(inspect_command({}).ok());
}

TEST(command, one_sided_operations_of_open_mpi_become_messages) {
  ::unsetenv("OMPI_MCA_osc");
  const Variables messages{{"OMPI_MCA_osc", "pt2pt"}};
  const Command plain{.words = {"mpirun", "-n", "2", "prog"}, .mpi = "openmpi", .program = "prog"};
  ASSERT_TRUE(one_sided_variables(plain).ok());
  EXPECT_EQ(*one_sided_variables(plain), messages);
  EXPECT_TRUE(one_sided_variables({.words = plain.words, .mpi = "mpich", .program = {}})->empty());
  for (const char* const seen : {"pt2pt", "ucx", "ucx,sm"}) {
    Command chosen = plain;
    chosen.words.insert(chosen.words.begin() + 1, {"--mca", "osc", seen});
    ASSERT_TRUE(one_sided_variables(chosen).ok());
    EXPECT_TRUE(one_sided_variables(chosen)->empty());
  }
  Command behind = plain;  // the program's own words choose nothing
  behind.program_at = 3;
  behind.words.insert(behind.words.end(), {"--mca", "osc", "rdma"});
  EXPECT_EQ(*one_sided_variables(behind), messages);
}

TEST(command, one_sided_operations_in_shared_memory_are_refused) {
  const std::vector<std::vector<std::string>> choices{
      {"--mca", "osc", "rdma"}, {"-mca", "osc", "^ucx"}, {"-x", "OMPI_MCA_osc=pt2pt,sm"}};
  for (const auto& choice : choices) {
    Command command{.words = {"mpirun", "prog"}, .mpi = "openmpi", .program = "prog"};
    command.words.insert(command.words.begin() + 1, choice.begin(), choice.end());
    const auto refused = one_sided_variables(command);
    ASSERT_FALSE(refused.ok());
    EXPECT_NE(refused.error().message.find("ask for 'pt2pt'"), std::string::npos);
  }
}

TEST(command, its_output_and_its_code_come_back) {
  const auto command = inspect_command({"sh", "-c", "echo $GREETING; exit 3"});
  ASSERT_TRUE(command.ok());
  const auto ended = run_command(*command, {{"GREETING", "hello"}}, true);
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->stdout_text, "hello\n");
  EXPECT_EQ(ended->exit_code, 3);
}

TEST(command, what_it_left_in_the_background_is_not_waited_for) {
  const auto command = inspect_command({"sh", "-c", "sleep 1000 & echo $!"});
  ASSERT_TRUE(command) << command.error().message;
  const auto ended = run_command(*command, {}, true);
  ASSERT_TRUE(ended) << ended.error().message;
  const auto left = static_cast<pid_t>(std::strtol(ended->stdout_text.c_str(), nullptr, 10));
  ASSERT_GT(left, 1) << ended->stdout_text;
  // It holds the output open to this day.
  EXPECT_EQ(::kill(left, SIGKILL), 0);
}

TEST(command, output_is_kept_up_to_a_bound_and_read_to_its_end) {
  const auto command = inspect_command({"sh", "-c", "head -c 68000000 /dev/zero"});
  ASSERT_TRUE(command) << command.error().message;
  const auto ended = run_command(*command, {}, true);
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_TRUE(ended->stdout_is_cut);
  EXPECT_GE(ended->stdout_text.size(), most_captured);
  EXPECT_LT(ended->stdout_text.size(), most_captured + 4096);
}

TEST(emulated_command, ends_when_weft_is_told_to_end) {
  const auto command = inspect_command({"sleep", "1000"});
  ASSERT_TRUE(command) << command.error().message;
  std::optional<StopSignals> signals(std::in_place);
  std::thread stops([] {
    // To this process alone, as a service manager or a time limit sends it.
    ::kill(::getpid(), SIGTERM);
  });
  const auto ended = run_command(*command, {}, true);
  stops.join();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->signal, SIGTERM);
  signals.reset();
  signals.emplace();  // forgets it
}

/// Commands that tell by a FIFO when they are where a test wants them, and tests that then tell
/// weft to end.
class stopped_command : public ::testing::Test {
 protected:
  void SetUp() override {
    fifo_ = ::testing::TempDir() + "/stopped-" + std::to_string(::getpid());
    ASSERT_EQ(::mkfifo(fifo_.c_str(), 0600), 0);
  }
  void TearDown() override {
    ::unlink(fifo_.c_str());
    signals_.reset();
    signals_.emplace();  // forgets those that came
  }

  /// The number that the command writes to $FIFO.
  pid_t heard() const {
    std::ifstream file(fifo_);
    pid_t pid = 0;
    file >> pid;
    return pid;
  }
  static void wait_until_stopped(pid_t pid) {
    std::string name, state;
    while (state != "T" && state != "Z") {
      std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> name >> name >> state;
    }
  }
  /// Runs the script while `stops` runs in a thread of its own.
  template <class Stops>
  Result<Ended> run_script(const std::string& script, Stops stops) {
    const auto command = inspect_command({"bash", "-c", script});
    if (!command) return command.error();
    std::thread thread(stops);
    auto ended = run_command(*command, {{"FIFO", fifo_}}, false);
    thread.join();
    return ended;
  }

  std::string fifo_;
  std::optional<StopSignals> signals_{std::in_place};
};

bool is_gone(pid_t pid) {
  std::string name, state = "Z";
  std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> name >> name >> state;
  return state == "Z";
}

TEST_F(stopped_command, ends_although_a_debugger_had_stopped_it) {
  const auto ended = run_script("echo $$ > $FIFO; kill -STOP $$; sleep 1000", [this] {
    wait_until_stopped(heard());
    ::kill(::getpid(), SIGTERM);
  });
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->signal, SIGTERM);
}

TEST_F(stopped_command, that_ignores_the_request_is_killed_at_the_second_one) {
  const auto ended = run_script("trap '' TERM; echo $$ > $FIFO; sleep 1000", [this] {
    (void)heard();
    ::kill(::getpid(), SIGTERM);
    while (StopSignals::count() < 1) std::this_thread::yield();
    ::kill(::getpid(), SIGTERM);
  });
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(ended->signal, SIGKILL);
}

TEST_F(stopped_command, takes_the_processes_that_it_started_with_it) {
  pid_t rank = 0;
  const auto ended = run_script(
      "(trap '' TERM; echo $BASHPID > $FIFO; kill -STOP $BASHPID; sleep 1000) & wait", [&] {
        rank = heard();
        wait_until_stopped(rank);
        ::kill(::getpid(), SIGTERM);
      });
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_TRUE(is_gone(rank));
}

}  // namespace
}  // namespace weft::emulate
