// SPDX-License-Identifier: Apache-2.0
// The module's effect on programs on a provider of the test's own, whose messages arrive at once.
// Times are held to lower bounds only.
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "emulate/verbs/connection.hpp"
#include "emulate/verbs/queue.hpp"

namespace weft::emulate::verbs {
namespace {

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr Picoseconds kLatency = 300 * kMicrosecond;

// ---- the provider: queue pair 2n talks to 2n + 1; each completion queue is named by its pair.
std::map<const ibv_cq*, std::deque<ibv_wc>> shown;
std::map<std::uint32_t, ibv_cq*> queue_of_pair;
int accepts = 0;  // operations before the send queue is full

ibv_wc completion(const ibv_send_wr& request, std::uint32_t pair, ibv_wc_opcode opcode) {
  ibv_wc wc{};
  wc.wr_id = request.wr_id;
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = opcode;
  wc.qp_num = pair;
  return wc;
}

int provider_post_send(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  for (ibv_send_wr* one = requests; one != nullptr; one = one->next) {
    if (accepts-- == 0) {
      *bad = one;
      return ENOMEM;
    }
    if ((one->send_flags & IBV_SEND_SIGNALED) != 0) {
      const auto opcode = one->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ : IBV_WC_SEND;
      shown[queue_of_pair[pair->qp_num]].push_back(completion(*one, pair->qp_num, opcode));
    }
    const std::uint32_t peer = pair->qp_num ^ 1U;
    if (one->opcode == IBV_WR_SEND) {
      shown[queue_of_pair[peer]].push_back(completion(*one, peer, IBV_WC_RECV));
    }
  }
  return 0;
}

int provider_poll_cq(ibv_cq* queue, int wanted, ibv_wc* completions) {
  auto& there = shown[queue];
  int count = 0;
  for (; count < wanted && !there.empty(); ++count) {
    completions[count] = there.front();
    there.pop_front();
  }
  return count;
}

int provider_req_notify_cq(ibv_cq* /*queue*/, int /*solicited_only*/) {
  return 0;
}

ibv_cq_ex extended_queue;

ibv_cq_ex* provider_create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* /*attributes*/) {
  extended_queue = {};
  extended_queue.context = context;
  return &extended_queue;
}

class verbs : public ::testing::Test {
 protected:
  verbs() : block_(std::make_unique<ControlBlock>()) {
    block_->clock = measure_clock(1'000'000);
    process = {block_.get(), &block_->process[0], 0};
    block_->process[0].stage = stage_running;
    context_.ops.post_send = provider_post_send;
    context_.ops.poll_cq = provider_poll_cq;
    context_.ops.req_notify_cq = provider_req_notify_cq;
    context_.abi_compat = __VERBS_ABI_IS_EXTENDED;
    extended_.sz = sizeof extended_;
    extended_.create_cq_ex = provider_create_cq_ex;
    take_over(&context_);
    for (std::uint32_t i : {0U, 1U}) {
      queues_[i].context = &context_;
      pairs_[i].context = &context_;
      pairs_[i].qp_num = i;
      queue_of_pair[i] = &queues_[i];
      const Locked locked;
      connect(*make_connection(&context_, i), end(i), end(i ^ 1U));
    }
    accepts = -1;
  }
  ~verbs() override {
    for (std::uint32_t i : {0U, 1U}) {
      drop_queue(&queues_[i]);
      const Locked locked;
      drop_connection(&context_, i);
    }
    leave(&context_);
    shown.clear();
  }
  verbs(const verbs&) = delete;
  verbs& operator=(const verbs&) = delete;

  static End end(std::uint32_t number) { return {{1, 2, 3}, number}; }
  Picoseconds now() const { return block_->clock.now(); }

  /// As ibv_post_send does.
  int post(ibv_wr_opcode opcode, std::uint64_t id, std::uint32_t bytes = 8, bool is_told = true) {
    ibv_sge segment{0, bytes, 0};
    ibv_send_wr request{};
    request.wr_id = id;
    request.sg_list = &segment;
    request.num_sge = 1;
    request.opcode = opcode;
    request.send_flags = is_told ? unsigned{IBV_SEND_SIGNALED} : 0U;
    ibv_send_wr* bad = nullptr;
    return context_.ops.post_send(&pairs_[0], &request, &bad);
  }
  /// The completions that one poll of an end brings.
  std::vector<std::uint64_t> poll(std::uint32_t of) {
    ibv_wc completions[8];
    const int count = context_.ops.poll_cq(&queues_[of], 8, completions);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < count; ++i) ids.push_back(completions[i].wr_id);
    return ids;
  }
  /// Polls until something comes.
  std::vector<std::uint64_t> wait(std::uint32_t of) {
    for (;;) {
      if (auto ids = poll(of); !ids.empty()) return ids;
    }
  }

  std::unique_ptr<ControlBlock> block_;
  verbs_context extended_{};
  ibv_context& context_ = extended_.context;
  ibv_cq queues_[2]{};
  ibv_qp pairs_[2]{};
};

using Ids = std::vector<std::uint64_t>;

TEST_F(verbs, messages_pass_at_once_when_nothing_is_asked_for) {
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  EXPECT_EQ(poll(1), Ids{7});
  EXPECT_EQ(poll(0), Ids{7});
}

TEST_F(verbs, a_message_is_held_for_its_latency_and_its_acknowledgement_for_two) {
  block_->knobs.latency = kLatency;
  const Picoseconds start = now();
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  EXPECT_EQ(wait(1), Ids{7});
  EXPECT_GE(now() - start, kLatency);
  EXPECT_EQ(wait(0), Ids{7});
  EXPECT_GE(now() - start, 2 * kLatency);
  EXPECT_EQ(block_->process[0].operations[op_send].load(), 1U);
}

TEST_F(verbs, a_queue_that_is_read_field_by_field_holds_messages_too) {
  ibv_cq_init_attr_ex wanted{};
  wanted.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM;
  ibv_cq_ex* const queue = ibv_create_cq_ex(&context_, &wanted);
  ASSERT_EQ(queue, &extended_queue);
  queue_of_pair[1] = ibv_cq_ex_to_cq(queue);
  block_->knobs.latency = kLatency;
  ibv_poll_cq_attr how{};
  const Picoseconds start = now();
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  ASSERT_EQ(post(IBV_WR_SEND, 8), 0);
  int code = ENOENT;
  while (code == ENOENT) code = ibv_start_poll(queue, &how);
  EXPECT_GE(now() - start, kLatency);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(queue->wr_id, 7U);
  EXPECT_EQ(queue->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_opcode(queue), IBV_WC_RECV);
  EXPECT_EQ(ibv_wc_read_qp_num(queue), 1U);
  code = ENOENT;
  while (code == ENOENT) code = ibv_next_poll(queue);
  EXPECT_EQ(queue->wr_id, 8U);
  EXPECT_EQ(ibv_next_poll(queue), ENOENT);
  ibv_end_poll(queue);
  drop_queue(ibv_cq_ex_to_cq(queue));
}

TEST_F(verbs, a_queue_with_time_stamps_is_refused_as_one_that_the_adapter_lacks) {
  ibv_cq_init_attr_ex wanted{};
  wanted.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  errno = 0;
  EXPECT_EQ(ibv_create_cq_ex(&context_, &wanted), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(verbs, a_message_counts_from_when_it_was_sent_not_from_when_it_was_looked_for) {
  block_->knobs.latency = kLatency;
  const Picoseconds start = now();
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  while (now() - start < 2 * kLatency) {
  }
  EXPECT_EQ(poll(1), Ids{7});
}

TEST_F(verbs, messages_in_flight_share_one_latency_and_stay_in_order) {
  block_->knobs.latency = kLatency;
  Ids sent, received;
  for (std::uint64_t i = 0; i < 64; ++i) {
    ASSERT_EQ(post(IBV_WR_SEND, i, 8, false), 0);
    sent.push_back(i);
  }
  while (received.size() < sent.size()) {
    for (const std::uint64_t id : poll(1)) received.push_back(id);
  }
  EXPECT_EQ(received, sent);
}

TEST_F(verbs, a_message_has_left_its_link_before_it_arrives) {
  block_->knobs.rate = 1'000'000'000;
  const Picoseconds start = now();
  ASSERT_EQ(post(IBV_WR_SEND, 7, 500'000), 0);
  EXPECT_EQ(wait(1), Ids{7});
  EXPECT_GE(now() - start, 500 * kMicrosecond);
}

TEST_F(verbs, a_read_travels_twice_and_its_bytes_pass_the_link_back) {
  block_->knobs.latency = kLatency;
  block_->knobs.rate = 1'000'000'000;
  const Picoseconds start = now();
  ASSERT_EQ(post(IBV_WR_RDMA_READ, 7, 400'000), 0);
  EXPECT_EQ(wait(0), Ids{7});
  EXPECT_GE(now() - start, 2 * kLatency + 400 * kMicrosecond);
  EXPECT_EQ(block_->process[0].operations[op_get].load(), 1U);
}

TEST_F(verbs, a_completion_answers_for_those_before_it_that_nobody_is_told_of) {
  block_->knobs.rate = 1'000'000'000;
  const Picoseconds start = now();
  for (int i = 0; i < 4; ++i) ASSERT_EQ(post(IBV_WR_RDMA_WRITE, 0, 100'000, false), 0);
  ASSERT_EQ(post(IBV_WR_RDMA_WRITE, 0, 100'000), 0);
  EXPECT_EQ(wait(0), Ids{0});
  EXPECT_GE(now() - start, 500 * kMicrosecond);
  const Locked locked;
  EXPECT_TRUE(find_connection(&context_, 0)->posted.empty());
}

TEST_F(verbs, what_the_adapter_refuses_pays_its_link_once_and_leaves_no_stamp) {
  block_->knobs.rate = 1'000'000'000;
  accepts = 0;
  for (int i = 0; i < 50; ++i) {
    accepts = 0;
    ASSERT_EQ(post(IBV_WR_SEND, 7, 1'000'000), ENOMEM);
  }
  accepts = -1;
  ASSERT_EQ(post(IBV_WR_SEND, 8, 1'000'000), 0);
  const Picoseconds free = block_->links[0].free_from();
  EXPECT_LE(free - now(), 1'000 * kMicrosecond);
  EXPECT_EQ(wait(1), Ids{8});
  SentStamp stamp{};
  const Locked locked;
  EXPECT_FALSE(find_connection(&context_, 1)->in->read(1, stamp));
}

TEST_F(verbs, a_program_that_sleeps_until_it_is_notified_gets_what_is_held) {
  block_->knobs.latency = 1'000 * kLatency;
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  EXPECT_EQ(poll(1), Ids{});
  // The adapter will not notify again of a completion that it has shown.
  ASSERT_EQ(context_.ops.req_notify_cq(&queues_[1], 0), 0);
  EXPECT_EQ(poll(1), Ids{7});
}

TEST_F(verbs, a_failed_operation_is_told_without_delay) {
  block_->knobs.latency = 1'000 * kLatency;
  ibv_wc wc{};
  wc.wr_id = 9;
  wc.status = IBV_WC_RETRY_EXC_ERR;
  shown[&queues_[0]].push_back(wc);
  EXPECT_EQ(poll(0), Ids{9});
}

TEST_F(verbs, spinning_takes_the_senders_time_instead) {
  block_->knobs.latency = kLatency;
  block_->knobs.method = static_cast<std::uint32_t>(Method::spin);
  const Picoseconds start = now();
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  EXPECT_GE(now() - start, kLatency);
  EXPECT_EQ(poll(1), Ids{7});
}

TEST_F(verbs, spinning_is_over_once_when_the_adapter_refuses_the_message_at_first) {
  block_->knobs.latency = kLatency;
  block_->knobs.method = static_cast<std::uint32_t>(Method::spin);
  accepts = 0;
  ASSERT_EQ(post(IBV_WR_SEND, 7), ENOMEM);
  accepts = -1;
  // A sender that spun again would do so for the hour that the knob says by now.
  block_->knobs.latency = 3'600'000'000'000'000;
  ASSERT_EQ(post(IBV_WR_SEND, 7), 0);
  EXPECT_EQ(poll(1), Ids{7});
}

// ---- ibv_wr_…
std::vector<std::string> calls;

TEST_F(verbs, operations_built_by_calls_are_stamped_when_they_are_complete) {
  block_->knobs.latency = kLatency;
  ibv_qp_ex pair{};
  pair.qp_base = pairs_[0];
  calls.clear();
  pair.wr_start = [](ibv_qp_ex*) { calls.emplace_back("start"); };
  pair.wr_send = [](ibv_qp_ex*) { calls.emplace_back("send"); };
  pair.wr_set_sge = [](ibv_qp_ex*, std::uint32_t, std::uint64_t, std::uint32_t) {
    calls.emplace_back("sge");
  };
  pair.wr_complete = [](ibv_qp_ex* own) {
    ibv_send_wr request{};
    request.wr_id = own->wr_id;
    request.opcode = IBV_WR_SEND;
    request.send_flags = own->wr_flags;
    ibv_send_wr* bad = nullptr;
    return provider_post_send(&own->qp_base, &request, &bad);
  };
  take_over(&pair);
  const Picoseconds start = now();
  ibv_wr_start(&pair);
  pair.wr_id = 5;
  pair.wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_send(&pair);
  ibv_wr_set_sge(&pair, 0, 0, 100);
  ASSERT_EQ(ibv_wr_complete(&pair), 0);
  EXPECT_EQ(wait(1), Ids{5});
  EXPECT_GE(now() - start, kLatency);
  EXPECT_EQ(wait(0), Ids{5});
  EXPECT_GE(now() - start, 2 * kLatency);
  EXPECT_EQ(calls, (std::vector<std::string>{"start", "send", "sge"}));
  EXPECT_EQ(block_->process[0].bytes.load(), 100U);
  EXPECT_EQ(pair.wr_rdma_read, nullptr);
  leave(&pair);
}

}  // namespace
}  // namespace weft::emulate::verbs
