// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local_job.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <vector>

#include "runtime/clock.hpp"

namespace weft::stream {
namespace {

constexpr Duration patience = Duration::seconds(3600);

/// Two nodes: the first has reported, the other one says `word` again and again and never reports.
/// Each says `progress` behind that, so that the test knows what the job has heard.
class LeftBehind : public testing::Test {
 protected:
  LocalJob job_of(char word, bool restart = false) {
    return {JobOptions{.nodes = 2, .restart = restart, .faults = {}, .testbed = nullptr},
            [word](NodePlace place) {
              const bool is_first = place.self == NodeId(0);
              if (is_first) {
                (void)place.channel.send(job_message::report, encode_report(NodeReport{}));
                (void)place.channel.send(job_message::progress, "first");
              }
              for (;;) {
                if (!is_first) {
                  (void)place.channel.send(word, "");
                  (void)place.channel.send(job_message::progress, "second");
                }
                const auto message = place.channel.receive();
                if (message && message->kind == job_message::leave) return 0;
                if (!place.channel.open()) return 0;
                ::usleep(1000);
              }
            }};
  }
  /// Until so many messages of the node have come, or it is no more.
  void hear(LocalJob& job, NodeId node, int messages) {
    int heard = 0;
    while (heard < messages && job.any_lives(node.value(), node.value() + 1)) {
      job.step(monotonic_now() + Duration::milliseconds(20),
               [&](NodeId from, const auto&...) { heard += from == node ? 1 : 0; });
    }
  }
  /// Returns whether node 1 still runs when it alone has not reported for longer than `patience`.
  /// Times are invented: the second look comes after something was heard, and that much later than
  /// the first.
  bool outlives_the_others(LocalJob& job) {
    constexpr int more_than_are_under_way = 200;
    EXPECT_TRUE(job.start());
    hear(job, NodeId(0), 1);
    hear(job, NodeId(1), 1);
    const Instant first = monotonic_now();
    job.give_up_on_silent_nodes(first, patience);
    hear(job, NodeId(1), more_than_are_under_way);
    job.give_up_on_silent_nodes(first + patience, patience);
    hear(job, NodeId(1), more_than_are_under_way);
    return job.any_lives(1, 2);
  }
};

TEST_F(LeftBehind, a_node_that_waits_for_its_sink_is_waited_for) {
  LocalJob job = job_of(job_message::sink);
  EXPECT_TRUE(outlives_the_others(job));
}

TEST_F(LeftBehind, a_node_that_is_cut_off_is_not) {
  LocalJob job = job_of(job_message::progress);
  EXPECT_FALSE(outlives_the_others(job));
}

TEST_F(LeftBehind, a_node_that_is_cut_off_has_no_other_life) {
  LocalJob job = job_of(job_message::progress, true);
  EXPECT_FALSE(outlives_the_others(job));
}

/// Node 0 has reported. Node 1 dies as soon as it is started; its next life is up and never begins.
LocalJob job_with_a_newcomer() {
  return {JobOptions{.nodes = 2, .restart = true, .faults = {}, .testbed = nullptr},
          [](NodePlace place) {
            if (place.self == NodeId(0)) {
              (void)place.channel.send(job_message::report, encode_report(NodeReport{}));
            } else if (place.incarnation == Incarnation(1)) {
              (void)::raise(SIGKILL);
            }
            (void)place.channel.send(job_message::address, "somewhere");
            (void)place.channel.send(job_message::progress, "here");
            while (place.channel.open()) {
              const auto message = place.channel.receive();
              if (message && message->kind == job_message::leave) return 0;
              ::usleep(1000);
            }
            return 0;
          }};
}

TEST(local_job, a_new_life_that_comes_when_all_others_are_done_is_not_waited_for_long) {
  LocalJob job = job_with_a_newcomer();
  ASSERT_TRUE(job.start());
  std::vector<int> words(2);
  const auto hear = [&] {
    job.step(monotonic_now() + Duration::milliseconds(20),
             [&](NodeId from, const auto&...) { ++words[from.value()]; });
  };
  while (words[0] < 1 || words[1] < 1) hear();
  const Instant first = monotonic_now();
  job.give_up_on_silent_nodes(first, patience);
  EXPECT_TRUE(job.any_lives(1, 2));
  job.give_up_on_silent_nodes(first + Duration::seconds(2), patience);
  while (job.any_lives(1, 2)) hear();
  EXPECT_EQ(words[1], 1) << "it was started again";
}

/// All nodes that knew may have died of it.
TEST(local_job, a_new_life_is_told_what_all_were_told_about_the_end) {
  LocalJob job(JobOptions{.nodes = 1, .restart = true, .faults = {}, .testbed = nullptr},
               [](NodePlace place) {
                 (void)place.channel.send(job_message::progress, "here");
                 for (auto message = place.channel.wait(); message;
                      message = place.channel.wait()) {
                   if (message->kind == job_message::leave) return 0;
                   const bool dies = message->kind == job_message::cut_off;
                   if (dies && place.incarnation == Incarnation(1)) (void)::raise(SIGKILL);
                   (void)place.channel.send(job_message::progress, std::string(1, message->kind));
                 }
                 return 1;
               });
  ASSERT_TRUE(job.start());
  std::vector<std::string> words(3);
  const auto hear = [&] {
    job.step(monotonic_now() + Duration::milliseconds(20),
             [&](NodeId, Incarnation life, const std::string& text) {
               words.at(life.value()) += text + " ";
             });
  };
  job.stop();
  job.stop();
  job.hurry();
  while (words[1] != "here q q h ") hear();
  EXPECT_EQ(words[2], "");
  job.cut_off();
  while (words[2].empty()) hear();
  // Behind what a new life is told when it begins.
  job.hurry();
  while (words[2] != "here h " && words[2] != "here q h c h ") hear();
  EXPECT_EQ(words[2], "here q h c h ");
}

TEST(local_job, nodes_hear_of_one_that_died_before_the_stream_began) {
  LocalJob job(JobOptions{.nodes = 2, .restart = false, .faults = {}, .testbed = nullptr},
               [](NodePlace place) {
                 if (place.self == NodeId(1)) (void)::raise(SIGKILL);
                 while (place.channel.open()) {
                   const auto message = place.channel.receive();
                   if (message && message->kind == job_message::leave) return 0;
                   if (message && message->kind == job_message::gone) {
                     (void)place.channel.send(job_message::progress, message->text);
                   }
                   ::usleep(1000);
                 }
                 return 0;
               });
  ASSERT_TRUE(job.start());
  std::string gone;
  while (gone.empty() && job.any_lives(0, 1)) {
    job.step(monotonic_now() + Duration::milliseconds(20),
             [&](NodeId, Incarnation, const std::string& text) { gone = text; });
  }
  EXPECT_EQ(gone, "1");
}

Duration passed_over{};  // by the job's clock while nobody ran
Instant clock_with_pauses() {
  return monotonic_now() + passed_over;
}

/// The first of two nodes reports. The other one is in the job, and says something when it is told
/// to stop only.
LocalJob job_that_waits_for_a_quiet_node() {
  return {JobOptions{.nodes = 2,
                     .restart = false,
                     .faults = {},
                     .testbed = nullptr,
                     .clock = clock_with_pauses},
          [](NodePlace place) {
            (void)place.channel.send(job_message::address, "somewhere");
            if (place.self == NodeId(0)) {
              (void)place.channel.send(job_message::report, encode_report(NodeReport{}));
            }
            (void)place.channel.send(job_message::progress, "here");
            while (place.channel.open()) {
              const auto message = place.channel.receive();
              if (message && message->kind == job_message::leave) return 0;
              if (message && message->kind == job_message::stop) {
                (void)place.channel.send(job_message::progress, "still here");
              }
              ::usleep(1000);
            }
            return 0;
          }};
}

TEST(local_job, nodes_that_stood_still_with_the_job_are_not_given_up) {
  constexpr Duration step = Duration::milliseconds(20);
  LocalJob job = job_that_waits_for_a_quiet_node();
  ASSERT_TRUE(job.start());
  std::vector<int> words(2);
  const LocalJob::OnProgress count = [&](NodeId from, const auto&...) { ++words[from.value()]; };
  Instant listened{};
  while (words[0] < 1 || words[1] < 1) listened = job.step(clock_with_pauses() + step, count);
  job.give_up_on_silent_nodes(listened, patience);

  passed_over = patience * 2;
  listened = job.step(clock_with_pauses() + step, count);
  EXPECT_GE(job.stood_still(), patience * 2);
  job.give_up_on_silent_nodes(listened, patience);
  job.stop();
  while (words[1] < 2 && job.any_lives(1, 2)) job.step(clock_with_pauses() + step, count);
  EXPECT_EQ(words[1], 2) << "it was killed";
  EXPECT_EQ(job.deaths(), 0u);
}

/// Whether each of two nodes has begun a stream again, one that dies when it has said that its
/// first life began one.
std::vector<bool> began_anew(std::string_view second_life_says) {
  LocalJob job(JobOptions{.nodes = 2, .restart = true, .faults = {}, .testbed = nullptr},
               [&](NodePlace place) {
                 const bool is_first = place.incarnation == Incarnation(1);
                 const std::string_view word =
                     is_first ? job_message::first_of_stream : second_life_says;
                 (void)place.channel.send(job_message::started, std::string(word));
                 if (is_first && place.self == NodeId(1)) (void)::raise(SIGKILL);
                 NodeReport report;
                 report.node = place.self;
                 (void)place.channel.send(job_message::report, encode_report(report));
                 while (const auto message = place.channel.wait()) {
                   if (message->kind == job_message::leave) return 0;
                 }
                 return 1;
               });
  EXPECT_TRUE(job.start());
  while (!job.all_reported()) job.step(monotonic_now() + Duration::milliseconds(20), {});
  std::vector<bool> anew;
  for (const NodeReport& report : job.finish()) anew.push_back(report.began_anew);
  return anew;
}

TEST(local_job, a_node_that_begins_a_stream_in_two_lives_is_noticed) {
  EXPECT_EQ(began_anew(job_message::first_of_stream), (std::vector<bool>{false, true}));
  EXPECT_EQ(began_anew(""), (std::vector<bool>{false, false})) << "it joined the stream again";
}

/// One node, which reports and then does `more`.
LocalJob reporting_job(const std::function<int(Channel&)>& more) {
  return {JobOptions{.nodes = 1, .restart = false, .faults = {}, .testbed = nullptr},
          [more](NodePlace place) {
            (void)place.channel.send(job_message::report, encode_report(NodeReport{}));
            return more(place.channel);
          }};
}
void wait_for_reports(LocalJob& job) {
  ASSERT_TRUE(job.start());
  while (!job.all_reported()) job.step(monotonic_now() + Duration::milliseconds(20), {});
}

TEST(local_job, a_node_that_was_stopped_after_its_report_leaves_as_others_do) {
  LocalJob job = reporting_job([](Channel& channel) {
    (void)::raise(SIGSTOP);
    while (channel.open()) {
      const auto message = channel.receive();
      if (message && message->kind == job_message::leave) return 0;
      ::usleep(1000);
    }
    return 1;
  });
  wait_for_reports(job);
  siginfo_t stopped;
  const auto pid = static_cast<id_t>(job.process(NodeId(0)));
  ASSERT_EQ(::waitid(P_PID, pid, &stopped, WSTOPPED | WNOWAIT), 0);
  EXPECT_EQ(job.finish().size(), 1u);
  EXPECT_EQ(job.deaths(), 0u);
  EXPECT_TRUE(job.all_dead());
}

TEST(local_job, a_node_that_does_not_leave_is_killed_and_counts_as_dead) {
  LocalJob job = reporting_job([](Channel&) {
    for (;;) ::pause();
    return 0;
  });
  wait_for_reports(job);
  EXPECT_EQ(job.finish(Duration{}).size(), 1u) << "it had reported";
  EXPECT_EQ(job.deaths(), 1u);
}

}  // namespace
}  // namespace weft::stream
