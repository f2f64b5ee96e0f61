// SPDX-License-Identifier: Apache-2.0
#include "metrics/http_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::metrics {
namespace {

constexpr std::pair<HttpStatus, std::string_view> reasons[] = {
    {HttpStatus::ok, "OK"},
    {HttpStatus::bad_request, "Bad Request"},
    {HttpStatus::not_found, "Not Found"},
    {HttpStatus::method_not_allowed, "Method Not Allowed"},
    {HttpStatus::header_too_large, "Request Header Fields Too Large"},
    {HttpStatus::version_not_supported, "HTTP Version Not Supported"},
};

std::string_view reason_of(HttpStatus status) {
  return std::ranges::find(reasons, status, &std::pair<HttpStatus, std::string_view>::first)
      ->second;
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

std::size_t end_of_head(std::string_view received) {
  // A line may end with a bare LF (RFC 9112, section 2.2).
  const std::size_t crlf = received.find("\n\r\n");
  const std::size_t lf = received.find("\n\n");
  if (crlf == std::string_view::npos && lf == std::string_view::npos) return 0;
  return crlf < lf ? crlf + 3 : lf + 2;
}

HttpVerdict judge_request(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return {};
  const std::string_view method = line.substr(0, first);
  const std::string_view version = line.substr(last + 1);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (method.empty() || !is_printable(method) || !is_printable(target)) return {};
  if (!version.starts_with("HTTP/")) return {};
  const bool head_only = method == "HEAD";
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return {HttpStatus::version_not_supported, !head_only};
  }
  target = target.substr(0, target.find('?'));
  if (target != "/metrics") return {HttpStatus::not_found, !head_only};
  if (method != "GET" && !head_only) return {HttpStatus::method_not_allowed, true};
  return {HttpStatus::ok, !head_only};
}

std::string http_response(HttpVerdict verdict, std::string_view body) {
  const bool ok = verdict.status == HttpStatus::ok;
  const auto number = static_cast<unsigned>(verdict.status);
  const std::string_view reason = reason_of(verdict.status);
  const std::string error = ok ? std::string() : fmt::format("{} {}\n", number, reason);
  if (!ok) body = error;
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\n"
      "Content-Type: {}\r\n"
      "Content-Length: {}\r\n"
      "{}"
      "Cache-Control: no-store\r\n"
      "Connection: close\r\n\r\n",
      number, reason,
      ok ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
         : "text/plain; charset=utf-8",
      body.size(), verdict.status == HttpStatus::method_not_allowed ? "Allow: GET, HEAD\r\n" : "");
  if (verdict.with_body) text += body;
  return text;
}

}  // namespace weft::metrics
