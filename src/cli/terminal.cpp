// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/check.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t usual_columns = 80;
constexpr std::size_t label_columns = 13;
constexpr std::chrono::milliseconds show_every{200};

/// Characters, where bytes of UTF-8 may be more.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string blanks(std::size_t n) {
  return std::string(n, ' ');
}

}  // namespace

std::size_t columns_of(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_columns;
  return size.ws_col;
}

std::string fitting(const std::vector<std::string>& parts, std::size_t columns) {
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::string longer = line.empty() ? part : line + ", " + part;
    if (width_of(longer) > columns) break;
    line = longer;
  }
  if (!line.empty() || parts.empty()) return line;
  line = parts.front();
  // width_of counts UTF-8 characters, so that the loop removes all bytes of the last one.
  while (width_of(line) > columns) line.pop_back();
  return line;
}

std::string labelled(const std::string& label, const std::vector<std::string>& parts,
                     std::size_t columns) {
  std::string text;
  std::string line = fmt::format("{:<{}}", label, label_columns);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? "," : "");
    const std::string gap = i == 0 ? "" : " ";
    if (i > 0 && width_of(line + gap + part) > columns) {
      text += line + "\n";
      line = blanks(label_columns) + part;
    } else {
      line += gap + part;
    }
  }
  return text + line + "\n";
}

void print_labelled(const std::string& label, const std::vector<std::string>& parts) {
  fmt::print("{}", labelled(label, parts, columns_of(STDOUT_FILENO)));
}

std::string share_done(double fraction, std::chrono::duration<double> taken) {
  if (!(fraction > 0)) return "0 %";
  fraction = std::min(fraction, 1.0);
  const std::string share = fmt::format("{:.0f} %", fraction * 100);
  const double left = taken.count() * (1 - fraction) / fraction;
  if (left < 1 || taken.count() < 1) return share;
  const auto seconds = static_cast<std::uint64_t>(left + 0.5);
  if (seconds < 60) return fmt::format("{}, {} s left", share, seconds);
  return fmt::format("{}, {}:{:02} min left", share, seconds / 60, seconds % 60);
}

std::string bar(double fraction, std::size_t places) {
  const double full = std::clamp(fraction, 0.0, 1.0) * static_cast<double>(places);
  const auto done = static_cast<std::size_t>(full + 1e-9);
  return fmt::format("[{}{}]", std::string(done, '#'), std::string(places - done, '.'));
}

StatusLine::StatusLine() : terminal_(::isatty(STDERR_FILENO) == 1) {}

StatusLine::~StatusLine() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void StatusLine::show(const std::vector<std::string>& parts) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + show_every;
  shown_ = true;
  // The last column stays free: a terminal may go on to the next line when it is written to.
  fmt::print(stderr, "\r\033[K{}", fitting(parts, columns_of(STDERR_FILENO) - 1));
  std::fflush(stderr);
}

void Table::add(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == head_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t columns) const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < head_.size(); ++i) {
    std::size_t width = width_of(head_[i]);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  const std::size_t cells = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  const std::size_t gaps = head_.size() - 1;
  std::string out;
  if (cells + gaps > columns) {
    std::size_t label = 0;
    for (const std::string& name : head_) label = std::max(label, width_of(name));
    for (const auto& row : rows_) {
      out += row[0] + "\n";
      for (std::size_t i = 1; i < row.size(); ++i) {
        if (row[i].empty()) continue;
        out += fmt::format("  {}{}  {}\n", head_[i], blanks(label - width_of(head_[i])), row[i]);
      }
    }
    return out;
  }
  const std::size_t gap = cells + 2 * gaps <= columns ? 2 : 1;
  const auto add_row = [&](const std::vector<std::string>& row) {
    std::string line = row[0] + blanks(widths[0] - width_of(row[0]));
    for (std::size_t i = 1; i < row.size(); ++i) {
      line += blanks(gap + widths[i] - width_of(row[i])) + row[i];
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add_row(head_);
  for (const auto& row : rows_) add_row(row);
  return out;
}

void Table::print() const {
  fmt::print("{}", text(columns_of(STDOUT_FILENO)));
}

}  // namespace weft::cli
