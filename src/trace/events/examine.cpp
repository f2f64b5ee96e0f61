// SPDX-License-Identifier: Apache-2.0
#include "trace/events/examine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/events/pairing.hpp"

namespace weft::trace {
namespace {

class Examination {
 public:
  Examination(EventStream& stream, const std::string& file)
      : stream_(stream), file_(file), open_(stream.ranks()) {
    summary_.ranks = stream.ranks();
    summary_.is_measured = true;
  }

  Result<Summary> run() {
    // The rank that is furthest behind goes on, so that little is left without its counterpart.
    using Turn = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    for (std::uint32_t r = 0; r < stream_.ranks(); ++r) turns.emplace(0, r);
    while (!turns.empty()) {
      const std::uint32_t rank = turns.top().second;
      turns.pop();
      auto event = stream_.next(rank);
      if (!event) return std::move(event).error();
      see(rank, *event);
      if (event->kind == Event::Kind::end) {
        see_end(rank);
      } else {
        turns.emplace(event->at_ns, rank);
      }
    }
    finish();
    return summary_;
  }

 private:
  struct Side {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
  };
  struct Open {
    bool is_open = false;
    bool is_send = false;
    std::uint64_t number = 0;
  };
  /// A collective operation that not all members have come to yet.
  struct Meeting {
    Event first;
    std::uint32_t first_rank = 0;
    std::uint32_t came = 0;
  };
  struct Meetings {
    std::deque<Meeting> open;
    std::uint64_t done = 0;                                    // before the first that is open
    std::unordered_map<std::uint32_t, std::uint64_t> came_to;  // by rank: operations so far
  };

  void report(std::uint32_t rank, std::uint64_t number, std::string what) {
    ++summary_.unmatched;
    const auto place = std::pair{rank, number};
    if (!problem_.empty() && place >= place_) return;
    place_ = place;
    problem_ = fmt::format("rank {}, event {}: {}", rank, number, what);
  }

  void see(std::uint32_t rank, const Event& e) {
    if (e.kind == Event::Kind::end) return;
    ++summary_.events;
    begin_ns_ = std::min(begin_ns_, e.at_ns);
    end_ns_ = std::max(end_ns_, e.at_ns);
    switch (e.kind) {
      case Event::Kind::send:
      case Event::Kind::receive:
        return see_message(rank, e);
      case Event::Kind::wait:
        return see_wait(rank, e);
      case Event::Kind::collective:
        return see_collective(rank, e);
      default:
        return;
    }
  }

  void see_message(std::uint32_t rank, const Event& e) {
    const bool sends = e.kind == Event::Kind::send;
    if (open_[rank].size() <= e.request) open_[rank].resize(e.request + 1);
    open_[rank][e.request] = {true, sends, e.number};
    if (e.peer == no_peer) return;  // reported at the end: it never completes
    if (e.peer >= summary_.ranks) {
      return report(rank, e.number,
                    fmt::format("its peer is rank {}, which does not exist", e.peer));
    }
    if (sends && e.peer != rank) {
      ++summary_.messages;
      summary_.bytes += e.bytes;
    }
    const MessageKey key{.from = sends ? rank : e.peer,
                         .to = sends ? e.peer : rank,
                         .communicator = e.communicator,
                         .tag = e.tag};
    const auto other = pairing_.meet(key, sends, {e.number, e.bytes});
    if (other && other->bytes != e.bytes) {
      report(rank, e.number,
             fmt::format("{} {} bytes {} rank {}, whose event {} has {}",
                         sends ? "it sends" : "it receives", e.bytes, sends ? "to" : "from", e.peer,
                         other->number, other->bytes));
    }
  }

  void see_wait(std::uint32_t rank, const Event& e) {
    if (e.request < open_[rank].size() && open_[rank][e.request].is_open) {
      open_[rank][e.request].is_open = false;
      return;
    }
    report(rank, e.number, "an operation completes that never began");
  }

  void see_collective(std::uint32_t rank, const Event& e) {
    const auto members = stream_.members(e.communicator);
    if (std::find(members.begin(), members.end(), rank) == members.end()) {
      return report(rank, e.number,
                    fmt::format("it is no member of the communicator {} of {}", e.communicator,
                                name_of(e.operation)));
    }
    Meetings& meetings = meetings_[e.communicator];
    const std::uint64_t index = meetings.came_to[rank]++;
    const std::size_t at = static_cast<std::size_t>(index - meetings.done);
    if (at == meetings.open.size()) {
      meetings.open.push_back({.first = e, .first_rank = rank});
      ++summary_.collectives;
    }
    Meeting& meeting = meetings.open[at];
    check_same(rank, e, meeting);
    ++meeting.came;
    while (!meetings.open.empty() && meetings.open.front().came == members.size()) {
      meetings.open.pop_front();
      ++meetings.done;
    }
  }

  void check_same(std::uint32_t rank, const Event& e, const Meeting& meeting) {
    const Event& first = meeting.first;
    const bool same_size =
        e.varies || e.bytes == first.bytes || e.operation == collective::Operation::reduce_scatter;
    if (e.operation == first.operation && e.root == first.root && e.varies == first.varies &&
        same_size) {
      return;
    }
    report(rank, e.number,
           fmt::format("{} of {} bytes with root {}, where rank {} has {} of {} bytes with root {}",
                       name_of(e.operation), e.bytes, e.root, meeting.first_rank,
                       name_of(first.operation), first.bytes, first.root));
  }

  void see_end(std::uint32_t rank) {
    for (const Open& open : open_[rank]) {
      if (!open.is_open) continue;
      report(rank, open.number,
             open.is_send ? "a send whose completion was not recorded"
                          : "a receive whose completion was not recorded");
    }
    open_[rank] = {};
  }

  void finish() {
    pairing_.each_left([&](const MessageKey& key, bool is_send, const Side& side) {
      if (is_send) {
        report(key.from, side.number,
               fmt::format("{} bytes to rank {} with tag {}, which receives no such message",
                           side.bytes, key.to, key.tag));
      } else {
        report(key.to, side.number,
               fmt::format("{} bytes from rank {} with tag {}, which sends no such message",
                           side.bytes, key.from, key.tag));
      }
    });
    for (const auto& [communicator, meetings] : meetings_) {
      const std::size_t members = stream_.members(communicator).size();
      for (const Meeting& meeting : meetings.open) {
        report(meeting.first_rank, meeting.first.number,
               fmt::format("{} in which {} of {} members take part",
                           name_of(meeting.first.operation), meeting.came, members));
      }
    }
    if (end_ns_ > begin_ns_) summary_.seconds = static_cast<double>(end_ns_ - begin_ns_) / 1e9;
    if (summary_.unmatched == 0) return;
    summary_.problem = fmt::format("{}: {} ({} unmatched in all): record the program anew", file_,
                                   problem_, summary_.unmatched);
  }

  EventStream& stream_;
  const std::string& file_;
  Summary summary_;
  std::vector<std::vector<Open>> open_;  // by rank and request
  Pairing<Side> pairing_;
  std::unordered_map<std::uint32_t, Meetings> meetings_;  // by communicator
  std::pair<std::uint32_t, std::uint64_t> place_;
  std::string problem_;
  std::uint64_t begin_ns_ = ~std::uint64_t{0};
  std::uint64_t end_ns_ = 0;
};

}  // namespace

Result<Summary> examine(EventStream& stream, const std::string& file) {
  return Examination(stream, file).run();
}

}  // namespace weft::trace
