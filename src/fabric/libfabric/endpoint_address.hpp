// SPDX-License-Identifier: Apache-2.0
// The address that an endpoint gives others: "PROVIDER/NAME/NONCE", the last two in hexadecimal.
// The name is the provider's; the nonce tells this endpoint from any other that ever had the name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/libfabric/frame.hpp"

namespace weft::ofi {

struct EndpointAddress {
  std::string provider;
  std::vector<std::byte> name;
  Nonce nonce{};

  std::string text() const;
};

/// Nothing for a text that `text` never returns.
std::optional<EndpointAddress> parse_endpoint_address(std::string_view text);

}  // namespace weft::ofi
