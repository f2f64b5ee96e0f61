// SPDX-License-Identifier: Apache-2.0
#include "trace/record/recording.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "trace/otf2/otf2_trace.hpp"
#include "trace/record/recorder.hpp"

namespace weft::trace {
namespace {

using Kind = Record::Kind;

std::string_view text_of(std::uint16_t why) {
  switch (static_cast<Incomplete>(why)) {
    case Incomplete::several_threads:
      return "several of its threads call MPI";
    case Incomplete::between_groups:
      return "it uses a communicator between two groups, or one made by a call that is not "
             "recorded";
    case Incomplete::unknown_request:
      return "it completes a request, or takes a matched message, that is not recorded";
    case Incomplete::one_sided:
      return "it uses windows, whose transfers are not recorded";
    case Incomplete::restarted:
      return "its process was started anew after a failure";
  }
  return "it did something that is not recorded";
}

/// Facts in one rank's recording besides its events.
struct RankFacts {
  struct Clock {
    std::uint64_t at_ns = 0;
    std::int64_t ahead_ns = 0;  // rank 0's
  };
  std::vector<Clock> clocks;
  std::unordered_map<std::uint32_t, std::uint64_t> identity_of;  // by the rank's own number
};

/// Time of a rank's clock on rank 0's: as far ahead as measured at both ends, and in between in
/// proportion.
class Alignment {
 public:
  explicit Alignment(const std::vector<RankFacts::Clock>& clocks) {
    if (clocks.empty()) return;
    first_ = clocks.front();
    last_ = clocks.back();
  }
  std::uint64_t operator()(std::uint64_t ns) const {
    double ahead = static_cast<double>(first_.ahead_ns);
    if (last_.at_ns > first_.at_ns) {
      const double share = (static_cast<double>(ns) - static_cast<double>(first_.at_ns)) /
                           static_cast<double>(last_.at_ns - first_.at_ns);
      ahead += share * static_cast<double>(last_.ahead_ns - first_.ahead_ns);
    }
    const std::int64_t aligned = static_cast<std::int64_t>(ns) + static_cast<std::int64_t>(ahead);
    return aligned > 0 ? static_cast<std::uint64_t>(aligned) : 0;
  }

 private:
  RankFacts::Clock first_;
  RankFacts::Clock last_;
};

class Merger {
 public:
  Merger(std::string recordings, std::string directory)
      : recordings_(std::move(recordings)), directory_(std::move(directory)) {}

  Result<Merged> run() {
    auto first = Recording::open(recording_path(recordings_, 0), 0);
    if (!first) return std::move(first).error();
    merged_.ranks = first->ranks();
    world_size_ = first->ranks();
    for (std::uint32_t r = 0; r < merged_.ranks; ++r) {
      if (auto good = read_facts(r); !good) return std::move(good).error();
    }
    // The archive is at its place only when it is whole.
    const std::string partial = recordings_ + "/archive";
    std::error_code error;
    auto good = write(partial);
    if (good) {
      std::filesystem::rename(partial, directory_, error);
      if (error) good = system_error("make", directory_, error.value());
    }
    if (good) return merged_;
    std::filesystem::remove_all(partial, error);
    return std::move(good).error();
  }

 private:
  Result<void> write(const std::string& directory) {
    auto writer = create_otf2(directory, merged_.ranks);
    if (!writer) return std::move(writer).error();
    for (std::uint32_t r = 0; r < merged_.ranks; ++r) {
      if (auto good = copy(r, **writer); !good) return good;
    }
    return (*writer)->finish(communicators_);
  }

  Result<Recording> open(std::uint32_t rank) const {
    auto recording = Recording::open(recording_path(recordings_, rank), rank);
    if (recording && recording->ranks() != world_size_) {
      return corrupt("{}: it is of {} ranks, that of rank 0 of {}", recording->path(),
                     recording->ranks(), world_size_);
    }
    return recording;
  }

  Result<void> read_facts(std::uint32_t rank) {
    auto recording = open(rank);
    if (!recording) return std::move(recording).error();
    RankFacts& facts = facts_.emplace_back();
    for (;;) {
      const auto record = recording->next();
      if (!record) return record.error();
      if (record->kind == Kind::end) return {};
      ++merged_.records;
      if (record->kind == Kind::clock) {
        facts.clocks.push_back({record->time_ns, static_cast<std::int64_t>(record->more)});
      } else if (record->kind == Kind::incomplete) {
        return make_error(ErrorCode::unavailable, "rank {}: the program cannot be recorded: {}",
                          rank, text_of(record->operation));
      } else if (record->kind == Kind::communicator) {
        if (auto good = define(*recording, *record, facts); !good) return good;
      }
    }
  }

  Result<void> define(Recording& recording, const Record& head, RankFacts& facts) {
    if (head.peer == 0 || head.peer > world_size_) {
      return corrupt("{}: a communicator has {} members of {} ranks", recording.path(), head.peer,
                     world_size_);
    }
    std::vector<std::uint32_t> members;
    while (members.size() < head.peer) {
      const auto record = recording.next();
      if (!record) return record.error();
      if (record->kind != Kind::members) {
        return corrupt("{}: members of a communicator are missing", recording.path());
      }
      for (const std::uint64_t two : {record->time_ns, record->bytes, record->more}) {
        for (const std::uint64_t member : {two & 0xffffffffU, two >> 32U}) {
          if (members.size() == head.peer) continue;
          if (member >= world_size_) {
            return corrupt("{}: a communicator has rank {} of {}", recording.path(), member,
                           world_size_);
          }
          members.push_back(static_cast<std::uint32_t>(member));
        }
      }
    }
    facts.identity_of[head.communicator] = head.more;
    const auto number = static_cast<std::uint32_t>(communicators_.size());
    const auto [known, is_new] = number_of_.emplace(head.more, number);
    if (is_new) {
      communicators_.push_back(std::move(members));
    } else if (communicators_[known->second] != members) {
      return corrupt("{}: a communicator has other members than another rank says",
                     recording.path());
    }
    return {};
  }

  Result<void> copy(std::uint32_t rank, Otf2Writer& writer) {
    auto recording = open(rank);
    if (!recording) return std::move(recording).error();
    const Alignment align(facts_[rank].clocks);
    if (auto good = writer.begin_rank(rank); !good) return good;
    std::uint64_t last_ns = 0;
    for (;;) {
      auto record = recording->next();
      if (!record) return record.error();
      if (record->kind == Kind::end) return writer.end_rank();
      if (record->kind == Kind::communicator || record->kind == Kind::members ||
          record->kind == Kind::clock) {
        continue;
      }
      if (auto good = renumber(rank, *recording, *record); !good) return good;
      record->time_ns = last_ns = std::max(last_ns, align(record->time_ns));
      if (auto good = writer.add(*record); !good) return good;
    }
  }

  Result<void> renumber(std::uint32_t rank, const Recording& recording, Record& record) const {
    const bool names_one = record.kind == Kind::send || record.kind == Kind::receive ||
                           record.kind == Kind::send_started || record.kind == Kind::receive_done ||
                           record.kind == Kind::collective;
    if (!names_one) return {};
    const auto identity = facts_[rank].identity_of.find(record.communicator);
    if (identity == facts_[rank].identity_of.end()) {
      return corrupt("{}: communicator {} is not defined", recording.path(), record.communicator);
    }
    record.communicator = number_of_.at(identity->second);
    return {};
  }

  std::string recordings_;
  std::string directory_;
  Merged merged_;
  std::uint32_t world_size_ = 0;
  std::vector<RankFacts> facts_;  // by rank
  std::vector<std::vector<std::uint32_t>> communicators_;
  std::map<std::uint64_t, std::uint32_t> number_of_;  // by identity
};

}  // namespace

Result<Recording> Recording::open(const std::string& path, std::uint32_t rank) {
  Recording recording;
  recording.path_ = path;
  recording.rank_ = rank;
  recording.in_.open(path, std::ios::binary);
  RecordingHead head;
  if (!recording.in_) {
    return make_error(ErrorCode::not_found,
                      "{}: rank {} left no recording: it called neither MPI_Init nor run_program, "
                      "or its host does not share the directory; mpirun has to be that of the "
                      "program's MPI (mpirun.mpich, mpirun.openmpi)",
                      path, rank);
  }
  recording.in_.read(reinterpret_cast<char*>(&head), sizeof head);
  constexpr std::uint32_t most_ranks = 1U << 20U;
  if (!recording.in_ || head.magic != recording_magic || head.rank != rank || head.ranks <= rank ||
      head.ranks > most_ranks) {
    return corrupt("{}: it is no recording of rank {}", path, rank);
  }
  recording.ranks_ = head.ranks;
  return recording;
}

Result<Record> Recording::next() {
  if (at_end_) return Record{};
  Record record;
  in_.read(reinterpret_cast<char*>(&record), sizeof record);
  ++number_;
  if (!in_) {
    return corrupt(
        "rank {}, event {}: the recording ends there: the program was killed or did not come to "
        "its end (MPI_Finalize)",
        rank_, number_);
  }
  if (record.kind < Kind::enter || record.kind > Kind::end || record.operation > calls) {
    return corrupt("rank {}, event {}: no kind of record is {}", rank_, number_,
                   static_cast<unsigned>(record.kind));
  }
  at_end_ = record.kind == Kind::end;
  return record;
}

Result<Merged> merge_recordings(const std::string& recordings, const std::string& directory) {
  return Merger(recordings, directory).run();
}

}  // namespace weft::trace
