// SPDX-License-Identifier: Apache-2.0
// Output for a terminal: lines that overwrite themselves, and tables.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace weft::cli {

/// Columns of the terminal behind a descriptor; 80 for a pipe or a file.
std::size_t columns_of(int descriptor);

/// Returns the first of `parts` that fit into `columns`, with ", " between them. If the first one
/// does not fit, returns its beginning.
std::string fitting(const std::vector<std::string>& parts, std::size_t columns);

/// "label        part, part, …", with a line's end behind it. A part that does not fit into the
/// line begins the next one, below the first.
std::string labelled(const std::string& label, const std::vector<std::string>& parts,
                     std::size_t columns);
/// The same on standard output.
void print_labelled(const std::string& label, const std::vector<std::string>& parts);

/// "25 %" of a total, with the time left at that pace when it is worth showing: "25 %, 12 s left".
std::string share_done(double fraction, std::chrono::duration<double> taken);

/// "[#####...............]" of so many places between the brackets; `fraction` from 0 to 1.
std::string bar(double fraction, std::size_t places = 20);

/// One line on standard error that is written over and over, if that is a terminal. It is gone when
/// the object is.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  bool wanted() const { return terminal_; }
  /// Shows as much as fits, at most five times a second.
  void show(const std::vector<std::string>& parts);

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_{};
};

/// A table for people. One that is too wide becomes a paragraph for each row.
class Table {
 public:
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  /// One cell per column.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// The first column is aligned to the left, the others to the right.
  std::string text(std::size_t columns) const;
  /// On standard output.
  void print() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weft::cli
