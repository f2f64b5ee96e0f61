// SPDX-License-Identifier: Apache-2.0
// Counters and settings, read from trees that look like those of real machines.
#include "rdma/machine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "rdma/live_counters.hpp"

namespace weft::rdma {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class machine : public testing::Test {
 protected:
  machine() : root_(fs::temp_directory_path() / ("weft-machine-" + std::to_string(::getpid()))) {
    fs::create_directories(root_);
  }
  ~machine() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void count(const std::string& device, const std::string& counter, std::uint64_t value) const {
    put("class/infiniband/" + device + "/ports/1/hw_counters/" + counter, std::to_string(value));
  }
  void add_device(const std::string& name, const std::string& type) const {
    const std::string at = "class/infiniband/" + name + "/";
    put(at + "hca_type", type);
    put(at + "fw_ver", "12.27.1016");
    put(at + "ports/1/state", "4: ACTIVE");
    put(at + "ports/1/rate", "100 Gb/sec (4X EDR)");
    put(at + "ports/1/link_layer", "InfiniBand");
  }
  MachineReport report(std::map<std::string, std::string> variables = {}) const {
    MachineSource source;
    source.sys = source.proc = root_.string();
    source.environment = [variables](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    };
    return inspect(source);
  }
  static std::size_t dangers(const MachineReport& report) {
    std::size_t count = 0;
    for (const MachineNote& note : report.notes) count += note.is_danger ? 1 : 0;
    return count;
  }

  fs::path root_;
};

TEST_F(machine, drivers_counters_have_different_names_and_one_meaning) {
  count("mlx5_0", "local_ack_timeout_err", 3);
  count("mlx5_0", "packet_seq_err", 2);
  count("mlx5_0", "implied_nak_seq_err", 1);
  count("mlx5_0", "rnr_nak_retry_err", 7);
  count("bnxt_re0", "to_retransmits", 4);
  count("bnxt_re0", "dup_req", 9);
  count("rxe0", "rcvd_rnr_err", 5);
  count("rxe0", "completer_retry_err", 6);
  count("irdma0", "tcpRetransSegs", 8);
  put("class/infiniband/mlx5_0/ports/1/hw_counters/duplicate_request", "N/A");
  const MachineReadings all = read_counters(root_.string());
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(total(all.at("mlx5_0")),
            (DeviceCounters{.timeouts = 3, .sequence_naks = 3, .rnr_naks = 7}));
  EXPECT_EQ(total(all.at("bnxt_re0")), (DeviceCounters{.timeouts = 4, .duplicates = 9}));
  EXPECT_EQ(total(all.at("rxe0")), (DeviceCounters{.timeouts = 6, .rnr_naks = 5}));
  EXPECT_EQ(total(all.at("irdma0")), (DeviceCounters{.retransmissions = 8}));
  EXPECT_TRUE(read_counters((root_ / "nothing").string()).empty());
}

TEST_F(machine, files_that_are_none_are_not_read) {
  add_device("mlx5_0", "MT4115");
  add_device("mlx5_1", "MT4115");
  const fs::path devices = root_ / "class/infiniband";
  const fs::path counters = devices / "mlx5_0/ports/1/hw_counters";
  fs::create_directories(counters);
  fs::remove(devices / "mlx5_0/hca_type");
  fs::remove(devices / "mlx5_1/hca_type");
  ASSERT_EQ(::mkfifo((devices / "mlx5_0/hca_type").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", devices / "mlx5_1/hca_type");
  ASSERT_EQ(::mkfifo((counters / "packet_seq_err").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", counters / "out_of_sequence");
  const MachineReport seen = report();
  ASSERT_EQ(seen.devices.size(), 2u);
  EXPECT_EQ(seen.devices[0].model, "unknown");
  EXPECT_EQ(seen.devices[1].model, "unknown");
  EXPECT_TRUE(read_counters(root_.string()).at("mlx5_0").empty());
}

TEST_F(machine, files_are_shown_without_what_a_terminal_obeys) {
  add_device("mlx5_0", "\x1B[31mMT\x9B\x7F");
  EXPECT_EQ(report().devices.at(0).model, "?[31mMT??");
}

TEST_F(machine, counters_with_a_sign_or_beyond_64_bits_cannot_be_read) {
  const std::string at = "class/infiniband/mlx5_0/ports/1/hw_counters/";
  put(at + "packet_seq_err", "-7");
  put(at + "out_of_sequence", "+7");
  put(at + "duplicate_request", "18446744073709551616");
  put(at + "local_ack_timeout_err", "18446744073709551615");
  EXPECT_EQ(read_counters(root_.string()).at("mlx5_0").size(), 1u);
}

TEST_F(machine, regions_statistics_are_added_up_by_device) {
  MachineReadings all;
  add_region_statistics(
      "dev mlx5_0 mrn 8 page_faults 9 page_faults_handled 9 page_invalidations 2 page_prefetch 0\n"
      "dev mlx5_0 mrn 9 page_faults 1 page_invalidations 0\nlink mlx5_1/1 mrn 2 page_faults x",
      all);
  EXPECT_EQ(total(all["mlx5_0"]), (DeviceCounters{.page_faults = 10, .page_invalidations = 2}));
  EXPECT_EQ(total(all["mlx5_1"]), DeviceCounters());
}

TEST_F(machine, changes_of_counters_tell_damming_from_loss_and_flood) {
  constexpr Duration second = Duration::seconds(1);
  using enum FindingClass;
  const auto judge = [](const DeviceCounters& change, Duration took) {
    return CounterJudge().judge(change, took);
  };
  EXPECT_THAT(judge({}, second), IsEmpty());
  EXPECT_THAT(judge({.rnr_naks = 5, .page_faults = 9}, second), IsEmpty()) << "faults alone";
  EXPECT_THAT(judge({.timeouts = 1, .rnr_naks = 5}, second), ElementsAre(damming));
  EXPECT_THAT(judge({.sequence_naks = 1, .rnr_naks = 5}, second), ElementsAre(damming_rescued));
  EXPECT_THAT(judge({.timeouts = 1}, second), ElementsAre(loss));
  EXPECT_THAT(judge({.timeouts = 1, .sequence_naks = 1, .rnr_naks = 1}, second), ElementsAre(loss));
  EXPECT_THAT(judge({.duplicates = 50'000, .page_faults = 1}, second), ElementsAre(flood));
  EXPECT_THAT(judge({.duplicates = 50}, second), IsEmpty());
}

TEST_F(machine, a_timeout_long_after_the_fault_that_it_comes_from_is_damming) {
  using enum FindingClass;
  constexpr Duration every = Duration::seconds(1);
  CounterJudge judge;
  EXPECT_THAT(judge.judge({.rnr_naks = 1}, every), IsEmpty());
  EXPECT_THAT(judge.judge({}, every), IsEmpty());
  EXPECT_THAT(judge.judge({.timeouts = 1}, every), ElementsAre(damming)) << "as with UCX's C = 18";
  EXPECT_THAT(judge.judge({.duplicates = 1}, every), IsEmpty());
  EXPECT_THAT(judge.judge({.sequence_naks = 1}, every), ElementsAre(damming_rescued));
}

TEST_F(machine, a_fault_longer_ago_than_any_timeout_takes_explains_no_loss) {
  using enum FindingClass;
  constexpr Duration every = Duration::seconds(1), timeout = Duration::seconds(3);
  for (const int silent : {2, 3, 4, 5}) {
    CounterJudge judge(timeout);
    judge.judge({.page_faults = 1}, every);
    for (int i = 0; i < silent; ++i) judge.judge({}, every);
    // The timeout came at any time of the last second.
    EXPECT_THAT(judge.judge({.timeouts = 1}, every), ElementsAre(silent <= 3 ? damming : loss))
        << silent;
  }
}

/// Of one device.
class CounterLooks {
 public:
  DeviceCounters look(const std::string& sys, std::string_view regions = {}) {
    MachineReadings readings = read_counters(sys);
    add_region_statistics(regions, readings);
    return watch_.look(readings)["mlx5_0"];
  }

 private:
  CounterWatch watch_;
};

TEST_F(machine, counters_that_were_reset_count_from_zero) {
  CounterLooks looks;
  count("mlx5_0", "local_ack_timeout_err", 10);
  count("mlx5_0", "duplicate_request", 3);
  EXPECT_EQ(looks.look(root_.string()), DeviceCounters());
  count("mlx5_0", "local_ack_timeout_err", 2);
  count("mlx5_0", "duplicate_request", 5);
  EXPECT_EQ(looks.look(root_.string()), (DeviceCounters{.timeouts = 2, .duplicates = 2}));
}

TEST_F(machine, a_counter_that_cannot_be_read_at_a_look_is_as_it_was) {
  CounterLooks looks;
  count("mlx5_0", "rnr_nak_retry_err", 7);
  count("mlx5_0", "packet_seq_err", 4);
  looks.look(root_.string());
  for (const char* unreadable : {"", "N/A"}) {
    put("class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err", unreadable);
    EXPECT_EQ(looks.look(root_.string()), DeviceCounters()) << unreadable;
    count("mlx5_0", "packet_seq_err", 4);
    EXPECT_EQ(looks.look(root_.string()), DeviceCounters()) << unreadable;
  }
  fs::remove_all(root_ / "class/infiniband/mlx5_0/ports");
  EXPECT_EQ(looks.look(root_.string()), DeviceCounters()) << "the port is gone";
  count("mlx5_0", "packet_seq_err", 5);
  count("mlx5_0", "rnr_nak_retry_err", 7);
  count("mlx5_0", "duplicate_request", 900'000);
  EXPECT_EQ(looks.look(root_.string()), (DeviceCounters{.sequence_naks = 1}))
      << "a counter that was never read before has counted nothing";
}

TEST_F(machine, regions_that_come_and_go_count_what_happened_to_each) {
  CounterLooks looks;
  count("mlx5_0", "packet_seq_err", 4);
  const std::string at = root_.string();
  looks.look(at, "dev mlx5_0 mrn 8 page_faults 100\ndev mlx5_0 mrn 9 page_faults 50\n");
  EXPECT_EQ(looks.look(at), DeviceCounters()) << "rdma said nothing";
  EXPECT_EQ(looks.look(at, "dev mlx5_0 mrn 9 page_faults 51\n").page_faults, 1u) << "8 is gone";
  EXPECT_EQ(looks.look(at, "dev mlx5_0 mrn 9 page_faults 51\ndev mlx5_0 mrn 10 page_faults 6\n")
                .page_faults,
            6u);
}

TEST_F(machine, paging_on_an_adapter_that_dams_is_dangerous) {
  add_device("mlx5_0", "MT4115");
  EXPECT_EQ(dangers(report()), 0u);
  const MachineReport paged = report({{"UCX_IB_REG_METHODS", "odp,rcache"}});
  ASSERT_EQ(paged.devices.size(), 1u);
  EXPECT_EQ(paged.devices[0].model, "ConnectX-4");
  EXPECT_THAT(paged.devices[0].ports, ElementsAre("1: ACTIVE, 100 Gb/sec (4X EDR), InfiniBand"));
  EXPECT_EQ(dangers(paged), 1u);
  EXPECT_THAT(paged.notes[0].what, HasSubstr("packet damming and packet flood"));
}

TEST_F(machine, the_rnr_timer_zero_and_numa_balancing_are_dangerous) {
  add_device("mlx5_0", "MT4123");
  put("sys/kernel/numa_balancing", "1");
  EXPECT_EQ(dangers(report({{"FI_VERBS_MIN_RNR_TIMER", "0"}})), 1u);
  EXPECT_EQ(dangers(report({{"FI_VERBS_USE_ODP", "1"}})), 2u) << "flood; pages taken away";
  EXPECT_EQ(dangers(report({{"UCX_RC_RNR_TIMEOUT", "1ms"}})), 0u);
}

TEST_F(machine, paging_is_found_however_a_library_spells_it_and_all_that_ask_for_it_are_named) {
  add_device("mlx5_0", "MT4115");
  using Variables = std::map<std::string, std::string>;
  for (const Variables& on : {Variables{{"FI_VERBS_USE_ODP", "Yes"}},
                              {{"FI_VERBS_USE_ODP", "TRUE"}},
                              {{"FI_VERBS_USE_ODP", "On"}},
                              {{"MV2_USE_ODP", "2"}},
                              {{"GASNET_USE_ODP", "Y"}},
                              {{"UCX_IB_REG_METHODS", "rcache,ODP"}},
                              {{"UCX_REG_NONBLOCK_MEM_TYPES", "host"}}}) {
    EXPECT_EQ(dangers(report(on)), 1u) << on.begin()->first << '=' << on.begin()->second;
  }
  for (const Variables& off : {Variables{{"FI_VERBS_USE_ODP", "No"}},
                               {{"FI_VERBS_USE_ODP", "0"}},
                               {{"MV2_USE_ODP", "off"}},
                               {{"UCX_IB_REG_METHODS", "rcache,direct"}},
                               {{"UCX_REG_NONBLOCK_MEM_TYPES", ""}}}) {
    EXPECT_EQ(dangers(report(off)), 0u) << off.begin()->first << '=' << off.begin()->second;
  }
  const MachineReport several =
      report({{"UCX_REG_NONBLOCK_MEM_TYPES", "host"}, {"MV2_USE_ODP", "1"}});
  EXPECT_THAT(several.notes[0].what,
              HasSubstr("UCX_REG_NONBLOCK_MEM_TYPES=host, MV2_USE_ODP=1: mlx5_0"));
}

TEST_F(machine, rnr_timers_are_read_as_the_libraries_read_them) {
  const auto found = [&](const char* name, const char* value) {
    const MachineReport all = report({{name, value}});
    return dangers(all);
  };
  for (const char* value : {"0", "0x0", "00", "31", "0x1f"}) {
    EXPECT_EQ(found("FI_VERBS_MIN_RNR_TIMER", value), 1u) << value;
  }
  for (const char* value : {"1", "12", "32", "x"}) {
    EXPECT_EQ(found("FI_VERBS_MIN_RNR_TIMER", value), 0u) << value;
  }
  // Without a unit it is seconds. The shortest time is code 1, not 0.
  for (const char* value : {"1", "0.5s", "700ms", "1m", "655360us", "inf"}) {
    EXPECT_EQ(found("UCX_RC_RNR_TIMEOUT", value), 1u) << value;
    EXPECT_EQ(found("UCX_RC_MLX5_RNR_TIMEOUT", value), 1u) << value;
  }
  for (const char* value : {"0", "0us", "10us", "1ms", "0.001", "50ms", "soon"}) {
    EXPECT_EQ(found("UCX_RC_RNR_TIMEOUT", value), 0u) << value;
  }
}

TEST_F(machine, a_machine_without_adapters_says_so) {
  const MachineReport nothing = report();
  EXPECT_TRUE(nothing.devices.empty());
  ASSERT_EQ(nothing.notes.size(), 1u);
  EXPECT_THAT(nothing.notes[0].what, HasSubstr("no RDMA device"));
}

TEST_F(machine, paging_that_is_turned_on_is_named_without_an_adapter_too_and_is_no_danger) {
  const MachineReport paged =
      report({{"UCX_REG_NONBLOCK_MEM_TYPES", "host"}, {"MV2_USE_ODP", "1"}});
  ASSERT_EQ(paged.notes.size(), 2u);
  EXPECT_THAT(paged.notes[1].what, HasSubstr("UCX_REG_NONBLOCK_MEM_TYPES=host, MV2_USE_ODP=1"));
  EXPECT_EQ(dangers(paged), 0u) << "a login node has no adapter";
}

}  // namespace
}  // namespace weft::rdma
