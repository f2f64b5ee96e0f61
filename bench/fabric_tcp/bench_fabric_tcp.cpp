// SPDX-License-Identifier: Apache-2.0
// Question: what does the TCP fabric cost on top of the sockets that it uses?
//
// Two processes move the same bytes both ways of doing it, in turn and in one run: one-sided writes
// of 1 MiB against send/recv, and round trips of 8 bytes. Target: at least 90 % of the bandwidth,
// at most 15 % more round-trip time. Absolute figures are the machine's, ratios are ours.
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>

#include "contestants.hpp"

namespace weft::bench {
namespace {

struct Options {
  std::size_t repeat = 15;
  std::size_t size = std::size_t{1} << 20;
  std::size_t transfers = 200;
  std::size_t round_trips = 2'000;
  std::string listen = "127.0.0.1:0";
  std::string only;
  bool unpinned = false;
  bool json = false;
};

struct Figure {
  double median = 0, low = 0, high = 0;
};

Figure summarise(std::vector<double> values) {
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

// One line of the result: plain and fabric measured in turn, so that both meet the same machine.
struct Comparison {
  std::string name;
  std::string unit;
  double target = 0;  // of the ratio fabric/plain
  bool more_is_better = false;
  std::vector<double> plain, fabric;

  // Ratios of medians, and of the best results: other load on the machine only makes those worse.
  double ratio() const { return summarise(fabric).median / summarise(plain).median; }
  double ratio_of_bests() const {
    return more_is_better ? summarise(fabric).high / summarise(plain).high
                          : summarise(fabric).low / summarise(plain).low;
  }
  bool held() const { return more_is_better ? ratio() >= target : ratio() <= target; }
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Run {
 public:
  Run(const Options& options, bool active, const Channel& channel)
      : options_(options),
        active_(active),
        memory_(std::max(options.size, std::size_t{16} << 20), std::byte{1}),
        plain_(make_plain(active, options.listen, channel, memory_)),
        fabric_(make_fabric(active, options.listen, channel, memory_)) {}

  std::vector<Comparison> measure() {
    using enum Waiting;
    bandwidth("write, spinning", spinning, spinning);
    bandwidth("write, sleeping", sleeping, sleeping);
    bandwidth("write, blocking sockets", blocking, sleeping);
    latency("8 B, spinning", spinning, spinning);
    latency("8 B, sleeping", sleeping, sleeping);
    latency("8 B, blocking sockets", blocking, sleeping);
    return std::move(results_);
  }

 private:
  void bandwidth(const char* name, Waiting plain, Waiting fabric) {
    const double bytes = static_cast<double>(options_.transfers * options_.size);
    const auto once = [&](Contestant& contestant, Waiting waiting) {
      return bytes / 1e9 / seconds_of([&] {
               active_ ? contestant.push(options_.transfers, options_.size, waiting)
                       : contestant.absorb(options_.transfers, options_.size, waiting);
             });
    };
    return in_turn(
        {name, "GB/s", 0.90, true, {}, {}}, [&] { return once(*plain_, plain); },
        [&] { return once(*fabric_, fabric); });
  }
  void latency(const char* name, Waiting plain, Waiting fabric) {
    const std::size_t count = options_.round_trips;
    const auto once = [&](Contestant& contestant, Waiting waiting) {
      return 1e6 / static_cast<double>(count) * seconds_of([&] {
               active_ ? contestant.ping(count, waiting) : contestant.pong(count, waiting);
             });
    };
    return in_turn(
        {name, "us", 1.15, false, {}, {}}, [&] { return once(*plain_, plain); },
        [&] { return once(*fabric_, fabric); });
  }
  void in_turn(Comparison result, const std::function<double()>& plain,
               const std::function<double()>& fabric) {
    if (result.name.find(options_.only) == std::string::npos) return;
    plain();  // warm-up
    fabric();
    for (std::size_t i = 0; i < options_.repeat; ++i) {
      if (i % 2 == 0) result.plain.push_back(plain());
      result.fabric.push_back(fabric());
      if (i % 2 != 0) result.plain.push_back(plain());
    }
    results_.push_back(std::move(result));
  }

  Options options_;
  bool active_;
  std::vector<Comparison> results_;
  Memory memory_;
  std::unique_ptr<Contestant> plain_;
  std::unique_ptr<Contestant> fabric_;
};

void print_table(const std::vector<Comparison>& results) {
  fmt::print("{:<24} {:>26} {:>26} {:>9} {:>9}  target\n", "median (lowest..highest)",
             "plain sockets", "fabric/tcp", "ratio", "of bests");
  for (const Comparison& c : results) {
    const auto text = [&](const Figure& f) {
      return fmt::format("{:.2f} ({:.2f}..{:.2f}) {}", f.median, f.low, f.high, c.unit);
    };
    fmt::print("{:<24} {:>26} {:>26} {:>9.3f} {:>9.3f}  {} {:.2f} {}\n", c.name,
               text(summarise(c.plain)), text(summarise(c.fabric)), c.ratio(), c.ratio_of_bests(),
               c.more_is_better ? ">=" : "<=", c.target, c.held() ? "held" : "missed");
  }
}

void print_json(const Options& options, const std::vector<Comparison>& results) {
  const auto figure = [](const Figure& f) {
    return nlohmann::json{{"median", f.median}, {"min", f.low}, {"max", f.high}};
  };
  nlohmann::json all;
  all["listen"] = options.listen;
  all["size"] = options.size;
  all["repeat"] = options.repeat;
  for (const Comparison& c : results) {
    all["results"].push_back({{"name", c.name},
                              {"unit", c.unit},
                              {"plain", figure(summarise(c.plain))},
                              {"fabric", figure(summarise(c.fabric))},
                              {"ratio", c.ratio()},
                              {"ratio_of_bests", c.ratio_of_bests()},
                              {"target", c.target},
                              {"held", c.held()}});
  }
  fmt::print("{}\n", all.dump(2));
}

// Each process on a processor of its own; left to itself, a busy machine's scheduler now and then
// puts both on one, where neither can spin.
void pin(std::size_t cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(cpu, &allowed);
  // Best effort: without leave to do so, the figures are only noisier.
  [[maybe_unused]] const int ignored = ::sched_setaffinity(0, sizeof allowed, &allowed);
}

int run(const Options& options) {
  int to_child[2], to_parent[2];
  if (::pipe(to_child) != 0 || ::pipe(to_parent) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!options.unpinned) pin(1);
    Run(options, false, {to_child[0], to_parent[1]}).measure();
    ::_exit(0);
  }
  if (!options.unpinned) pin(0);
  Run active(options, true, {to_parent[0], to_child[1]});
  const auto results = active.measure();
  ::waitpid(child, nullptr, 0);  // it still listens
  options.json ? print_json(options, results) : print_table(results);
  return 0;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  weft::bench::Options options;
  CLI::App app("Compares the TCP fabric with plain sockets, between two processes of this machine");
  app.add_option("--repeat", options.repeat, "measurements of each kind")
      ->check(CLI::Range(1, 1000));
  app.add_option("--size", options.size, "bytes per write")->check(CLI::Range(1, 1 << 30));
  app.add_option("--transfers", options.transfers, "writes per measurement");
  app.add_option("--round-trips", options.round_trips, "per measurement")
      ->check(CLI::Range(10, 10'000'000));
  app.add_option("--listen", options.listen, "127.0.0.1:0, [::1]:0 or unix:@");
  app.add_option("--only", options.only, "measurements with this in their name");
  app.add_flag("--unpinned", options.unpinned, "let the scheduler place the two processes");
  app.add_flag("--json", options.json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return weft::bench::run(options);
}
