// SPDX-License-Identifier: Apache-2.0
// weft odp diagnose: what packet captures tell about stalls of reliable connections.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/odp_live.hpp"
#include "cli/parsed_option.hpp"
#include "rdma/diagnosis.hpp"
#include "wire/capture/capture_reader.hpp"

namespace weft::cli {
namespace {

struct DiagnoseCommand {
  std::vector<std::string> files;
  bool is_live = false;
  LiveOptions live;
  bool json = false;
};

struct Diagnosed {
  std::string file;
  std::uint64_t packets = 0;
  std::uint64_t queue_pairs = 0;
  std::uint64_t wrong_icrcs = 0;
  std::uint64_t left_out = 0;
  std::vector<rdma::Finding> findings;
  std::string cut;  ///< where the capture ends before its end, and why
};

/// A capture that is cut is read up to there.
Result<Diagnosed> diagnose(const std::string& path) {
  auto reader = wire::CaptureReader::open(path);
  if (!reader) return std::move(reader).error();
  rdma::Diagnosis diagnosis;
  Diagnosed result;
  result.file = path;
  wire::CapturedFrame captured;
  for (;;) {
    const auto more = reader->next(captured);
    if (!more) {
      result.cut = fmt::format("packet {}: {}", captured.number + 1, more.error().message);
    }
    if (!more || !*more) break;
    const auto frame = wire::read_frame(captured.link, captured.bytes, captured.original, true);
    if (frame) diagnosis.add(captured.number, captured.time_ns, *frame);
  }
  result.packets = diagnosis.packets();
  result.queue_pairs = diagnosis.queue_pairs();
  result.wrong_icrcs = diagnosis.wrong_icrcs();
  result.left_out = diagnosis.findings_left_out();
  result.findings = diagnosis.finish();
  return result;
}

nlohmann::ordered_json to_json(const std::vector<Diagnosed>& all) {
  nlohmann::ordered_json json = {{"packets", 0}, {"queue_pairs", 0}, {"wrong_icrcs", 0}};
  auto findings = nlohmann::ordered_json::array();
  std::uint64_t packets = 0, queue_pairs = 0, wrong = 0;
  for (const Diagnosed& one : all) {
    packets += one.packets;
    queue_pairs += one.queue_pairs;
    wrong += one.wrong_icrcs;
    for (const rdma::Finding& f : one.findings) {
      nlohmann::ordered_json finding = {{"class", to_text(f.kind)},
                                        {"qp", f.queue_pair},
                                        {"first_packet", f.first_packet},
                                        {"last_packet", f.last_packet},
                                        {"lost_us", static_cast<double>(f.lost_ns) / 1e3},
                                        {"advice", advice_for(f.kind)},
                                        {"from", to_text(f.from)},
                                        {"to", to_text(f.to)}};
      if (all.size() > 1) finding["file"] = one.file;
      findings.push_back(std::move(finding));
    }
  }
  json["packets"] = packets;
  json["queue_pairs"] = queue_pairs;
  json["wrong_icrcs"] = wrong;
  json["findings"] = std::move(findings);
  return json;
}

void print_text(const Diagnosed& one) {
  constexpr std::size_t most_printed = 20;
  fmt::print("{}: {} RDMA packets, {} queue pairs{}\n", one.file, one.packets, one.queue_pairs,
             one.wrong_icrcs > 0 ? fmt::format(", {} with a wrong ICRC", one.wrong_icrcs) : "");
  if (one.findings.empty()) fmt::print("nothing found\n");
  std::array<std::uint64_t, 5> count{};
  for (std::size_t i = 0; i < one.findings.size(); ++i) {
    const rdma::Finding& f = one.findings[i];
    ++count[static_cast<std::size_t>(f.kind)];
    if (i >= most_printed) continue;
    fmt::print("{:<18} queue pair {} of {}, packets {} to {}: {} lost\n", to_text(f.kind),
               f.queue_pair, to_text(f.to), f.first_packet, f.last_packet,
               to_text(Duration(f.lost_ns)));
  }
  if (one.findings.size() > most_printed) {
    fmt::print("and {} more\n", one.findings.size() - most_printed + one.left_out);
  }
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (count[i] == 0) continue;
    const auto kind = static_cast<rdma::FindingClass>(i);
    fmt::print("\n{} ({}): {}\n", to_text(kind), count[i], advice_for(kind));
  }
}

void run_diagnose(const DiagnoseCommand& command, Outcome& outcome) {
  if (command.is_live != command.files.empty()) {
    const char* what = command.is_live
                           ? "--live: it watches counters and reads no FILE; leave one out"
                           : "FILE is missing: name captures, or use --live";
    return report_error({ErrorCode::invalid_argument, what}, outcome);
  }
  if (command.is_live) {
    LiveOptions live = command.live;
    live.json = command.json;
    return run_stoppable(outcome, [&] { watch_counters(live, outcome); });
  }
  std::vector<Diagnosed> all;
  for (const std::string& file : command.files) {
    auto one = diagnose(file);
    if (!one) return report_error(one.error(), outcome);
    if (!one->cut.empty()) fmt::print(stderr, "weft: '{}': {}\n", file, one->cut);
    all.push_back(std::move(one).value());
  }
  bool found = false;
  for (const Diagnosed& one : all) {
    found = found || !one.findings.empty();
    if (!command.json) print_text(one);
  }
  if (command.json) fmt::print("{}\n", to_json(all).dump());
  if (found) outcome.code = ExitCode::failed;
}

}  // namespace

void add_odp_diagnose_command(CLI::App& odp, Outcome& outcome) {
  auto* diagnose = odp.add_subcommand(
      "diagnose", "find damming, flood, loss and wrong RNR timers in packet captures");
  auto state = std::make_shared<DiagnoseCommand>();
  diagnose->add_option("FILE", state->files, "captures: pcap, pcapng or ERF, as of ibdump")
      ->type_name("FILE");
  diagnose->add_flag("--live", state->is_live,
                     "watch counters of this machine's adapters instead, until interrupted");
  add_parsed(*diagnose, "--every", state->live.every, parse_duration, "time between two looks",
             "1s")
      ->type_name("TIME");
  diagnose
      ->add_option("--samples", state->live.samples, "with --live: end after that many; 0: never")
      ->capture_default_str();
  diagnose->add_option("--root", state->live.root, "with --live: look at DIR/sys instead of /sys")
      ->type_name("DIR")
      ->capture_default_str();
  diagnose->add_flag("--json", state->json, "print one JSON object");
  diagnose->footer(
      "The exit code is 1 when something was found, 0 when nothing was. Packets count from 1.\n"
      "Examples:\n"
      "  weft odp simulate --interval 6ms --capture good.pcap\n"
      "  weft odp diagnose good.pcap --json\n"
      "  weft odp diagnose --live --every 1s");
  diagnose->callback([state, &outcome] { run_diagnose(*state, outcome); });
}

}  // namespace weft::cli
