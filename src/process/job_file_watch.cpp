// SPDX-License-Identifier: Apache-2.0
#include "process/job_file_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "runtime/clock.hpp"
#include "runtime/membership/host_names.hpp"
#include "runtime/membership/life.hpp"
#include "runtime/membership/secret_file.hpp"

namespace weft {
namespace {

/// An address that is taken may be a former life's that is about to end.
constexpr Duration patience = Duration::seconds(5);
constexpr int retry_ms = 50;

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

Result<std::unique_ptr<JobFileWatch>> JobFileWatch::open(const std::string& path,
                                                         std::optional<std::uint32_t> rank) {
  std::unique_ptr<JobFileWatch> watch(new JobFileWatch(path));
  (void)watch->has_changed();
  if (auto read = watch->read(); !read) return std::move(read).error();
  if (auto found = watch->find_candidates(rank); !found) return std::move(found).error();
  return watch;
}

Result<void> JobFileWatch::read() {
  auto file = read_job_file(path_);
  if (!file) return std::move(file).error();
  auto addresses = names_.resolve(*file);
  if (!addresses) return std::move(addresses).error();
  file_ = std::move(file).value();
  addresses_ = std::move(addresses).value();
  is_here_.assign(addresses_.size(), false);
  for (const std::uint32_t rank : weft::ranks_here(addresses_)) is_here_[rank] = true;
  return {};
}

Result<void> JobFileWatch::find_candidates(std::optional<std::uint32_t> rank) {
  candidates_ = weft::ranks_here(addresses_);
  if (candidates_.empty()) {
    return invalid("{}: none of the {} addresses is this machine's, which has {}; add one", path_,
                   addresses_.size(), fmt::join(local_addresses(), ", "));
  }
  ranks_here_ = static_cast<std::uint32_t>(candidates_.size());
  if (!rank) return {};
  if (*rank >= addresses_.size()) {
    return invalid("{}: there is no rank {}; the file has the addresses of ranks 0 to {}", path_,
                   *rank, addresses_.size() - 1);
  }
  if (std::find(candidates_.begin(), candidates_.end(), *rank) == candidates_.end()) {
    return invalid("{}: rank {} is at {}, which is not this machine; it has {}",
                   file_.where(file_.ranks[*rank].line), *rank, addresses_[*rank],
                   fmt::join(local_addresses(), ", "));
  }
  candidates_ = {*rank};
  return {};
}

Result<JobSecret> secret_of(const JobFile& file) {
  auto secret = file.secret_file.empty()
                    ? read_own_secret()
                    : read_secret_file(file.secret_file, fmt::format("{}: secret_file",
                                                                     file.where(file.secret_line)));
  if (!secret) return std::move(secret).error();
  return JobSecret{.job_id = fmt::format("weft file {}", file.job_id),
                   .secret = std::move(secret).value()};
}

Result<JobFileWatch::Place> JobFileWatch::take_place(const FabricChoice& choice,
                                                     const JobSecret& secret) {
  secret_ = secret;
  const Instant until = monotonic_now() + patience;
  for (;;) {
    Error last;
    for (const std::uint32_t rank : candidates_) {
      auto place = try_place(rank, choice, secret);
      if (place) {
        self_ = NodeId(rank);
        if (auto added = add_peers(*place->opened.fabric); !added) return std::move(added).error();
        // A process that held the address until a moment ago has a lower number for sure. (A file's
        // time may be of another machine's clock: not that.)
        wait_for(std::min(place->life->incarnation, Incarnation(incarnation_now().value() + 1)));
        return place;
      }
      last = std::move(place).error();
      if (last.code != ErrorCode::unavailable) return last;
    }
    if (monotonic_now() >= until) return all_taken(last);
    (void)::poll(nullptr, 0, retry_ms);
  }
}

Result<JobFileWatch::Place> JobFileWatch::try_place(std::uint32_t rank, const FabricChoice& choice,
                                                    const JobSecret& secret) {
  const auto life = std::make_shared<OwnLife>();
  life->incarnation = Incarnation(std::max(incarnation_now(), file_.changed).value() + 1);
  Place place{.self = NodeId(rank), .life = life, .opened = {}};
  auto opened = open_fabric(choice,
                            {.self = place.self,
                             .incarnation = life->incarnation,
                             .life = life,
                             .listen = listening_address(file_.ranks[rank], addresses_[rank]),
                             .known_as = addresses_[rank]},
                            secret);
  if (!opened) return std::move(opened).error();
  place.opened = std::move(opened).value();
  return place;
}

Error JobFileWatch::all_taken(const Error& last) const {
  if (candidates_.size() == 1) {
    const std::uint32_t rank = candidates_.front();
    return make_error(ErrorCode::unavailable,
                      "{}: rank {} cannot listen: {}; a process of this rank may run already",
                      file_.where(file_.ranks[rank].line), rank, last.message);
  }
  return make_error(ErrorCode::unavailable,
                    "{}: the addresses of all {} ranks of this machine are taken, {}; start one "
                    "process for each, or free their ports",
                    path_, candidates_.size(),
                    fmt::format("from {} to {}", addresses_[candidates_.front()],
                                addresses_[candidates_.back()]));
}

Result<void> JobFileWatch::add_peers(Fabric& fabric) {
  for (std::uint32_t rank = 0; rank < addresses_.size(); ++rank) {
    if (NodeId(rank) == self_) continue;
    // The peer's incarnation is unknown; every incarnation is later than 0.
    auto added = add_peer(fabric, rank, Incarnation(0));
    if (!added) {
      return Error{added.error().code,
                   fmt::format("{}: rank {}: {}", file_.where(file_.ranks[rank].line), rank,
                               added.error().message)};
    }
  }
  return {};
}

/// Adds a rank to the fabric; ranks of this machine share memory with this process if the fabric
/// can.
Result<void> JobFileWatch::add_peer(Fabric& fabric, std::uint32_t rank, Incarnation incarnation) {
  const std::string& address = addresses_[rank];
  return fabric.add_peer(
      NodeId(rank), incarnation,
      is_here_[rank] ? address_here(fabric.address(), address, secret_) : address);
}

bool JobFileWatch::has_changed() {
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) return false;  // it is being replaced
  const bool same = status.st_ino == seen_.st_ino && status.st_size == seen_.st_size &&
                    same_time(status.st_mtim, seen_.st_mtim);
  seen_ = status;
  return !same;
}

Result<void> JobFileWatch::take_news(Fabric& fabric) {
  if (!has_changed()) return {};
  const std::vector<std::string> before = addresses_;
  const JobFile former = file_;
  const std::vector<bool> former_here = is_here_;
  auto good = read();
  if (good && addresses_.size() != before.size()) {
    good = invalid("{}: has {} addresses now, not {}; a job keeps its ranks", path_,
                   addresses_.size(), before.size());
    file_ = former;
    addresses_ = before;
    is_here_ = former_here;
  }
  if (!good) {
    seen_ = {};  // it is looked at again
    if (std::exchange(complaint_, good.error().message) != complaint_) {
      spdlog::warn("{}; what it said before holds", complaint_);
    }
    return {};
  }
  complaint_.clear();
  for (std::uint32_t rank = 0; rank < addresses_.size(); ++rank) {
    if (addresses_[rank] == before[rank]) continue;
    if (NodeId(rank) == self_) {
      return make_error(
          ErrorCode::cancelled,
          "{}: rank {} is to be at {}, but this process is at {}; it leaves the rank to another",
          file_.where(file_.ranks[rank].line), rank, addresses_[rank], before[rank]);
    }
    // The life there has read the change, so its number is higher; earlier ones are not wanted.
    auto added = add_peer(fabric, rank, file_.changed);
    if (!added) spdlog::warn("rank {}: {}", rank, added.error().message);
  }
  return {};
}

}  // namespace weft
