// SPDX-License-Identifier: Apache-2.0
#include "launch/ports.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Kind = LauncherQuestion::Kind;

/// Empty: it is done, or so.
std::string ask(Ports& ports, Kind kind, const std::string& name, std::uint32_t rank = 0) {
  return ports
      .answer({.kind = kind, .programs = {}, .parents = {}, .name = name, .value = {}}, rank)
      .refusal;
}

TEST(ports, a_port_is_found_until_it_is_closed) {
  Ports ports;
  EXPECT_EQ(ask(ports, Kind::find_port, "a"), "the port 'a' is closed, or was never opened");
  EXPECT_EQ(ask(ports, Kind::open_port, "a"), "");
  EXPECT_EQ(ask(ports, Kind::find_port, "a", 1), "");
  EXPECT_EQ(ask(ports, Kind::close_port, "a"), "");
  EXPECT_NE(ask(ports, Kind::find_port, "a", 1), "");
  EXPECT_NE(ask(ports, Kind::close_port, "a"), "");
}

TEST(ports, those_of_a_process_that_has_ended_are_closed) {
  Ports ports;
  (void)ask(ports, Kind::open_port, "a", 1);
  (void)ask(ports, Kind::open_port, "b", 2);
  ports.close_all_of(1);
  EXPECT_NE(ask(ports, Kind::find_port, "a"), "");
  EXPECT_EQ(ask(ports, Kind::find_port, "b"), "");
}

TEST(ports, other_questions_are_not_about_ports) {
  for (const Kind kind : {Kind::spawn, Kind::publish, Kind::unpublish, Kind::lookup}) {
    EXPECT_FALSE(Ports::is_about_port(
        {.kind = kind, .programs = {}, .parents = {}, .name = {}, .value = {}}));
  }
}

}  // namespace
}  // namespace weft
