// SPDX-License-Identifier: Apache-2.0
#include "core/match/matcher.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <list>
#include <utility>
#include <vector>

#include "base/rng.hpp"

namespace weft::match {
namespace {

constexpr Envelope anything{.context = 1, .source = any_source, .tag = any_tag};

Envelope from(std::uint32_t source, std::int32_t tag) {
  return {.context = 1, .source = source, .tag = tag};
}

TEST(matcher, messages_of_a_sender_do_not_overtake_each_other) {
  Matcher matcher;
  matcher.arrive(from(0, 5), 10);
  matcher.arrive(from(0, 6), 11);
  matcher.arrive(from(0, 5), 12);
  EXPECT_EQ(matcher.post(from(0, 5), 0).message->token, 10u);
  EXPECT_EQ(matcher.post(from(0, any_tag), 1).message->token, 11u);
  EXPECT_EQ(matcher.post(anything, 2).message->token, 12u);
}

TEST(matcher, the_receive_that_waits_longest_takes_a_message_whatever_its_wildcards) {
  Matcher matcher;
  matcher.post(from(any_source, 5), 1);
  matcher.post(from(0, 5), 2);
  matcher.post(from(0, any_tag), 3);
  matcher.post(anything, 4);
  EXPECT_EQ(matcher.arrive(from(0, 5), 0), 1u);
  EXPECT_EQ(matcher.arrive(from(0, 5), 0), 2u);
  EXPECT_EQ(matcher.arrive(from(1, 6), 0), 4u);
  EXPECT_EQ(matcher.arrive(from(0, 6), 0), 3u);
  EXPECT_EQ(matcher.arrive(from(0, 6), 0), std::nullopt);
}

TEST(matcher, contexts_are_apart) {
  Matcher matcher;
  matcher.post({.context = 2, .source = any_source, .tag = any_tag}, 1);
  EXPECT_EQ(matcher.arrive(from(0, 5), 7), std::nullopt);
  EXPECT_EQ(matcher.probe(anything)->token, 7u);
  EXPECT_EQ(matcher.arrive({.context = 2, .source = 0, .tag = 5}, 8), 1u);
}

TEST(matcher, a_message_that_was_extracted_is_no_others) {
  Matcher matcher;
  matcher.arrive(from(3, 5), 7);
  EXPECT_EQ(matcher.probe(anything), (Message{from(3, 5), 7}));
  EXPECT_EQ(matcher.extract(from(any_source, 5)), (Message{from(3, 5), 7}));
  EXPECT_EQ(matcher.probe(anything), std::nullopt);
  EXPECT_EQ(matcher.waiting_messages(), 0u);
}

TEST(matcher, a_receive_is_cancelled_once_and_not_after_it_took_a_message) {
  Matcher matcher;
  const auto cancelled = matcher.post(from(0, 5), 1).waiting;
  const auto taken = matcher.post(from(0, 5), 2).waiting;
  EXPECT_TRUE(matcher.cancel(cancelled));
  EXPECT_FALSE(matcher.cancel(cancelled));
  EXPECT_EQ(matcher.arrive(from(0, 5), 7), 2u);
  const auto in_its_place = matcher.post(from(0, 5), 3).waiting;
  EXPECT_FALSE(matcher.cancel(taken));
  EXPECT_TRUE(matcher.cancel(in_its_place));
}

/// Queues that are looked through from the oldest: the rules as MPI states them.
class Scanned {
 public:
  std::optional<Message> post(const Envelope& pattern, Token receive) {
    auto message = extract(pattern);
    if (!message) receives_.emplace_back(pattern, receive);
    return message;
  }
  std::optional<Token> arrive(const Envelope& envelope, Token message) {
    for (auto it = receives_.begin(); it != receives_.end(); ++it) {
      const Envelope& pattern = it->first;
      if (!takes(pattern, envelope)) continue;
      const Token receive = it->second;
      receives_.erase(it);
      return receive;
    }
    messages_.push_back({envelope, message});
    return std::nullopt;
  }
  std::optional<Message> probe(const Envelope& pattern) const {
    for (const Message& message : messages_) {
      if (takes(pattern, message.envelope)) return message;
    }
    return std::nullopt;
  }
  std::optional<Message> extract(const Envelope& pattern) {
    const auto message = probe(pattern);
    if (message) messages_.remove(*message);
    return message;
  }
  bool cancel(Token receive) {
    return std::erase_if(receives_, [&](const auto& r) { return r.second == receive; }) == 1;
  }
  std::size_t waiting_receives() const { return receives_.size(); }
  std::size_t waiting_messages() const { return messages_.size(); }

 private:
  static bool takes(const Envelope& pattern, const Envelope& message) {
    return pattern.context == message.context &&
           (pattern.source == any_source || pattern.source == message.source) &&
           (pattern.tag == any_tag || pattern.tag == message.tag);
  }
  std::list<std::pair<Envelope, Token>> receives_;
  std::list<Message> messages_;
};

/// One seed's operations, drawn with weights of their own, on both.
class Comparison {
 public:
  explicit Comparison(std::uint64_t seed)
      : rng_(seed),
        sources_(1 + static_cast<std::uint32_t>(rng_.below(6))),
        tags_(1 + rng_.below(rng_.below(2) == 0 ? 4 : 200)),
        arrivals_(2 + rng_.below(6)),
        wildcards_(rng_.below(4)) {}

  /// False: they differ.
  bool step() {
    const std::uint64_t what = rng_.below(12);
    const Token token = next_++;
    if (what < arrivals_) {
      const Envelope e = message();
      return matcher_.arrive(e, token) == scanned_.arrive(e, token) && agree();
    }
    const Envelope e = pattern();
    if (what == 9) return matcher_.probe(e) == scanned_.probe(e);
    if (what == 10) return matcher_.extract(e) == scanned_.extract(e) && agree();
    if (what == 11 && !begun_.empty()) {
      const auto& [waiting, receive] = begun_[rng_.below(begun_.size())];
      return matcher_.cancel(waiting) == scanned_.cancel(receive) && agree();
    }
    const Posted posted = matcher_.post(e, token);
    if (!posted.message) begun_.emplace_back(posted.waiting, token);
    return posted.message == scanned_.post(e, token) && agree();
  }

 private:
  bool agree() const {
    return matcher_.waiting_receives() == scanned_.waiting_receives() &&
           matcher_.waiting_messages() == scanned_.waiting_messages();
  }
  Envelope message() {
    return {rng_.below(2), static_cast<std::uint32_t>(rng_.below(sources_)),
            static_cast<std::int32_t>(rng_.below(tags_))};
  }
  Envelope pattern() {
    Envelope e = message();
    if (rng_.below(4) < wildcards_) e.source = any_source;
    if (rng_.below(4) < wildcards_) e.tag = any_tag;
    return e;
  }

  Rng rng_;
  std::uint32_t sources_;
  std::uint64_t tags_, arrivals_, wildcards_;
  Token next_ = 0;
  Matcher matcher_;
  Scanned scanned_;
  std::vector<std::pair<WaitingReceive, Token>> begun_;
};

TEST(matcher, agrees_with_queues_that_are_looked_through) {
  const char* one = std::getenv("WEFT_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t last = one != nullptr ? first : 60;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    Comparison comparison(seed);
    for (int i = 0; i < 1500; ++i) {
      ASSERT_TRUE(comparison.step())
          << "operation " << i
          << fmt::format("\nWEFT_SEED={} core_match_test --gtest_filter=matcher.agrees*", seed);
    }
  }
}

}  // namespace
}  // namespace weft::match
