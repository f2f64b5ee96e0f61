// SPDX-License-Identifier: Apache-2.0
// weft odp diagnose: finds stalls of reliable connections in packet captures.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/odp_live.hpp"
#include "cli/parsed_option.hpp"
#include "rdma/diagnosis.hpp"
#include "runtime/stop_signals.hpp"
#include "wire/capture/capture_reader.hpp"

namespace weft::cli {
namespace {

struct DiagnoseCommand {
  std::vector<std::string> files;
  std::uint64_t queue_pairs = rdma::Diagnosis::most_queue_pairs;
  bool is_live = false;
  LiveOptions live;
  bool json = false;
};

/// Frames that may have been RDMA, and the reason why nobody can tell.
struct Unreadable {
  std::uint64_t cut = 0;
  std::uint64_t longest_kept = 0;  ///< bytes, of those that were cut
  std::uint64_t of_unknown_link = 0;
  std::uint32_t link = 0;  ///< of the first of them

  void add(wire::FrameKind kind, const wire::CapturedFrame& captured) {
    if (kind == wire::FrameKind::cut) {
      ++cut;
      longest_kept = std::max<std::uint64_t>(longest_kept, captured.bytes.size());
    } else if (kind == wire::FrameKind::unknown_link && of_unknown_link++ == 0) {
      link = static_cast<std::uint32_t>(captured.link);
    }
  }
};

struct Diagnosed {
  std::string file;
  std::uint64_t frames = 0;  ///< RDMA or not
  std::uint64_t packets = 0;
  Unreadable unreadable;
  std::uint64_t queue_pairs = 0;
  std::uint64_t forgotten = 0, forgotten_open = 0;
  std::uint64_t wrong_icrcs = 0;
  std::uint64_t time_goes_back_at = 0;
  std::uint64_t left_out = 0;
  std::vector<rdma::Finding> findings;
  std::string damage;  ///< the reason why the capture cannot be read to its end; empty: none
  wire::CaptureReader::Position damaged_at;
};

Result<wire::CaptureReader> open_capture(const std::string& path, const StopSignals& signals) {
  const auto is_stopped = [&signals] { return signals.came(); };
  if (path != "-") return wire::CaptureReader::open(path, is_stopped);
  std::FILE* const stream = ::fdopen(::dup(STDIN_FILENO), "rb");
  if (stream == nullptr) {
    return make_error(ErrorCode::io, "-: cannot read standard input: {}", std::strerror(errno));
  }
  return wire::CaptureReader::open(stream, path, is_stopped);
}

/// A capture that is cut or damaged is read up to there.
Result<Diagnosed> diagnose(const std::string& path, std::size_t queue_pairs,
                           const StopSignals& signals) {
  auto reader = open_capture(path, signals);
  if (!reader) return std::move(reader).error();
  rdma::Diagnosis diagnosis(queue_pairs);
  Diagnosed result;
  result.file = path;
  wire::CapturedFrame captured;
  wire::RdmaFrame frame;
  for (;;) {
    const auto more = reader->next(captured);
    if (!more) {
      result.damage = more.error().message;
      result.damaged_at = reader->position();
    }
    if (!more || !*more) break;
    ++result.frames;
    const auto kind =
        wire::read_frame(captured.link, captured.bytes, captured.original, true, frame);
    result.unreadable.add(kind, captured);
    if (kind == wire::FrameKind::rdma) diagnosis.add(captured.number, captured.time_ns, frame);
  }
  result.packets = diagnosis.packets();
  result.queue_pairs = diagnosis.queue_pairs();
  result.forgotten = diagnosis.forgotten();
  result.forgotten_open = diagnosis.forgotten_open();
  result.wrong_icrcs = diagnosis.wrong_icrcs();
  result.time_goes_back_at = diagnosis.time_goes_back_at();
  result.left_out = diagnosis.findings_left_out();
  result.findings = diagnosis.finish();
  return result;
}

/// The reason why a capture that has frames shows no RDMA, when it lies in the capture; else empty.
std::string why_unreadable(const Diagnosed& one) {
  const Unreadable& u = one.unreadable;
  if (one.packets > 0) return {};
  if (u.cut > 0) {
    return fmt::format(
        "{} of {} packets are cut within their headers, after {} bytes at most: capture with a "
        "snap length of 128 or more, as tcpdump -s 128 does",
        u.cut, one.frames, u.longest_kept);
  }
  if (one.frames == 0 || u.of_unknown_link < one.frames) return {};
  return fmt::format(
      "packets are of link type {}, which cannot be read: capture on the adapter itself, as "
      "Ethernet, IP, Linux cooked, InfiniBand or ERF of one of these",
      u.link);
}

nlohmann::ordered_json to_json(const rdma::Finding& f) {
  return {{"class", to_text(f.kind)},
          {"qp", f.queue_pair},
          {"first_packet", f.first_packet},
          {"last_packet", f.last_packet},
          {"lost_us", static_cast<double>(f.lost_ns) / 1e3},
          {"harmless", f.is_harmless()},
          {"advice", advice_for(f.kind)},
          {"from", to_text(f.from)},
          {"to", to_text(f.to)}};
}

nlohmann::ordered_json to_json(const std::vector<Diagnosed>& all, bool is_stopped) {
  auto findings = nlohmann::ordered_json::array();
  auto damaged = nlohmann::ordered_json::array();
  auto unreadable = nlohmann::ordered_json::array();
  Diagnosed sum;
  for (const Diagnosed& one : all) {
    sum.frames += one.frames;
    sum.packets += one.packets;
    sum.queue_pairs += one.queue_pairs;
    sum.forgotten += one.forgotten;
    sum.wrong_icrcs += one.wrong_icrcs;
    if (sum.time_goes_back_at == 0) sum.time_goes_back_at = one.time_goes_back_at;
    sum.left_out += one.left_out;
    for (const rdma::Finding& f : one.findings) {
      findings.push_back(to_json(f));
      if (all.size() > 1) findings.back()["file"] = one.file;
    }
    if (const std::string why = why_unreadable(one); !why.empty()) {
      unreadable.push_back({{"file", one.file}, {"what", why}});
    }
    if (one.damage.empty()) continue;
    damaged.push_back({{"file", one.file},
                       {"packet", one.damaged_at.packet},
                       {"offset", one.damaged_at.offset},
                       {"what", one.damage}});
  }
  return {{"frames", sum.frames},
          {"packets", sum.packets},
          {"queue_pairs", sum.queue_pairs},
          {"forgotten_queue_pairs", sum.forgotten},
          {"wrong_icrcs", sum.wrong_icrcs},
          {"time_goes_back_at", sum.time_goes_back_at},
          {"damaged", std::move(damaged)},
          {"unreadable", std::move(unreadable)},
          {"stopped", is_stopped},
          {"findings", std::move(findings)},
          {"findings_left_out", sum.left_out}};
}

void print_finding(const rdma::Finding& f) {
  fmt::print("{:<18} queue pair {} of {}, packets {} to {}: {} lost{}\n", to_text(f.kind),
             f.queue_pair, to_text(f.to), f.first_packet, f.last_packet,
             to_text(Duration(f.lost_ns)),
             f.is_harmless() ? ", harmless: rescued long before a timeout" : "");
}

void print_text(const Diagnosed& one) {
  constexpr std::size_t most_printed = 20;
  fmt::print("{}: {} RDMA packets, {} queue pair{}{}\n", one.file, one.packets, one.queue_pairs,
             one.queue_pairs == 1 ? "" : "s",
             one.wrong_icrcs > 0 ? fmt::format(", {} with a wrong ICRC", one.wrong_icrcs) : "");
  if (one.forgotten > 0) {
    fmt::print(
        "{} queue pairs were forgotten to bound memory, {} of them with requests that had "
        "no answer yet: more may be wrong there; raise --queue-pairs\n",
        one.forgotten, one.forgotten_open);
  }
  if (one.time_goes_back_at > 0) {
    fmt::print(
        "times go back at packet {}: was the clock set, or are files in the wrong order? "
        "What went by just before it is not counted\n",
        one.time_goes_back_at);
  }
  if (!why_unreadable(one).empty()) return;
  if (one.frames == 0) {
    fmt::print("the capture has no packets\n");
  } else if (one.packets == 0) {
    fmt::print(
        "none of {} packets is RDMA: capture on the adapter itself, by ibdump or by tcpdump "
        "-i mlx5_0\n",
        one.frames);
  }
  if (one.findings.empty()) fmt::print("nothing found\n");
  std::array<std::uint64_t, 5> count{};
  for (std::size_t i = 0; i < one.findings.size(); ++i) {
    const rdma::Finding& f = one.findings[i];
    ++count[static_cast<std::size_t>(f.kind)];
    if (i < most_printed) print_finding(f);
  }
  if (one.findings.size() > most_printed) {
    fmt::print("and {} more findings, which --json has\n", one.findings.size() - most_printed);
  }
  if (one.left_out > 0) fmt::print("and {} findings beyond the most that are kept\n", one.left_out);
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (count[i] == 0) continue;
    const auto kind = static_cast<rdma::FindingClass>(i);
    fmt::print("\n{} ({}): {}\n", to_text(kind), count[i], advice_for(kind));
  }
}

/// A refused file decides the exit code; otherwise a finding or a damaged capture does, and then
/// one of which no packet can be read.
void diagnose_files(const DiagnoseCommand& command, Outcome& outcome) {
  const StopSignals signals;
  std::vector<Diagnosed> all;
  bool is_refused = false, is_unread = false, is_wrong = false;
  for (const std::string& file : command.files) {
    if (signals.came()) break;
    auto one = diagnose(file, command.queue_pairs, signals);
    if (!one) {
      report_error(one.error(), outcome);
      is_refused = true;
      continue;
    }
    if (!one->damage.empty()) {
      fmt::print(stderr, "weft: '{}' is read up to packet {}, at byte {}: {}\n", file,
                 one->damaged_at.packet, one->damaged_at.offset, one->damage);
      is_wrong = true;
    }
    if (const std::string why = why_unreadable(*one); !why.empty()) {
      print_error(fmt::format("'{}': {}", file, why));
      is_unread = true;
    }
    is_wrong = is_wrong || !one->findings.empty();
    if (!command.json) print_text(*one);
    all.push_back(std::move(one).value());
  }
  if (command.json && (!all.empty() || signals.came())) {
    using nlohmann::ordered_json;
    fmt::print(
        "{}\n",
        to_json(all, signals.came()).dump(-1, ' ', false, ordered_json::error_handler_t::replace));
  }
  if (is_refused) return;  // its code says why
  if (is_wrong) {
    outcome.code = ExitCode::failed;
  } else if (is_unread) {
    outcome.code = ExitCode::usage;
  }
}

Result<Duration> parse_pause(const std::string& text) {
  auto pause = parse_duration(text);
  if (pause && *pause < Duration::milliseconds(1)) {
    return invalid("'{}' is shorter than a look takes; use 1ms or more", text);
  }
  return pause;
}

void run_diagnose(const DiagnoseCommand& command, Outcome& outcome) {
  if (command.is_live != command.files.empty()) {
    const char* what = command.is_live
                           ? "--live: it watches counters and reads no FILE; leave one out"
                           : "FILE is missing: name captures, or use --live";
    return report_error({ErrorCode::invalid_argument, what}, outcome);
  }
  if (std::count(command.files.begin(), command.files.end(), "-") > 1) {
    return report_error(
        {ErrorCode::invalid_argument, "FILE: '-' is given twice; standard input has one capture"},
        outcome);
  }
  if (command.is_live) {
    LiveOptions live = command.live;
    live.json = command.json;
    return run_stoppable(outcome, [&] { watch_counters(live, outcome); });
  }
  run_stoppable(outcome, [&] { diagnose_files(command, outcome); });
}

}  // namespace

void add_odp_diagnose_command(CLI::App& odp, Outcome& outcome) {
  auto* diagnose = odp.add_subcommand(
      "diagnose", "Find damming, flood, loss and wrong RNR timers in packet captures");
  auto state = std::make_shared<DiagnoseCommand>();
  diagnose
      ->add_option(
          "FILE", state->files,
          "captures in pcap, pcapng or ERF format, as ibdump writes them; -: standard input")
      ->type_name("FILE");
  diagnose
      ->add_option("--queue-pairs", state->queue_pairs,
                   "most queue pairs to track at a time, 2 KiB of memory each")
      ->check(CLI::Range(2U, 1U << 22))
      ->capture_default_str();
  auto* const live = diagnose->add_flag(
      "--live", state->is_live,
      "watch the counters of this machine's adapters instead, until interrupted");
  add_parsed(*diagnose, "--every", state->live.every, parse_pause,
             "with --live: sampling interval, at least 1ms", "1s")
      ->needs(live)
      ->type_name("TIME");
  diagnose
      ->add_option("--samples", state->live.samples,
                   "with --live: exit after this many samples; 0: never")
      ->needs(live)
      ->capture_default_str();
  diagnose
      ->add_option(
          "--root", state->live.root,
          "with --live: read DIR/sys instead of /sys, and DIR/rdma-statistic-mr.txt instead "
          "of the output of the program rdma")
      ->needs(live)
      ->type_name("DIR")
      ->capture_default_str();
  diagnose->add_flag("--json", state->json, "print one JSON object");
  diagnose->footer(
      "The exit code is 1 when something was found or a capture is cut or damaged, 2 when a\n"
      "FILE is no capture or its packets cannot be read (cut within their headers, link type\n"
      "unknown), 0 when nothing was found. Packets count from 1.\n"
      "Examples:\n"
      "  weft odp simulate --interval 6ms --capture good.pcap\n"
      "  weft odp diagnose good.pcap --json\n"
      "  tcpdump -i mlx5_0 -w - | weft odp diagnose -\n"
      "  weft odp diagnose --live --every 1s");
  diagnose->callback([state, &outcome] { run_diagnose(*state, outcome); });
}

}  // namespace weft::cli
