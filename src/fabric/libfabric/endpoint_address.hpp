// SPDX-License-Identifier: Apache-2.0
// What an endpoint tells others as its address: "PROVIDER/NAME/NONCE", the last two in hexadecimal.
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

/// Nothing for what `text` never returns.
std::optional<EndpointAddress> parse_endpoint_address(std::string_view text);

}  // namespace weft::ofi
