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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "contestants.hpp"

namespace weft::bench {

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

// One line of the result; everything in it was measured in turn, so that it met the same machine.
struct ProviderComparison : Comparison {
  std::string provider;
  std::vector<double> alike, packaged;

  double ratio_to_packaged() const {
    return packaged.empty() ? 0 : median(ours) / median(packaged);
  }
};

std::vector<ProviderComparison> nothing_measured(const std::string& provider) {
  return {{{"writes", "GB/s", 0.9, true, {}, {}}, provider, {}, {}},
          {{"8 B, one way", "us", 1.1, false, {}, {}}, provider, {}, {}}};
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

  std::vector<ProviderComparison> measure() {
    std::vector<ProviderComparison> results = nothing_measured(provider_);
    ProviderComparison& writes = results[0];
    ProviderComparison& trips = results[1];
    for (std::size_t i = 0; i <= options_.repeat; ++i) {
      const bool counts = i > 0;  // the first is for warming up
      const auto take = [&](std::vector<double>& values, double value) {
        if (counts) values.push_back(value);
      };
      take(writes.plain, bandwidth(*plain_));
      take(writes.ours, bandwidth(*adapter_));
      take(writes.alike, bandwidth(*alike_));
      take(trips.plain, latency(*plain_));
      take(trips.ours, latency(*adapter_));
    }
    return results;
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

std::vector<ProviderComparison> measure(const Options& options, const std::string& provider) {
  // In a process of its own: libfabric leaves threads and endpoints behind.
  int to_passive[2], to_active[2], result[2];
  WEFT_CHECK(::pipe(to_passive) == 0 && ::pipe(to_active) == 0 && ::pipe(result) == 0);
  const auto side = [&](bool active) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!options.unpinned) pin(active ? 0 : 1);
    const Exchange exchange{
        {active ? to_active[0] : to_passive[0], active ? to_passive[1] : to_active[1]}};
    const auto results = Run(options, provider, active, exchange).measure();
    if (active) {
      nlohmann::json all;
      for (const ProviderComparison& c : results) all.push_back({c.plain, c.alike, c.ours});
      Channel{.out = result[1]}.say(all.dump());
    }
    ::_exit(0);
  };
  const pid_t passive = side(false);
  const pid_t active = side(true);
  ::close(result[1]);
  const std::string line = Channel{.in = result[0]}.hear();
  ::waitpid(passive, nullptr, 0);
  ::waitpid(active, nullptr, 0);
  const auto all = nlohmann::json::parse(line, nullptr, false);
  if (!all.is_array()) return {};
  std::vector<ProviderComparison> results = nothing_measured(provider);
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].plain = all[i][0].get<std::vector<double>>();
    results[i].alike = all[i][1].get<std::vector<double>>();
    results[i].ours = all[i][2].get<std::vector<double>>();
  }
  for (std::size_t i = 0; i < options.pingpongs; ++i) {
    const double packaged = packaged_pingpong(provider, kPingpongs, !options.unpinned);
    if (packaged > 0) results[1].packaged.push_back(packaged);
  }
  return results;
}

void print_table(const std::vector<ProviderComparison>& results) {
  fmt::print("{:<22} {:>26} {:>26} {:>26} {:>20} {:>7} {:>8} {:>8}  target\n",
             "median (lowest..highest)", "plain libfabric", "the same, delivered", "adapter",
             "fi_pingpong", "ratio", "of bests", "to f_pp");
  for (const ProviderComparison& c : results) {
    const auto text = [&](const std::vector<double>& values) {
      return values.empty() ? "-" : text_of(values) + " " + c.unit;
    };
    fmt::print("{:<22} {:>26} {:>26} {:>26} {:>20} {:>7.3f} {:>8.3f} {:>8.3f}  {}\n",
               c.provider + ": " + c.name, text(c.plain), text(c.alike), text(c.ours),
               text(c.packaged), c.ratio(), c.ratio_of_bests(), c.ratio_to_packaged(), c.verdict());
  }
}

void print_json(const Options& options, const std::vector<ProviderComparison>& results) {
  const auto figure = [](const std::vector<double>& values) {
    nlohmann::json made = json_of(values);
    made["samples"] = values.size();
    return made;
  };
  nlohmann::json all;
  all["size"] = options.size;
  all["repeat"] = options.repeat;
  for (const ProviderComparison& c : results) {
    all["results"].push_back({{"provider", c.provider},
                              {"name", c.name},
                              {"unit", c.unit},
                              {"plain", figure(c.plain)},
                              {"plain_delivery_complete", figure(c.alike)},
                              {"adapter", figure(c.ours)},
                              {"fi_pingpong", figure(c.packaged)},
                              {"ratio", c.ratio()},
                              {"ratio_to_fi_pingpong", c.ratio_to_packaged()},
                              {"ratio_of_bests", c.ratio_of_bests()},
                              {"target", c.target},
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
  std::vector<ProviderComparison> results;
  for (const std::string& provider : options.providers) {
    for (ProviderComparison& result : measure(options, provider))
      results.push_back(std::move(result));
  }
  options.json ? print_json(options, results) : print_table(results);
  return results.size() == 2 * options.providers.size() ? 0 : 1;
}
