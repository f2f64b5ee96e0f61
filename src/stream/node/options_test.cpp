// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/stream/messages.hpp"
#include "runtime/memory/mirrored_ring.hpp"
#include "stream/node/ring_sizes.hpp"
#include "weft/stream.hpp"

namespace weft {
namespace {

StreamOptions sound() {
  StreamOptions options;
  options.timeslices = 1;
  return options;
}

std::string complaint(const StreamOptions& options) {
  const auto checked = check_options(options);
  return checked ? "" : checked.error().message;
}

TEST(stream_options, a_contribution_holds_as_many_microslices_as_its_descriptor_counts) {
  StreamOptions options = sound();
  options.microslices_per_timeslice = stream::microslice_count_mask;
  options.descriptors = 16;
  EXPECT_EQ(complaint(options), "");
  options.overlap_microslices = 1;
  EXPECT_NE(complaint(options).find("at most 16777215"), std::string::npos) << complaint(options);
  options.microslices_per_timeslice = 1;
  options.overlap_microslices = 0xffff'ffff;  // the sum is more than 32 bits hold
  EXPECT_NE(complaint(options).find("--overlap 4294967295"), std::string::npos);
}

TEST(stream_options, buffers_of_more_than_4_gib_are_taken_up_to_what_can_be_addressed) {
  StreamOptions options = sound();
  options.inputs = options.computes = 1;
  for (const ByteCount good : {ByteCount::gib(4), ByteCount::gib(5), ByteCount::gib(8192)}) {
    options.buffer = good;
    EXPECT_EQ(complaint(options), "") << good.value();
    EXPECT_LE(stream::input_buffer_bytes(options), largest_ring);
  }
  options.buffer = ByteCount(ByteCount::gib(8192).value() + 1);
  EXPECT_NE(complaint(options).find("--buffer: "), std::string::npos);
  options.buffer = ByteCount(UINT64_MAX);
  EXPECT_NE(complaint(options).find("--buffer: "), std::string::npos);
  options.buffer = ByteCount{};
  EXPECT_NE(complaint(options).find("--buffer: "), std::string::npos);
}

TEST(stream_options, dfs_has_no_more_engines_than_compute_nodes) {
  StreamOptions options = sound();
  options.schedule = "dfs";
  options.computes = 2;
  options.dfs.engines = 2;
  EXPECT_EQ(complaint(options), "");
  options.dfs.engines = 3;
  EXPECT_NE(complaint(options).find("--engines 3: each needs a compute node, and --computes is 2"),
            std::string::npos);
}

TEST(stream_options, buffers_of_all_pairs_together_have_to_be_addressed) {
  StreamOptions options = sound();
  options.buffer = ByteCount::gib(4);
  options.computes = 4096;
  EXPECT_NE(complaint(options).find("each of 4097 pairs"), std::string::npos);
  options.computes = 4095;
  EXPECT_EQ(complaint(options), "");
}

TEST(stream_options, a_sink_s_queue_has_a_largest_size) {
  StreamOptions options = sound();
  options.inputs = 1024;
  options.sink_depth = 4096;
  EXPECT_EQ(complaint(options), "");
  for (const std::uint32_t bad : {0U, 4097U, 0xffff'ffffU}) {
    options.sink_depth = bad;
    EXPECT_NE(complaint(options).find("--sink-depth: "), std::string::npos) << bad;
  }
}

TEST(stream_options, timeouts_have_a_shortest_length) {
  StreamOptions options = sound();
  options.start_timeout = options.stall_timeout = Duration::milliseconds(1);
  EXPECT_EQ(complaint(options), "");
  options.start_timeout = Duration{};
  EXPECT_EQ(complaint(options), "--start-timeout: 0 ns is too short: use 1ms or more");
  options.start_timeout = options.stall_timeout;
  options.stall_timeout = Duration::microseconds(999);
  EXPECT_NE(complaint(options).find("--stall-timeout: "), std::string::npos);
}

TEST(stream_options, an_input_buffer_and_its_descriptors_have_a_largest_size) {
  StreamOptions options = sound();
  options.input_buffer = largest_ring;
  EXPECT_EQ(complaint(options), "");
  options.input_buffer = largest_ring + ByteCount(1);
  EXPECT_NE(complaint(options).find("--input-buffer: "), std::string::npos);
  options.input_buffer = ByteCount{};
  options.descriptors = 1 << 20;
  options.microslices_per_timeslice = 1 << 20;
  EXPECT_NE(complaint(options).find("--descriptors: "), std::string::npos);
}

}  // namespace
}  // namespace weft
