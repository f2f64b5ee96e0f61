// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/target.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "emulate/command.hpp"
#include "emulate/run.hpp"
#include "emulate/sockets.hpp"

namespace weft::emulate {
namespace {

// The first columns of /proc/stat, in ticks; those behind are parts of the first.
constexpr std::size_t columns = 8;
constexpr std::size_t stolen_column = 7;
constexpr const char* times_path = "/proc/stat";
constexpr const char* pressure_path = "/proc/pressure/cpu";

std::array<double, columns> ticks_of(std::string_view text) {
  std::istringstream line{std::string(text.substr(0, text.find('\n')))};
  std::string name;
  line >> name;
  std::array<double, columns> ticks{};
  for (double& column : ticks) line >> column;
  return ticks;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "";
}

EmulationRequest request_for(const SweepQuestion& question, const SweepPoint& point) {
  EmulationRequest request;
  request.command = question.command;
  request.latency.value = point.latency;
  if (point.bandwidth < 1) request.bandwidth.fraction = point.bandwidth;
  request.links = question.links;
  request.server = question.server;
  request.use_ucx = question.use_ucx;
  request.capture_stdout = true;
  return request;
}

}  // namespace

Result<std::optional<LayerCalibration>> calibration_in_use(const SweepQuestion& question) {
  const EmulationRequest request = request_for(question, {});
  std::string layer = kSocketsLayer;
  if (request.server.empty()) {
    const auto command = inspect_command(request.command);
    if (!command) return command.error();
    layer = command->layer();
  } else if (is_for_unix_socket(request)) {
    return std::optional<LayerCalibration>();
  }
  const auto calibration = load_calibration();
  if (!calibration) return calibration.error();
  const auto found = calibration->find(layer);
  return found == calibration->end() ? std::nullopt : std::optional(found->second);
}

double stolen_share(std::string_view before, std::string_view after) {
  const auto a = ticks_of(before);
  const auto b = ticks_of(after);
  const double all =
      std::accumulate(b.begin(), b.end(), 0.0) - std::accumulate(a.begin(), a.end(), 0.0);
  // Some hypervisors let the count of stolen ticks go back.
  return all > 0 ? std::clamp((b[stolen_column] - a[stolen_column]) / all, 0.0, 1.0) : 0;
}

double waited_us(std::string_view pressure) {
  constexpr std::string_view name = " total=";
  const std::size_t at = pressure.find(name);
  if (!pressure.starts_with("some ") || at == std::string_view::npos) return 0;
  return std::strtod(std::string(pressure.substr(at + name.size())).c_str(), nullptr);
}

WrittenFile::WrittenFile(std::string path) : path_(std::move(path)), before_(state_of(path_)) {}

WrittenFile::State WrittenFile::state_of(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return {};
  return {about.st_mtim.tv_sec * 1'000'000'000 + about.st_mtim.tv_nsec, about.st_size};
}

Result<std::string> WrittenFile::text() const {
  const State now = state_of(path_);
  std::ifstream file(path_, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (now == State{} || !file) {
    return invalid(
        "--metric-file {}: is not there after a run: name what the program writes, from this "
        "directory",
        path_);
  }
  if (now == before_) {
    return invalid("--metric-file {}: the program did not write it: it is as it was before", path_);
  }
  return text.str();
}

SweepTarget emulated_target(const SweepQuestion& question) {
  return [question, host = host_name()](const SweepPoint& point) -> Result<ProgramRun> {
    const std::string before = first_line(times_path);
    const double waited_before = waited_us(first_line(pressure_path));
    const WrittenFile file(question.metric.file);
    const auto calibration = calibration_in_use(question);
    if (!calibration) return calibration.error();
    auto ran = run(request_for(question, point));
    if (!ran) return std::move(ran).error();
    ProgramRun out;
    out.wall_s = ran->wall_time.to_seconds();
    const double program_s = ran->program_time.to_seconds();
    out.time_s = program_s > 0 ? program_s : out.wall_s;
    out.stolen = stolen_share(before, first_line(times_path));
    const double waited_s = (waited_us(first_line(pressure_path)) - waited_before) * 1e-6;
    out.waiting = out.wall_s > 0 ? std::clamp(waited_s / out.wall_s, 0.0, 1.0) : 0;
    out.output = std::move(ran->stdout_text);
    if (ran->stdout_is_cut && !question.metric.is_time() && question.metric.file.empty()) {
      return make_error(ErrorCode::exhausted,
                        "--metric: the program prints more than {}; let it write what is searched "
                        "to a file, and name that by --metric-file",
                        to_text(ByteCount(most_captured)));
    }
    if (!question.metric.file.empty()) {
      auto text = file.text();
      if (!text) return std::move(text).error();
      out.output = std::move(text).value();
    }
    out.ground = {.host = host,
                  .interposer = ran->interposer,
                  .ranks = ran->ranks,
                  .latency_ns = ran->latency_ns.native,
                  .bandwidth_bytes_per_s = ran->bandwidth_bytes_per_s.native,
                  .calibration = *calibration};
    out.warnings = std::move(ran->warnings);
    return out;
  };
}

}  // namespace weft::emulate
