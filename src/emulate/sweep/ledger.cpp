// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/ledger.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "base/units.hpp"
#include "base/whole_file.hpp"
#include "emulate/run.hpp"
#include "emulate/sweep/json_fields.hpp"

namespace weft::emulate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* question_name = "question.json";

std::string runs_name(const SweepShare& share) {
  return share.is_all() ? "runs.jsonl" : fmt::format("runs-{}-of-{}.jsonl", share.task, share.of);
}

std::string to_line(const SweepRun& run) {
  const SweepGround& ground = run.ground;
  const auto known = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json();
  };
  const auto of_calibration = [&](double LayerCalibration::*figure) {
    return ground.calibration ? Json(*ground.calibration.*figure) : Json();
  };
  const Json json = {{"latency_ns", run.point.latency.to_nanoseconds()},
                     {"bandwidth", run.point.bandwidth},
                     {"value_s", run.sample.value},
                     {"wall_s", run.sample.wall_s},
                     {"stolen", run.sample.stolen},
                     {"waiting", run.sample.waiting},
                     {"host", ground.host},
                     {"interposer", ground.interposer},
                     {"ranks", ground.ranks},
                     {"native_latency_ns", known(ground.latency_ns)},
                     {"native_bandwidth_bytes_per_s", known(ground.bandwidth_bytes_per_s)},
                     {"calibrated_latency_ns", of_calibration(&LayerCalibration::latency_ns)},
                     {"calibrated_bandwidth_bytes_per_s",
                      of_calibration(&LayerCalibration::bandwidth_bytes_per_s)},
                     {"calibrated_overhead_ns", of_calibration(&LayerCalibration::overhead_ns)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Ranges are wide: they keep out what no run can have written.
constexpr double most_wall_s = 1e9;
constexpr std::int64_t most_ranks = 100'000'000;
constexpr double most_bytes_per_s = 1e15;
constexpr double most_overhead_ns = 1e9;

/// Error: text that says what is wrong with the line.
Result<SweepRun> from_line(std::string_view line) {
  JsonFields fields(line);
  const std::int64_t longest_ns = kLongestLatency.to_nanoseconds();
  const auto most_ns = static_cast<double>(longest_ns);
  SweepRun run;
  run.point = {Duration::nanoseconds(fields.whole("latency_ns", 0, longest_ns)),
               fields.number("bandwidth", least_share, 1)};
  run.sample = {.value = fields.number("value_s", least_metric_seconds, most_metric_seconds),
                .wall_s = fields.number("wall_s", 0, most_wall_s),
                .stolen = fields.number("stolen", 0, 1),
                .waiting = fields.number("waiting", 0, 1)};
  SweepGround& ground = run.ground;
  ground.host = fields.text("host");
  ground.interposer = fields.text("interposer");
  ground.ranks = static_cast<unsigned>(fields.whole("ranks", 0, most_ranks));
  ground.latency_ns = fields.number_or_null("native_latency_ns", 0, most_ns);
  ground.bandwidth_bytes_per_s =
      fields.number_or_null("native_bandwidth_bytes_per_s", 0, most_bytes_per_s);
  const auto latency_ns = fields.number_or_null("calibrated_latency_ns", 0, most_ns);
  const auto bytes_per_s =
      fields.number_or_null("calibrated_bandwidth_bytes_per_s", 0, most_bytes_per_s);
  const auto overhead_ns =
      fields.number_or_null("calibrated_overhead_ns", -most_overhead_ns, most_overhead_ns);
  if (latency_ns && bytes_per_s && overhead_ns) {
    ground.calibration = {*latency_ns, *bytes_per_s, *overhead_ns};
  }
  if (fields.wrong().empty()) return run;
  return Error{ErrorCode::corrupt, fields.wrong()};
}

Result<std::vector<SweepRun>> read_runs(const fs::path& path) {
  auto text = read_text_file(path.string());
  if (!text) return std::move(text).error();
  std::vector<SweepRun> runs;
  std::size_t number = 0;
  for (std::size_t at = 0, end = 0; (end = text->find('\n', at)) != std::string::npos;
       at = end + 1) {
    ++number;
    auto run = from_line(std::string_view(*text).substr(at, end - at));
    if (!run) {
      return corrupt("{}:{}: is no run of a sweep ({}); delete the line", path.string(), number,
                     run.error().message);
    }
    run->file = path.filename().string();
    runs.push_back(std::move(run).value());
  }
  return runs;
}

Result<void> write_question(const std::string& path, const SweepQuestion& question) {
  const auto text = to_json_text(question);
  if (!text) return text.error();
  auto file = WholeFile::create(path);
  if (!file) return file.error();
  if (auto written = file->write(*text); !written) return written;
  return file->commit();
}

/// Writes the question, or adds its points to those of the same question that is there: with the
/// directory alone a sweep goes on with all of them.
Result<void> agree_on_question(const std::string& directory, const SweepQuestion& question) {
  // Two tasks that begin at once would both find no question, or each lose the other's points. A
  // network file system may lock no directories: there the second one of them wins.
  const Descriptor one_at_a_time(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  (void)::flock(one_at_a_time.get(), LOCK_EX);
  const std::string path = (fs::path(directory) / question_name).string();
  std::error_code error;
  if (!fs::exists(path, error)) return write_question(path, question);
  const auto there = SweepLedger::question_of(directory);
  if (!there) return there.error();
  if (const std::string differs = difference(*there, question); !differs.empty()) {
    return invalid("--resume: {} has the runs of another sweep: {} differs; name another directory",
                   directory, differs);
  }
  const SweepQuestion both = with_points_of(*there, question);
  if (both.points().size() == there->points().size()) return {};
  return write_question(path, both);
}

/// Removes an incomplete last line, which a crash leaves, so that the next line is a new one.
Result<void> end_at_line(const std::string& path, int descriptor) {
  const auto text = read_text_file(path);
  if (!text) return text.error();
  const std::size_t end = text->rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole == text->size()) return {};
  if (::ftruncate(descriptor, static_cast<off_t>(whole)) != 0) {
    return system_error("write", path, errno);
  }
  return {};
}

/// The first run with another calibration; null when there is none.
const SweepRun* first_with_other(const std::vector<SweepRun>& runs,
                                 const std::optional<LayerCalibration>& calibration) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const SweepRun& run) {
    return !(run.ground.calibration == calibration);
  });
  return found == runs.end() ? nullptr : &*found;
}

}  // namespace

std::string to_text(const std::optional<LayerCalibration>& calibration) {
  if (!calibration) return "none";
  return fmt::format("{:.4g} ns native, {}, overhead {:.4g} ns", calibration->latency_ns,
                     to_text(Bandwidth::bytes_per_second(
                         static_cast<std::uint64_t>(calibration->bandwidth_bytes_per_s))),
                     calibration->overhead_ns);
}

Result<void> check_calibration(const std::vector<SweepRun>& runs, const std::string& directory,
                               const std::optional<LayerCalibration>& now) {
  const SweepRun* const other = first_with_other(runs, now);
  if (other == nullptr) return {};
  return invalid(
      "--resume: {} has runs with another calibration ({}; now {}), which are runs on other "
      "networks: name another directory, or set WEFT_CALIBRATION to the file with theirs",
      directory, to_text(other->ground.calibration), to_text(now));
}

Result<void> check_one_calibration(const std::vector<SweepRun>& runs,
                                   const std::string& directory) {
  if (runs.empty()) return {};
  const SweepRun* const other = first_with_other(runs, runs.front().ground.calibration);
  if (other == nullptr) return {};
  return invalid(
      "--merge: runs in {} have different calibrations ({} in {}, {} in {}), which are runs on "
      "different networks: set WEFT_CALIBRATION to one file for all tasks, and measure in another "
      "directory",
      directory, to_text(runs.front().ground.calibration), runs.front().file,
      to_text(other->ground.calibration), other->file);
}

Result<SweepQuestion> SweepLedger::question_of(const std::string& directory) {
  const std::string path = (fs::path(directory) / question_name).string();
  std::error_code error;
  if (!fs::exists(path, error)) {
    return make_error(ErrorCode::not_found,
                      "--resume: {} has no question.json: no sweep was begun there; name "
                      "the directory of one",
                      directory);
  }
  const auto text = read_text_file(path);
  if (!text) return text.error();
  auto question = question_from_json(*text);
  if (question) return question;
  return corrupt("{}: is no sweep ({}); name another directory with --resume", path,
                 question.error().message);
}

Result<std::vector<SweepRun>> SweepLedger::runs_of(const std::string& directory) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("runs") && name.ends_with(".jsonl")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SweepRun> runs;
  for (const fs::path& path : paths) {
    auto of_file = read_runs(path);
    if (!of_file) return of_file;
    for (SweepRun& run : *of_file) runs.push_back(std::move(run));
  }
  return runs;
}

Result<SweepLedger> SweepLedger::open(const std::string& directory, const SweepQuestion& question,
                                      const SweepShare& share) {
  std::error_code error;
  if (fs::is_regular_file(directory, error)) {
    return invalid("--resume: {} is a file; name a directory", directory);
  }
  fs::create_directories(directory, error);
  if (error) {
    const Error failed = system_error("make the directory", directory, error.value());
    return Error{failed.code, fmt::format("--resume: {}", failed.message)};
  }
  if (auto good = agree_on_question(directory, question); !good) return good.error();
  const std::string path = (fs::path(directory) / runs_name(share)).string();
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return system_error("write", path, errno);
  SweepLedger ledger(path, descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return make_error(
        ErrorCode::unavailable,
        "--resume: another weft sweep is writing {}; wait for it, or give each a --share", path);
  }
  if (auto good = end_at_line(path, descriptor); !good) return good.error();
  auto runs = share.is_all() ? runs_of(directory) : read_runs(path);
  if (!runs) return std::move(runs).error();
  ledger.runs_ = std::move(runs).value();
  return ledger;
}

SweepLedger::SweepLedger(SweepLedger&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      runs_(std::move(other.runs_)) {}

SweepLedger::~SweepLedger() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string SweepLedger::file() const {
  return fs::path(path_).filename().string();
}

Result<void> SweepLedger::add(const SweepRun& run) {
  const std::string line = to_line(run);
  // One write, at the end of the file: a line is there whole or was cut at its end.
  const ssize_t written = ::write(descriptor_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) {
    return system_error("write", path_, written < 0 ? errno : ENOSPC);
  }
  return {};
}

}  // namespace weft::emulate
