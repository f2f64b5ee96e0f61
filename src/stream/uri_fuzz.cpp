// SPDX-License-Identifier: Apache-2.0
// Any text as a URI, and as a value of every kind.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "stream/uri.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using weft::ByteCount;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto uri = weft::Uri::parse(text);
  if (!uri) {
    if (uri.error().message.empty()) std::abort();
    return 0;
  }
  if (uri->scheme().empty()) std::abort();
  for (const char* key : {"a", "size", "rate"}) {
    const auto number = uri->number(key, 5, 1, 100);
    if (number && (*number < 1 || *number > 100)) std::abort();
    const auto bytes = uri->bytes(key, ByteCount(1), ByteCount(1), ByteCount::kib(1));
    if (bytes && *bytes > ByteCount::kib(1)) std::abort();
    const auto duration = uri->duration(key, weft::Duration(1));
    if (duration && *duration <= weft::Duration{}) std::abort();
    (void)uri->flag(key);
  }
  (void)uri->allow({"a", "size"});
  (void)weft::expand_placeholders(uri->path(), {{'i', "3"}, {'s', "0000"}});
  return 0;
}
