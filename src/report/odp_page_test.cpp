// SPDX-License-Identifier: Apache-2.0
#include "report/odp_page.hpp"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

OdpRecord record() {
  OdpRecord r;
  r.title = "2 READs, connectx-4";
  r.summary = "505 ms";
  r.command = "weft odp simulate";
  r.facts = {{"timeouts", "1"}};
  r.completed_us = {5.5e3, 505e3};
  r.step_us = 1000;
  r.requests = {2, 0, 1};
  r.responses = {1, 0, 2};
  r.arrows = {{.at_us = 0, .text = "READ request 0"},
              {.at_us = 1000, .is_lost = true, .text = "READ request 1"},
              {.at_us = 505e3, .from_client = false, .is_nak = true, .text = "RNR NAK"}};
  return r;
}

TEST(odp_page, shows_the_packets_as_a_sequence_with_its_pauses) {
  const std::string page = odp_page(record());
  for (const char* text : {"READ request 1, lost at the port", "504 ms later", "RNR NAK",
                           "When each operation completed", "timeouts"}) {
    EXPECT_NE(page.find(text), std::string::npos) << text;
  }
  EXPECT_EQ(page.find("Execution times of the trials"), std::string::npos);
}

TEST(odp_page, tells_in_the_sequence_where_packets_are_left_out) {
  OdpRecord r = record();
  r.arrows[1].left_out_before = 12;
  r.arrows_left_out = 30;
  const std::string page = odp_page(r);
  EXPECT_NE(page.find("12 packets left out, 1 ms later"), std::string::npos) << page;
  EXPECT_NE(page.find("30 packets are left out"), std::string::npos);
  EXPECT_EQ(page.find("0 packets left out"), std::string::npos);
}

TEST(odp_page, fits_its_drawings_to_the_screen_and_makes_letters_larger_on_a_narrow_one) {
  const std::string page = odp_page(record());
  std::size_t drawings = 0;
  for (std::size_t at = page.find("<svg viewBox=\"0 0 640"); at != std::string::npos;
       at = page.find("<svg viewBox=\"0 0 640", at + 1)) {
    const std::string tag = page.substr(at, page.find('>', at) - at);
    EXPECT_NE(tag.find("class=\"drawn\""), std::string::npos) << tag;
    EXPECT_EQ(tag.find("width="), std::string::npos) << "of no fixed size: " << tag;
    ++drawings;
  }
  EXPECT_EQ(drawings, 3u);
  EXPECT_NE(page.find("@media(max-width:32rem){.drawn{font-size:17px}}"), std::string::npos);
}

TEST(odp_page, shows_the_execution_times_of_trials) {
  OdpRecord r = record();
  r.executions_us = {5e3, 5.1e3, 505e3};
  EXPECT_NE(odp_page(r).find("Execution times of the trials"), std::string::npos);
}

TEST(odp_page, escapes_what_the_record_says_and_draws_a_run_without_anything) {
  OdpRecord r = record();
  r.title = r.command = r.arrows[0].text = "<script>alert(1)</script>";
  EXPECT_EQ(odp_page(r).find("<script>alert"), std::string::npos);
  EXPECT_EQ(odp_page({}).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace weft::report
