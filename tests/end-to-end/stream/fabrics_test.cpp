// SPDX-License-Identifier: Apache-2.0
// Every fabric delivers every timeslice, with every schedule and every shape of data.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "soundness.hpp"

namespace weft::e2e {
namespace {

struct Case {
  const char* name;
  const char* fabric;
  const char* schedule;
  const char* source;
  int inputs;
  int computes;
  std::vector<std::string> more{};
  void PrintTo(const Case& value, std::ostream* out) { *out << value.name; }
};

class Fabrics : public testing::TestWithParam<Case> {};

// `--timeslices` rather than a duration: nothing here depends on how fast the machine is.
TEST_P(Fabrics, deliver_every_timeslice_complete) {
  const Case& c = GetParam();
  std::vector<std::string> arguments{"stream",       "local",
                                     "--fabric",     c.fabric,
                                     "--schedule",   c.schedule,
                                     "--source",     c.source,
                                     "--sink",       "check:",
                                     "--no-limit",   "--json",
                                     "--inputs",     fmt::format("{}", c.inputs),
                                     "--computes",   fmt::format("{}", c.computes),
                                     "--timeslices", "600"};
  arguments.insert(arguments.end(), c.more.begin(), c.more.end());
  const Ended ended = run_weft(std::move(arguments));
  expect_all_complete(ended);
  EXPECT_GE(figures_of(ended).complete, 600u) << ended.describe();
}

const std::vector<std::string> overlap{"--microslices-per-timeslice", "4", "--overlap", "2"};
const std::vector<std::string> intervals{"--timeslices-per-interval", "64"};
const std::vector<std::string> link{"--link", "200Mbit,20us"};
const std::vector<std::string> link_and_intervals{"--link", "200Mbit,20us",
                                                  "--timeslices-per-interval", "64"};
const char* const plain = "pattern:?size=16KiB";
const char* const uniform = "pattern:?size=16KiB&sizes=uniform";
const char* const poisson = "pattern:?size=8KiB&sizes=poisson&hit=512";

INSTANTIATE_TEST_SUITE_P(
    stream, Fabrics,
    testing::Values(Case{"tcp_best_effort", "tcp", "best-effort", plain, 3, 2},
                    Case{"tcp_dfs_overlapping", "tcp", "dfs", uniform, 2, 3, overlap},
                    Case{"tcp_dfs_in_intervals", "tcp", "dfs", plain, 4, 4, intervals},
                    Case{"tcp_grant_poisson", "tcp", "grant", poisson, 4, 2, overlap},
                    Case{"unix_offset", "tcp:unix", "offset", uniform, 3, 2},
                    Case{"unix_grant_overlapping", "tcp:unix", "grant", plain, 2, 4, overlap},
                    Case{"libfabric_tcp_best_effort", "libfabric:tcp", "best-effort", uniform, 2,
                         3},
                    Case{"libfabric_tcp_dfs", "libfabric:tcp", "dfs", plain, 3, 2, intervals},
                    Case{"libfabric_tcp_grant", "libfabric:tcp", "grant", poisson, 3, 2, overlap},
                    Case{"libfabric_shm_offset", "libfabric:shm", "offset", poisson, 2, 3},
                    Case{"libfabric_shm_dfs", "libfabric:shm", "dfs", uniform, 3, 2, intervals},
                    Case{"libfabric_shm_grant", "libfabric:shm", "grant", plain, 3, 2, overlap},
                    Case{"libfabric_sockets_dfs", "libfabric:sockets", "dfs", plain, 2, 3},
                    Case{"libfabric_sockets_grant", "libfabric:sockets", "grant", uniform, 3, 2},
                    Case{"shaped_best_effort", "tcp", "best-effort", uniform, 3, 2, link},
                    Case{"shaped_dfs", "tcp", "dfs", plain, 2, 3, link_and_intervals},
                    Case{"shaped_grant", "tcp", "grant", poisson, 3, 2, link},
                    Case{"shaped_libfabric_offset", "libfabric:tcp", "offset", plain, 3, 2, link}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(stream, one_input_and_one_compute_are_enough) {
  expect_all_complete(run_weft({"stream", "local", "--inputs", "1", "--computes", "1", "--sink",
                                "check:", "--timeslices", "300", "--no-limit", "--json"}));
}

TEST(stream, contributions_wrap_in_rings_that_hold_two_of_them) {
  for (const char* schedule : {"best-effort", "offset", "dfs", "grant"}) {
    const Ended ended =
        run_weft({"stream", "local", "--inputs", "3", "--computes", "3", "--schedule", schedule,
                  "--source", "pattern:?size=40KiB&sizes=uniform", "--buffer", "128KiB", "--sink",
                  "check:", "--timeslices", "400", "--no-limit", "--json"});
    expect_all_complete(ended);
  }
}

}  // namespace
}  // namespace weft::e2e
