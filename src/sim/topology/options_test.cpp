// SPDX-License-Identifier: Apache-2.0
#include "sim/topology/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class Options>
Options read(std::string_view text) {
  auto options = parse_topology(text);
  EXPECT_TRUE(options) << options.error().message;
  return std::get<Options>(*options);
}

TEST(topology_options, reads_each_kind_with_its_parameters) {
  EXPECT_EQ(read<StarOptions>("star:64").hosts, 64u);
  const auto tree = read<FatTreeOptions>("fat-tree:1024,levels=3,radix=16,taper=2");
  EXPECT_EQ(tree.hosts, 1024u);
  EXPECT_EQ(tree.levels, 3u);
  EXPECT_EQ(tree.radix, 16u);
  EXPECT_EQ(tree.taper.down, 2u);
  EXPECT_EQ(tree.taper.up, 1u);
  const auto fly = read<DragonflyOptions>("dragonfly:72,groups=9,routers=4,hosts=2,global=2");
  EXPECT_EQ(fly.groups, 9u);
  EXPECT_EQ(fly.routers, 4u);
  EXPECT_EQ(fly.hosts_per_router, 2u);
  EXPECT_EQ(fly.global_links, 2u);
  EXPECT_FALSE(fly.xc40);
  EXPECT_EQ(read<DragonflyOptions>("dragonfly:384,shape=xc40,black=1").chassis_cables, 1u);
  const auto torus = read<TorusOptions>("torus:8x4x2,hosts=3");
  EXPECT_THAT(torus.sizes, ElementsAre(8, 4, 2));
  EXPECT_EQ(torus.hosts_per_switch, 3u);
  EXPECT_EQ(read<TopologyFileOptions>("file:a,b:c.toml").path, "a,b:c.toml");
}

TEST(topology_options, reads_tapers_as_whole_numbers_decimals_and_ratios) {
  for (const auto& [text, down, up] :
       {std::tuple{"3", 3u, 1u}, {"1.5", 15u, 10u}, {"1.05", 105u, 100u}, {"3:2", 3u, 2u}}) {
    const auto tree = read<FatTreeOptions>(std::string("fat-tree:8,taper=") + text);
    EXPECT_EQ(tree.taper.down, down) << text;
    EXPECT_EQ(tree.taper.up, up) << text;
  }
}

TEST(topology_options, refuses_what_it_does_not_understand_by_name) {
  for (const auto& [text, part] : {
           std::pair{"", "star:64"},
           {"star", "star:64"},
           {"star:", "star:64"},
           {"star:0", "from 1 to 65535"},
           {"star:65536", "65536"},
           {"star:64,radix=3", "takes no parameters"},
           {"ring:8", "'ring' is no kind of topology"},
           {"fat-tree:many", "'many'"},
           {"fat-tree:8,levels=4", "levels is 2 or 3, not 4"},
           {"fat-tree:8,radix", "levels=, radix=, taper="},
           {"fat-tree:8,radix=-2", "radix '-2'"},
           {"fat-tree:8,taper=0.5", "taper '0.5'"},
           {"fat-tree:8,taper=1:0", "taper '1:0'"},
           {"fat-tree:8,taper=2.", "taper '2.'"},
           {"fat-tree:8,taper=1.2345", "taper '1.2345'"},
           {"dragonfly:8,shape=xc30", "there are full and xc40"},
           {"dragonfly:8,rings=2", "shape=, groups=, routers=, hosts=, global=, black="},
           {"dragonfly:8,black=2", "needs shape=xc40"},
           {"torus:8x", "write the sizes like 8x8x8"},
           {"torus:8xa", "'a'"},
           {"torus:8x8,hosts=0", "hosts '0'"},
       }) {
    const auto options = parse_topology(text);
    ASSERT_FALSE(options) << text;
    EXPECT_THAT(options.error().message, HasSubstr(part));
    EXPECT_THAT(options.error().message, HasSubstr(std::string("'") + text + "'"));
  }
}

}  // namespace
}  // namespace weft::sim
