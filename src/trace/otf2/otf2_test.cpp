// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/events/examine.hpp"
#include "trace/events/records_for_test.hpp"
#include "trace/otf2/otf2_trace.hpp"

// The library keeps a little memory when it refuses to open a file; the program keeps none of it.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libopen-trace-format2";
}

namespace weft::trace {
namespace {

namespace fs = std::filesystem;
using Kind = Record::Kind;

class otf2 : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        fs::temp_directory_path() / ("weft-otf2-" + std::to_string(getpid()) + "-" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string write(const std::vector<std::vector<Record>>& records,
                    const std::vector<std::vector<std::uint32_t>>& communicators = {{0, 1}}) {
    const auto ranks = static_cast<std::uint32_t>(records.size());
    auto writer = create_otf2(directory_.string(), ranks);
    EXPECT_TRUE(writer.ok()) << (writer.ok() ? "" : writer.error().message);
    for (std::uint32_t r = 0; r < ranks; ++r) {
      EXPECT_TRUE((*writer)->begin_rank(r).ok());
      for (const Record& record : records[r]) EXPECT_TRUE((*writer)->add(record).ok());
      EXPECT_TRUE((*writer)->end_rank().ok());
    }
    const auto done = (*writer)->finish(communicators);
    EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
    return (directory_ / "traces.otf2").string();
  }

  fs::path directory_;
};

/// Two ranks: a message each way, one of them not waited for at once, a sum, a mark.
std::vector<std::vector<Record>> exchange() {
  const Record sum{.time_ns = 900,
                   .bytes = 16,
                   .more = 16,
                   .tag = -1,
                   .operation = static_cast<std::uint16_t>(Collective::allreduce),
                   .kind = Kind::collective};
  return {{enters(100), message(110, Kind::send, 1, 4000, 0, 7), leaves(120), enters(300),
           message(310, Kind::receive, 1, 8, 0, 2), leaves(310), enters(400), sum, leaves(900),
           request(950, Kind::progress, 0)},
          {enters(50), request(60, Kind::receive_started, 5), leaves(70), enters(200),
           message(205, Kind::send_started, 0, 8, 6, 2), leaves(210), enters(250),
           message(260, Kind::receive_done, 0, 4000, 5, 7), request(270, Kind::send_done, 6),
           leaves(270), enters(500), sum, leaves(900), request(980, Kind::progress, 0)}};
}

TEST_F(otf2, reads_what_it_wrote) {
  const std::string path = write(exchange());
  auto stream = open_otf2(path);
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  const auto summary = examine(**stream, path);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->problem, "");
  EXPECT_EQ(summary->ranks, 2U);
  EXPECT_EQ(summary->messages, 2U);
  EXPECT_EQ(summary->bytes, 4008U);
  EXPECT_EQ(summary->collectives, 1U);
  EXPECT_NEAR(summary->seconds, 920e-9, 1e-12);
}

TEST_F(otf2, keeps_events_of_a_rank_as_they_were) {
  auto stream = open_otf2(write(exchange()));
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  std::vector<Event> events;
  do {
    auto event = (*stream)->next(1);
    ASSERT_TRUE(event.ok()) << event.error().message;
    events.push_back(*event);
  } while (events.back().kind != Event::Kind::end);
  ASSERT_EQ(events.size(), 11U);
  EXPECT_EQ(events[0].kind, Event::Kind::receive);
  EXPECT_EQ(events[0].peer, 0U);
  EXPECT_EQ(events[0].bytes, 4000U);
  EXPECT_EQ(events[0].tag, 7);
  EXPECT_EQ(events[1].compute_ns, 130U);
  EXPECT_EQ(events[2].kind, Event::Kind::send);
  EXPECT_EQ(events[3].compute_ns, 40U);
  EXPECT_EQ(events[4].kind, Event::Kind::wait);
  EXPECT_EQ(events[4].request, events[0].request);
  EXPECT_EQ(events[7].operation, collective::Operation::allreduce);
  EXPECT_EQ(events[7].bytes, 8U);
  EXPECT_EQ(events[9].kind, Event::Kind::mark_progress);
}

/// As of MPI_Waitall.
TEST_F(otf2, has_collectives_that_end_in_one_call) {
  Record first{.time_ns = 420,
               .bytes = 16,
               .more = 16,
               .tag = -1,
               .operation = static_cast<std::uint16_t>(Collective::allreduce),
               .kind = Kind::collective};
  Record second = first;
  second.time_ns = 440;
  const std::vector<Record> rank{enters(400), first, second, leaves(450)};
  const std::string path = write({rank, rank});
  auto stream = open_otf2(path);
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  const auto summary = examine(**stream, path);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->problem, "");
  EXPECT_EQ(summary->collectives, 2U);
}

TEST_F(otf2, keeps_communicators_by_their_members) {
  Record first = message(5, Kind::send, 1, 8);
  Record second = message(5, Kind::receive, 0, 8);
  first.communicator = second.communicator = 1;
  // Turned round: its rank 1 is rank 0 of the world.
  const std::string path = write({{second}, {first}}, {{0, 1}, {1, 0}});
  auto stream = open_otf2(path);
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  const auto summary = examine(**stream, path);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->problem, "");
  EXPECT_EQ(summary->messages, 1U);
}

TEST_F(otf2, refuses_a_truncated_archive) {
  std::vector<std::vector<Record>> records(2);
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    records[0].push_back(message(10 * i, Kind::send, 1, 8));
    records[1].push_back(message(10 * i + 5, Kind::receive, 0, 8));
  }
  const std::string path = write(records);
  fs::resize_file(directory_ / "traces" / "1.evt", 100'000);
  auto stream = open_otf2(path);
  std::string error = stream ? "" : stream.error().message;
  if (stream) {
    const auto summary = examine(**stream, path);
    ASSERT_FALSE(summary.ok());
    error = summary.error().message;
  }
  EXPECT_NE(error.find(path), std::string::npos) << error;
  EXPECT_NE(error.find("rank 1"), std::string::npos) << error;
}

TEST_F(otf2, names_the_file_of_an_archive_that_cannot_be_read) {
  const std::string path = write(exchange());
  const auto error_of = [&]() -> Error {
    auto stream = open_otf2(path);
    if (!stream) return stream.error();
    const auto summary = examine(**stream, path);
    return summary ? Error{} : summary.error();
  };
  const fs::path events = directory_ / "traces" / "1.evt";
  fs::remove(events);
  EXPECT_EQ(
      error_of().message,
      events.string() + ": it is missing; copy the whole archive, or record the program anew");
  fs::create_symlink(events, events);
  EXPECT_EQ(error_of().code, ErrorCode::io);
  EXPECT_EQ(error_of().message,
            "cannot open '" + events.string() + "': Too many levels of symbolic links");
  const fs::path definitions = directory_ / "traces.def";
  fs::resize_file(definitions, 0);
  EXPECT_EQ(error_of().message, definitions.string() +
                                    ": it is empty; copy the whole archive, or "
                                    "record the program anew");
  fs::remove(definitions);
  EXPECT_EQ(error_of().message, definitions.string() +
                                    ": it is missing; copy the whole archive, "
                                    "or record the program anew");
}

TEST_F(otf2, writes_events_to_the_disk_as_they_come) {
  auto writer = create_otf2(directory_.string(), 1);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->begin_rank(0).ok());
  for (std::uint64_t i = 0; i < 600'000; ++i) {
    ASSERT_TRUE((*writer)->add(message(1000 * i, Kind::send, 0, i, 0, 5)).ok());
  }
  // Of eleven megabytes at most a few are in memory.
  EXPECT_GT(fs::file_size(directory_ / "traces" / "0.evt"), 1'000'000U);
  ASSERT_TRUE((*writer)->end_rank().ok());
  ASSERT_TRUE((*writer)->finish({{0}}).ok());
}

TEST_F(otf2, refuses_what_is_no_archive) {
  fs::create_directories(directory_);
  const std::string path = (directory_ / "a.otf2").string();
  std::ofstream(path) << "nothing";
  const auto stream = open_otf2(path);
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().message,
            path + ": no OTF2 archive; name its anchor file, such as out/traces.otf2");
}

TEST_F(otf2, tells_a_file_that_is_missing_from_one_that_is_no_archive) {
  const auto stream = open_otf2("/no/such.otf2");
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code, ErrorCode::not_found);
  EXPECT_EQ(stream.error().message,
            "cannot open '/no/such.otf2': No such file or directory; name one that is there");
}

TEST_F(otf2, does_not_write_over_an_archive) {
  write(exchange());
  EXPECT_FALSE(create_otf2(directory_.string(), 2).ok());
}

}  // namespace
}  // namespace weft::trace
