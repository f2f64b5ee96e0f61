// SPDX-License-Identifier: Apache-2.0
// A stranger that reads the network and does not know the secret can replay recorded frames.
#include <array>
#include <vector>

#include "fabric/libfabric/endpoint_address.hpp"
#include "fabric/libfabric/test_support.hpp"

namespace weft {
namespace {

// Replays recorded frames: hellos of node 1, over a connection of its own.
class Replayer {
 public:
  explicit Replayer(const std::string& victim) : victim_(*ofi::parse_endpoint_address(victim)) {
    auto opened = ofi::Endpoint::open(options_for(7), {}, 16);
    EXPECT_TRUE(opened.ok());
    endpoint_ = std::move(*opened);
    where_ = *endpoint_->insert(victim_.name);
  }
  const ofi::Nonce& receiver() const { return victim_.nonce; }
  // The bytes that node 1 sends to node 0 in its attempt of that number.
  void say(std::uint64_t attempt, const ofi::Nonce& receiver) {
    ofi::Hello hello;
    hello.to = NodeId(0);
    hello.incarnation = Incarnation(1);
    hello.nonce = ofi::fresh_nonce();
    hello.receiver = receiver;
    hello.attempt = attempt;
    std::array<std::byte, 512> frame{};
    const auto payload = std::span(frame).subspan(sizeof(ofi::FrameHeader));
    const std::size_t size = encode(hello, payload);
    hello.proof =
        ofi::FrameKey(options_for(1).job_secret)
            .prove(ofi::FrameKind::hello, NodeId(1), ofi::proven_part(payload.first(size)));
    encode(hello, payload);
    ofi::FrameHeader header;
    header.kind = ofi::FrameKind::hello;
    header.from = 1;
    header.size = static_cast<std::uint32_t>(size);
    encode_header(header, frame);
    bytes_.assign(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(sizeof header + size));
  }
  // True when the provider took it.
  bool send() {
    std::array<ofi::Event, 4> events;
    endpoint_->read(events);
    return endpoint_->inject(bytes_, where_) == 0;
  }

 private:
  ofi::EndpointAddress victim_;
  std::unique_ptr<ofi::Endpoint> endpoint_;
  fi_addr_t where_ = FI_ADDR_UNSPEC;
  std::vector<std::byte> bytes_;
};

class RecordedHello : public ::testing::Test {
 protected:
  RecordedHello() {
    victim_ = &group_.open(options_for(0));
    group_.open(options_for(1));
    group_.introduce(0, 1);
    EXPECT_TRUE(group_.drive([&] { return ups() == 2; }));
  }
  std::size_t ups() const {
    return group_.count(0, CompletionKind::peer_up) + group_.count(1, CompletionKind::peer_up);
  }
  // Node 0 has read it when it has also read a message that node 1 sends afterwards; twice, since
  // the two travel over connections of their own.
  void replay(Replayer& replayer) {
    ASSERT_TRUE(group_.drive([&] { return replayer.send(); }));
    const std::size_t before = group_.count(0, CompletionKind::received);
    for (std::size_t i = 1; i <= 200; ++i) {
      TxOp op;
      op.peer = NodeId(0);
      ASSERT_EQ(group_.fabric(1).post({&op, 1}), 1u);
      ASSERT_TRUE(group_.drive(
          [&] { return group_.count(0, CompletionKind::received) == before + i || downs() > 0; }));
    }
  }
  std::size_t downs() const { return group_.count(0, CompletionKind::peer_down); }

  Group group_;
  Fabric* victim_ = nullptr;
};

TEST_F(RecordedHello, of_this_session_or_an_earlier_one_ends_nothing) {
  Replayer replayer(victim_->address());
  for (const std::uint64_t attempt : {1, 0}) {
    replayer.say(attempt, replayer.receiver());
    replay(replayer);
  }
  EXPECT_EQ(downs(), 0u);
}

TEST_F(RecordedHello, that_was_said_to_an_earlier_life_ends_nothing) {
  Replayer replayer(victim_->address());
  replayer.say(99, ofi::fresh_nonce());
  replay(replayer);
  EXPECT_EQ(downs(), 0u);
}

// The two tests above would see this if a recording were worth anything.
TEST_F(RecordedHello, is_told_from_the_next_one_of_the_peer_itself) {
  Replayer replayer(victim_->address());
  replayer.say(99, replayer.receiver());
  ASSERT_TRUE(group_.drive([&] { return replayer.send(); }));
  EXPECT_TRUE(group_.drive([&] { return downs() == 1; }));
}

}  // namespace
}  // namespace weft
