// SPDX-License-Identifier: Apache-2.0
// Question: how far is the shared-memory fabric from the shared memory of Open MPI and MPICH, and
// the TCP fabric from theirs over TCP?
//
// Two processes, each on a core of its own, exchange messages of given sizes: round trips, and
// windows of 16 in one direction. All contestants take turns, several times, in one run; figures
// are medians with the lowest and highest. Target: shared memory within 25 % of the better MPI at 8
// bytes one way and at 1 MiB of bandwidth; TCP at least equal. Up to max_message weft sends
// messages, which the receiver copies out; beyond, it writes into memory that was exposed
// before, where an MPI also finds out where to put it.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/split.hpp"
#include "measuring.hpp"
#include "pingpong.hpp"

namespace weft::bench {
namespace {

struct Options {
  std::size_t repeat = 5;
  std::vector<std::size_t> sizes = {8, 4096, 65536, std::size_t{1} << 20};
  std::vector<std::string> contestants = {"shm", "shm-pull",    "openmpi-shm", "mpich-shm",
                                          "tcp", "openmpi-tcp", "mpich-tcp"};
  bool sweep = false;
  bool json = false;
};

struct Series {
  std::vector<double> latency, bandwidth;
};
// By contestant, by size.
using Results = std::map<std::string, std::map<std::size_t, Series>>;

// The command of an MPI contestant.
std::vector<std::string> mpi_command(const std::string& name,
                                     const std::vector<std::size_t>& sizes) {
  const bool is_tcp = name.ends_with("-tcp");
  std::vector<std::string> command;
  if (name.starts_with("openmpi")) {
    command = {WEFT_MPIRUN_OPENMPI,
               "--allow-run-as-root",
               "--oversubscribe",
               "--bind-to",
               "core",
               "-n",
               "2"};
    if (is_tcp) command.insert(command.end(), {"--mca", "btl", "tcp,self"});
    command.push_back(WEFT_PINGPONG_OPENMPI);
  } else {
    command = {WEFT_MPIRUN_MPICH, "-bind-to", "core", "-n", "2"};
    if (is_tcp) command.insert(command.end(), {"-env", "UCX_TLS", "tcp,self"});
    command.push_back(WEFT_PINGPONG_MPICH);
  }
  for (const std::size_t size : sizes) command.push_back(std::to_string(size));
  return command;
}

// The samples that the command prints; empty when it cannot be run.
std::vector<Sample> run_command(std::vector<std::string> command) {
  std::array<int, 2> output{};
  if (::pipe(output.data()) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::alarm(120);
    ::dup2(output[1], STDOUT_FILENO);
    if (::freopen("/dev/null", "r", stdin) == nullptr) ::_exit(127);
    const std::vector<char*> pointers = argument_pointers(command);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(output[1]);
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t n = 0; (n = ::read(output[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(output[0]);
  ::waitpid(child, nullptr, 0);
  std::vector<Sample> samples;
  std::istringstream lines(text);
  for (Sample s; lines >> s.size >> s.latency_us >> s.bandwidth_gbs;) samples.push_back(s);
  return samples;
}

std::vector<Sample> run_once(const std::string& name, const std::vector<std::size_t>& sizes) {
  const bool is_mpi = name.starts_with("openmpi") || name.starts_with("mpich");
  return is_mpi ? run_command(mpi_command(name, sizes)) : fabric_pingpong(name, sizes);
}

void print_table(const Options& options, const Results& results) {
  fmt::print("{:>10} {:<12} {:>30} {:>30}\n", "bytes", "", "one way, us (lowest..highest)",
             "GB/s (lowest..highest)");
  for (const std::size_t size : options.sizes) {
    for (const std::string& name : options.contestants) {
      const auto found = results.find(name);
      if (found == results.end() || !found->second.contains(size)) continue;
      const Series& series = found->second.at(size);
      fmt::print("{:>10} {:<12} {:>30} {:>30}\n", size, name, text_of(series.latency, 3),
                 text_of(series.bandwidth, 3));
    }
  }
}

// The better of the two MPIs against ours; limit 1.25 for shared memory, 1 for TCP.
void print_verdict(const Results& results, const std::string& kind, double limit) {
  const auto median_of = [&](const std::string& name, std::size_t size, bool latency) {
    const auto found = results.find(name);
    if (found == results.end() || !found->second.contains(size)) return 0.0;
    const Series& series = found->second.at(size);
    return median(latency ? series.latency : series.bandwidth);
  };
  const auto judge = [&](std::size_t size, bool latency) {
    const double ours = median_of(kind, size, latency);
    const double open = median_of("openmpi-" + kind, size, latency);
    const double mpich = median_of("mpich-" + kind, size, latency);
    if (ours <= 0 || open <= 0 || mpich <= 0) return;
    const double ratio = latency ? ours / std::min(open, mpich) : std::max(open, mpich) / ours;
    fmt::print("{} {} at {} bytes: {:.2f} times the better MPI's; at most {:.2f} wanted: {}\n",
               kind, latency ? "latency" : "time per byte", size, ratio, limit,
               ratio <= limit ? "held" : "missed");
  };
  judge(8, true);
  judge(std::size_t{1} << 20, false);
}

void print_json(const Results& results) {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& [name, sizes] : results) {
    for (const auto& [size, series] : sizes) {
      all.push_back({{"contestant", name},
                     {"bytes", size},
                     {"latency_us", json_of(series.latency)},
                     {"bandwidth_gbs", json_of(series.bandwidth)}});
    }
  }
  fmt::print("{}\n", all.dump(2));
}

int run(Options options) {
  if (options.sweep) {
    options.sizes.clear();
    for (std::size_t size = 1; size <= std::size_t{64} << 20; size *= 2) {
      options.sizes.push_back(size);
    }
  }
  Results results;
  for (std::size_t i = 0; i < options.repeat; ++i) {
    for (const std::string& name : options.contestants) {
      const auto samples = run_once(name, options.sizes);
      if (samples.empty()) fmt::print(stderr, "{}: could not be run, left out\n", name);
      for (const Sample& sample : samples) {
        Series& series = results[name][sample.size];
        series.latency.push_back(sample.latency_us);
        series.bandwidth.push_back(sample.bandwidth_gbs);
      }
    }
  }
  if (options.json) {
    print_json(results);
    return 0;
  }
  print_table(options, results);
  print_verdict(results, "shm", 1.25);
  print_verdict(results, "tcp", 1.0);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::Options options;
  CLI::App app("Compares weft's fabrics between two processes with two MPIs");
  app.add_option("--repeat", options.repeat, "runs of each")->check(CLI::Range(1, 1000));
  app.add_option("--sizes", options.sizes, "bytes per message")->check(CLI::Range(0, 1 << 30));
  app.add_option("--contestants", options.contestants,
                 "of shm, shm-pull, tcp, unix, openmpi-shm, mpich-shm, openmpi-tcp, mpich-tcp");
  app.add_flag("--sweep", options.sweep, "all powers of two from 1 B to 64 MiB");
  app.add_flag("--json", options.json, "print JSON");
  CLI11_PARSE(app, argc, argv);
  return weft::bench::run(options);
}
