// SPDX-License-Identifier: Apache-2.0
#include "report/run_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

namespace weft::report {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

RunRecord sample_record() {
  RunRecord r;
  r.schedule = "dfs";
  r.fabric = "shaped(tcp)";
  r.inputs = 4;
  r.computes = 3;
  r.timeslices_sent = 1000;
  r.timeslices_complete = 990;
  r.timeslices_incomplete = 8;
  r.timeslices_lost = 2;
  r.bytes = 262'144'000;
  r.seconds = 2.75;
  r.goodput_bytes_per_s = 95'325'090.9;
  r.limit_bytes_per_s = 98e6;
  r.goodput_of_limit = 0.9727;
  r.spread_us = Quantiles{1, 2, 3.5, 4, 5};
  r.spread_floor_us = 2.5;
  r.buffer_fill = Quantiles{0, 0.05, 0.1, 0.2, 0.5};
  r.credit_waits = 17;
  r.intervals = {{0, 0, std::nullopt, 1000.5}, {1, 1000.5, 990, 995}};
  r.seed = std::numeric_limits<std::uint64_t>::max();
  r.version = "0.1.0";
  r.checks = {1, "compute 2, timeslice 7: crc differs", 3, 4, 5};
  r.parameters = {{"timeslices", "1000"}, {"link", "200Mbit,20us"}, {"buffer", "16"}};
  r.machine = {"node1", 2, "a processor", "Linux 6.1", std::uint64_t{8} << 30};
  r.command = "weft stream local --inputs 4";
  r.series.timeslices = {{10.5, 0, 0, 3.5}, {20, 1, 1, 4}};
  r.series.goodput = {{100, 1e6}, {200, 2e6}};
  r.series.buffer_fill = {{100, 0, std::nullopt, 0.25}, {100, 1, 2, 0.5}};
  r.limit = {{65536, false, 12.5, 1e9, 4e9}, {65536, true, 13, 0.9e9, 3.6e9}};
  return r;
}

class run_files : public testing::Test {
 protected:
  run_files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "weft-record-XXXXXX").string();
    dir_ = ::mkdtemp(pattern.data());
  }
  ~run_files() override { std::filesystem::remove_all(dir_); }
  void put(const std::string& name, const std::string& text) {
    std::ofstream(dir_ + "/" + name) << text;
  }
  std::string dir_;
};

TEST(run_record, full_form_reads_back_as_it_was) {
  const RunRecord record = sample_record();
  const Result<RunRecord> read = from_json(to_json(record, RecordForm::full), "x");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, record);
}

TEST(run_record, summary_form_has_the_documented_members_in_order) {
  const auto j = nlohmann::ordered_json::parse(to_json(sample_record(), RecordForm::summary));
  std::vector<std::string> names;
  for (const auto& item : j.items()) names.push_back(item.key());
  EXPECT_THAT(names, ElementsAre("schedule", "fabric", "inputs", "computes", "timeslices_sent",
                                 "timeslices_complete", "timeslices_incomplete", "timeslices_lost",
                                 "bytes", "seconds", "goodput_bytes_per_s", "limit_bytes_per_s",
                                 "goodput_of_limit", "spread_us", "spread_floor_us", "buffer_fill",
                                 "credit_waits", "quorum_wait_s", "intervals", "seed", "version",
                                 "checks", "interrupted", "published"));
  EXPECT_EQ(j["spread_us"]["median"], 3.5);
  EXPECT_EQ(j["intervals"][1]["proposed_us"], 990);
  EXPECT_TRUE(j["intervals"][0]["proposed_us"].is_null());
}

TEST(run_record, summary_form_can_be_read_too) {
  const Result<RunRecord> read = from_json(to_json(sample_record(), RecordForm::summary), "x");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->timeslices_complete, 990u);
  EXPECT_TRUE(read->series.timeslices.empty());
}

TEST(run_record, absent_and_infinite_figures_are_null) {
  RunRecord record = sample_record();
  record.limit_bytes_per_s.reset();
  record.spread_us.reset();
  record.spread_floor_us = std::numeric_limits<double>::infinity();
  const json j = json::parse(to_json(record, RecordForm::summary));
  EXPECT_TRUE(j["limit_bytes_per_s"].is_null());
  EXPECT_TRUE(j["spread_us"].is_null());
  EXPECT_TRUE(j["spread_floor_us"].is_null());
  const Result<RunRecord> read = from_json(j.dump(), "x");
  ASSERT_TRUE(read.ok());
  EXPECT_FALSE(read->spread_us.has_value());
}

TEST(run_record, figures_that_are_not_finite_do_not_make_the_record_unreadable) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  RunRecord record = sample_record();
  record.seconds = 0;
  record.goodput_bytes_per_s = none;
  record.series.timeslices[0].spread_us = none;
  record.intervals[1].actual_us = std::numeric_limits<double>::infinity();
  const Result<RunRecord> read = from_json(to_json(record, RecordForm::full), "x");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(std::isnan(read->goodput_bytes_per_s));
  EXPECT_EQ(read->series.timeslices.size(), 1u);
  EXPECT_EQ(read->intervals.size(), 1u);
}

TEST(run_record, text_that_is_not_utf8_is_still_written) {
  RunRecord record = sample_record();
  record.checks.first_error = "bad byte \xff here";
  EXPECT_TRUE(json::accept(to_json(record, RecordForm::full)));
}

TEST(run_record, wrong_member_is_named) {
  json j = json::parse(to_json(sample_record(), RecordForm::full));
  const auto message = [](const json& value) {
    const Result<RunRecord> read = from_json(value.dump(), "out/run.json");
    return read.ok() ? std::string("read") : read.error().message;
  };
  json missing = j;
  missing.erase("schedule");
  EXPECT_THAT(message(missing), HasSubstr("out/run.json: not a record of a run: \"schedule\" is"));
  json text = j;
  text["spread_us"]["p90"] = "much";
  EXPECT_THAT(message(text), HasSubstr("\"spread_us.p90\" is not a number"));
  json negative = j;
  negative["inputs"] = -1;
  EXPECT_THAT(message(negative), HasSubstr("\"inputs\" is not a whole number"));
  json large = j;
  large["inputs"] = std::uint64_t{1} << 40;
  EXPECT_THAT(message(large), HasSubstr("\"inputs\" is 1099511627776, more than 4294967295"));
  json row = j;
  row["series"]["timeslices"][1] = 5;
  EXPECT_THAT(message(row), HasSubstr("\"series.timeslices[1]\" is not an object"));
  EXPECT_THAT(message(json::array()), HasSubstr("it is not an object"));
}

TEST(run_record, garbage_gives_one_line_with_the_byte) {
  for (const char* text : {"", "{", "[1,", "{\"schedule\": \"dfs\" \x01", "nul"}) {
    const Result<RunRecord> read = from_json(text, "run.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::corrupt);
    EXPECT_THAT(read.error().message, HasSubstr("run.json: "));
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
}

TEST(run_record, every_truncation_of_a_record_is_refused) {
  const std::string text = to_json(sample_record(), RecordForm::full);
  for (std::size_t n = 0; n < text.size(); ++n) {
    EXPECT_FALSE(from_json(std::string_view(text).substr(0, n), "x").ok()) << n;
  }
}

TEST(run_record, quantiles_interpolate_between_samples) {
  std::vector<double> samples(101);
  std::iota(samples.begin(), samples.end(), 0.0);
  std::reverse(samples.begin(), samples.end());
  EXPECT_EQ(quantiles_of(samples), (Quantiles{0, 10, 50, 90, 100}));
  EXPECT_EQ(quantiles_of({1, 2}), (Quantiles{1, 1.1, 1.5, 1.9, 2}));
  EXPECT_EQ(quantiles_of({7}), (Quantiles{7, 7, 7, 7, 7}));
  EXPECT_EQ(quantiles_of({}), std::nullopt);
}

TEST(run_record, decimated_series_stays_even_and_bounded) {
  Decimated<int> series(8);
  for (int i = 0; i < 1000; ++i) {
    series.add(i);
    ASSERT_LE(series.values().size(), 8u);
  }
  const std::vector<int> kept = series.take();
  ASSERT_GE(kept.size(), 4u);
  const int stride = kept[1] - kept[0];
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], static_cast<int>(i) * stride);
  }
  EXPECT_GT(kept.back() + 2 * stride, 1000);
}

TEST(run_record, this_machine_is_described) {
  const Machine machine = this_machine();
  EXPECT_FALSE(machine.host.empty());
  EXPECT_FALSE(machine.kernel.empty());
  EXPECT_GT(machine.cpus, 0u);
  EXPECT_GT(machine.memory_bytes, 0u);
}

TEST_F(run_files, runs_are_read_back_comparison_first) {
  RunRecord one = sample_record();
  RunRecord two = sample_record();
  two.schedule = "best-effort";
  RunRecord three = sample_record();
  three.schedule = "offset";
  ASSERT_TRUE(write_comparison(dir_ + "/new/deep", std::vector{one, two}).ok());
  ASSERT_TRUE(write_run(dir_ + "/new/deep", three).ok());
  const Result<std::vector<RunRecord>> runs = read_runs(dir_ + "/new/deep");
  ASSERT_TRUE(runs.ok()) << runs.error().message;
  EXPECT_THAT(*runs, ElementsAre(one, two, three));
}

TEST_F(run_files, writing_leaves_no_temporary_file) {
  ASSERT_TRUE(write_run(dir_, sample_record()).ok());
  ASSERT_TRUE(write_run(dir_, sample_record()).ok());
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
    names.push_back(entry.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("run.json"));
}

TEST_F(run_files, errors_name_the_file) {
  Result<std::vector<RunRecord>> runs = read_runs(dir_);
  ASSERT_FALSE(runs.ok());
  EXPECT_EQ(runs.error().code, ErrorCode::not_found);
  EXPECT_THAT(runs.error().message, HasSubstr("'" + dir_ + "' has no record"));

  put("compare.json", "{\"runs\":[]}");
  runs = read_runs(dir_);
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(runs.error().message, HasSubstr(dir_ + "/compare.json: "));
  put("compare.json", "{\"runs\":[{}]}");
  runs = read_runs(dir_);
  ASSERT_FALSE(runs.ok());
  EXPECT_THAT(runs.error().message, HasSubstr("\"runs[0].schedule\" is missing"));
}

TEST_F(run_files, a_place_that_cannot_be_written_is_named) {
  put("file", "x");
  const Result<void> written = write_run(dir_ + "/file", sample_record());
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr(dir_ + "/file"));
  const Result<void> full = write_file_whole("/dev/full/run.json", "x");
  ASSERT_FALSE(full.ok());
}

}  // namespace
}  // namespace weft::report
