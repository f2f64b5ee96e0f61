// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view two_racks = R"(# two racks
hosts = ["n0", "n1", "n2"]
switches = ["left", "right"]
cables = [
  ["n0", "left"], ["n1", "left"], ["n2", "right"],
  { from = "left", to = "right", count = 2, kind = "global" },
]
)";

constexpr std::string_view dump = R"(#
# Topology file: generated on Tue Jan  3 10:00:00 2023
#
vendid=0x2c9
devid=0xc738
sysimgguid=0x2c90000a1b2c
switchguid=0x2c90000a1b2c(2c90000a1b2c)
Switch	36 "S-0002c90000a1b2c0"		# "MF0;leaf:SX6036/U1" enhanced port 0 lid 3 lmc 0
[1]	"H-0002c903000abc00"[1](2c903000abc01) 		# "node001 HCA-1" lid 4 4xQDR
[2]	"H-0002c903000abc10"[2](2c903000abc12) 		# "node002 HCA-1" lid 5 4xQDR
[36]	"S-0002c90000a1b2c1"[7]		# "MF0;spine:SX6036/U1" lid 6 4xQDR

Switch	36 "S-0002c90000a1b2c1"		# "MF0;spine:SX6036/U1" enhanced port 0 lid 6 lmc 0
[7]	"S-0002c90000a1b2c0"[36]		# "MF0;leaf:SX6036/U1" lid 3 4xQDR

caguid=0x2c903000abc00
Ca	1 "H-0002c903000abc00"		# "node001 HCA-1"
[1](2c903000abc01) 	"S-0002c90000a1b2c0"[1]		# lid 4 lmc 0 "MF0;leaf:SX6036/U1" lid 3 4xQDR

Ca	2 "H-0002c903000abc10"		# "node002 HCA-1"
[2](2c903000abc12) 	"S-0002c90000a1b2c0"[2]		# lid 5 lmc 0 "MF0;leaf:SX6036/U1" lid 3 4xQDR
)";

std::string refusal(std::string_view text) {
  const auto topology = parse_topology_file(text, "net");
  return topology ? "" : topology.error().message;
}

TEST(topology_file, reads_hosts_switches_and_cables_of_toml) {
  const auto t = parse_topology_file(two_racks, "racks.toml");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->name(), "file:racks.toml");
  EXPECT_EQ(t->hosts(), 3u);
  EXPECT_EQ(t->switches(), 2u);
  EXPECT_EQ(t->cables().size(), 5u);
  EXPECT_EQ(t->label(t->host(2)), "n2");
  EXPECT_EQ(t->label(t->switch_at(1)), "right");
  EXPECT_EQ(t->edge(2), t->switch_at(1));
  EXPECT_EQ(t->kind(t->link({t->switch_at(1), PortNumber(2)})), CableKind::global);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(t->shape()));
}

TEST(topology_file, refuses_wrong_toml_with_its_line) {
  for (const auto& [text, message] : {
           std::pair{"", "net:1: 'hosts' is missing"},
           {"hosts = [\n", "net:1: "},
           {"hosts = []\nswitches = []\ncables = []", "no hosts"},
           {"hosts = [\"a\"]\nrouters = []", "net:2: unknown key 'routers'"},
           {"hosts = 3", "net:1: 'hosts' is not a list"},
           {"hosts = [3]\nswitches = []", "net:1: 'hosts' lists something that is not text"},
           {"hosts = [\"a\"]\nswitches = [\"a\"]", "net:2: the name 'a' is there twice"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = [[\"a\"]]", "net:3: a cable is a pair"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = [\n[\"a\", \"t\"]]",
            "net:4: 't' is neither in hosts nor in switches"},
           {"hosts = [\"a\", \"b\"]\nswitches = []\ncables = [[\"a\", \"b\"]]",
            "net:3: a cable between the hosts 'a' and 'b'"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = [[\"s\", \"s\"]]",
            "net:3: a cable from 's' to itself"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = [{from = \"a\", to = \"s\", count = 0}]",
            "net:3: count is a number from 1 to 65535"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = [{from = \"a\", to = \"s\", rate = 1}]",
            "net:3: unknown key 'rate'"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = [{from = \"a\", to = \"s\", kind = "
            "\"x\"}]",
            "net:3: kind is"},
           {"hosts = [\"a\"]\nswitches = [\"s\"]\ncables = []", "a has 0 cables"},
       }) {
    EXPECT_THAT(refusal(text), HasSubstr(message)) << text;
    EXPECT_EQ(refusal(text).find('\n'), std::string::npos) << text;
  }
}

TEST(topology_file, bounds_the_cables_that_a_few_lines_can_ask_for) {
  std::string text = "hosts = [\"h\"]\nswitches = [\"s\", \"t\"]\ncables = [[\"h\", \"s\"],\n";
  for (int i = 0; i < 17; ++i) text += "{ from = \"s\", to = \"t\", count = 65535 },\n";
  EXPECT_THAT(refusal(text + "]"), StartsWith("net:20: more than 1048576 cables"));
}

TEST(ibnetdiscover, makes_a_host_of_each_connected_port_and_reads_each_cable_once) {
  const auto t = parse_topology_file(dump, "fabric.txt");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->hosts(), 2u);
  EXPECT_EQ(t->switches(), 2u);
  EXPECT_EQ(t->cables().size(), 3u);
  EXPECT_EQ(t->label(t->host(0)), "node001 HCA-1");
  EXPECT_EQ(t->label(t->host(1)), "node002 HCA-1 port 2");
  EXPECT_EQ(t->label(t->switch_at(1)), "MF0;spine:SX6036/U1");
  EXPECT_EQ(t->edge(1), t->switch_at(0));
}

std::string edited(std::string_view what, std::string_view by) {
  std::string text(dump);
  const std::size_t at = text.rfind(what);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, what.size(), by);
}

TEST(ibnetdiscover, refuses_a_damaged_dump_with_its_line) {
  EXPECT_THAT(refusal(edited("Ca\t2 \"H-", "Ca\t\"H-")), HasSubstr("net:20: a block begins like"));
  EXPECT_THAT(refusal(edited("Ca\t2", "Rt\t2")), HasSubstr("net:20: InfiniBand routers"));
  EXPECT_THAT(refusal(edited("caguid", "ca guid")), HasSubstr("net:16: 'ca' begins no line"));
  EXPECT_THAT(refusal(edited("[7]\t\"S-0002c90000a1b2c0\"", "[7]\t\"S-1\"")),
              HasSubstr("net:14: \"S-1\" has no Switch or Ca block"));
  EXPECT_THAT(refusal(edited("[2](2c9", "[3](2c9")), HasSubstr("net:21: port 3 of a node with"));
  EXPECT_THAT(refusal(edited("\"S-0002c90000a1b2c0\"[2]", "\"S-0002c90000a1b2c0\"[40]")),
              HasSubstr("net:21: port 40 of"));
  EXPECT_THAT(refusal(edited("\"S-0002c90000a1b2c0\"[2]", "\"S-0002c90000a1b2c0\"[3]")),
              HasSubstr("net:21: port 2 has two different cables"));
  EXPECT_THAT(refusal(edited("\"S-0002c90000a1b2c0\"[2]", "\"S-0002c90000a1b2c0\"2")),
              HasSubstr("net:21: a port's line is like"));
  EXPECT_THAT(refusal(edited("\"H-0002c903000abc10\"\t", "\"H-0002c903000abc00\"\t")),
              HasSubstr("has a block already"));
  EXPECT_THAT(refusal(edited("\"S-0002c90000a1b2c0\"[2]", "\"H-0002c903000abc00\"[1]")),
              HasSubstr("net:21: a cable between two channel adapters"));
  EXPECT_THAT(refusal("[1] \"H-1\"[1]\nSwitch 1 \"S-1\"\n"),
              HasSubstr("net:1: a port before the first"));
}

TEST(ibnetdiscover, reads_what_it_prints_with_grouping) {
  const auto t = parse_topology_file(R"(Chassis 1 (guid 0x2c90000000000)
Switch	24 "S-1"		# "line card" base port 0 lid 1 lmc 0   Chassis 1 Line 1 Chip 1
[1][ext 12]	"H-1"[1](1) 		# "node"
Ca	1 "H-1"		# "node"
[1](1) 	"S-1"[1][ext 12]		# lid 2 lmc 0 "line card" lid 1 4xSDR
)",
                                     "fabric.txt");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->cables().size(), 1u);
}

constexpr std::string_view subnet_list =
    R"({ CA Ports:01 SystemGUID:a NodeGUID:0a PortGUID:1a VenID:2C9 DevID:1003 Rev:00000000 {node {1}} LID:0005 PN:01 } { SW Ports:24 SystemGUID:b NodeGUID:0b PortGUID:1b VenID:000002C9 DevID:BD36 Rev:000000A0 {leaf} LID:0001 PN:1F } PHY=4x LOG=ACT SPD=10
{ SW Ports:24 SystemGUID:b NodeGUID:0b PortGUID:1b VenID:2C9 DevID:BD36 Rev:000000A0 {leaf} LID:0001 PN:1F } { CA Ports:01 SystemGUID:a NodeGUID:0a PortGUID:1a VenID:000002C9 DevID:1003 Rev:00000000 {node {1}} LID:0005 PN:01 } PHY=4x LOG=ACT SPD=10
{ SW-SM Ports:24 SystemGUID:b NodeGUID:0b PortGUID:1b VenID:2C9 DevID:BD36 Rev:000000A0 {leaf} LID:0001 PN:02 } { CA Ports:02 SystemGUID:c NodeGUID:0c PortGUID:1c VenID:000002C9 DevID:1003 Rev:00000000 {node 2} LID:0006 PN:02 } PHY=4x LOG=ACT SPD=14
)";

TEST(opensm_subnet, reads_each_cable_once_with_hexadecimal_ports) {
  const auto t = parse_topology_file(subnet_list, "opensm-subnet.lst");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->hosts(), 2u);
  EXPECT_EQ(t->switches(), 1u);
  EXPECT_EQ(t->cables().size(), 2u);
  EXPECT_EQ(t->label(t->host(0)), "node {1}");
  EXPECT_EQ(t->label(t->host(1)), "node 2 port 2");
  EXPECT_EQ(t->label(t->switch_at(0)), "leaf");
}

TEST(opensm_subnet, refuses_a_damaged_line_by_its_number) {
  const auto edited_list = [](std::string_view what, std::string_view by) {
    std::string text(subnet_list);
    return refusal(text.replace(text.rfind(what), what.size(), by));
  };
  EXPECT_THAT(edited_list("PN:02 } PHY", "PN:zz } PHY"), HasSubstr("net:3: a line has two ends"));
  EXPECT_THAT(edited_list("{ CA Ports:02", "{ Rt Ports:02"), HasSubstr("net:3: a line has two"));
  EXPECT_THAT(edited_list("PN:02 } PHY", "PN:03 } PHY"), HasSubstr("net:3: port 3 of \"0c\""));
  EXPECT_THAT(edited_list("SW-SM Ports:24", "SW Ports:12"), HasSubstr("net:3: 0b was another"));
  EXPECT_THAT(edited_list("LID:0001 PN:02", "LID:0001 PN:1F"),
              HasSubstr("net:3: port 31 has two different cables"));
}

TEST(topology_file, refuses_a_path_that_is_no_file) {
  EXPECT_THAT(read_topology_file("/no/such/file.toml").error().message,
              HasSubstr("cannot open '/no/such/file.toml'"));
  EXPECT_THAT(read_topology_file("/").error().message, HasSubstr("Is a directory; name a file"));
}

}  // namespace
}  // namespace weft::sim
