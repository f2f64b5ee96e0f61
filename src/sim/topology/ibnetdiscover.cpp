// SPDX-License-Identifier: Apache-2.0
// The format: blocks of one node each, `Switch 36 "S-0002c902400a1b2c" # "description" …` or
// `Ca 1 "H-…" # "description"`, then one line per connected port, `[1] "H-…"[1] # …`, where a
// channel adapter's port has its own identity after it, `[1](2c903000abcdf) "S-…"[1]`, and with
// grouping a switch's its number on the outside, `[1][ext 5]`. Lines like `vendid=0x2c9` before a
// block, and those of chassis, are of no use here. Each cable stands there twice.
#include "sim/topology/line_cursor.hpp"
#include "sim/topology/subnet.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

Result<void> read_node(Subnet& subnet, LineCursor& cursor, bool is_switch, std::size_t line) {
  cursor.skip_space();
  const auto ports = cursor.take_number();
  cursor.skip_space();
  const auto guid = cursor.take_quoted();
  if (!ports || *ports == 0 || !guid || guid->empty()) {
    return subnet.wrong(line, "a block begins like: {} 36 \"S-0002c902400a1b2c\"",
                        is_switch ? "Switch" : "Ca");
  }
  cursor.skip_to('#');
  cursor.skip_to('"');
  const auto description = cursor.take_quoted();
  return subnet.add_node({.guid = *guid,
                          .description = description.value_or(""),
                          .is_switch = is_switch,
                          .ports = *ports},
                         line);
}

Result<void> read_port(Subnet& subnet, LineCursor& cursor, std::size_t line) {
  if (subnet.nodes().empty()) {
    return subnet.wrong(line, "a port before the first Switch or Ca block");
  }
  const auto port = cursor.take_port();
  if (cursor.take('[')) cursor.take_until("]");
  if (cursor.take('(')) cursor.take_until(")");
  cursor.skip_space();
  const auto other = cursor.take_quoted();
  const auto other_port = cursor.take_port();
  if (!port || !other || !other_port) {
    return subnet.wrong(line, "a port's line is like: [1] \"H-0002c903000abcde\"[1]");
  }
  subnet.add_cable(subnet.nodes().size() - 1, *port, *other, *other_port, line);
  return {};
}

Result<void> read_ibnetdiscover_line(Subnet& subnet, std::string_view line, std::size_t number) {
  LineCursor cursor(line);
  cursor.skip_space();
  if (cursor.at_end() || cursor.take('#')) return {};
  LineCursor ahead = cursor;
  if (ahead.take('[')) return read_port(subnet, cursor, number);
  const std::string_view word = cursor.take_word();
  if (word.find('=') != std::string_view::npos || word == "Chassis") return {};
  if (word == "Switch" || word == "Ca") return read_node(subnet, cursor, word == "Switch", number);
  if (word == "Rt") {
    return subnet.wrong(number, "InfiniBand routers are not simulated; remove this block");
  }
  return subnet.wrong(number, "'{}' begins no line of a dump; there are Switch, Ca and [port]",
                      word);
}

}  // namespace

Result<Topology> parse_ibnetdiscover(std::string_view text, const std::string& file) {
  Subnet subnet(file);
  for (std::size_t number = 1; !text.empty(); ++number) {
    if (auto read = read_ibnetdiscover_line(subnet, take_line(text), number); !read) {
      return std::move(read).error();
    }
  }
  return subnet.build();
}

}  // namespace weft::sim
