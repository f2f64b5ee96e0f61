// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "trace/events/pairing.hpp"
#include "trace/goal/goal.hpp"

namespace weft::trace {
namespace {

std::string describe(const GoalTrace& trace, const MessageKey& key, bool is_send,
                     std::uint32_t line, std::uint64_t unmatched) {
  const std::string what =
      is_send ? fmt::format(
                    "rank {} sends {} bytes to rank {} with tag {}, which receives no such "
                    "message",
                    key.from, key.bytes, key.to, key.tag)
              : fmt::format(
                    "rank {} receives {} bytes from rank {} with tag {}, which sends no such "
                    "message",
                    key.to, key.bytes, key.from, key.tag);
  return fmt::format("{}:{}: {} ({} unmatched in all): record or convert the program anew",
                     trace.file, line, what, unmatched);
}

}  // namespace

Summary summary_of(const GoalTrace& trace) {
  using Kind = GoalOperation::Kind;
  Summary summary{.ranks = static_cast<std::uint32_t>(trace.ranks.size())};
  Pairing<std::uint32_t> lines;
  std::uint64_t longest_ns = 0;
  for (std::uint32_t rank = 0; rank < summary.ranks; ++rank) {
    std::uint64_t computes_ns = 0;
    for (const GoalOperation& op : trace.ranks[rank].operations) {
      ++summary.events;
      if (op.kind == Kind::calc) {
        computes_ns += op.amount;
        continue;
      }
      const bool sends = op.kind == Kind::send;
      if (sends) {
        ++summary.messages;
        summary.bytes += op.amount;
      }
      lines.meet({.from = sends ? rank : op.peer,
                  .to = sends ? op.peer : rank,
                  .tag = op.tag,
                  .bytes = op.amount},
                 sends, op.line);
    }
    longest_ns = std::max(longest_ns, computes_ns);
  }
  summary.seconds = static_cast<double>(longest_ns) / 1e9;
  MessageKey first_key;
  bool first_is_send = false;
  std::uint32_t first_line = ~std::uint32_t{0};
  lines.each_left([&](const MessageKey& key, bool is_send, std::uint32_t line) {
    ++summary.unmatched;
    if (line >= first_line) return;
    first_key = key;
    first_is_send = is_send;
    first_line = line;
  });
  if (summary.unmatched > 0) {
    summary.problem = describe(trace, first_key, first_is_send, first_line, summary.unmatched);
  }
  return summary;
}

}  // namespace weft::trace
