// SPDX-License-Identifier: Apache-2.0
#include "sim/telemetry/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::sim {
namespace {

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    } else {
      out += byte < 0x7f ? c : '?';
    }
  }
  out += '"';
}

/// The format counts microseconds.
void append_time(std::string& out, std::int64_t ps) {
  fmt::format_to(std::back_inserter(out), "{}.{:06}", ps / 1'000'000, ps % 1'000'000);
}

}  // namespace

std::string json_quoted(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

Result<TraceFile> TraceFile::create(const std::string& path, std::uint64_t most,
                                    Existing existing) {
  auto file = WholeFile::create(path, existing);
  if (!file) return std::move(file).error();
  return TraceFile(std::move(file).value(), most);
}

TraceFile::TraceFile(WholeFile file, std::uint64_t most)
    : file_(std::move(file)), most_(most), limit_(most - most / 10) {
  written_ = file_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
}

bool TraceFile::takes(PicoInstant at, std::uint64_t events) {
  if (written_.ok() && !closed_ && events_ + events <= limit_) return true;
  closed_ = true;
  cut_at_ = std::min(cut_at_.value_or(at), at);
  return false;
}

void TraceFile::begin_summary() {
  limit_ = most_;
  closed_ = false;
}

void TraceFile::begin_event(char phase, std::uint32_t process, std::uint32_t track,
                            std::string_view name, PicoInstant at) {
  line_ = empty_ ? "" : ",\n";
  empty_ = false;
  fmt::format_to(std::back_inserter(line_), "{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":", phase,
                 process, track);
  append_time(line_, (at - PicoInstant()).ticks());
  line_ += ",\"name\":";
  append_quoted(line_, name);
}

void TraceFile::end_event() {
  line_ += '}';
  if (written_.ok()) written_ = file_.write(line_);
}

void TraceFile::name_process(std::uint32_t process, std::string_view name) {
  begin_event('M', process, 0, "process_name", {});
  line_ += ",\"args\":{\"name\":";
  append_quoted(line_, name);
  line_ += '}';
  end_event();
}

void TraceFile::name_track(std::uint32_t process, std::uint32_t track, std::string_view name) {
  begin_event('M', process, track, "thread_name", {});
  line_ += ",\"args\":{\"name\":";
  append_quoted(line_, name);
  line_ += '}';
  end_event();
}

void TraceFile::slice(std::uint32_t process, std::uint32_t track, std::string_view name,
                      PicoInstant start, PicoInstant end, std::string_view details) {
  if (!takes(start)) return;
  ++events_;
  begin_event('X', process, track, name, start);
  line_ += ",\"dur\":";
  append_time(line_, std::max<std::int64_t>(0, (end - start).ticks()));
  line_ += ",\"args\":";
  line_ += details;
  end_event();
}

void TraceFile::span(std::uint32_t process, std::uint32_t track, std::string_view category,
                     std::string_view name, PicoInstant start, PicoInstant end,
                     std::string_view details) {
  if (!takes(end, 2)) return;
  events_ += 2;
  const std::uint64_t id = ++spans_;
  for (const char phase : {'b', 'e'}) {
    begin_event(phase, process, track, name, phase == 'b' ? start : std::max(start, end));
    line_ += ",\"cat\":";
    append_quoted(line_, category);
    fmt::format_to(std::back_inserter(line_), ",\"id\":\"{:#x}\"", id);
    if (phase == 'b') {
      line_ += ",\"args\":";
      line_ += details;
    }
    end_event();
  }
}

void TraceFile::counter(std::uint32_t process, std::uint32_t track, std::string_view name,
                        PicoInstant at, std::string_view unit, std::uint64_t value) {
  if (!takes(at)) return;
  ++events_;
  begin_event('C', process, track, name, at);
  line_ += ",\"args\":{";
  append_quoted(line_, unit);
  fmt::format_to(std::back_inserter(line_), ":{}}}", value);
  end_event();
}

Result<void> TraceFile::finish() {
  if (cut_at_) {
    begin_event('i', 0, 0, "events are left out from here on", *cut_at_);
    line_ += ",\"s\":\"g\"";
    end_event();
  }
  line_ = fmt::format(
      "\n],\"otherData\":{{\"events\":{},\"most_events\":{},\"cut_at_us\":", events_, most_);
  if (cut_at_) {
    append_time(line_, (*cut_at_ - PicoInstant()).ticks());
  } else {
    line_ += "null";
  }
  line_ += "}}\n";
  if (written_.ok()) written_ = file_.write(line_);
  if (!written_.ok()) return written_;
  return file_.commit();
}

}  // namespace weft::sim
