// SPDX-License-Identifier: Apache-2.0
// Unmodified programs on sockets, each on a host of its own behind an emulated link. Times are only
// held to bounds that no disturbance can break: nothing arrives before it may.
#include "emulate/sockets.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/mpi_launcher.hpp"

namespace weft::emulate {
namespace {

constexpr auto kLatency = Duration::milliseconds(3);

/// Stores a value and reads it back four times: with the connection, six round trips.
constexpr const char* kClient = R"(
exec 3<>/dev/tcp/{server}/11211 || exit 9
value=$(printf '%01000d' 42)
printf 'set answer 0 0 1000\r\n%s\r\n' "$value" >&3
read -r line <&3; echo "$line"
for i in 1 2 3 4; do
  printf 'get answer\r\n' >&3
  read -r header <&3; read -r line <&3; read -r end <&3
  [ "$line" = "$value"$'\r' ] && echo "$header"
done
)";

class emulated_sockets : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("WEFT_CALIBRATION", (::testing::TempDir() + "/no_calibration").c_str(), 1);
    if (find_program("memcached").empty() || find_program("bash").empty()) {
      GTEST_SKIP() << "memcached or bash is not installed";
    }
    const auto link = measure_link({}, false);
    if (!link) GTEST_SKIP() << link.error().message;
  }

  static EmulationRequest memcached(const std::string& client) {
    EmulationRequest request;
    request.server = "exec memcached -u root -l {server}";
    request.command = {"bash", "-c", client};
    request.capture_stdout = true;
    return request;
  }
  static std::string refusal(const EmulationRequest& request) {
    const auto ran = run(request);
    return ran ? "" : ran.error().message;
  }
};

TEST_F(emulated_sockets, calibration_counts_its_measurements_up_to_their_total) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);  // no mpirun: the sockets alone
  std::vector<int> counts;
  int total = 0;
  const auto calibrated = calibrate([&](const std::string& layer, int done, int all) {
    EXPECT_EQ(layer, kSocketsLayer);
    counts.push_back(done);
    total = all;
  });
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_TRUE(calibrated) << calibrated.error().message;
  EXPECT_EQ(counts, (std::vector{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(total, 5);
}

TEST_F(emulated_sockets, memcached_answers_right_and_no_sooner_than_the_link_lets_it) {
  EmulationRequest request = memcached(kClient);
  request.latency.value = kLatency;
  request.bandwidth.rate = Bandwidth::bytes_per_second(12'500'000);
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  std::string expected = "STORED\r\n";
  for (int i = 0; i < 4; ++i) expected += "VALUE answer 0 1000\r\n";
  EXPECT_EQ(ran->stdout_text, expected);
  EXPECT_EQ(ran->interposer, "sockets");
  EXPECT_GT(ran->coarse, Duration{});
  EXPECT_GT(ran->bytes, 5'000U);
  EXPECT_GE(ran->program_time, kLatency * (6 * 2));
}

TEST_F(emulated_sockets, a_calibrated_overhead_shortens_no_latency) {
  const std::string path = ::testing::TempDir() + "/sockets_calibration.json";
  ASSERT_TRUE(CalibrationFile::create(path)->store({{kSocketsLayer, {10'000, 1e9, 990'000}}}));
  ::setenv("WEFT_CALIBRATION", path.c_str(), 1);
  EmulationRequest request = memcached(kClient);
  request.latency.value = kLatency;
  const auto ran = run(request);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_GE(ran->program_time, kLatency * (6 * 2));
  EXPECT_EQ(ran->latency_ns.asked, 3'010'000);
}

TEST_F(emulated_sockets, no_message_arrives_before_its_latency) {
  const auto link = measure_link({.latency = kLatency}, false);
  ASSERT_TRUE(link) << link.error().message;
  EXPECT_GE(link->one_way_ns, static_cast<double>(kLatency.to_nanoseconds()));
}

TEST_F(emulated_sockets, no_bytes_come_faster_than_the_link) {
  const auto link = measure_link({.rate = Bandwidth::bytes_per_second(10'000'000)}, true);
  ASSERT_TRUE(link) << link.error().message;
  // Bytes in the sender's own bucket may leave at once: a part of the 0.3 s measured.
  EXPECT_LE(link->bandwidth_bytes_per_s, 10.2e6);
}

TEST_F(emulated_sockets, a_server_that_fails_is_named) {
  EmulationRequest request = memcached(kClient);
  request.server = "exit 3";
  EXPECT_NE(refusal(request).find("--server 'exit 3': ended with code 3 before it listened"),
            std::string::npos);
}

TEST_F(emulated_sockets, a_client_that_fails_has_no_result) {
  EXPECT_NE(refusal(memcached("exit 7")).find("bash ended with code 7"), std::string::npos);
}

TEST_F(emulated_sockets, a_client_that_sends_nothing_is_told_where_the_server_is) {
  EXPECT_NE(refusal(memcached("true")).find("{server}, which becomes 10.77.0.1"),
            std::string::npos);
}

TEST_F(emulated_sockets, options_of_mpi_programs_are_refused) {
  EmulationRequest request = memcached(kClient);
  request.method = Method::spin;
  EXPECT_NE(refusal(request).find("--method spin: is for MPI programs"), std::string::npos);
}

TEST_F(emulated_sockets, a_latency_in_all_needs_a_calibration) {
  EmulationRequest request = memcached(kClient);
  request.latency = {.in_all = true, .value = Duration::milliseconds(1)};
  EXPECT_NE(refusal(request).find("run weft calibrate once"), std::string::npos);
}

}  // namespace
}  // namespace weft::emulate
