// SPDX-License-Identifier: Apache-2.0
// Question: what does weft's libfabric adapter cost on top of the provider that it uses?
//
// Two processes move the same bytes both ways, in turn and in one run: one-sided writes of 1 MiB,
// 16 in flight, until all are in place, and round trips of 8 bytes, both spinning. Target: within
// 10 % of plain libfabric, and of fi_pingpong where it is installed (it is started anew each time).
// The adapter's writes are delivery-complete, which plain ones need not be: both are shown. Where
// a message takes 0.2 us (shm), the adapter's 0.1 us are more than 10 % of the tightest loop and
// less than what fi_pingpong adds itself. Absolute figures are the machine's, ratios are ours.
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

#include "base/check.hpp"
#include "contestants.hpp"

namespace weft::bench {

std::string Exchange::operator()(const std::string& line) const {
  const std::string out = line + "\n";
  WEFT_CHECK(::write(out_, out.data(), out.size()) == static_cast<ssize_t>(out.size()));
  std::string in;
  char c = 0;
  while (::read(in_, &c, 1) == 1 && c != '\n') in.push_back(c);
  return in;
}

// Each process gets a processor of its own: two that share one cannot both spin.
void pin(std::size_t cpu) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  CPU_SET(cpu, &allowed);
  // Best effort: without leave to do so, the figures are only noisier.
  [[maybe_unused]] const int ignored = ::sched_setaffinity(0, sizeof allowed, &allowed);
}

namespace {

struct Options {
  std::vector<std::string> providers = {"tcp", "shm", "sockets"};
  // Many short measurements: some meet a quiet machine.
  std::size_t repeat = 100;
  std::size_t size = std::size_t{1} << 20;
  std::size_t transfers = 32;
  std::size_t round_trips = 200;
  std::size_t pingpongs = 3;
  bool unpinned = false;
  bool json = false;
};

constexpr std::size_t kPingpongs = 2'000;  // round trips of fi_pingpong

struct Figure {
  double median = 0, low = 0, high = 0;
};

Figure summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

// One line of the result; everything in it was measured in turn, so that it met the same machine.
struct Comparison {
  std::string provider;
  std::string name;
  std::string unit;
  bool more_is_better = false;
  std::vector<double> plain, alike, adapter, packaged;

  double target() const { return more_is_better ? 0.9 : 1.1; }
  double ratio() const { return summarise(adapter).median / summarise(plain).median; }
  // The ratio of the best results of each: other load on the machine only makes results worse.
  double ratio_of_bests() const {
    return more_is_better ? summarise(adapter).high / summarise(plain).high
                          : summarise(adapter).low / summarise(plain).low;
  }
  bool held() const { return more_is_better ? ratio() >= target() : ratio() <= target(); }
  double ratio_to_packaged() const {
    return packaged.empty() ? 0 : summarise(adapter).median / summarise(packaged).median;
  }
};

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// One process's side of the measurements with one provider.
class Run {
 public:
  Run(const Options& options, std::string provider, bool active, const Exchange& exchange)
      : options_(options),
        provider_(std::move(provider)),
        active_(active),
        plain_(make_raw(provider_, active, exchange, false)),
        alike_(make_raw(provider_, active, exchange, true)),
        adapter_(make_adapter(provider_, active, exchange)) {}

  std::vector<Comparison> measure() {
    Comparison writes{provider_, "writes", "GB/s", true, {}, {}, {}, {}};
    Comparison trips{provider_, "8 B, one way", "us", false, {}, {}, {}, {}};
    for (std::size_t i = 0; i <= options_.repeat; ++i) {
      const bool counts = i > 0;  // the first is for warming up
      const auto take = [&](std::vector<double>& values, double value) {
        if (counts) values.push_back(value);
      };
      take(writes.plain, bandwidth(*plain_));
      take(writes.adapter, bandwidth(*adapter_));
      take(writes.alike, bandwidth(*alike_));
      take(trips.plain, latency(*plain_));
      take(trips.adapter, latency(*adapter_));
    }
    return {std::move(writes), std::move(trips)};
  }

 private:
  double bandwidth(Contestant& contestant) {
    const double bytes = static_cast<double>(options_.transfers * options_.size);
    return bytes / 1e9 / seconds_of([&] {
             active_ ? contestant.push(options_.transfers, options_.size) : contestant.absorb();
           });
  }
  double latency(Contestant& contestant) {
    const std::size_t count = options_.round_trips;
    return 1e6 / 2 / static_cast<double>(count) *
           seconds_of([&] { active_ ? contestant.ping(count) : contestant.pong(count); });
  }

  const Options& options_;
  std::string provider_;
  bool active_;
  std::unique_ptr<Contestant> plain_, alike_, adapter_;
};

std::vector<Comparison> measure(const Options& options, const std::string& provider) {
  // In a process of its own: libfabric leaves threads and endpoints behind.
  int to_passive[2], to_active[2], result[2];
  WEFT_CHECK(::pipe(to_passive) == 0 && ::pipe(to_active) == 0 && ::pipe(result) == 0);
  const auto side = [&](bool active) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!options.unpinned) pin(active ? 0 : 1);
    const Exchange exchange(active ? to_active[0] : to_passive[0],
                            active ? to_passive[1] : to_active[1]);
    const auto results = Run(options, provider, active, exchange).measure();
    if (active) {
      nlohmann::json all;
      for (const Comparison& c : results) all.push_back({c.plain, c.alike, c.adapter});
      const std::string line = all.dump() + "\n";
      WEFT_CHECK(::write(result[1], line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    }
    ::_exit(0);
  };
  const pid_t passive = side(false);
  const pid_t active = side(true);
  ::close(result[1]);
  std::string line;
  char c = 0;
  while (::read(result[0], &c, 1) == 1 && c != '\n') line.push_back(c);
  ::waitpid(passive, nullptr, 0);
  ::waitpid(active, nullptr, 0);
  const auto all = nlohmann::json::parse(line, nullptr, false);
  if (!all.is_array()) return {};
  std::vector<Comparison> results = {{provider, "writes", "GB/s", true, {}, {}, {}, {}},
                                     {provider, "8 B, one way", "us", false, {}, {}, {}, {}}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].plain = all[i][0].get<std::vector<double>>();
    results[i].alike = all[i][1].get<std::vector<double>>();
    results[i].adapter = all[i][2].get<std::vector<double>>();
  }
  for (std::size_t i = 0; i < options.pingpongs; ++i) {
    const double packaged = packaged_pingpong(provider, kPingpongs, !options.unpinned);
    if (packaged > 0) results[1].packaged.push_back(packaged);
  }
  return results;
}

void print_table(const std::vector<Comparison>& results) {
  fmt::print("{:<22} {:>26} {:>26} {:>26} {:>20} {:>7} {:>8} {:>8}  target\n",
             "median (lowest..highest)", "plain libfabric", "the same, delivered", "adapter",
             "fi_pingpong", "ratio", "of bests", "to f_pp");
  for (const Comparison& c : results) {
    const auto text = [&](const std::vector<double>& values) {
      if (values.empty()) return std::string("-");
      const Figure f = summarise(values);
      return fmt::format("{:.2f} ({:.2f}..{:.2f}) {}", f.median, f.low, f.high, c.unit);
    };
    fmt::print("{:<22} {:>26} {:>26} {:>26} {:>20} {:>7.3f} {:>8.3f} {:>8.3f}  {} {:.2f} {}\n",
               c.provider + ": " + c.name, text(c.plain), text(c.alike), text(c.adapter),
               text(c.packaged), c.ratio(), c.ratio_of_bests(), c.ratio_to_packaged(),
               c.more_is_better ? ">=" : "<=", c.target(), c.held() ? "held" : "missed");
  }
}

void print_json(const Options& options, const std::vector<Comparison>& results) {
  const auto figure = [](const std::vector<double>& values) {
    const Figure f = summarise(values);
    return nlohmann::json{
        {"median", f.median}, {"min", f.low}, {"max", f.high}, {"samples", values.size()}};
  };
  nlohmann::json all;
  all["size"] = options.size;
  all["repeat"] = options.repeat;
  for (const Comparison& c : results) {
    all["results"].push_back({{"provider", c.provider},
                              {"name", c.name},
                              {"unit", c.unit},
                              {"plain", figure(c.plain)},
                              {"plain_delivery_complete", figure(c.alike)},
                              {"adapter", figure(c.adapter)},
                              {"fi_pingpong", figure(c.packaged)},
                              {"ratio", c.ratio()},
                              {"ratio_to_fi_pingpong", c.ratio_to_packaged()},
                              {"ratio_of_bests", c.ratio_of_bests()},
                              {"target", c.target()},
                              {"held", c.held()}});
  }
  fmt::print("{}\n", all.dump(2));
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  using namespace weft::bench;
  Options options;
  CLI::App app("Compares weft's libfabric fabric with plain libfabric, between two processes");
  app.add_option("--providers", options.providers, "tcp, shm, sockets, net")->delimiter(',');
  app.add_option("--repeat", options.repeat, "measurements of each")->check(CLI::Range(1, 1000));
  app.add_option("--size", options.size, "bytes per write")->check(CLI::Range(1, 1 << 24));
  app.add_option("--transfers", options.transfers, "writes per measurement");
  app.add_option("--round-trips", options.round_trips, "round trips per measurement");
  app.add_option("--pingpongs", options.pingpongs, "runs of fi_pingpong; 0: none");
  app.add_flag("--unpinned", options.unpinned, "leave the processes to the scheduler");
  app.add_flag("--json", options.json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  std::vector<Comparison> results;
  for (const std::string& provider : options.providers) {
    for (Comparison& result : measure(options, provider)) results.push_back(std::move(result));
  }
  options.json ? print_json(options, results) : print_table(results);
  return results.size() == 2 * options.providers.size() ? 0 : 1;
}
