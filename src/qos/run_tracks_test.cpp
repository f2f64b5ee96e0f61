// SPDX-License-Identifier: Apache-2.0
#include "qos/run_tracks.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "qos/threads.hpp"
#include "qos/two_jobs_for_test.hpp"
#include "sim/scenario/scenario_file.hpp"

namespace weft::qos {
namespace {

constexpr std::uint32_t processes = 16;

/// Says that it has settled after two windows, and changes levels later nevertheless.
class Fidget final : public Controller {
 public:
  std::string_view name() const override { return "fidget"; }
  void on_jobs(std::span<const JobFacts>) override { raise(0); }
  const Configuration& configuration() const override { return now_; }
  void on_window(std::span<const JobWindow> jobs) override {
    ++windows_;
    progress_ += jobs[0].work();
    if (windows_ == 5 || windows_ == 6 || windows_ == 13) raise(progress_);
  }
  bool is_settled() const override { return windows_ >= 2; }
  std::uint32_t accepted() const override { return 0; }

 private:
  void raise(std::uint64_t first) {
    now_ = {.level_of = std::vector<Level>(processes, default_level), .weight_of = {1, 8}};
    for (std::uint64_t p = 0; p < 5; ++p) now_.level_of[(first + 3 * p) % processes] = 1;
  }

  Configuration now_;
  std::uint32_t windows_ = 0;
  std::uint64_t progress_ = 0;
};

TEST(work_in_threads, goes_on_with_the_threads_that_start) {
  pthread_attr_t before, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&before), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 50), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);  // from here on no thread starts
  std::atomic<int> calls = 0;
  work_in_threads(4, [&] { ++calls; });
  EXPECT_EQ(::pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(calls, 1);
}

class tracks_at_once : public testing::Test {
 protected:
  tracks_at_once() {
    options_.scenario =
        sim::parse_scenario(std::string(two_jobs) + "noise = 0.2\n", "test.toml").value();
    options_.period = Duration::microseconds(500);
    options_.iterations = 20;
    jobs_ = jobs::workloads_of(options_.scenario).value();
    placement_ = std::make_unique<Placement>(jobs_, processes, 5, 1);
  }

  std::unique_ptr<Track> track(Track::Kind kind) {
    auto made = std::make_unique<Track>(options_, jobs_, *placement_, 0, kind);
    std::unique_ptr<Controller> controller;
    if (kind == Track::Kind::controlled) controller = std::make_unique<Fidget>();
    EXPECT_TRUE(made->begin(std::move(controller)).ok());
    return made;
  }

  /// The windows of a track beside one on default, as its file has them.
  std::string windows(unsigned threads) {
    const auto on_default = track(Track::Kind::on_default);
    const auto controlled = track(Track::Kind::controlled);
    Track* const tracks[] = {on_default.get(), controlled.get()};
    std::atomic<std::uint32_t> completed = 0;
    const auto ran = run_tracks(tracks, threads, [&] {
      ++completed;
      return true;
    });
    EXPECT_TRUE(ran.ok());
    EXPECT_EQ(completed, 2 * options_.iterations);
    EXPECT_EQ(controlled->settled_after(), 13U);
    return to_text({}, on_default->kept()) + to_text({}, controlled->kept());
  }

  ExperimentOptions options_;
  std::vector<jobs::WorkloadJob> jobs_;
  std::unique_ptr<Placement> placement_;
};

TEST_F(tracks_at_once, have_the_windows_that_follow_each_other_on_one_thread) {
  const auto alone = track(Track::Kind::controlled);
  while (!alone->is_done()) {
    auto window = alone->simulate(alone->completed(), alone->levels());
    ASSERT_TRUE(window.ok());
    ASSERT_TRUE(alone->complete(*std::move(window)).ok());
  }
  const std::string one = windows(1);
  EXPECT_TRUE(one.ends_with(to_text({}, alone->kept())));
  for (const unsigned threads : {2U, 3U, 8U}) EXPECT_EQ(windows(threads), one) << threads;
}

TEST_F(tracks_at_once, are_foreseen_only_after_the_controller_has_settled) {
  const auto controlled = track(Track::Kind::controlled);
  EXPECT_TRUE(controlled->foresees(0));
  EXPECT_FALSE(controlled->foresees(1));
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(controlled->complete(controlled->simulate(i, controlled->levels()).value()).ok());
  }
  EXPECT_TRUE(controlled->foresees(19));
  EXPECT_FALSE(controlled->foresees(20));
  EXPECT_TRUE(track(Track::Kind::on_default)->foresees(19));
}

TEST_F(tracks_at_once, are_not_foreseen_beyond_the_arrival_of_a_job) {
  jobs_[1].arrives = 7;
  placement_ = std::make_unique<Placement>(jobs_, processes, 5, 1);
  const auto controlled = track(Track::Kind::controlled);
  for (std::uint32_t i = 0; i < 2; ++i) {
    ASSERT_TRUE(controlled->complete(controlled->simulate(i, controlled->levels()).value()).ok());
  }
  EXPECT_TRUE(controlled->foresees(6));
  EXPECT_FALSE(controlled->foresees(7));
}

TEST_F(tracks_at_once, stop_when_told_to_and_keep_windows_in_their_order) {
  const auto on_default = track(Track::Kind::on_default);
  Track* const tracks[] = {on_default.get()};
  std::atomic<std::uint32_t> completed = 0;
  const auto ran = run_tracks(tracks, 3, [&] { return ++completed < 4; });
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::cancelled);
  EXPECT_EQ(on_default->kept().windows.size(), on_default->completed());
  EXPECT_EQ(on_default->completed(), 4U);
}

// A pipe that nobody writes to would be waited for.
TEST_F(tracks_at_once, refuse_kept_windows_that_are_no_ordinary_file) {
  std::string directory = testing::TempDir() + "/tracks-XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  options_.directory = directory;
  const std::string file = directory + "/default-0.json";
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  Track on_default(options_, jobs_, *placement_, 0, Track::Kind::on_default);
  const auto begun = on_default.begin(nullptr);
  std::filesystem::remove_all(directory);
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().message,
            "--out: " + file + ": it is no ordinary file; move it away, or name another directory");
}

}  // namespace
}  // namespace weft::qos
