// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/tcp_test_support.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/check.hpp"

namespace weft::tcp {
namespace {

constexpr Duration kGiveUp = Duration::seconds(60);

}  // namespace

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

Instant test_now() {
  return Instant(std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::steady_clock::now().time_since_epoch())
                     .count());
}

TcpOptions options_for(std::uint32_t self, const char* listen) {
  TcpOptions options;
  options.self = NodeId(self);
  options.incarnation = Incarnation(1);
  options.listen = listen;
  options.job_id = "test";
  options.secret.assign(bytes(kTestSecret).begin(), bytes(kTestSecret).end());
  options.peer_timeout = Duration::seconds(1);
  return options;
}

Party::Party(const TcpOptions& options) : options_(options) {
  auto opened = open_tcp(options);
  WEFT_CHECK(opened.ok(), "{}", opened.error().message);
  fabric_ = std::move(*opened);
}

void Party::add(Party& other) {
  const auto added = fabric_->add_peer(other.id(), other.incarnation(), other.fabric().address());
  WEFT_CHECK(added.ok(), "{}", added.error().message);
}

bool Party::send(NodeId peer, std::string_view text) {
  TxOp op;
  op.peer = peer;
  op.segments[0] = bytes(text);
  const bool taken = fabric_->post({&op, 1}) == 1;
  outstanding += taken ? 1 : 0;
  return taken;
}

bool Party::write(NodeId peer, const RemoteRegion& region, std::uint64_t offset,
                  std::span<const std::byte> data) {
  TxOp op;
  op.kind = OpKind::write;
  op.peer = peer;
  op.region = region;
  op.region_offset = offset;
  op.segments[0] = data;
  const bool taken = fabric_->post({&op, 1}) == 1;
  outstanding += taken ? 1 : 0;
  return taken;
}

bool Party::step() {
  std::array<Completion, 64> completions;
  const std::size_t n = fabric_->poll(test_now(), completions);
  for (std::size_t i = 0; i < n; ++i) {
    const Completion& completion = completions[i];
    switch (completion.kind) {
      case CompletionKind::received: {
        const std::string_view text(reinterpret_cast<const char*>(completion.data.data()),
                                    completion.data.size());
        if (on_message) {
          on_message(completion.peer, text);
        } else {
          messages.emplace_back(completion.peer, text);
        }
        break;
      }
      case CompletionKind::failed:
        ++failed;
        [[fallthrough]];
      case CompletionKind::sent:
      case CompletionKind::written:
        --outstanding;
        break;
      case CompletionKind::peer_up:
      case CompletionKind::peer_down:
        events.push_back(completion);
        break;
    }
  }
  return n > 0;
}

bool Party::is_up(NodeId peer) const {
  const auto last = std::find_if(events.rbegin(), events.rend(),
                                 [&](const Completion& e) { return e.peer == peer; });
  return last != events.rend() && last->kind == CompletionKind::peer_up;
}

std::size_t Party::count(CompletionKind kind) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(events, [&](const Completion& e) { return e.kind == kind; }));
}

namespace {

void sleep_until_event(std::span<Party* const> parties, int extra, Instant limit) {
  std::vector<pollfd> descriptors;
  if (extra >= 0) descriptors.push_back({extra, POLLIN, 0});
  for (Party* party : parties) {
    const WaitHint hint = party->fabric().prepare_wait(test_now());
    if (hint.ready) return;
    descriptors.push_back({hint.descriptor, POLLIN, 0});
    limit = std::min(limit, hint.poll_by);
  }
  const std::int64_t left = std::max<std::int64_t>(0, (limit - test_now()).ticks());
  const timespec timeout{left / 1'000'000'000, left % 1'000'000'000};
  ::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
}

bool step_all(std::span<Party* const> parties) {
  bool busy = false;
  for (Party* party : parties) busy = party->step() || busy;
  return busy;
}

}  // namespace

bool drive(std::span<Party* const> parties, const std::function<bool()>& done) {
  const Instant give_up = test_now() + kGiveUp;
  while (!done()) {
    if (test_now() >= give_up) return false;
    if (!step_all(parties) && !done()) {
      // `done` may have posted something that nobody's descriptor tells about.
      sleep_until_event(parties, -1, std::min(give_up, test_now() + Duration::milliseconds(20)));
    }
  }
  return true;
}

void drive_for(std::span<Party* const> parties, Duration time) {
  const Instant end = test_now() + time;
  while (test_now() < end) {
    if (!step_all(parties)) sleep_until_event(parties, -1, end);
  }
}

void introduce(Party& a, Party& b) {
  a.add(b);
  b.add(a);
}

Stranger::Stranger(const std::string& address) {
  const auto parsed = parse_address(address);
  WEFT_CHECK(parsed.ok());
  socket_ = Descriptor(::socket(parsed->family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  WEFT_CHECK(::connect(socket_.get(), parsed->get(), parsed->length) == 0, "errno {}", errno);
}

bool Stranger::send(std::span<const std::byte> data) {
  return ::send(socket_.get(), data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(data.size());
}

bool Stranger::read(std::span<Party* const> parties, std::span<std::byte> into) {
  const Instant give_up = test_now() + kGiveUp;
  while (!into.empty() && test_now() < give_up) {
    const ssize_t n = ::recv(socket_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (n > 0) {
      into = into.subspan(static_cast<std::size_t>(n));
    } else if (n == 0 || errno != EAGAIN) {
      return false;
    } else if (!step_all(parties)) {
      sleep_until_event(parties, socket_.get(), give_up);
    }
  }
  return into.empty();
}

int Stranger::read_to_end(std::span<Party* const> parties) {
  int total = 0;
  std::byte one{};
  const Instant give_up = test_now() + kGiveUp;
  while (read(parties, {&one, 1})) ++total;
  return test_now() < give_up ? total : -1;
}

bool Stranger::join(std::span<Party* const> parties, const JobKey& key, const Hello& hello,
                    Answer& answer) {
  GreetingBytes greeting;
  if (!read(parties, greeting)) return false;
  const HelloBytes said = encode(key, greeting, hello);
  AnswerBytes answered;
  if (!send(said) || !read(parties, answered)) return false;
  const auto decoded = decode_answer(key, greeting, said, answered);
  if (!decoded.ok()) return false;
  answer = *decoded;
  return true;
}

}  // namespace weft::tcp
