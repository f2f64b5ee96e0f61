// SPDX-License-Identifier: Apache-2.0
#include "core/message/departure.hpp"

#include <gtest/gtest.h>

namespace weft::message {
namespace {

TEST(departure, node_0_decides_when_all_have_finished_and_goes_last) {
  Departure leader(NodeId(0), 3);
  leader.on_done(NodeId(1));
  leader.finish();
  EXPECT_FALSE(leader.decided());
  EXPECT_TRUE(leader.waits_for(NodeId(2)));
  EXPECT_FALSE(leader.waits_for(NodeId(1)));
  leader.on_done(NodeId(2));
  EXPECT_TRUE(leader.decided());
  EXPECT_FALSE(leader.owes_leave(NodeId(1))) << "somebody else is told first";
  leader.let_go();
  EXPECT_TRUE(leader.owes_leave(NodeId(1)));
  leader.told_leave(NodeId(1));
  leader.told_leave(NodeId(2));
  leader.on_left(NodeId(1));
  EXPECT_FALSE(leader.over());
  leader.on_left(NodeId(2));
  EXPECT_TRUE(leader.over());
}

TEST(departure, who_dies_before_the_decision_has_to_finish_again) {
  Departure leader(NodeId(0), 2);
  leader.finish();
  EXPECT_FALSE(leader.decided());
  Departure again(NodeId(0), 3);
  again.on_done(NodeId(1));
  again.on_down(NodeId(1));
  again.on_done(NodeId(2));
  again.finish();
  EXPECT_FALSE(again.decided());
  again.on_done(NodeId(1));
  EXPECT_TRUE(again.decided());
}

TEST(departure, a_connection_that_breaks_is_told_again_what_it_was_told) {
  Departure leader(NodeId(0), 2);
  leader.finish();
  leader.on_done(NodeId(1));
  leader.let_go();
  leader.told_leave(NodeId(1));
  leader.on_down(NodeId(1));
  EXPECT_TRUE(leader.owes_leave(NodeId(1)));
  EXPECT_FALSE(leader.over());
  leader.on_gone(NodeId(1));
  EXPECT_TRUE(leader.over());

  Departure other(NodeId(1), 2);
  EXPECT_FALSE(other.owes_done(NodeId(0)));
  other.finish();
  EXPECT_TRUE(other.owes_done(NodeId(0)));
  other.told_done();
  EXPECT_FALSE(other.owes_done(NodeId(0)));
  other.on_down(NodeId(0));
  EXPECT_TRUE(other.owes_done(NodeId(0)));
  other.on_leave();
  EXPECT_TRUE(other.owes_left(NodeId(0)));
  other.told_left();
  EXPECT_FALSE(other.over()) << "until it has left this host";
  other.left_is_out();
  EXPECT_TRUE(other.over());
}

TEST(departure, another_life_of_a_process_that_was_done_does_not_begin_when_all_is_over) {
  Departure leader(NodeId(0), 3), again(NodeId(1), 3);
  leader.on_done(NodeId(1));
  leader.on_done(NodeId(2));
  leader.finish();
  leader.let_go();
  EXPECT_TRUE(leader.decided());
  leader.on_down(NodeId(1));
  again.ask();
  EXPECT_FALSE(again.answered());
  EXPECT_TRUE(again.waits_for(NodeId(0)));
  EXPECT_TRUE(again.owes_ask(NodeId(0)));
  again.asked();
  EXPECT_FALSE(again.owes_ask(NodeId(0)));
  leader.on_ask(NodeId(1));
  EXPECT_FALSE(leader.owes_begin(NodeId(1)));
  EXPECT_TRUE(leader.owes_leave(NodeId(1)));
  again.on_leave();
  EXPECT_TRUE(again.answered());
  EXPECT_TRUE(again.decided());
}

TEST(departure, another_life_of_a_process_that_was_done_begins_when_others_are_not) {
  Departure leader(NodeId(0), 3), again(NodeId(1), 3);
  leader.finish();
  leader.on_done(NodeId(1));
  again.ask();
  // The end of the earlier life is heard later than the question of the next.
  leader.on_ask(NodeId(1));
  leader.on_done(NodeId(2));
  EXPECT_FALSE(leader.decided()) << "its program is not over any more";
  EXPECT_TRUE(leader.owes_begin(NodeId(1)));
  leader.told_begin(NodeId(1));
  EXPECT_FALSE(leader.owes_begin(NodeId(1)));
  again.on_begin();
  EXPECT_TRUE(again.answered());
  EXPECT_FALSE(again.decided());
  leader.on_done(NodeId(1));
  EXPECT_TRUE(leader.decided());
}

TEST(departure, a_question_is_asked_again_over_the_next_connection) {
  Departure leader(NodeId(0), 2), other(NodeId(1), 2);
  other.ask();
  other.asked();
  other.on_down(NodeId(0));
  EXPECT_TRUE(other.owes_ask(NodeId(0)));
  leader.on_ask(NodeId(1));
  leader.on_down(NodeId(1));
  EXPECT_FALSE(leader.owes_begin(NodeId(1)));
}

TEST(departure, a_process_alone_goes_when_it_is_done) {
  Departure alone(NodeId(0), 1);
  EXPECT_FALSE(alone.over());
  alone.finish();
  EXPECT_TRUE(alone.over());
}

}  // namespace
}  // namespace weft::message
