// SPDX-License-Identifier: Apache-2.0
// After any fault, nothing is lost, and the stream flows again as before.
#include <gtest/gtest.h>

#include "scenario_text.hpp"
#include "soundness.hpp"

namespace weft::e2e {
namespace {

struct Trouble {
  const char* name;
  const char* scenario;   ///< more of it
  const char* faults;     ///< of it, too
  const char* more = "";  ///< options of the job
};
void PrintTo(const Trouble& trouble, std::ostream* out) {
  *out << trouble.name;
}
class Recovery : public testing::TestWithParam<Trouble> {};

/// Mean goodput in a part of the run, in bytes per second.
double goodput(const nlohmann::json& record, double begin_us, double end_us) {
  double sum = 0;
  int count = 0;
  for (const auto& sample : record["series"]["goodput"]) {
    if (sample["t_us"] < begin_us || sample["t_us"] >= end_us) continue;
    sum += sample["bytes_per_s"].get<double>();
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

TEST_P(Recovery, loses_nothing_and_shows_it) {
  for (const char* schedule : {"dfs", "grant"}) {
    ScratchDirectory directory;
    std::string text = small_job;
    const std::string end = "timeslices = 300";
    text.replace(
        text.find(end), end.size(),
        std::string("duration = \"20ms\"\nschedule = \"") + schedule + "\"\n" + GetParam().more);
    write_file(directory / "job.toml",
               std::string("faults = [") + GetParam().faults + "]\n" + text + GetParam().scenario);
    const Ended ended = run_weft(
        {"simulate", directory / "job.toml", "--json", "--no-limit", "--out", directory / "out"});
    expect_nothing_lost(ended);
    const auto record = nlohmann::json::parse(read_file(directory / "out/run.json"));
    EXPECT_EQ(record["faults"].empty(), std::string(GetParam().faults).empty());
    EXPECT_GT(goodput(record, 14'000, 19'000), 0.5 * goodput(record, 1'000, 4'000)) << schedule;
  }
}

INSTANTIATE_TEST_SUITE_P(
    simulate, Recovery,
    testing::Values(Trouble{"stragglers", "[noise]\nevery = \"500us\"\nmean = \"50us\"\n", ""},
                    Trouble{"slow_link", "", "\"at=5ms slow host1 10Gbit for=4ms\""},
                    Trouble{"failing_engine", "",
                            "\"at=5ms kill host3\", \"at=8ms restart host3\""},
                    Trouble{"crashed_compute_node", "", "\"at=5ms kill host5\""},
                    Trouble{"bad_clocks", "[clocks]\noffset = \"10ms\"\ndrift-ppm = 50\n", ""}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace weft::e2e
