// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "stream/sources/collecting_writer.hpp"
#include "wire/archive/golden.hpp"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class pcap_source : public ::testing::Test {
 protected:
  pcap_source() { wire::write_whole(directory_ / "p.pcap", wire::golden("packets.pcap")); }
  std::string uri(std::string_view keys) const {
    return "pcap:" + directory_ / ("p.pcap" + std::string(keys));
  }
  /// The packets' bytes, one string per microslice, '|' between packets.
  std::vector<std::string> packets(std::string_view keys, SourcePlace place = {}) {
    const auto microslices = collect(uri(keys), place);
    EXPECT_TRUE(microslices) << microslices.error().message;
    std::vector<std::string> all;
    for (const auto& m : *microslices) {
      EXPECT_EQ(m.descriptor.crc, crc32c(m.content));
      std::string& text = all.emplace_back();
      for (std::size_t at = 0; at < m.content.size();) {
        PacketHeader header;
        std::memcpy(&header, m.content.data() + at, sizeof header);
        if (!text.empty()) text += '|';
        text += m.text().substr(at + sizeof header, header.captured);
        at += sizeof header + header.captured;
      }
    }
    return all;
  }
  const wire::TestDirectory directory_;
};

TEST_F(pcap_source, cuts_by_time_and_keeps_empty_times) {
  EXPECT_THAT(packets("?cut=10ms"), ElementsAre("p0|p1--", "", "p2|p3-"));
  EXPECT_THAT(packets("?cut=1s"), ElementsAre("p0|p1--|p2|p3-"));
  const auto microslices = collect(uri("?cut=10ms"), {});
  EXPECT_EQ((*microslices)[1].descriptor.index, 1'010'000'000u);
}

TEST_F(pcap_source, cuts_by_size_between_packets) {
  EXPECT_THAT(packets("?cut=40"), ElementsAre("p0|p1--", "p2|p3-"));
  EXPECT_THAT(packets("?cut=1"), ElementsAre("p0", "p1--", "p2", "p3-"));
  const auto microslices = collect(uri("?cut=1"), {});
  EXPECT_EQ((*microslices)[3].descriptor.index, 1'025'001'000u);
}

TEST_F(pcap_source, record_has_the_documented_layout) {
  const auto microslices = collect(uri("?cut=1"), {});
  EXPECT_EQ((*microslices)[1].content,
            wire::bytes_from_hex("00 d3 d7 3b 00 00 00 00  04 00 00 00  dc 05 00 00 \"p1--\""));
}

TEST_F(pcap_source, deals_packets_to_the_inputs) {
  EXPECT_THAT(packets("?cut=10ms", {.input = 0, .inputs = 2}), ElementsAre("p0", "", "p2"));
  EXPECT_THAT(packets("?cut=10ms", {.input = 1, .inputs = 2}), ElementsAre("p1--", "", "p3-"));
  EXPECT_THAT(packets("?cut=1KiB", {.input = 1, .inputs = 2}), ElementsAre("p1--|p3-"));
}

TEST_F(pcap_source, loops_and_seeks) {
  EXPECT_THAT(packets("?cut=1s&loop=2"), ElementsAre("p0|p1--|p2|p3-", "p0|p1--|p2|p3-"));
  auto source = open_source(uri("?cut=1"), {});
  ASSERT_TRUE((*source)->seek(3));
  const auto rest = collect(**source);
  ASSERT_EQ(rest->size(), 1u);
  EXPECT_EQ((*rest)[0].descriptor.index, 1'025'001'000u);
}

TEST_F(pcap_source, says_what_is_wrong) {
  EXPECT_THAT(open_source(uri("?cut=10"), {}).ok(), true);
  EXPECT_THAT(open_source(uri("?cut=soon"), {}).error().message, HasSubstr("cut=soon: must be"));
  EXPECT_EQ(open_source("pcap:/dev/null/x.pcap", {}).error().code, ErrorCode::not_found);
  auto bytes = wire::golden("packets.pcap");
  bytes.resize(bytes.size() - 1);
  wire::write_whole(directory_ / "p.pcap", bytes);
  EXPECT_THAT(collect(uri("?cut=1"), {}).error().message, HasSubstr("packet 3: truncated"));
  bytes[0] = std::byte{0};
  wire::write_whole(directory_ / "p.pcap", bytes);
  EXPECT_THAT(open_source(uri("?cut=1"), {}).error().message, HasSubstr("no packet capture"));
}

TEST_F(pcap_source, refuses_a_gap_of_a_million_empty_microslices) {
  auto bytes = wire::golden("packets.pcap");
  bytes[24 + 18] = std::byte{200};  // the second packet comes 199 s later
  wire::write_whole(directory_ / "p.pcap", bytes);
  EXPECT_THAT(collect(uri("?cut=100us"), {}).error().message,
              HasSubstr("packet 1 comes 199 s after"));
}

}  // namespace
}  // namespace weft
