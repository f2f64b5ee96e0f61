// SPDX-License-Identifier: Apache-2.0
#include "cli/twin.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/units.hpp"
#include "cli/stream_output.hpp"
#include "cli/terminal.hpp"
#include "stream/local/local.hpp"

namespace weft::cli {
namespace {

std::string rate(const report::RunRecord& r) {
  return to_text(Bandwidth::bytes_per_second(static_cast<std::uint64_t>(r.goodput_bytes_per_s)));
}

std::string spread(const report::RunRecord& r) {
  return r.spread_us ? milliseconds_text(r.spread_us->median) : "-";
}

std::string difference(double real, double simulated) {
  return real > 0 ? fmt::format("{:+.1f} %", (simulated / real - 1) * 100) : "-";
}

}  // namespace

Result<void> check_twin(const StreamSettings& settings) {
  if (settings.local.testbed && settings.local.testbed_link != Bandwidth{}) return {};
  return Error{ErrorCode::invalid_argument,
               "--twin: only a testbed with links of a known rate has a twin: add --testbed "
               "100Mbit,4MiB"};
}

Result<report::RunRecord> run_twin(const StreamSettings& settings) {
  auto record = stream::run_twin(settings.stream, settings.local);
  if (!record) return Error{record.error().code, "--twin: " + record.error().message};
  return record;
}

void print_twins(std::span<const report::RunRecord> real,
                 std::span<const report::RunRecord> simulated) {
  WEFT_CHECK(real.size() == simulated.size());
  Table table({"schedule", "goodput", "twin", "differs", "spread", "twin", "differs"});
  for (std::size_t i = 0; i < real.size(); ++i) {
    const report::RunRecord& r = real[i];
    const report::RunRecord& s = simulated[i];
    const bool spreads = r.spread_us && s.spread_us;
    table.add({r.schedule, rate(r), rate(s),
               difference(r.goodput_bytes_per_s, s.goodput_bytes_per_s), spread(r), spread(s),
               spreads ? difference(r.spread_us->median, s.spread_us->median) : "-"});
  }
  fmt::print("\n");
  table.print();
}

}  // namespace weft::cli
