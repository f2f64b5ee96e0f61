// SPDX-License-Identifier: Apache-2.0
#include "metrics/http_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::metrics {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

HttpStatus status_of(std::string_view line) {
  return judge_request(std::string(line) + "\r\nHost: x\r\n\r\n").status;
}

TEST(http_request, head_ends_with_an_empty_line) {
  EXPECT_EQ(end_of_head("GET / HTTP/1.1\r\n"), 0u);
  EXPECT_EQ(end_of_head("a\r\n\r\nbody"), 5u);
  EXPECT_EQ(end_of_head("a\n\nbody\r\n\r\n"), 3u);
  EXPECT_EQ(end_of_head("a\r\nb\r\n\r\n\n\n"), 8u);
  EXPECT_EQ(end_of_head(""), 0u);
}

TEST(http_request, only_the_metrics_are_served) {
  EXPECT_EQ(status_of("GET /metrics HTTP/1.1"), HttpStatus::ok);
  EXPECT_EQ(status_of("GET /metrics?name=x HTTP/1.0"), HttpStatus::ok);
  EXPECT_EQ(status_of("HEAD /metrics HTTP/1.1"), HttpStatus::ok);
  EXPECT_EQ(status_of("GET / HTTP/1.1"), HttpStatus::not_found);
  EXPECT_EQ(status_of("GET /metrics/../etc/passwd HTTP/1.1"), HttpStatus::not_found);
  EXPECT_EQ(status_of("POST /metrics HTTP/1.1"), HttpStatus::method_not_allowed);
  EXPECT_EQ(status_of("GET /metrics HTTP/2.0"), HttpStatus::version_not_supported);
}

TEST(http_request, nonsense_is_a_bad_request) {
  for (const char* line : {"", " ", "  ", "GET", "GET /metrics", "GET  HTTP/1.1 ", "\x16\x03\x01",
                           "GET /metrics SSH-2.0", "G\x01T /metrics HTTP/1.1",
                           "GET /met rics HTTP/1.1", "GET /\xff HTTP/1.1"}) {
    EXPECT_EQ(status_of(line), HttpStatus::bad_request) << line;
  }
}

TEST(http_request, response_says_what_it_is) {
  const std::string text = http_response({HttpStatus::ok, true}, "# EOF\n");
  EXPECT_THAT(text, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0; "
                              "charset=utf-8\r\n"));
  EXPECT_THAT(text, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(text, EndsWith("Connection: close\r\n\r\n# EOF\n"));
}

TEST(http_request, response_to_head_has_a_length_but_no_body) {
  const std::string text = http_response({HttpStatus::ok, false}, "# EOF\n");
  EXPECT_THAT(text, HasSubstr("Content-Length: 6\r\n"));
  EXPECT_THAT(text, EndsWith("\r\n\r\n"));
}

TEST(http_request, refusals_never_carry_the_metrics) {
  const std::string text = http_response({HttpStatus::method_not_allowed, true}, "secret");
  EXPECT_THAT(text, Not(HasSubstr("secret")));
  EXPECT_THAT(text, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(text, EndsWith("405 Method Not Allowed\n"));
}

}  // namespace
}  // namespace weft::metrics
