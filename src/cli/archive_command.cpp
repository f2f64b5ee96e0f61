// SPDX-License-Identifier: Apache-2.0
// weft archive info|check|cut|merge|recover FILE…
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/units.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "runtime/stop_signals.hpp"
#include "wire/archive/recover.hpp"
#include "wire/archive/tools.hpp"

namespace weft::cli {
namespace {

using nlohmann::json;
using wire::ArchiveContents;
using wire::ArchiveProgress;
using wire::ArchiveType;

/// How far reading has come, on the status line; ends it when a signal has come.
class ReadingLine {
 public:
  wire::ProgressCallback callback() {
    return [this](const ArchiveProgress& p) {
      if (line_.wanted()) update(p);
      return !signals_.came();
    };
  }

 private:
  void update(const ArchiveProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    std::string bytes = to_text(ByteCount(progress.bytes));
    std::string share;
    if (progress.total_bytes && *progress.total_bytes > 0) {
      bytes += " of " + to_text(ByteCount(*progress.total_bytes));
      share = share_done(
          static_cast<double>(progress.bytes) / static_cast<double>(*progress.total_bytes),
          now - begun_);
    }
    line_.show({bytes, share, fmt::format("{} items", progress.items)});
  }

  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next_ = begun_ + std::chrono::milliseconds(200);
  StatusLine line_;
  // A file that others write, such as a pipe, may let nobody look: the second one ends it at once.
  StopSignals signals_{StopSignals::Second::kills};
};

json to_json(const std::string& path, const ArchiveContents& c, bool checked) {
  json channels = json::array();
  for (const auto& channel : c.channels) {
    channels.push_back({{"system_id", channel.system_id},
                        {"system_version", channel.system_version},
                        {"equipment_id", channel.equipment_id},
                        {"microslices", channel.microslices},
                        {"bytes", channel.bytes},
                        {"missing", channel.missing}});
  }
  json object = {{"file", path},
                 {"type", to_text(c.format.type)},
                 {"compression", to_text(c.format.compression)},
                 {"archive_version", c.format.library_version},
                 {"descriptor_version", c.format.descriptor_version},
                 {"time_created", c.format.time_created},
                 {"host", c.format.host},
                 {"user", c.format.user},
                 {"file_bytes", c.file_bytes},
                 {"items", c.items},
                 {"microslices", c.microslices},
                 {"bytes", c.bytes},
                 {"first_index", c.first_index},
                 {"last_index", c.last_index},
                 {"out_of_order", c.out_of_order},
                 {"incomplete", c.incomplete},
                 {"channels", std::move(channels)}};
  if (checked) {
    object["crc_checked"] = c.crc_checked;
    object["crc_wrong"] = c.crc_wrong;
    object["first_wrong"] = c.first_wrong;
  }
  return object;
}

/// Host and user come out of the file: they may be any bytes.
std::string printable(const std::string& text) {
  std::string safe;
  for (const char c : text) safe.push_back(c >= ' ' && c <= '~' ? c : '?');
  return safe.empty() ? "unknown" : safe;
}

std::string date_of(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (!gmtime_r(&time, &parts)) return fmt::format("second {}", seconds);
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", parts);
}

void print_info(const std::string& path, const ArchiveContents& c) {
  const bool timeslices = c.format.type == ArchiveType::timeslices;
  fmt::print("{}: {} {}, {} on disk, compression {}\n", path, c.items, to_text(c.format.type),
             to_text(ByteCount(c.file_bytes)), to_text(c.format.compression));
  fmt::print("  written {} by {} on {}, archive version {}.{}\n", date_of(c.format.time_created),
             printable(c.format.user), printable(c.format.host), c.format.library_version,
             c.format.descriptor_version);
  if (c.items == 0) return;
  fmt::print("  {} {} to {}, {} out of order", timeslices ? "index" : "start", c.first_index,
             c.last_index, c.out_of_order);
  if (timeslices) fmt::print(", {} incomplete", c.incomplete);
  fmt::print("\n");
  Table table({"component", "equipment", "system", "microslices", "content", "missing"});
  for (std::size_t i = 0; i < c.channels.size(); ++i) {
    const auto& channel = c.channels[i];
    table.add({fmt::format("{}", i), fmt::format("{}", channel.equipment_id),
               fmt::format("{:x}/{:x}", channel.system_id, channel.system_version),
               fmt::format("{}", channel.microslices), to_text(ByteCount(channel.bytes)),
               fmt::format("{}", channel.missing)});
  }
  table.print();
}

void print_check(const std::string& path, const ArchiveContents& c) {
  fmt::print("{}: {} {}, {} microslices, {} with CRC-32C, {} wrong{}{}\n", path, c.items,
             to_text(c.format.type), c.microslices, c.crc_checked, c.crc_wrong,
             c.crc_wrong > 0 ? "; first: " : "", c.first_wrong);
}

/// Reports an error. Of several files the worst counts, whatever their order.
void worsen(const Error& error, Outcome& outcome) {
  const ExitCode before = outcome.code;
  report_error(error, outcome);
  outcome.code = std::max(outcome.code, before);
}

/// The same for an error of reading `path`, which names an unfinished archive that may help.
void report_unread(Error error, const std::string& path, Outcome& outcome) {
  if (error.code == ErrorCode::corrupt || error.code == ErrorCode::not_found) {
    error.message += wire::hint_at_recovery(path);
  }
  worsen(error, outcome);
}

void inspect_all(const std::vector<std::string>& paths, bool check, bool as_json,
                 Outcome& outcome) {
  json all = json::array();
  for (const std::string& path : paths) {
    auto contents = [&] {
      ReadingLine line;
      return wire::inspect_archive(path, check, line.callback());
    }();
    if (!contents) {
      report_unread(contents.error(), path, outcome);
      if (contents.error().code == ErrorCode::cancelled) return;
      continue;
    }
    if (check && contents->crc_wrong > 0) outcome.code = std::max(outcome.code, ExitCode::failed);
    if (as_json) {
      all.push_back(to_json(path, *contents, check));
    } else if (check) {
      print_check(path, *contents);
    } else {
      print_info(path, *contents);
    }
  }
  if (as_json && !all.empty()) {
    fmt::print("{}\n", all.dump(2, ' ', false, json::error_handler_t::replace));
  }
}

struct Options {
  std::vector<std::string> files;
  bool as_json = false;
  std::string out;
  std::uint64_t from = 0;
  std::uint64_t count = UINT64_MAX;
  int zstd_level = 0;
  std::uint32_t timeslices_of = 0;
  bool force = false;

  Existing existing() const { return force ? Existing::replace : Existing::refuse; }
  wire::ArchiveTarget target() const { return {out, existing()}; }
};

void recover(const Options& options, Outcome& outcome) {
  if (options.files.size() > 1 && !options.out.empty()) {
    return report_error(
        invalid(
            "--out '{}' names one archive for {} files; leave it out, or recover them one by one",
            options.out, options.files.size()),
        outcome);
  }
  for (const std::string& file : options.files) {
    const auto recovered = wire::recover_archive(file, options.out, options.existing());
    if (!recovered) {
      worsen(recovered.error(), outcome);
      continue;
    }
    fmt::print("{}: {} items{}\n", recovered->path, recovered->items,
               recovered->removed_bytes == 0
                   ? ""
                   : fmt::format("; {} bytes of an item that is not whole are removed",
                                 recovered->removed_bytes));
  }
}

void add_target(CLI::App& command, Options& options) {
  command.add_option("--out", options.out, "archive to write; must not be one of the inputs")
      ->type_name("FILE")
      ->required();
  command.add_flag("--force", options.force, "overwrite an existing file");
}

void cut(const Options& options, Outcome& outcome) {
  ReadingLine line;
  const auto items = wire::cut_archive(options.files[0], options.target(), options.from,
                                       options.count, line.callback());
  if (!items) return report_unread(items.error(), options.files[0], outcome);
  fmt::print("{}: {} items\n", options.out, *items);
}

/// To the parser a level behind a space is one more file: --zstd takes it only behind "=", since
/// files may follow.
Result<void> refuse_level_among_files(const Options& options) {
  if (options.zstd_level == 0) return {};
  for (const std::string& file : options.files) {
    std::error_code error;
    if (!parse_number<int>(file) || std::filesystem::exists(file, error)) continue;
    return invalid("--zstd {0}: there is no file '{0}'; if it is the level, write --zstd={0}",
                   file);
  }
  return {};
}

void merge(const Options& options, Outcome& outcome) {
  if (auto good = refuse_level_among_files(options); !good) {
    return report_error(good.error(), outcome);
  }
  wire::CompressionChoice compression;
  if (options.zstd_level > 0) {
    compression = {wire::ArchiveCompression::zstd, options.zstd_level};
  }
  ReadingLine line;
  const auto merged =
      options.timeslices_of > 0
          ? wire::merge_components(options.files, options.target(), options.timeslices_of,
                                   compression, line.callback())
          : wire::merge_archives(options.files, options.target(), compression, line.callback());
  if (!merged) return report_error(merged.error(), outcome);
  fmt::print("{}: {} items", options.out, merged->items);
  if (merged->repeated > 0) fmt::print(", {} with the index of the one before", merged->repeated);
  if (merged->out_of_order > 0) fmt::print(", {} out of order", merged->out_of_order);
  if (merged->left_over > 0) {
    fmt::print(", {} microslices at the end fill no timeslice", merged->left_over);
  }
  fmt::print("\n");
}

void add_info_and_check(CLI::App& archive, Outcome& outcome) {
  for (const bool check : {false, true}) {
    CLI::App* const command =
        check ? archive.add_subcommand("check", "Verify the structure and checksums of archives")
              : archive.add_subcommand("info", "Show what archives contain");
    const auto options = std::make_shared<Options>();
    command->add_option("FILE", options->files, "archives to read, .msa or .tsa")->required();
    command->add_flag("--json", options->as_json,
                      "print one JSON array with an object per readable file");
    command->footer(
        check
            ? R"help(weft decodes every item, and compares every CRC-32C of a microslice. The exit code is 1 when it
finds an error, 2 when a file is no archive. An archive that was cut exactly between two items
looks like a shorter one.

Examples:
  weft archive check run_0.tsa
  weft archive check --json *.tsa > check.json
  weft archive check *.tsa && rm -r raw
)help"
            : R"help(Examples:
  weft archive info run_0.tsa
  weft archive info --json *.msa
  weft archive info --json run_0.tsa | jq '.[0].channels'
)help");
    command->callback([options, check, &outcome] {
      inspect_all(options->files, check, options->as_json, outcome);
    });
  }
}

void add_cut(CLI::App& archive, Outcome& outcome) {
  CLI::App* const command =
      archive.add_subcommand("cut", "Copy a range of items into a new archive");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "archive to read, .msa or .tsa")
      ->required()
      ->expected(1);
  command->add_option("--from", options->from, "first item, counted from 0");
  command->add_option("--count", options->count,
                      "number of items to copy; by default all that follow");
  add_target(*command, *options);
  command->footer(
      R"help(The new archive keeps the format of the old one: versions, compression, time, host and user.

Examples:
  weft archive cut run.tsa --from 100 --count 10 --out ten.tsa
  weft archive cut run.msa --count 1 --out first.msa
  weft archive cut run.tsa --from 5000 --out tail.tsa
)help");
  command->callback([options, &outcome] { cut(*options, outcome); });
}

void add_merge(CLI::App& archive, Outcome& outcome) {
  CLI::App* const command = archive.add_subcommand("merge", "Merge several archives into one");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "archives to merge, of one type, each sorted")
      ->required();
  add_target(*command, *options);
  command
      ->add_flag("--zstd{1}", options->zstd_level,
                 "compress; --zstd=LEVEL from 1 (fast, the default) to 19")
      ->check(CLI::Range(1, 19));
  command
      ->add_option("--timeslices-of", options->timeslices_of,
                   "build timeslices of this many microslices, with one component for each .msa")
      ->check(CLI::Range(1u, UINT32_MAX));
  command->footer(
      R"help(The new archive has its items in the order of their timeslice index, or start time of the microslice.

Examples:
  weft archive merge node_0.tsa node_1.tsa --out run.tsa
  weft archive merge *.tsa --zstd=3 --out all.tsa
  weft archive merge link0.msa link1.msa --timeslices-of 100 --out run.tsa
)help");
  command->callback([options, &outcome] { merge(*options, outcome); });
}

void add_recover(CLI::App& archive, Outcome& outcome) {
  CLI::App* const command =
      archive.add_subcommand("recover", "Complete archives that a killed process left unfinished");
  const auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "unfinished archives, NAME.part-PID, or NAME of one")
      ->required();
  command
      ->add_option("--out", options->out,
                   "name of the completed archive; by default NAME without .part-PID")
      ->type_name("FILE");
  command->add_flag("--force", options->force, "overwrite an existing file");
  command->footer(
      R"help(NAME alone is enough where one NAME.part-PID exists.
weft cuts the file after its last whole item, in place, and renames it, also with --out. It
refuses a file that a process is still writing, and one that is damaged before its end. It does
not look into items: weft archive check does. The exit code is 1 when nothing in the file is whole.

Examples:
  weft archive recover run_2.tsa
  weft archive recover run_2.tsa.part-4711 --out run_2-4711.tsa
  weft archive recover out/*.part-*
)help");
  command->callback([options, &outcome] { recover(*options, outcome); });
}

}  // namespace

void add_archive_command(CLI::App& root, Outcome& outcome) {
  CLI::App* const archive =
      root.add_subcommand("archive", "Inspect, check, cut, merge and recover FLESnet archives");
  archive->require_subcommand(1);
  archive->footer(
      R"help(An archive holds timeslices (.tsa) or microslices (.msa), plain or compressed with zstd. weft reads
every version that FLESnet has written.

Examples:
  weft archive info run_0.tsa
  weft archive check *.tsa
  weft archive merge node_0.tsa node_1.tsa --out run.tsa
)help");
  add_info_and_check(*archive, outcome);
  add_cut(*archive, outcome);
  add_merge(*archive, outcome);
  add_recover(*archive, outcome);
}

}  // namespace weft::cli
