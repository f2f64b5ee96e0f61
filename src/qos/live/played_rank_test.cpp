// SPDX-License-Identifier: Apache-2.0
#include "qos/live/played_rank.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "sim/workload/patterns.hpp"
#include "spmd/threads_for_test.hpp"

namespace weft::qos {
namespace {

/// The process of a thread, whose iterations are counted.
class Counted final : public Process {
 public:
  Counted(Process& process, std::atomic<std::uint64_t>& marks) : process_(process), marks_(marks) {}
  Communicator& world() override { return process_.world(); }
  Incarnation incarnation() const override { return process_.incarnation(); }
  Duration elapsed() const override { return process_.elapsed(); }
  void compute(Duration time) override { process_.compute(time); }
  void mark_progress() override { ++marks_; }

 private:
  Process& process_;
  std::atomic<std::uint64_t>& marks_;
};

TEST(played_rank, every_pattern_runs_to_its_end_and_marks_its_iterations) {
  for (const char* name : {"flood-pairs", "nearest-neighbor", "random-pairs", "all-to-all",
                           "mini-paradis", "mini-amg", "crystal-router", "pf3d"}) {
    sim::PatternOptions options{.pattern = sim::parse_workload_pattern(name).value(),
                                .ranks = 8,
                                .message_bytes = 5000,
                                .messages = 2,
                                .compute = PicoDuration::microseconds(3),
                                .iterations = 4};
    const auto program = sim::make_pattern(options);
    ASSERT_TRUE(program.ok()) << program.error().message;
    std::atomic<std::uint64_t> marks = 0, computed = 0;
    const int code = spmd::run_program_in_threads(
        options.ranks,
        [&](Process& process, std::span<const std::string>) {
          Counted counted(process, marks);
          const PlayOptions play_options{
              .compute_noise = 0.1, .seed = 7, .compute = [&](Duration) { ++computed; }};
          return play(counted, **program, play_options).ok() ? 0 : 1;
        },
        {});
    EXPECT_EQ(code, 0) << name;
    EXPECT_EQ(marks, 8U * 4U) << name;
    EXPECT_GE(computed, 8U * 4U) << name;
  }
}

}  // namespace
}  // namespace weft::qos
