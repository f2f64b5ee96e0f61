// SPDX-License-Identifier: Apache-2.0
// Programs in C and Fortran, recorded under Open MPI and MPICH, and replayed.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "trace/events/examine.hpp"
#include "trace/otf2/otf2_trace.hpp"
#include "trace/record/record_program.hpp"
#include "trace/record/recorder.hpp"
#include "trace/replay/star_for_test.hpp"
#include "trace/replay/trace.hpp"

namespace weft::trace {
namespace {

namespace fs = std::filesystem;

class record : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    base_ = fs::temp_directory_path() / ("weft-record-" + std::to_string(getpid()));
    fs::create_directories(base_);
  }
  void TearDown() override { fs::remove_all(base_); }

  std::string directory() const { return (base_ / "trace").string(); }
  /// Records a test program on four ranks; its path is skipped for if it was not built.
  Result<Merged> run(const std::string& program, std::vector<std::string> arguments = {}) {
    const std::string mpi = GetParam();
    const std::string path = std::string(WEFT_PROGRAMS) + "/trace_" + program + "_" + mpi;
    std::vector<std::string> command = {"mpirun." + mpi, "-n", "4", path};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return record_program({.command = command, .directory = directory()});
  }
  bool is_built(const std::string& program) const {
    return fs::exists(std::string(WEFT_PROGRAMS) + "/trace_" + program + "_" + GetParam()) &&
           std::system(("command -v mpirun." + std::string(GetParam()) + " >/dev/null").c_str()) ==
               0;
  }
  /// The archive's summary, after a replay to its end.
  Summary replayed() {
    const auto trace = open_trace(directory() + "/traces.otf2");
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message);
    if (!trace) return {};
    const auto summary = (*trace)->examine();
    EXPECT_TRUE(summary.ok()) << (summary.ok() ? "" : summary.error().message);
    if (!summary) return {};
    EXPECT_EQ(summary->problem, "");
    const auto outcome = replay_trace(**trace, 1, {.scenario = star_for_test(4)});
    EXPECT_TRUE(outcome.ok()) << (outcome.ok() ? "" : outcome.error().message);
    if (outcome) {
      EXPECT_GE(outcome->messages, summary->messages);
    }
    return *summary;
  }

  fs::path base_;
};

TEST_P(record, misses_no_way_to_send_complete_or_talk_in_groups) {
  if (!is_built("exchange")) GTEST_SKIP() << "no compiler of " << GetParam();
  const auto merged = run("exchange");
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_EQ(merged->ranks, 4U);
  const Summary summary = replayed();
  EXPECT_EQ(summary.ranks, 4U);
  // Of each of two rounds: 4 · 2 by MPI_Sendrecv, 1 long one, 4 · 5 overlapping, 4 · 3 persistent.
  EXPECT_EQ(summary.messages, 2U * (8 + 1 + 20 + 12));
  // Fourteen of the world, then of each half; and the last sum.
  EXPECT_EQ(summary.collectives, 14U + 2 * 14 + 1);
}

TEST_P(record, records_programs_in_fortran) {
  if (!is_built("halo")) GTEST_SKIP() << "no Fortran compiler of " << GetParam();
  const auto merged = run("halo");
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  const Summary summary = replayed();
  EXPECT_EQ(summary.messages, 4U * 3 + 1);
  EXPECT_EQ(summary.bytes, 4U * 3 * 8000 + 80);
  EXPECT_EQ(summary.collectives, 1U);
}

/// Some MPIs carry out calls on files by collectives that the recording has, too.
TEST_P(record, records_programs_with_files) {
  if (!is_built("files")) GTEST_SKIP() << "no compiler of " << GetParam();
  const auto merged = run("files", {(base_ / "file").string()});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_GE(replayed().collectives, 1U);
}

TEST_P(record, says_that_a_program_failed_and_makes_no_archive) {
  if (!is_built("exchange")) GTEST_SKIP() << "no launcher of " << GetParam();
  const auto merged =
      record_program({.command = {"mpirun." + std::string(GetParam()), "-n", "1", "false"},
                      .directory = directory()});
  ASSERT_FALSE(merged.ok());
  EXPECT_NE(merged.error().message.find("ended with code 1"), std::string::npos)
      << merged.error().message;
  EXPECT_FALSE(fs::exists(directory()));
}

TEST_P(record, of_a_program_without_mpi_leaves_nothing_behind) {
  if (!is_built("exchange")) GTEST_SKIP() << "no launcher of " << GetParam();
  const auto merged =
      record_program({.command = {"mpirun." + std::string(GetParam()), "-n", "2", "true"},
                      .directory = directory()});
  ASSERT_FALSE(merged.ok());
  EXPECT_NE(merged.error().message.find("rank 0 left no recording"), std::string::npos)
      << merged.error().message;
  EXPECT_TRUE(fs::is_empty(base_));
}

/// The recording's own calls are collective: ranks would wait forever for one that left them out.
TEST_P(record, of_which_one_rank_cannot_be_written_ends_and_says_why) {
  if (!is_built("exchange")) GTEST_SKIP() << "no compiler of " << GetParam();
  const std::string mpi = GetParam();
  const std::string full_disk =
      "[ \"$OMPI_COMM_WORLD_RANK$PMI_RANK\" != 1 ] || "
      "ln -s /dev/full \"$WEFT_TRACE_RECORDINGS/rank-1.record\"; exec \"$0\"";
  const auto merged =
      record_program({.command = {"mpirun." + mpi, "-n", "4", "sh", "-c", full_disk,
                                  std::string(WEFT_PROGRAMS) + "/trace_exchange_" + mpi},
                      .directory = directory()});
  ASSERT_FALSE(merged.ok());
  EXPECT_EQ(merged.error().code, ErrorCode::exhausted);
  EXPECT_EQ(merged.error().message,
            "--out: cannot write '" + directory() +
                ".recordings/rank-1.record': No space left on device; free space, or write to "
                "another disk");
  EXPECT_FALSE(fs::exists(directory()));
}

INSTANTIATE_TEST_SUITE_P(mpi, record, testing::Values("openmpi", "mpich"),
                         [](const auto& info) { return std::string(info.param); });

class recordings : public testing::Test {
 protected:
  void SetUp() override {
    base_ = fs::temp_directory_path() / ("weft-recordings-" + std::to_string(getpid()));
    fs::create_directories(base_);
  }
  void TearDown() override { fs::remove_all(base_); }
  std::string merge_error() {
    const auto merged = merge_recordings(base_.string(), (base_ / "trace").string());
    return merged ? "" : merged.error().message;
  }
  void write(std::uint32_t rank, const std::vector<Record>& records, bool ends = true) {
    Recorder recorder;
    ASSERT_EQ(recorder.open(base_.string(), rank, 2), 0);
    recorder.define(Recorder::now_ns(), 0, 0, {0, 1});
    for (const Record& record : records) recorder.add(record);
    if (ends) {
      recorder.finish(Recorder::now_ns());
    } else {
      recorder.flush();
    }
  }
  fs::path base_;
};

constexpr Record clock(std::uint64_t at_ns, std::int64_t ahead_ns) {
  return {
      .time_ns = at_ns, .more = static_cast<std::uint64_t>(ahead_ns), .kind = Record::Kind::clock};
}

TEST_F(recordings, are_put_on_one_clock_with_its_drift) {
  const auto mark = [](std::uint64_t ns) {
    return Record{.time_ns = ns, .kind = Record::Kind::progress};
  };
  write(0, {clock(1000, 0), mark(2000), clock(3000, 0)});
  // Behind by 500 ns at first and by 700 in the end: by 600 in the middle.
  write(1, {clock(500, 500), mark(1400), clock(2300, 700)});
  ASSERT_EQ(merge_error(), "");
  auto stream = open_otf2((base_ / "trace" / "traces.otf2").string());
  ASSERT_TRUE(stream.ok());
  const auto first = (*stream)->next(0);
  const auto second = (*stream)->next(1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->at_ns, second->at_ns);
}

TEST_F(recordings, whose_archive_does_not_fit_leave_none) {
  // libotf2 writes a rank's events in pieces of 4 MiB.
  write(0, std::vector<Record>(400'000, {.time_ns = 1, .kind = Record::Kind::progress}));
  write(1, {});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string error = merge_error();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(error.find("traces.otf2: cannot write: File is too large"), std::string::npos) << error;
  for (const auto& left : fs::directory_iterator(base_)) {
    EXPECT_EQ(left.path().extension(), ".record");
  }
}

TEST_F(recordings, beyond_a_limit_of_file_sizes_fail_without_a_signal) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 4096, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  write(0, std::vector<Record>(1000, {.time_ns = 1, .kind = Record::Kind::progress}));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(fs::exists(recording_path(base_.string(), 0) + errno_infix + std::to_string(EFBIG)));
}

TEST_F(recordings, of_killed_programs_are_refused) {
  write(0, {clock(1, 0)});
  write(1, {clock(1, 0)}, false);
  EXPECT_EQ(merge_error(),
            "rank 1, event 4: the recording ends there: the program was killed or did not come to "
            "its end (MPI_Finalize)");
}

TEST_F(recordings, of_which_one_is_missing_are_refused) {
  write(0, {});
  EXPECT_NE(merge_error().find("rank 1 left no recording"), std::string::npos);
}

TEST_F(recordings, that_are_something_else_are_refused) {
  std::ofstream(recording_path(base_.string(), 0)) << "this is not a recording at all";
  EXPECT_NE(merge_error().find("it is no recording of rank 0"), std::string::npos);
}

TEST_F(recordings, say_what_of_the_program_cannot_be_recorded) {
  write(0, {{.operation = static_cast<std::uint16_t>(Incomplete::one_sided),
             .kind = Record::Kind::incomplete}});
  EXPECT_EQ(merge_error(),
            "rank 0: the program cannot be recorded: it uses windows, whose transfers are not "
            "recorded");
}

}  // namespace
}  // namespace weft::trace
