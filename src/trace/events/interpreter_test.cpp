// SPDX-License-Identifier: Apache-2.0
#include "trace/events/interpreter.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trace/events/collective_size.hpp"
#include "trace/events/records_for_test.hpp"

namespace weft::trace {
namespace {

using Kind = Record::Kind;

const Communicators pair_of_ranks{{0, 1}, {}};

std::string text_of(const Event& e) {
  switch (e.kind) {
    case Event::Kind::compute:
      return fmt::format("compute {}", e.compute_ns);
    case Event::Kind::send:
      return fmt::format("send {} to {} as {}", e.bytes, e.peer, e.request);
    case Event::Kind::receive:
      return fmt::format("receive {} from {} as {}", e.bytes, e.peer, e.request);
    case Event::Kind::wait:
      return fmt::format("wait {}", e.request);
    case Event::Kind::collective:
      return fmt::format("{} {}", name_of(e.operation), e.bytes);
    case Event::Kind::mark_progress:
      return "progress";
    case Event::Kind::end:
      break;
  }
  return "end";
}

/// The meaning of a rank's records; or the error.
std::vector<std::string> meaning(const std::vector<Record>& records,
                                 std::size_t look_ahead = 1000) {
  Interpreter interpreter(0, pair_of_ranks, look_ahead);
  std::vector<std::string> out;
  std::uint64_t number = 0;
  for (const Record& record : records) {
    if (auto good = interpreter.add(record, ++number); !good) return {good.error().message};
    while (interpreter.is_ready()) out.push_back(text_of(interpreter.take()));
  }
  interpreter.finish();
  for (;;) {
    const Event event = interpreter.take();
    if (event.kind == Event::Kind::end) return out;
    out.push_back(text_of(event));
  }
}
using Texts = std::vector<std::string>;

TEST(interpreter, takes_time_outside_of_calls_as_computation) {
  EXPECT_EQ(meaning({enters(100, Call::MPI_Init), leaves(900, Call::MPI_Init), enters(1000),
                     message(1005, Kind::send, 1, 8), leaves(1010), enters(1500),
                     message(1700, Kind::receive, 1, 9), leaves(1700)}),
            (Texts{"compute 0", "compute 100", "send 8 to 1 as 0", "wait 0", "compute 490",
                   "receive 9 from 1 as 0", "wait 0"}));
}

TEST(interpreter, starts_all_that_one_call_does_before_it_waits) {
  EXPECT_EQ(meaning({enters(0, Call::MPI_Sendrecv), message(5, Kind::send, 1, 8),
                     message(9, Kind::receive, 1, 9), leaves(9, Call::MPI_Sendrecv)}),
            (Texts{"send 8 to 1 as 0", "receive 9 from 1 as 1", "wait 0", "wait 1"}));
}

TEST(interpreter, finds_the_source_of_a_receive_at_its_completion) {
  EXPECT_EQ(meaning({enters(0), request(1, Kind::receive_started, 77), leaves(2), enters(50),
                     message(60, Kind::receive_done, 1, 9, 77), leaves(61)}),
            (Texts{"receive 9 from 1 as 0", "compute 48", "wait 0"}));
}

TEST(interpreter, posts_a_receive_where_it_completes_if_that_is_too_far_ahead) {
  EXPECT_EQ(meaning({enters(0), request(1, Kind::receive_started, 77), leaves(2),
                     request(3, Kind::progress, 0), request(4, Kind::progress, 0),
                     message(9, Kind::receive_done, 1, 9, 77)},
                    3),
            (Texts{"compute 0", "compute 1", "progress", "compute 1", "progress", "compute 5",
                   "receive 9 from 1 as 0", "wait 0"}));
}

TEST(interpreter, drops_a_cancelled_receive) {
  EXPECT_EQ(meaning({enters(0), request(1, Kind::receive_started, 7),
                     request(2, Kind::cancelled, 7), leaves(3)}),
            (Texts{"compute 0"}));
}

TEST(interpreter, leaves_out_collectives_of_a_rank_alone) {
  Record alone{.communicator = 1, .kind = Kind::collective};
  EXPECT_EQ(meaning({alone}), Texts{});
}

TEST(interpreter, refuses_records_that_contradict_each_other) {
  EXPECT_EQ(meaning({enters(9), leaves(5)}), Texts{"it happens 4 ns before the one before it"});
  EXPECT_EQ(meaning({leaves(5)}), Texts{"a call returns that never began"});
  EXPECT_EQ(meaning({request(5, Kind::send_done, 3)}),
            Texts{"request 3 completes and never began"});
  EXPECT_EQ(meaning({request(1, Kind::receive_started, 3), request(1, Kind::send_done, 3)}),
            Texts{"request 3 begins as one thing and completes as another"});
  EXPECT_EQ(meaning({request(1, Kind::receive_started, 3), request(1, Kind::receive_started, 3)}),
            Texts{"request 3 begins while it is open"});
  EXPECT_EQ(meaning({message(1, Kind::send, 2, 8)}),
            Texts{"communicator 0 has 2 members and no rank 2"});
  EXPECT_EQ(meaning({{.communicator = 4, .kind = Kind::collective}}),
            Texts{"communicator 4 is not defined"});
  EXPECT_EQ(meaning({{.operation = 40, .kind = Kind::collective}}),
            Texts{"collective operation 40 is none of MPI's"});
  EXPECT_EQ(meaning({{.tag = 2, .kind = Kind::collective}}), Texts{"the root is 2 of 2 members"});
}

TEST(interpreter, finds_the_size_that_a_recorder_was_given) {
  for (std::uint16_t i = 0; i <= static_cast<std::uint16_t>(Collective::reduce_scatter_block);
       ++i) {
    const auto operation = static_cast<Collective>(i);
    for (std::uint32_t member = 0; member < 5; ++member) {
      const auto event = collective_event(operation, recorded_sizes(operation, 24, member, 5, 3));
      ASSERT_TRUE(event.ok());
      const bool is_total = operation == Collective::alltoallv ||
                            operation == Collective::alltoallw ||
                            operation == Collective::gatherv || operation == Collective::scatterv;
      if (operation == Collective::barrier || is_total) continue;
      EXPECT_EQ(event->bytes, 24U) << i << " of member " << member;
    }
  }
}

}  // namespace
}  // namespace weft::trace
