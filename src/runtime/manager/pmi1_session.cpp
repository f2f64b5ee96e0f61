// SPDX-License-Identifier: Apache-2.0
#include "runtime/manager/pmi1_session.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "base/make_error.hpp"
#include "base/number_text.hpp"

namespace weft {
namespace {

constexpr std::size_t longest_line = 64 << 10;

/// The value of `key=` in a line of such pairs.
std::string_view value_of(std::string_view line, std::string_view key) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=') {
      return word.substr(key.size() + 1);
    }
    at = end + 1;
  }
  return {};
}

/// Values are text without spaces.
std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::optional<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto parsed = std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    if (parsed.ptr != text.data() + i + 2) return std::nullopt;
    bytes += static_cast<char>(value);
  }
  return bytes;
}

}  // namespace

bool Pmi1Session::offered() {
  return environment_number("PMI_FD") && environment_number("PMI_RANK") &&
         environment_number("PMI_SIZE");
}

Result<std::unique_ptr<ManagerSession>> Pmi1Session::open() {
  return open(static_cast<int>(*environment_number("PMI_FD")));
}

Result<std::unique_ptr<ManagerSession>> Pmi1Session::open(int socket) {
  std::unique_ptr<Pmi1Session> session(new Pmi1Session(socket));
  session->rank_ = environment_number("PMI_RANK").value_or(0);
  session->size_ = environment_number("PMI_SIZE").value_or(0);
  session->size_here_ = environment_number("MPI_LOCALNRANKS").value_or(0);
  if (session->rank_ >= session->size_) {
    return make_error(ErrorCode::unavailable, "PMI: the launcher says rank {} of {}",
                      session->rank_, session->size_);
  }
  if (auto met = session->introduce(); !met) return std::move(met).error();
  return std::unique_ptr<ManagerSession>(std::move(session));
}

Pmi1Session::~Pmi1Session() {
  (void)ask("cmd=finalize", "finalize_ack");
  ::close(socket_);
}

Result<void> Pmi1Session::introduce() {
  if (auto met = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"); !met) {
    return std::move(met).error();
  }
  auto longest = ask("cmd=get_maxes", "maxes");
  if (!longest) return std::move(longest).error();
  longest_value_ = parse_number<std::uint32_t>(value_of(*longest, "vallen_max")).value_or(256) - 1;
  auto space = ask("cmd=get_my_kvsname", "my_kvsname");
  if (!space) return std::move(space).error();
  space_ = value_of(*space, "kvsname");
  job_id_ = space_;
  return {};
}

Result<std::string> Pmi1Session::ask(const std::string& line, std::string_view answer) {
  const auto gone = [] { return Error{ErrorCode::unavailable, "PMI: the launcher is gone"}; };
  const std::string sent = line + "\n";
  for (std::size_t done = 0; done < sent.size();) {
    const ssize_t n = ::send(socket_, sent.data() + done, sent.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return gone();
    done += static_cast<std::size_t>(n);
  }
  std::size_t end = 0;
  while ((end = received_.find('\n')) == std::string::npos) {
    char bytes[1024];
    const ssize_t n = ::read(socket_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || received_.size() > longest_line) return gone();
    received_.append(bytes, static_cast<std::size_t>(n));
  }
  const std::string got = received_.substr(0, end);
  received_.erase(0, end + 1);
  const std::string_view code = value_of(got, "rc");
  if (value_of(got, "cmd") != answer || (!code.empty() && code != "0")) {
    return make_error(ErrorCode::unavailable, "PMI: the launcher answers '{}' to '{}'", got, line);
  }
  return got;
}

Result<void> Pmi1Session::put(const std::string& key, const std::string& value) {
  auto done =
      ask(fmt::format("cmd=put kvsname={} key={} value={}", space_, key, value), "put_result");
  if (!done) return std::move(done).error();
  return {};
}

Result<std::string> Pmi1Session::get(const std::string& key) {
  auto got = ask(fmt::format("cmd=get kvsname={} key={}", space_, key), "get_result");
  if (!got) return got;
  return std::string(value_of(*got, "value"));
}

// Long texts go in pieces: KEY-RANK is the number of pieces, KEY-RANK-I each of them.
Result<std::vector<std::string>> Pmi1Session::exchange(const std::string& key,
                                                       const std::string& text) {
  if (text.size() > longest_text) {
    return invalid("PMI: {} is too long", key);
  }
  const std::string own = to_hex(text);
  const std::size_t pieces = (own.size() + longest_value_ - 1) / longest_value_;
  if (auto put_count = put(fmt::format("{}-{}", key, rank_), std::to_string(pieces)); !put_count) {
    return put_count.error();
  }
  for (std::size_t i = 0; i < pieces; ++i) {
    if (auto done = put(fmt::format("{}-{}-{}", key, rank_, i),
                        own.substr(i * longest_value_, longest_value_));
        !done) {
      return done.error();
    }
  }
  if (auto all = ask("cmd=barrier_in", "barrier_out"); !all) return std::move(all).error();
  std::vector<std::string> texts;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    auto count = get(fmt::format("{}-{}", key, rank));
    if (!count) return std::move(count).error();
    std::string theirs;
    for (std::uint32_t i = 0; i < parse_number<std::uint32_t>(*count).value_or(0); ++i) {
      auto piece = get(fmt::format("{}-{}-{}", key, rank, i));
      if (!piece) return std::move(piece).error();
      theirs += *piece;
      if (theirs.size() > 2 * longest_text) break;
    }
    auto bytes = from_hex(theirs);
    if (!bytes || bytes->size() > longest_text) {
      return corrupt("PMI: what rank {} published as {} cannot be read", rank, key);
    }
    texts.push_back(std::move(*bytes));
  }
  return texts;
}

}  // namespace weft
