// SPDX-License-Identifier: Apache-2.0
#include "report/html.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace weft::report {
namespace {

TEST(html, text_cannot_become_an_element_or_leave_an_attribute) {
  EXPECT_EQ(html_escape("<b a=\"x\" c='y'>&amp;"),
            "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;amp;");
  EXPECT_EQ(html_escape("4 × 4, µs"), "4 × 4, µs");
}

TEST(html, control_characters_become_spaces) {
  EXPECT_EQ(html_escape(std::string("a\0b\x1b[31m\x7f\n\tc", 12)), "a b [31m \n\tc");
}

TEST(html, json_cannot_end_its_script_element) {
  const std::string text = "</script><!-- & ]]>";
  const std::string json = nlohmann::json{{text, text}}.dump();
  const std::string safe = json_for_script(json);
  EXPECT_EQ(safe.find_first_of("<>&"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(safe), nlohmann::json::parse(json));
}

}  // namespace
}  // namespace weft::report
