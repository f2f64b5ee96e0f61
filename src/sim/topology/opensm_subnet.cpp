// SPDX-License-Identifier: Apache-2.0
// OpenSM's opensm-subnet.lst: a line for each end of each cable, with both ends written out, `{ CA
// Ports:01 … NodeGUID:0002c903000abc00 … {description} LID:0004 PN:01 } { SW-SM … } PHY=4x LOG=ACT
// SPD=10`. Numbers of ports are hexadecimal.
#include "sim/topology/line_cursor.hpp"
#include "sim/topology/subnet.hpp"
#include "sim/topology/topology_file.hpp"

namespace weft::sim {
namespace {

struct CableEnd {
  Subnet::Node node;
  std::uint16_t port = 0;
};

/// Nothing when it is no end of a cable.
std::optional<CableEnd> take_end(LineCursor& cursor) {
  cursor.skip_space();
  if (!cursor.take_until("{ ")) return std::nullopt;
  const std::string_view kind = cursor.take_word();
  const bool is_switch = kind.starts_with("SW");
  if (!is_switch && !kind.starts_with("CA")) return std::nullopt;
  if (!cursor.take_until("Ports:")) return std::nullopt;
  const auto ports = cursor.take_number(16);
  if (!cursor.take_until("NodeGUID:")) return std::nullopt;
  const std::string_view guid = cursor.take_word();
  if (!cursor.take_until("{")) return std::nullopt;
  const auto description = cursor.take_until("} LID:");
  if (!cursor.take_until("PN:")) return std::nullopt;
  const auto port = cursor.take_number(16);
  if (!ports || guid.empty() || !description || !port || !cursor.take_until("}")) {
    return std::nullopt;
  }
  return CableEnd{
      .node = {.guid = guid, .description = *description, .is_switch = is_switch, .ports = *ports},
      .port = *port};
}

Result<void> read_opensm_line(Subnet& subnet, std::string_view line, std::size_t number) {
  LineCursor cursor(line);
  cursor.skip_space();
  if (cursor.at_end() || cursor.take('#')) return {};
  const auto from = take_end(cursor);
  const auto to = from ? take_end(cursor) : std::nullopt;
  if (!to) {
    return subnet.wrong(number,
                        "a line has two ends of a kind CA or SW, each like {{ CA Ports:01 "
                        "NodeGUID:0002c903000abc00 {{name}} LID:0004 PN:01 }}");
  }
  const auto node = subnet.find_or_add_node(from->node, number);
  if (!node) return node.error();
  if (const auto far = subnet.find_or_add_node(to->node, number); !far) return far.error();
  subnet.add_cable(*node, from->port, to->node.guid, to->port, number);
  return {};
}

}  // namespace

Result<Topology> parse_opensm_subnet(std::string_view text, const std::string& file) {
  Subnet subnet(file);
  for (std::size_t number = 1; !text.empty(); ++number) {
    if (auto read = read_opensm_line(subnet, take_line(text), number); !read) {
      return std::move(read).error();
    }
  }
  return subnet.build();
}

}  // namespace weft::sim
