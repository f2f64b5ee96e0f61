// SPDX-License-Identifier: Apache-2.0
#include "program/recorded_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace weft {
namespace {

namespace fs = std::filesystem;
using trace::Call;
using trace::Record;

/// Alone; all that it is asked to do is done at once, under one number where sizes are the same.
class AloneCommunicator final : public Communicator {
 public:
  Rank rank() const override { return Rank(0); }
  std::uint32_t size() const override { return 1; }
  Generation generation() const override { return Generation(7); }
  Operation start_send(Rank, Tag, std::span<const std::byte> bytes) override {
    return Operation(bytes.size());
  }
  Operation start_receive(Rank, Tag, std::span<std::byte>) override { return Operation(1000); }
  Result<std::size_t> wait(Operation operation) override {
    if (operation.number() == fails) return Error{ErrorCode::unavailable, "gone"};
    return std::size_t{4};
  }
  bool is_done(Operation) override { return false; }
  std::unique_ptr<Communicator> subgroup(std::span<const Rank>) override {
    return std::make_unique<AloneCommunicator>();
  }

  std::uint64_t fails = 0;
};

class AloneProcess final : public Process {
 public:
  Communicator& world() override { return world_; }
  Incarnation incarnation() const override { return Incarnation(1); }
  /// Each look at the clock takes a nanosecond.
  Duration elapsed() const override { return Duration::nanoseconds(++now_ns_); }
  void compute(Duration time) override { now_ns_ += time.to_nanoseconds(); }

  AloneCommunicator world_;

 private:
  mutable std::int64_t now_ns_ = 0;
};

class recorded_process : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::temp_directory_path() / ("weft-recorded-" + std::to_string(getpid()));
    fs::create_directories(directory_);
    auto recorded = RecordedProcess::begin(process_, directory_.string());
    ASSERT_TRUE(recorded.ok()) << recorded.error().message;
    recorded_ = std::move(recorded).value();
  }
  void TearDown() override { fs::remove_all(directory_); }
  /// All that is in the file behind its head, without communicators and clocks.
  std::vector<Record> records() {
    recorded_->end();
    std::ifstream in(trace::recording_path(directory_.string(), 0), std::ios::binary);
    in.ignore(sizeof(trace::RecordingHead));
    std::vector<Record> all;
    for (Record r; in.read(reinterpret_cast<char*>(&r), sizeof r);) {
      const bool describes = r.kind == Record::Kind::communicator ||
                             r.kind == Record::Kind::members || r.kind == Record::Kind::clock;
      if (!describes) all.push_back(r);
    }
    return all;
  }
  /// The kinds of all records but those that begin and end calls, and the last.
  std::vector<Record::Kind> messages() {
    std::vector<Record::Kind> kinds;
    for (const Record& r : records()) {
      if (r.kind != Record::Kind::enter && r.kind != Record::Kind::leave &&
          r.kind != Record::Kind::end) {
        kinds.push_back(r.kind);
      }
    }
    return kinds;
  }

  fs::path directory_;
  AloneProcess process_;
  std::unique_ptr<RecordedProcess> recorded_;
};

TEST_F(recorded_process, records_each_of_several_operations_that_have_one_number) {
  const std::array<std::byte, 4> bytes{};
  Communicator& world = recorded_->world();
  const Operation first = world.start_send(Rank(0), Tag(1), bytes);
  const Operation second = world.start_send(Rank(0), Tag(2), bytes);
  ASSERT_EQ(first, second);
  ASSERT_TRUE(world.wait(first).ok() && world.wait(second).ok());
  using Kind = Record::Kind;
  EXPECT_EQ(messages(), (std::vector{Kind::send_started, Kind::send_started, Kind::send_done,
                                     Kind::send_done}));
}

TEST_F(recorded_process, says_that_an_operation_failed) {
  std::array<std::byte, 4> bytes{};
  const Operation awaited = recorded_->world().start_receive(Rank(0), Tag(1), bytes);
  process_.world_.fails = awaited.number();
  ASSERT_FALSE(recorded_->world().wait(awaited).ok());
  using Kind = Record::Kind;
  EXPECT_EQ(messages(), (std::vector{Kind::receive_started, Kind::cancelled}));
}

TEST_F(recorded_process, takes_looks_one_behind_the_other_as_one_call) {
  std::array<std::byte, 4> bytes{};
  Communicator& world = recorded_->world();
  const Operation awaited = world.start_receive(Rank(0), Tag(1), bytes);
  for (int i = 0; i < 100; ++i) (void)world.is_done(awaited);
  recorded_->compute(Duration::microseconds(5));
  for (int i = 0; i < 100; ++i) (void)world.is_done(awaited);
  ASSERT_TRUE(world.wait(awaited).ok());
  int looks = 0;
  std::uint64_t before = 0;
  for (const Record& r : records()) {
    looks += r.kind == Record::Kind::enter && r.operation == static_cast<int>(Call::weft_test);
    EXPECT_GE(r.time_ns, before);
    before = r.time_ns;
  }
  EXPECT_EQ(looks, 2);
}

TEST_F(recorded_process, numbers_the_groups_that_the_program_makes) {
  const std::array members{Rank(0)};
  const std::array<std::byte, 4> bytes{};
  const auto group = recorded_->world().subgroup(members);
  ASSERT_TRUE(group->wait(group->start_send(Rank(0), Tag(1), bytes)).ok());
  recorded_->mark_progress();
  const auto all = records();
  const auto sent = std::find_if(
      all.begin(), all.end(), [](const Record& r) { return r.kind == Record::Kind::send_started; });
  ASSERT_NE(sent, all.end());
  EXPECT_EQ(sent->communicator, 1U);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const Record& r) { return r.kind == Record::Kind::progress; }),
            1);
}

}  // namespace
}  // namespace weft
