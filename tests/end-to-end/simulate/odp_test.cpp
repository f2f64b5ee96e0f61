// SPDX-License-Identifier: Apache-2.0
// weft odp and weft doctor, on trees that look like /sys of machines with adapters.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

namespace fs = std::filesystem;

class odp : public testing::Test {
 protected:
  odp() : root_(fs::path(testing::TempDir()) / ("weft-odp-" + std::to_string(::getpid()))) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~odp() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  std::string at(const std::string& name) const { return (root_ / name).string(); }

  fs::path root_;
};

TEST_F(odp, simulate_leaves_a_page_with_the_packets_as_a_sequence) {
  const Ended ended = run_weft(
      {"odp", "simulate", "--odp", "server", "--interval", "1ms", "--out", at("out"), "--json"},
      60);
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.json()["damming"], true);
  std::ifstream file(root_ / "out/odp.html");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const char* text : {"RNR NAK, wait 1.28 ms", "lost at the port", "packet damming"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  EXPECT_TRUE(fs::exists(root_ / "out/odp.json"));
}

TEST_F(odp, bench_refuses_options_that_do_not_go_together) {
  const std::vector<std::vector<std::string>> impossible = {
      {},
      {"node1:7471", "--listen", "7471"},
      {"node1"},
      {"7471"},
      {"node1:65536"},
      {"--listen", "node1:"},
      {"node1:7471", "--size", "1048576", "--num-ops", "4096"},
      {"node1:7471", "--timeouts", "0..3"},
      {"node1:7471", "--timeouts", "5..3"},
      {"node1:7471", "--ack-timeout", "32"},
      {"node1:7471", "--port", "0"},
      {"node1:7471", "--rnr-delay", "1s"}};
  for (std::vector<std::string> arguments : impossible) {
    arguments.insert(arguments.begin(), {"odp", "bench"});
    const Ended ended = run_weft(std::move(arguments), 30);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  }
}

TEST_F(odp, bench_without_an_adapter_says_how_to_get_one) {
  if (fs::exists("/sys/class/infiniband") && !fs::is_empty("/sys/class/infiniband")) {
    GTEST_SKIP() << "this machine has an RDMA adapter";
  }
  for (const char* role : {"127.0.0.1:7471", "--listen=7471"}) {
    const Ended ended = run_weft({"odp", "bench", role}, 30);
    EXPECT_EQ(ended.code, 3) << ended.describe();
    EXPECT_EQ(ended.output, "");
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
    // Without the library at build, install that; without an adapter, make one.
    const bool has_fix = ended.errors.find("rdma link add") != std::string::npos ||
                         ended.errors.find("install libibverbs-dev") != std::string::npos;
    EXPECT_TRUE(has_fix) << ended.errors;
  }
}

TEST_F(odp, captures_replace_no_file_unasked) {
  const std::string notes = at("notes.pcap");
  std::ofstream(notes) << "mine";
  const Ended refused = run_weft({"odp", "simulate", "--capture", notes}, 30);
  EXPECT_EQ(refused.code, 2) << refused.describe();
  EXPECT_NE(refused.errors.find("--force"), std::string::npos) << refused.errors;
  EXPECT_EQ(std::filesystem::file_size(notes), 4U);
  EXPECT_EQ(run_weft({"odp", "simulate", "--capture", notes, "--force"}, 30).code, 0);
  EXPECT_GT(std::filesystem::file_size(notes), 24U);
}

TEST_F(odp, diagnose_finds_damming_in_the_capture_of_a_simulated_stream) {
  const auto simulate = [&](const std::string& capture, std::vector<std::string> more) {
    std::vector<std::string> all = {"simulate",   WEFT_EXAMPLES "paged-memory.toml",
                                    "--no-limit", "--json",
                                    "--capture",  capture};
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(std::move(all), 60);
  };
  const Ended stalled = simulate(at("stalled.pcap"), {});
  ASSERT_EQ(stalled.code, 0) << stalled.describe();
  EXPECT_GT(stalled.json()["simulation"]["reliable_connections"]["dammed"], 0);
  const Ended found = run_weft({"odp", "diagnose", at("stalled.pcap"), "--json"}, 60);
  EXPECT_EQ(found.code, 1) << found.describe();
  EXPECT_NE(found.output.find("\"damming\""), std::string::npos) << found.output;
  const Ended pinned = simulate(at("pinned.erf"), {"--set", "fabric.memory=pinned"});
  ASSERT_EQ(pinned.code, 0) << pinned.describe();
  EXPECT_EQ(run_weft({"odp", "diagnose", at("pinned.erf")}, 60).code, 0);
  EXPECT_EQ(simulate(at("no.pcap"), {"--set", "fabric={}"}).code, 2);
}

TEST_F(odp, diagnose_live_tells_what_changed_in_an_adapters_counters) {
  const std::string port = "sys/class/infiniband/mlx5_0/ports/1/hw_counters/";
  put(port + "local_ack_timeout_err", "5");
  // In place of the kernel: regions' page faults grow each time that somebody asks.
  put("bin/rdma", "#!/bin/sh\necho x >> " + at("asked") +
                      "\necho dev mlx5_0 mrn 8 page_faults $(wc -l < " + at("asked") + ")");
  fs::permissions(root_ / "bin/rdma", fs::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (at("bin") + ":" + path).c_str(), 1);
  const Ended ended = run_weft({"odp", "diagnose", "--live", "--every", "1ms", "--samples", "1",
                                "--root", root_.string(), "--json"},
                               60);
  ::setenv("PATH", path.c_str(), 1);
  ASSERT_EQ(ended.code, 0) << ended.describe();
  EXPECT_EQ(ended.json()["device"], "mlx5_0");
  EXPECT_EQ(ended.json()["page_faults"], 1);
  EXPECT_EQ(ended.json()["timeouts"], 0);
}

TEST_F(odp, diagnose_refuses_what_it_cannot_do) {
  EXPECT_EQ(run_weft({"odp", "diagnose"}, 60).code, 2);
  EXPECT_EQ(run_weft({"odp", "diagnose", "--live", "x.pcap"}, 60).code, 2);
  EXPECT_EQ(run_weft({"odp", "diagnose", "--live", "--root", root_.string()}, 60).code, 2);
}

TEST_F(odp, doctor_finds_paging_on_an_adapter_with_packet_damming) {
  put("sys/class/infiniband/mlx5_0/hca_type", "MT4115");
  const Ended good = run_weft({"doctor", "--root", root_.string(), "--json"}, 60);
  EXPECT_EQ(good.json()["devices"][0]["model"], "ConnectX-4") << good.describe();
  ::setenv("FI_VERBS_USE_ODP", "1", 1);
  const Ended bad = run_weft({"doctor", "--root", root_.string()}, 60);
  ::unsetenv("FI_VERBS_USE_ODP");
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.describe().find("DANGER: FI_VERBS_USE_ODP=1"), std::string::npos);
}

}  // namespace
}  // namespace weft::e2e
