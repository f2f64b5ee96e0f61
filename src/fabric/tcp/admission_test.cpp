// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/admission.hpp"

#include <gtest/gtest.h>

namespace weft::tcp {
namespace {

const NodeId kLow(1), kHigh(2);

AdmissionView known(NodeId self) {
  AdmissionView view;
  view.self = self;
  view.is_known = true;
  view.incarnation = Incarnation(4);
  return view;
}

Hello hello(NodeId from, std::uint32_t incarnation = 4, std::uint64_t session = 0,
            std::uint64_t ended = 0) {
  return {from, Incarnation(incarnation), from == kLow ? kHigh : kLow, session, ended};
}

TEST(admission, begins_a_session_with_a_known_peer) {
  EXPECT_EQ(decide(known(kLow), hello(kHigh)).admission, Admission::begin);
}

TEST(admission, refuses_the_unknown_and_the_stale) {
  AdmissionView view = known(kLow);
  EXPECT_EQ(decide(view, hello(kHigh, 3)).verdict, Verdict::stale);
  view.is_known = false;
  EXPECT_EQ(decide(view, hello(kHigh)).verdict, Verdict::unknown_peer);
  EXPECT_EQ(decide(view, hello(kHigh)).admission, Admission::refuse);
}

TEST(admission, refuses_another_process_with_the_same_number) {
  AdmissionView view = known(kLow);
  view.process = 0xa;
  Hello same = hello(kHigh), other = hello(kHigh), later = hello(kHigh, 5);
  same.process = 0xa;
  other.process = later.process = 0xb;
  EXPECT_EQ(decide(view, same).admission, Admission::begin);
  EXPECT_EQ(decide(view, other).verdict, Verdict::stale);
  EXPECT_EQ(decide(view, later).admission, Admission::begin);
}

TEST(admission, believes_a_later_life_whatever_the_former_is_doing) {
  AdmissionView view = known(kLow);
  view.session = 9;
  view.has_connection = true;
  view.is_attempting = true;
  EXPECT_EQ(decide(view, hello(kHigh, 5)).admission, Admission::begin);
  EXPECT_EQ(decide(view, hello(kHigh, 5, 9)).verdict, Verdict::not_resumable);
}

TEST(admission, crossing_attempts_come_to_one_connection) {
  AdmissionView low = known(kLow), high = known(kHigh);
  low.is_attempting = high.is_attempting = true;
  // The lower one's attempt is accepted, the higher one's waits and is refused afterwards.
  EXPECT_EQ(decide(high, hello(kLow)).admission, Admission::begin);
  EXPECT_EQ(decide(low, hello(kHigh)).admission, Admission::defer);
  low.is_attempting = false;
  low.session = 77;
  low.has_connection = true;
  EXPECT_EQ(decide(low, hello(kHigh)).verdict, Verdict::duplicate);
  // Or the lower one's attempt fails: then the higher one's is as good.
  low = known(kLow);
  EXPECT_EQ(decide(low, hello(kHigh)).admission, Admission::begin);
}

TEST(admission, a_session_that_the_peer_gave_up_is_replaced) {
  AdmissionView view = known(kLow);
  view.session = 77;
  view.has_connection = true;
  EXPECT_EQ(decide(view, hello(kHigh, 4, 0, 77)).admission, Admission::begin);
  EXPECT_EQ(decide(view, hello(kHigh, 4, 0, 76)).verdict, Verdict::duplicate);
}

TEST(admission, a_session_without_connection_is_resumed) {
  AdmissionView view = known(kLow);
  view.session = 77;
  EXPECT_EQ(decide(view, hello(kHigh, 4, 77)).admission, Admission::resume);
  EXPECT_EQ(decide(view, hello(kHigh, 4, 78)).verdict, Verdict::not_resumable);
  view.is_attempting = true;
  EXPECT_EQ(decide(view, hello(kHigh, 4, 77)).admission, Admission::defer);
  view.self = NodeId(9);
  EXPECT_EQ(decide(view, hello(kHigh, 4, 77)).admission, Admission::resume);
}

TEST(admission, a_resumption_waits_for_the_draining_connection) {
  AdmissionView view = known(kLow);
  view.session = 77;
  view.has_connection = true;
  EXPECT_EQ(decide(view, hello(kHigh, 4, 77)).verdict, Verdict::duplicate);
  view.is_draining = true;
  EXPECT_EQ(decide(view, hello(kHigh, 4, 77)).admission, Admission::defer);
}

}  // namespace
}  // namespace weft::tcp
