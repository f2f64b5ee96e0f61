// SPDX-License-Identifier: Apache-2.0
#include "launch/launched_job.hpp"

#include <gtest/gtest.h>

#include "process/job_options.hpp"

namespace weft {
namespace {

constexpr Duration second = Duration::seconds(1);

TEST(launched_job, waits_for_silent_hosts_as_long_as_for_processes_by_default) {
  LaunchOptions options;
  options.timeout = second * 30;
  EXPECT_EQ(peer_timeout_of(options), second * 30);
  options.timeout = Duration::milliseconds(500);
  EXPECT_EQ(peer_timeout_of(options), second);
  options.timeout = Duration::max();
  EXPECT_EQ(peer_timeout_of(options), second * 10);
  options.peer_timeout = second * 3;
  EXPECT_EQ(peer_timeout_of(options), second * 3);
}

TEST(launched_job, gives_large_jobs_the_time_that_all_need_to_meet_all) {
  LaunchOptions options;
  EXPECT_EQ(timeout_of(options), second * 10);
  options.processes = 300;
  EXPECT_EQ(timeout_of(options), second * 30);
  EXPECT_EQ(peer_timeout_of(options), second * 10) << "a machine is as silent in a large job";
  options.timeout = Duration{};
  EXPECT_EQ(timeout_of(options), Duration{}) << "what is said holds";
  options.timeout = second;
  EXPECT_EQ(describe_job(options, {.job_id = "job", .secret = "secret"}).timeout, second);
}

std::string complaint(Duration heartbeat, const char* fabric = "auto") {
  LaunchOptions options;
  options.heartbeat = heartbeat;
  options.fabric = fabric;
  const auto good = check_heartbeat("--heartbeat", options);
  return good ? "" : good.error().message;
}

TEST(launched_job, proves_connections_alive_before_they_count_as_gone) {
  EXPECT_EQ(complaint(Duration{}), "");
  EXPECT_EQ(complaint(second * 9), "");
  EXPECT_EQ(complaint(second * 10),
            "--heartbeat: 10 s is no less than the time after which a silent machine is gone "
            "(10 s, --peer-timeout); choose less");
  EXPECT_EQ(complaint(second * 5, "libfabric:tcp"), "");
  EXPECT_EQ(complaint(second * 6, "libfabric:tcp"),
            "--heartbeat: 6 s is more than half of the time after which a silent machine is gone "
            "(10 s, --peer-timeout); choose less");
}

TEST(launched_job, tells_processes_how_often_to_ask) {
  LaunchOptions options;
  options.heartbeat = second * 2;
  const auto told = read_job_description(to_text(describe_job(options, {"job", "secret"})));
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(told->heartbeat, second * 2);
}

TEST(launched_job, fails_nothing_that_can_be_started_anew) {
  LaunchOptions options;
  options.timeout = second * 30;
  options.restart = true;
  const JobDescription job = describe_job(options, {.job_id = "job", .secret = "secret"});
  EXPECT_TRUE(job.retain);
  EXPECT_EQ(job.timeout, Duration::max());
  EXPECT_EQ(job.peer_timeout, second * 30);
}

TEST(launched_job, keeps_no_messages_where_all_processes_are_started_anew_together) {
  LaunchOptions options;
  options.restart = options.restart_all = true;
  const auto told = read_job_description(to_text(describe_job(options, {"job", "secret"})));
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_TRUE(told->retain) << "there are outcomes to be recorded";
  EXPECT_FALSE(message_options(*told).retain);
}

TEST(launched_job, names_its_run_where_its_launcher_counts_lives) {
  LaunchOptions options;
  EXPECT_EQ(describe_job(options, {.job_id = "job", .secret = "secret"}).run, "job");
  options.file = "job.conf";
  EXPECT_EQ(describe_job(options, {.job_id = "job", .secret = "secret"}).run, "");
}

}  // namespace
}  // namespace weft
