// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/shaped.hpp"

namespace weft {

ShapeOptions symmetric_shape(Bandwidth rate, Duration latency) {
  return {.egress = {rate, latency}, .ingress = {rate, Duration{}}};
}

Result<ShapeOptions> parse_shape(std::string_view option, std::string_view text) {
  const auto link = parse_link_shape(option, text);
  if (!link.ok()) return link.error();
  return symmetric_shape(link->rate, link->latency);
}

}  // namespace weft
