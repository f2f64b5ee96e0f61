// SPDX-License-Identifier: Apache-2.0
// The parts that the pages of reports consist of.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::report {

/// The page as it grows.
class Page {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  void raw(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// The head, and the top of the page. `body` has attributes: a browser adds those of the next one.
void begin_page(Page& page, const std::string& title, std::string_view body = {});
/// The command that made the page; ends a page without charts.
std::string end_page(Page& page, const std::string& command);
/// A table of texts whose first column names the rows. `style` is CSS of a cell, by row and column.
void add_table(Page& page, const std::vector<std::string>& head,
               const std::vector<std::vector<std::string>>& rows,
               const std::function<std::string(std::size_t, std::size_t)>& style = {});
/// A command with a button that copies it; `what` stands above it. Both are escaped.
void add_command(Page& page, const std::string& command, const std::string& what);
/// A box of facts has one row: a name, which is HTML, and a value, which is escaped.
void add_fact(Page& page, std::string_view name, const std::string& value);
/// The chart libraries, then the scripts; ends the page.
void add_charts(Page& page, std::initializer_list<std::string_view> scripts);

}  // namespace weft::report
