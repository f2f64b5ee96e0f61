// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/endpoint_address.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>

namespace weft::ofi {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                 bytes.size());
  text.pop_back();
  return text;
}

/// Nothing when it is empty or anything but pairs of hexadecimal digits.
std::optional<std::vector<std::byte>> unhex(std::string_view digits) {
  std::vector<std::byte> bytes(digits.size() / 2);
  const int failed = sodium_hex2bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(),
                                    digits.data(), digits.size(), nullptr, nullptr, nullptr);
  if (failed != 0 || bytes.empty()) return std::nullopt;
  return bytes;
}

}  // namespace

std::string EndpointAddress::text() const {
  return fmt::format("{}/{}/{}", provider, hex(name), hex(nonce));
}

std::optional<EndpointAddress> parse_endpoint_address(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t second = text.rfind('/');
  if (first == std::string_view::npos || first == second) return std::nullopt;
  const auto name = unhex(text.substr(first + 1, second - first - 1));
  const auto nonce = unhex(text.substr(second + 1));
  if (!name || !nonce || nonce->size() != Nonce{}.size()) return std::nullopt;
  EndpointAddress address{std::string(text.substr(0, first)), *name, {}};
  std::ranges::copy(*nonce, address.nonce.begin());
  return address;
}

}  // namespace weft::ofi
