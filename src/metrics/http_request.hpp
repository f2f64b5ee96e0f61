// SPDX-License-Identifier: Apache-2.0
// As much of HTTP/1.1 (RFC 9112) as a scraper of metrics needs: one request, one answer, then the
// connection ends. Requests come from anybody and are never trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::metrics {

enum class HttpStatus : std::uint16_t {
  ok = 200,
  bad_request = 400,
  not_found = 404,
  method_not_allowed = 405,
  header_too_large = 431,
  version_not_supported = 505,
};

/// The answer to a request.
struct HttpVerdict {
  HttpStatus status = HttpStatus::bad_request;
  bool with_body = true;  ///< false for HEAD
};

/// Bytes up to and including the empty line that ends a request's head; 0 while it is not there.
std::size_t end_of_head(std::string_view received);

/// Judges a complete head: GET or HEAD of /metrics is ok.
HttpVerdict judge_request(std::string_view head);

/// A whole response that ends the connection. `body` is OpenMetrics text when the status is ok,
/// and not used otherwise.
std::string http_response(HttpVerdict verdict, std::string_view body);

}  // namespace weft::metrics
