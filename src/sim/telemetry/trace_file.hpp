// SPDX-License-Identifier: Apache-2.0
// TraceFile: events in the JSON that Perfetto (ui.perfetto.dev) and Chrome's about:tracing read.
// They go to the disk as they come; the file has its name once it is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/whole_file.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Tracks are threads of processes, both with numbers of the caller's choice. Of the events that
/// are too many the latest are left out, not the names of tracks; the file and `cut_at` say since
/// when. One thread. Text need not be UTF-8 or free of quotes.
class TraceFile {
 public:
  static constexpr std::uint64_t usual_most = 500'000;

  /// At most so many events, 100 bytes or so each. Errors: those of `WholeFile::create`.
  static Result<TraceFile> create(const std::string& path, std::uint64_t most = usual_most,
                                  Existing existing = Existing::replace);

  void name_process(std::uint32_t process, std::string_view name);
  void name_track(std::uint32_t process, std::uint32_t track, std::string_view name);
  /// Something that took from `start` to `end`. Slices of one track must not overlap. `details` is
  /// a JSON object.
  void slice(std::uint32_t process, std::uint32_t track, std::string_view name, PicoInstant start,
             PicoInstant end, std::string_view details = "{}");
  /// The same where several overlap: those of one name and process are shown beside each other.
  void span(std::uint32_t process, std::uint32_t track, std::string_view category,
            std::string_view name, PicoInstant start, PicoInstant end,
            std::string_view details = "{}");
  /// From `at` on the process's value of this name is `value`, of the unit.
  void counter(std::uint32_t process, std::uint32_t track, std::string_view name, PicoInstant at,
               std::string_view unit, std::uint64_t value);

  /// Begins the summary, for which a tenth of the events is reserved, even if others were left out.
  void begin_summary();

  /// Returns whether an event at `at` is taken: asked first, it saves making one that is left out
  /// anyway.
  bool takes(PicoInstant at, std::uint64_t events = 1);
  /// From then on events are left out, spans by their end; none: all are there.
  std::optional<PicoInstant> cut_at() const { return cut_at_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t most() const { return most_; }
  const std::string& path() const { return file_.path(); }

  /// Ends the file and moves it to its place. Errors: of this, and of earlier writes.
  Result<void> finish();

 private:
  TraceFile(WholeFile file, std::uint64_t most);
  void begin_event(char phase, std::uint32_t process, std::uint32_t track, std::string_view name,
                   PicoInstant at);
  void end_event();

  WholeFile file_;
  std::uint64_t most_;
  std::uint64_t limit_;  // for now
  bool closed_ = false;  // something has been left out
  std::uint64_t events_ = 0;
  std::uint64_t spans_ = 0;
  bool empty_ = true;
  std::optional<PicoInstant> cut_at_;
  std::string line_;  // kept for its memory
  Result<void> written_;
};

/// The text in quotes, as JSON has it; bytes that are not ASCII become '?'.
std::string json_quoted(std::string_view text);

}  // namespace weft::sim
