// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "metrics/http_request.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view received(reinterpret_cast<const char*>(data), size);
  const std::size_t head = weft::metrics::end_of_head(received);
  WEFT_CHECK(head <= size);
  const weft::metrics::HttpVerdict verdict =
      weft::metrics::judge_request(received.substr(0, head > 0 ? head : size));
  WEFT_CHECK(weft::metrics::http_response(verdict, "body").starts_with("HTTP/1.1 "));
  return 0;
}
