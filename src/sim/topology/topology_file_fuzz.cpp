// SPDX-License-Identifier: Apache-2.0
// Any bytes as a topology file: they are refused in one line or make a consistent topology.
#include <cstdint>

#include "base/check.hpp"
#include "sim/topology/topology_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::sim;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (auto* parse : {parse_toml_topology, parse_ibnetdiscover, parse_opensm_subnet}) {
    const auto topology = parse(text, "fuzz");
    if (!topology) {
      WEFT_CHECK(!topology.error().message.empty());
      continue;
    }
    for (std::uint32_t l = 0; l < topology->links(); ++l) {
      const LinkId back = topology->link(topology->peer(LinkId(l)));
      WEFT_CHECK(topology->link(topology->peer(back)).value() == l);
    }
  }
  return 0;
}
