// SPDX-License-Identifier: Apache-2.0
// Unmodified MPI programs under emulation, from start to end. Times are only held to bounds that no
// disturbance can break: nothing arrives before it may.
#include "emulate/run.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "emulate/probe.hpp"

namespace weft::emulate {
namespace {

class emulated : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ::setenv("WEFT_CALIBRATION", (::testing::TempDir() + "/no_calibration").c_str(), 1);
    auto probe = find_probe(GetParam());
    if (!probe) GTEST_SKIP() << probe.error().message;
    probe_ = *probe;
  }
  bool is_openmpi() const { return probe_.mpi == "openmpi"; }

  EmulationRequest program(const std::string& what, unsigned ranks = 2) const {
    EmulationRequest request;
    request.command = probe_.launcher;
    request.command.back() = std::to_string(ranks);
    request.command.push_back(std::string(WEFT_PROGRAMS "/emulate_program_") + GetParam());
    request.command.push_back(what);
    request.use_ucx = true;
    request.capture_stdout = true;
    return request;
  }
  std::string links(const std::string& text) const {
    const std::string path = ::testing::TempDir() + "/links_" + GetParam() + ".toml";
    std::ofstream(path) << text;
    return path;
  }
  std::string refusal(const EmulationRequest& request) const {
    const auto ran = run(request);
    return ran ? "" : ran.error().message;
  }

  Probe probe_;
};

TEST_P(emulated, a_program_still_computes_the_right_thing) {
  for (const Method method : {Method::hold, Method::spin}) {
    EmulationRequest request = program("exchange");
    request.latency = {.in_all = false, .value = Duration::microseconds(20)};
    request.bandwidth.rate = Bandwidth::bytes_per_second(500'000'000);
    request.method = method;
    const auto ran = run(request);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->stdout_text, "all right\n");
    EXPECT_EQ(ran->interposer, "ucx");
    EXPECT_EQ(ran->ranks, 2U);
    EXPECT_EQ(ran->ranks_interposed, 2U);
    EXPECT_GT(ran->operations, 300U);
    EXPECT_GT(ran->bytes, 800'000U);
  }
}

TEST_P(emulated, more_ranks_than_cores_compute_the_right_thing_and_warn) {
  const auto ran = run(program("exchange", 5));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  EXPECT_EQ(ran->ranks_interposed, 5U);
  if (std::thread::hardware_concurrency() < 5) {
    ASSERT_EQ(ran->warnings.size(), 1U);
    EXPECT_NE(ran->warnings[0].find("mean nothing"), std::string::npos);
  }
}

TEST_P(emulated, no_message_arrives_before_its_latency) {
  ProbeRun how;
  how.request.latency.value = Duration::microseconds(200);
  const auto values = run_probe(probe_, how, {"latency", "8", "50"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_GE(values->at("latency_min"), 200'000);
  // A rendezvous costs its request, and a read there and back.
  const auto large = run_probe(probe_, how, {"latency", "1048576", "5"});
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_GE(large->at("latency_min"), 600'000);
}

TEST_P(emulated, no_bytes_come_faster_than_the_link) {
  ProbeRun how;
  how.request.bandwidth.rate = Bandwidth::bytes_per_second(200'000'000);
  const auto values = run_probe(probe_, how, {"window", "1048576", "4", "4"});
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_LE(values->at("bandwidth_median"), 200'000'000);
}

TEST_P(emulated, many_messages_in_flight_share_one_latency) {
  ProbeRun how;
  how.request.latency.value = Duration::milliseconds(2);
  const auto values = run_probe(probe_, how, {"window", "8", "64", "3"});
  ASSERT_TRUE(values) << values.error().message;
  // One after the other they would take 128 ms or more, in every window: 4 kB/s. In flight together
  // they take 4 ms, and longer where something disturbs a window.
  EXPECT_GT(values->at("bandwidth_median"), 64 * 8 / 0.100);
}

TEST_P(emulated, padding_goes_beside_messages_that_arrive_as_they_were) {
  EmulationRequest request = program("exchange");
  request.padding = true;
  request.bandwidth.fraction = 0.05;
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  // Nineteen times the bytes, but for the padding that each rank put off: it goes ahead of the next
  // message, so that the last one's is never sent, nor, where windows have endpoints of their own,
  // the last write's and the last read's.
  constexpr std::uint64_t kLast = 300'000 + 2 * 2'048 * sizeof(long);
  EXPECT_LE(ran->padding_bytes, 19 * ran->bytes);
  EXPECT_GE(ran->padding_bytes + 4 * kPaddingThreshold, 19 * ran->bytes - 19 * kLast * 2);
  request.padding = false;
  request.bandwidth.fraction.reset();
  const auto without = run(request);
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_EQ(without->padding_bytes, 0U);
}

TEST_P(emulated, padding_goes_ahead_of_one_sided_reads) {
  EmulationRequest request = program("reads");
  request.padding = true;
  request.bandwidth.fraction = 0.05;
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  EXPECT_GE(ran->padding_bytes, 19U * 50 * 8'000 / 2);
}

TEST_P(emulated, one_sided_operations_cross_the_network_there_and_back) {
  EmulationRequest request = program("counter");
  request.latency.value = Duration::microseconds(500);
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  EXPECT_GE(ran->program_time, Duration::microseconds(20 * 2 * 500));
}

TEST_P(emulated, a_program_of_another_language_begins_by_pmpi) {
  const auto ran = run(program("pmpi"));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
}

TEST_P(emulated, a_program_that_ends_with_another_code_has_no_result) {
  EXPECT_NE(refusal(program("code")).find("ended with code"), std::string::npos);
}

TEST_P(emulated, a_rank_that_dies_is_named) {
  const std::string why = refusal(program("dies"));
  // Its launcher may have ended the other one before anybody looked.
  EXPECT_TRUE(why.find("rank 1 (process") != std::string::npos ||
              why.find("ranks 0, 1 died") != std::string::npos)
      << why;
}

TEST_P(emulated, a_rank_that_exits_without_finalize_has_no_result) {
  EXPECT_NE(refusal(program("exits")).find("no result"), std::string::npos);
}

TEST_P(emulated, a_program_that_never_communicates_has_no_result) {
  EXPECT_NE(refusal(program("silent")).find("no rank sent another anything"), std::string::npos);
}

TEST_P(emulated, open_mpi_as_it_is_by_default_is_told_how_to_switch) {
  if (!is_openmpi()) GTEST_SKIP() << "MPICH uses UCX by default";
  EmulationRequest request = program("exchange");
  request.use_ucx = false;
  EXPECT_NE(refusal(request).find("OMPI_MCA_pml=ucx"), std::string::npos);
}

TEST_P(emulated, a_percentage_of_what_was_never_calibrated_is_refused) {
  EmulationRequest request = program("exchange");
  request.bandwidth.fraction = 0.5;
  EXPECT_NE(refusal(request).find("weft calibrate"), std::string::npos);
}

void use_libfabric(EmulationRequest& request) {
  request.use_ucx = false;
  for (const char* word :
       {"--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include",
        "tcp;ofi_rxm", "-x", "FI_PROVIDER=tcp;ofi_rxm"}) {
    request.command.insert(request.command.end() - 2, word);
  }
}

// Open MPI's own choice would read the other rank's memory past libfabric.
TEST_P(emulated, open_mpi_on_libfabric_reads_across_the_network_by_itself) {
  if (!is_openmpi()) GTEST_SKIP() << "Debian's MPICH has no libfabric";
  EmulationRequest request = program("reads");
  use_libfabric(request);
  request.latency.value = Duration::microseconds(500);
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  EXPECT_EQ(ran->interposer, "libfabric");
  // Fifty reads, each a question and an answer.
  EXPECT_GE(ran->operations, 2U * 50U);
  EXPECT_GE(ran->program_time, Duration::microseconds(50 * 2 * 500));
}

TEST_P(emulated, open_mpi_on_libfabric_computes_the_right_thing_and_waits) {
  if (!is_openmpi()) GTEST_SKIP() << "Debian's MPICH has no libfabric";
  EmulationRequest request = program("exchange");
  use_libfabric(request);
  request.latency.value = Duration::microseconds(300);
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  EXPECT_EQ(ran->interposer, "libfabric");
  EXPECT_EQ(ran->ranks_interposed, 2U);
  // Thirteen exchanges, each at least one message that waits for the other's.
  EXPECT_GE(ran->program_time, Duration::microseconds(13 * 300));
  // The receiver would not discard padding of messages.
  request.padding = true;
  request.bandwidth.fraction = 0.05;
  EXPECT_NE(refusal(request).find("can pad one-sided writes only"), std::string::npos);
}

TEST_P(emulated, a_probe_on_libfabric_takes_no_message_away) {
  if (!is_openmpi()) GTEST_SKIP() << "Debian's MPICH has no libfabric";
  EmulationRequest request = program("probes");
  use_libfabric(request);
  request.links = links("latency = [['0', '1ms'], ['1ms', '0']]\n");
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stdout_text, "all right\n");
  EXPECT_EQ(ran->interposer, "libfabric");
  EXPECT_EQ(ran->operations, 10U);
}

TEST_P(emulated, a_message_waits_for_none_of_another_rank_nor_for_its_receive) {
  for (const bool on_libfabric : {false, true}) {
    if (on_libfabric && !is_openmpi()) continue;
    EmulationRequest request = program("overtakes", 3);
    if (on_libfabric) use_libfabric(request);
    request.links = links("latency = [['0', '0', '0'], ['2s', '0', '0'], ['200ms', '0', '0']]\n");
    const auto ran = run(request);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->stdout_text, "all right\n");
  }
}

INSTANTIATE_TEST_SUITE_P(by_mpi, emulated, ::testing::Values("mpich", "openmpi"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::emulate
