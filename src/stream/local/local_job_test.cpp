// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local_job.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/clock.hpp"

namespace weft::stream {
namespace {

constexpr Duration patience = Duration::seconds(3600);

/// Two nodes: the first has reported, the other one says `word` again and again and never reports.
class LeftBehind : public testing::Test {
 protected:
  LocalJob job_of(char word) {
    return {JobOptions{.nodes = 2, .restart = false, .faults = {}, .testbed = nullptr},
            [word](NodePlace place) {
              if (place.self == NodeId(0)) {
                (void)place.channel.send(job_message::report, encode_report(NodeReport{}));
              }
              for (;;) {
                if (place.self == NodeId(1)) (void)place.channel.send(word, "");
                const auto message = place.channel.receive();
                if (message && message->kind == job_message::leave) return 0;
                if (!place.channel.open()) return 0;
                ::usleep(1000);
              }
            }};
  }
  /// Whether node 1 still runs when it alone has not reported for longer than `patience`. Times are
  /// invented: the second look comes after something was heard, and that much later than the first.
  bool outlives_the_others(LocalJob& job) {
    EXPECT_TRUE(job.start());
    int heard = 0;
    const auto hear = [&] { job.step(monotonic_now() + Duration::milliseconds(20), {}); };
    while (heard++ < 5) hear();
    const Instant first = monotonic_now();
    job.give_up_on_silent_nodes(first, patience);
    heard = 0;
    while (heard++ < 5) hear();
    job.give_up_on_silent_nodes(first + patience, patience);
    hear();
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

}  // namespace
}  // namespace weft::stream
