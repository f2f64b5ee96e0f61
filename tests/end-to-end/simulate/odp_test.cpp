// SPDX-License-Identifier: Apache-2.0
// weft odp and weft doctor, on trees that look like /sys of machines with adapters.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
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

TEST_F(odp, simulate_takes_all_seeds_of_64_bits_and_no_larger_one) {
  const auto run = [](const char* seed) {
    return run_weft({"odp", "simulate", "--seed", seed, "--json"}, 30);
  };
  EXPECT_EQ(run("18446744073709551615").json()["seed"], 18'446'744'073'709'551'615U);
  const Ended ended = run("18446744073709551616");
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_NE(ended.errors.find("--seed: '18446744073709551616'"), std::string::npos);
}

TEST_F(odp, simulate_refuses_a_directory_whose_files_are_no_files) {
  fs::create_directories(root_ / "out");
  ASSERT_EQ(::mkfifo(at("out/odp.json").c_str(), 0600), 0);
  for (const bool force : {false, true}) {
    std::vector<std::string> arguments = {"odp", "simulate", "--out", at("out")};
    if (force) arguments.emplace_back("--force");
    const Ended ended = run_weft(arguments, 30);
    EXPECT_FALSE(ended.hung);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_NE(ended.errors.find("odp.json"), std::string::npos) << ended.errors;
  }
}

TEST_F(odp, simulate_that_is_killed_leaves_nothing_behind) {
  const int unnamed = ::open(root_.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (unnamed < 0) GTEST_SKIP() << "this file system has no files without names";
  ::close(unnamed);
  // Killed while it writes: the capture is large, the pipe behind it tells when it has begun.
  WeftProcess simulate({"odp", "simulate", "--num-qps", "128", "--num-ops", "512", "--size", "32",
                        "--odp", "client", "--device", "connectx-6", "--capture",
                        at("killed.pcap")});
  const std::string descriptors = "/proc/" + std::to_string(simulate.pid()) + "/fd";
  const auto writes = [&] {
    std::error_code gone;
    for (fs::directory_iterator it(descriptors, gone), end; !gone && it != end;
         it.increment(gone)) {
      const std::string target = fs::read_symlink(it->path(), gone).string();
      if (target.starts_with(root_.string())) return true;
    }
    return false;
  };
  while (!writes()) {
    ASSERT_EQ(::kill(simulate.pid(), 0), 0);
  }
  simulate.signal(SIGTERM);
  EXPECT_EQ(simulate.wait().code, 128 + SIGTERM);
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(odp, without_standard_output_and_error_the_exit_code_still_tells) {
  const auto code_of = [&](const std::string& command) {
    return WEXITSTATUS(std::system((program() + " " + command).c_str()));
  };
  for (const char* command : {"odp simulate", "doctor", "--version"}) {
    EXPECT_EQ(code_of(command + std::string(" >&- 2>&-")), 3) << command;
    EXPECT_EQ(code_of(command + std::string(" > /dev/full 2> /dev/full")), 3) << command;
  }
  EXPECT_EQ(code_of("odp simulate --trials 0 >&- 2>&-"), 2);
  EXPECT_EQ(code_of("odp diagnose " + at("none.pcap") + " >&- 2> /dev/full"), 2);
  // The capture's file does not take the number of standard output, and with it the text.
  EXPECT_EQ(code_of("odp simulate --capture " + at("b.pcap")), 0);
  EXPECT_EQ(code_of("odp simulate --capture " + at("c.pcap") + " >&- 2>&-"), 3);
  EXPECT_EQ(read_file(at("b.pcap")), read_file(at("c.pcap")));
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

TEST_F(odp, simulate_refuses_names_that_are_none_and_words_that_contradict) {
  const std::vector<std::vector<std::string>> wrong = {
      {"--capture", ""},
      {"--capture", "-"},
      {"--capture", at("t.pcap.gz")},
      {"--capture", at("out/odp.json"), "--out", at("out")},  // the report's own file
      {"--capture", at("odp.html"), "--out", root_.string()},
      {"--out", ""},
      {"--avoid", "none,all"},
      {"--avoid", "dummy,none"}};
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), {"odp", "simulate"});
    const Ended ended = run_weft(std::move(arguments), 30);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.describe();
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(odp, simulate_counts_in_words_that_are_right) {
  const auto first_line = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"odp", "simulate", "--odp", "none"});
    const Ended ended = run_weft(std::move(more), 30);
    return ended.output.substr(0, ended.output.find(','));
  };
  EXPECT_EQ(first_line({"--num-ops", "1"}), "1 READ of 100 B over 1 queue pair");
  EXPECT_EQ(first_line({"--num-ops", "2", "--then", "send"}),
            "1 READ and 1 SEND of 100 B over 1 queue pair");
  EXPECT_EQ(first_line({"--num-ops", "4", "--num-qps", "2", "--then", "write"}),
            "1 READ and 3 WRITEs of 100 B over 2 queue pairs");
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

TEST_F(odp, simulate_shows_what_each_avoidance_gains_a_stream_and_that_none_loses_anything) {
  const auto compare = [&](const std::string& device, std::vector<std::string> more) {
    std::vector<std::string> all = {"simulate",
                                    WEFT_EXAMPLES "paged-memory.toml",
                                    "--compare-avoidance",
                                    "--json",
                                    "--set",
                                    "job.duration=20ms",
                                    "--set",
                                    "fabric.device=" + device};
    all.insert(all.end(), more.begin(), more.end());
    return run_weft(std::move(all), 100);
  };
  for (const std::string device : {"connectx-4", "connectx-5", "connectx-6", "adaptive", "ideal"}) {
    const Ended ended = compare(device, {"--out", at(device)});
    ASSERT_EQ(ended.code, 0) << ended.describe();
    const auto runs = ended.json()["runs"];
    ASSERT_EQ(runs.size(), 5U) << device;
    for (const auto& run : runs) {
      EXPECT_EQ(run["timeslices_lost"], 0) << device << run["avoidance"];
      EXPECT_EQ(run["timeslices_sent"], run["timeslices_complete"]) << device << run["avoidance"];
    }
    const auto faults = [&](std::size_t i) {
      return runs[i]["simulation"]["reliable_connections"]["page_faults"].get<std::uint64_t>();
    };
    EXPECT_EQ(runs[0]["avoidance"], "as it is");
    EXPECT_GT(faults(0), 0U) << device;
    EXPECT_EQ(runs[3]["avoidance"], "prefetch");
    EXPECT_EQ(faults(3), 0U) << device;
    EXPECT_TRUE(fs::exists(at(device) + "/report.html")) << device;
  }
  EXPECT_EQ(compare("connectx-4", {"--capture", at("some.pcap")}).code, 2);
  EXPECT_EQ(compare("connectx-4", {"--set", "fabric={}"}).code, 2);
}

TEST_F(odp, diagnose_live_tells_what_changed_in_another_machines_counters_alone) {
  put("sys/class/infiniband/mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "5");
  const auto put_regions = [&](int faults) {
    put("regions", "dev mlx5_0 mrn 8 page_faults " + std::to_string(faults));
    fs::rename(root_ / "regions", root_ / "rdma-statistic-mr.txt");
  };
  put_regions(3);
  put("bin/rdma", "#!/bin/sh\ntouch " + at("asked"));
  fs::permissions(root_ / "bin/rdma", fs::perms::owner_all);
  const int watch = ::inotify_init1(IN_CLOEXEC);
  ASSERT_GE(::inotify_add_watch(watch, root_.c_str(), IN_CLOSE_NOWRITE | IN_MOVED_TO), 0);
  // Waits until the regions' file, the last one of a look, was read or, by its mask, replaced.
  alignas(inotify_event) std::array<char, 4096> events{};
  ssize_t size = 0, at_event = 0;
  const auto await = [&](std::uint32_t mask) {
    for (;;) {
      if (at_event >= size) {
        size = ::read(watch, events.data(), events.size());
        at_event = 0;
        if (size <= 0) return;
      }
      inotify_event event{};
      std::memcpy(&event, events.data() + at_event, sizeof event);
      const std::string name = event.len > 0 ? events.data() + at_event + sizeof event : "";
      at_event += static_cast<ssize_t>(sizeof event + event.len);
      if (name == "rdma-statistic-mr.txt" && (event.mask & mask) != 0) return;
    }
  };
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (at("bin") + ":" + path).c_str(), 1);
  WeftProcess live(
      {"odp", "diagnose", "--live", "--every", "1ms", "--root", root_.string(), "--json"});
  ::setenv("PATH", path.c_str(), 1);
  await(IN_CLOSE_NOWRITE);
  put_regions(4);
  await(IN_MOVED_TO);
  // The first may still be of the file that was replaced.
  await(IN_CLOSE_NOWRITE);
  await(IN_CLOSE_NOWRITE);
  ::close(watch);
  live.signal(SIGINT);
  const Ended ended = live.wait();
  EXPECT_EQ(ended.code, 128 + SIGINT) << ended.describe();
  EXPECT_EQ(ended.json()["device"], "mlx5_0") << ended.describe();
  EXPECT_EQ(ended.json()["page_faults"], 1);
  EXPECT_EQ(ended.json()["timeouts"], 0);
  EXPECT_FALSE(fs::exists(root_ / "asked"));
}

TEST_F(odp, diagnose_live_looks_no_more_often_than_it_can) {
  put("sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err", "5");
  for (const char* pause : {"0", "0s", "999us"}) {
    const Ended ended = run_weft(
        {"odp", "diagnose", "--live", "--every", pause, "--root", root_.string(), "--samples", "1"},
        60);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_NE(ended.errors.find("1ms"), std::string::npos) << ended.errors;
  }
}

TEST_F(odp, diagnose_of_a_damaged_capture_says_where_and_ends_with_1) {
  const std::string whole = at("whole.pcap"), cut = at("cut.pcap");
  const auto cut_off = [&](const char* interval) {
    run_weft({"odp", "simulate", "--interval", interval, "--capture", whole, "--force"}, 60);
    fs::copy_file(whole, cut, fs::copy_options::overwrite_existing);
    fs::resize_file(cut, fs::file_size(whole) - 7);
    return run_weft({"odp", "diagnose", cut, "--json"}, 60);
  };
  const Ended quiet = cut_off("6ms");
  EXPECT_EQ(quiet.code, 1) << quiet.describe();
  EXPECT_EQ(std::count(quiet.errors.begin(), quiet.errors.end(), '\n'), 1) << quiet.errors;
  const auto damaged = quiet.json()["damaged"];
  ASSERT_EQ(damaged.size(), 1u) << quiet.describe();
  EXPECT_EQ(damaged[0]["file"], cut);
  EXPECT_GT(damaged[0]["packet"], 1);
  EXPECT_GT(damaged[0]["offset"], 24);
  EXPECT_EQ(quiet.json()["findings"].size(), 0u);
  const Ended found = cut_off("1ms");
  EXPECT_EQ(found.code, 1) << found.describe();
  EXPECT_EQ(found.json()["damaged"].size(), 1u);
  EXPECT_EQ(found.json()["findings"].size(), 1u);
  EXPECT_TRUE(run_weft({"odp", "diagnose", whole, "--json"}, 60).json()["damaged"].empty());
}

TEST_F(odp, diagnose_of_packets_that_cannot_be_read_says_why_and_ends_with_2) {
  ASSERT_EQ(run_weft({"odp", "simulate", "--interval", "6ms", "--capture", at("a.pcap")}, 60).code,
            0);
  const std::string whole = read_file(at("a.pcap"));
  const auto diagnosed = [&](const std::string& bytes) {
    write_file(at("b.pcap"), bytes);
    return run_weft({"odp", "diagnose", at("b.pcap"), "--json"}, 60);
  };
  std::string link = whole;
  link[20] = '\x93';
  const Ended unknown = diagnosed(link);
  EXPECT_EQ(unknown.code, 2) << unknown.describe();
  EXPECT_NE(unknown.errors.find("link type 147"), std::string::npos) << unknown.errors;
  EXPECT_EQ(unknown.json()["unreadable"].size(), 1u);
  for (const char kept : {'\0', '\x2E'}) {
    // The file's header and one packet, of which so many bytes are kept.
    std::string cut = whole.substr(0, 24 + 16 + static_cast<std::size_t>(kept));
    cut[24 + 8] = kept;
    const Ended ended = diagnosed(cut);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_NE(ended.errors.find("snap length"), std::string::npos) << ended.errors;
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
  }
  std::string other = whole;
  other.resize(24 + 16 + 40);
  other[24 + 8] = other[24 + 12] = 40;
  other[24 + 16 + 14 + 9] = 6;  // TCP
  const Ended none = diagnosed(other);
  EXPECT_EQ(none.code, 0) << none.describe();
  EXPECT_TRUE(none.json()["unreadable"].empty());
}

TEST_F(odp, diagnose_goes_on_behind_a_file_that_is_no_capture_and_says_what_it_is) {
  ASSERT_EQ(run_weft({"odp", "simulate", "--interval", "1ms", "--capture", at("a.pcap")}, 60).code,
            0);
  // Names may be of any bytes.
  const std::string zipped = at("b\xFF.pcap.gz");
  ASSERT_EQ(std::system(("gzip -c '" + at("a.pcap") + "' > '" + zipped + "'").c_str()), 0);
  const Ended ended = run_weft({"odp", "diagnose", zipped, at("a.pcap"), "--json"}, 60);
  EXPECT_EQ(ended.code, 2) << ended.describe();
  EXPECT_NE(ended.errors.find("gunzip"), std::string::npos) << ended.errors;
  EXPECT_EQ(ended.json()["findings"].size(), 1u) << ended.describe();
  fs::rename(at("a.pcap"), at("c\xFF.pcap"));
  fs::copy_file(at("c\xFF.pcap"), at("d.pcap"));
  const Ended named = run_weft({"odp", "diagnose", at("c\xFF.pcap"), at("d.pcap"), "--json"}, 60);
  EXPECT_EQ(named.code, 1) << named.describe();
  EXPECT_EQ(named.json()["findings"].size(), 2u);
}

TEST_F(odp, diagnose_says_how_many_queue_pairs_it_forgot) {
  const std::string capture = at("many.pcap");
  run_weft({"odp", "simulate", "--odp", "none", "--num-qps", "16", "--num-ops", "32", "--capture",
            capture},
           60);
  const Ended few = run_weft({"odp", "diagnose", capture, "--queue-pairs", "2", "--json"}, 60);
  EXPECT_EQ(few.code, 0) << few.describe();
  EXPECT_GE(few.json()["forgotten_queue_pairs"], 14) << few.describe();
  const Ended told = run_weft({"odp", "diagnose", capture, "--queue-pairs", "2"}, 60);
  EXPECT_NE(told.output.find("queue pairs were forgotten"), std::string::npos) << told.output;
  EXPECT_NE(told.output.find("raise --queue-pairs"), std::string::npos) << told.output;
  const Ended all = run_weft({"odp", "diagnose", capture, "--json"}, 60);
  EXPECT_EQ(all.json()["forgotten_queue_pairs"], 0);
  EXPECT_EQ(all.json()["queue_pairs"], 16);
}

TEST_F(odp, diagnose_of_a_pipe_says_what_it_found_when_it_is_interrupted) {
  ASSERT_EQ(run_weft({"odp", "simulate", "--interval", "1ms", "--capture", at("a.pcap")}, 60).code,
            0);
  const std::string pipe = at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  WeftProcess diagnose({"odp", "diagnose", pipe, "--json"});
  // Stays open: the capture goes on. It is written to the end when all of it has been read.
  std::ofstream writer(pipe, std::ios::binary);
  writer << read_file(at("a.pcap")) << std::flush;
  for (int waiting = 1; waiting > 0;) {
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_EQ(::ioctl(reader, FIONREAD, &waiting), 0);
    ::close(reader);
  }
  diagnose.signal(SIGINT);
  const Ended ended = diagnose.wait();
  EXPECT_EQ(ended.code, 1) << ended.describe();
  EXPECT_EQ(ended.json()["stopped"], true) << ended.describe();
  EXPECT_EQ(ended.json()["findings"].size(), 1u);
}

TEST_F(odp, diagnose_of_a_pipe_from_which_nothing_comes_can_be_interrupted) {
  ASSERT_EQ(run_weft({"odp", "simulate", "--interval", "1ms", "--capture", at("a.pcap")}, 60).code,
            0);
  const std::string pipe = at("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto interrupted = [&](const std::vector<std::string>& files, int signal) {
    std::vector<std::string> arguments = {"odp", "diagnose", "--json"};
    arguments.insert(arguments.end(), files.begin(), files.end());
    WeftProcess diagnose(std::move(arguments));
    // Without a reader of the pipe it fails; with one, weft has come so far.
    int writer = -1;
    while ((writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
      if (::kill(diagnose.pid(), 0) != 0) break;
    }
    diagnose.signal(signal);
    Ended ended = diagnose.wait(10);
    ::close(writer);
    EXPECT_EQ(ended.json()["stopped"], true) << ended.describe();
    EXPECT_EQ(ended.errors, "");
    return ended;
  };
  EXPECT_EQ(interrupted({pipe}, SIGINT).code, 130);
  EXPECT_EQ(interrupted({pipe}, SIGTERM).code, 143);
  const Ended found = interrupted({at("a.pcap"), pipe}, SIGINT);
  EXPECT_EQ(found.code, 1) << found.describe();
  EXPECT_EQ(found.json()["findings"].size(), 1u);
}

TEST_F(odp, diagnose_refuses_what_it_cannot_do) {
  EXPECT_EQ(run_weft({"odp", "diagnose"}, 60).code, 2);
  EXPECT_EQ(run_weft({"odp", "diagnose", "--live", "x.pcap"}, 60).code, 2);
  EXPECT_EQ(run_weft({"odp", "diagnose", "-", "-"}, 60).code, 2);
  ASSERT_EQ(run_weft({"odp", "simulate", "--capture", at("a.pcap")}, 60).code, 0);
  for (const char* option : {"--every=1s", "--samples=5", "--root=/tmp"}) {
    const Ended ended = run_weft({"odp", "diagnose", at("a.pcap"), option}, 60);
    EXPECT_EQ(ended.code, 2) << ended.describe();
    EXPECT_NE(ended.errors.find("--live"), std::string::npos) << ended.errors;
  }
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
