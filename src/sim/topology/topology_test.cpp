// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using testing::HasSubstr;

Topology unfinished(std::uint32_t hosts, std::uint32_t switches) {
  return std::move(Topology::make("t", hosts, switches)).value();
}

TEST(topology, numbers_ports_in_the_order_of_connection_and_links_through_all_ports) {
  Topology t = unfinished(2, 2);
  t.connect(t.switch_at(0), t.switch_at(1), CableKind::global);
  t.connect(t.host(0), t.switch_at(0), CableKind::host);
  t.connect(t.host(1), t.switch_at(1), CableKind::host);
  ASSERT_TRUE(t.finish());
  EXPECT_EQ(t.links(), 6u);
  EXPECT_EQ(t.ports(t.host(0)), 1u);
  EXPECT_EQ(t.ports(t.switch_at(0)), 2u);
  const PortRef up{t.host(0), PortNumber(0)};
  EXPECT_EQ(t.peer(t.link(up)), (PortRef{t.switch_at(0), PortNumber(1)}));
  EXPECT_EQ(t.port(t.link(up)), up);
  EXPECT_EQ(t.kind(t.link(up)), CableKind::host);
  EXPECT_EQ(t.kind(t.link({t.switch_at(1), PortNumber(0)})), CableKind::global);
  EXPECT_EQ(t.edge(1), t.switch_at(1));
  for (std::uint32_t l = 0; l < t.links(); ++l) {
    EXPECT_EQ(t.link(t.port(LinkId(l))).value(), l);
    EXPECT_EQ(t.peer(t.link(t.peer(LinkId(l)))), t.port(LinkId(l)));
  }
}

TEST(topology, calls_vertices_by_number_until_they_have_a_label) {
  Topology t = unfinished(2, 1);
  t.set_label(t.host(1), "login");
  EXPECT_EQ(t.label(t.host(0)), "host 0");
  EXPECT_EQ(t.label(t.host(1)), "login");
  EXPECT_EQ(t.label(t.switch_at(0)), "switch 0");
}

TEST(topology, refuses_no_hosts_and_too_many_vertices) {
  EXPECT_THAT(Topology::make("t", 0, 1).error().message, HasSubstr("no hosts"));
  EXPECT_THAT(Topology::make("t", 1u << 31, 1).error().message, HasSubstr("2147483648"));
}

TEST(topology, refuses_a_host_without_a_cable_and_one_with_two) {
  Topology none = unfinished(1, 1);
  EXPECT_THAT(none.finish().error().message, HasSubstr("host 0 has 0 cables"));
  Topology two = unfinished(1, 1);
  two.connect(two.host(0), two.switch_at(0), CableKind::host);
  two.connect(two.host(0), two.switch_at(0), CableKind::host);
  EXPECT_THAT(two.finish().error().message, HasSubstr("host 0 has 2 cables"));
}

TEST(topology, refuses_hosts_that_cannot_reach_each_other) {
  Topology t = unfinished(2, 2);
  t.connect(t.host(0), t.switch_at(0), CableKind::host);
  t.connect(t.host(1), t.switch_at(1), CableKind::host);
  EXPECT_THAT(t.finish().error().message, HasSubstr("from host 0 to host 1"));
}

TEST(topology, refuses_a_switch_of_more_ports_than_can_be_numbered) {
  Topology t = unfinished(65'536, 1);
  for (std::uint32_t h = 0; h < t.hosts(); ++h) {
    t.connect(t.host(h), t.switch_at(0), CableKind::host);
  }
  EXPECT_THAT(t.finish().error().message, HasSubstr("switch 0 has 65536 ports"));
}

}  // namespace
}  // namespace weft::sim
