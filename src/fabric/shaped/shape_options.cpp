// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/shaped.hpp"

namespace weft {

ShapeOptions symmetric_shape(Bandwidth rate, Duration latency) {
  return {.egress = {rate, latency}, .ingress = {rate, Duration{}}};
}

Result<ShapeOptions> parse_shape(std::string_view option, std::string_view text) {
  constexpr std::string_view kCutThrough = ",cut-through";
  const bool cut_through = text.ends_with(kCutThrough);
  if (cut_through) text.remove_suffix(kCutThrough.size());
  const auto link = parse_link_shape(option, text);
  if (!link.ok()) {
    return Error{link.error().code, link.error().message + ", or RATE,LATENCY,cut-through"};
  }
  ShapeOptions options = symmetric_shape(link->rate, link->latency);
  options.cut_through = cut_through;
  return options;
}

}  // namespace weft
