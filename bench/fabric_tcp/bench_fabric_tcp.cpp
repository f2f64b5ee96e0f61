// SPDX-License-Identifier: Apache-2.0
// Question: what does the TCP fabric cost on top of the sockets that it uses?
//
// Two processes move the same bytes both ways of doing it, in turn and in one run: one-sided writes
// of 1 MiB against send/recv, and round trips of 8 bytes. Target: at least 90 % of the bandwidth,
// at most 15 % more round-trip time. Absolute figures are the machine's, ratios are ours.
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>

#include "contestants.hpp"
#include "measuring.hpp"

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
      result.ours.push_back(fabric());
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
    fmt::print("{:<24} {:>26} {:>26} {:>9.3f} {:>9.3f}  {}\n", c.name,
               text_of(c.plain) + " " + c.unit, text_of(c.ours) + " " + c.unit, c.ratio(),
               c.ratio_of_bests(), c.verdict());
  }
}

void print_json(const Options& options, const std::vector<Comparison>& results) {
  nlohmann::json all;
  all["listen"] = options.listen;
  all["size"] = options.size;
  all["repeat"] = options.repeat;
  for (const Comparison& c : results) {
    all["results"].push_back({{"name", c.name},
                              {"unit", c.unit},
                              {"plain", json_of(c.plain)},
                              {"fabric", json_of(c.ours)},
                              {"ratio", c.ratio()},
                              {"ratio_of_bests", c.ratio_of_bests()},
                              {"target", c.target},
                              {"held", c.held()}});
  }
  fmt::print("{}\n", all.dump(2));
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
