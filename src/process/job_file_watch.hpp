// SPDX-License-Identifier: Apache-2.0
// JobFileWatch: a job's file as one of its processes uses it: finds its rank, and then the others,
// wherever they move to (paper 4, 4.5.6 and 4.5.7).
#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/choice/fabric_choice.hpp"
#include "process/news_source.hpp"
#include "runtime/membership/job_file.hpp"

namespace weft {

/// The secret that the file names, or this user's, and the job's id.
Result<JobSecret> secret_of(const JobFile& file);

class JobFileWatch final : public NewsSource {
 public:
  /// Reads the file, and looks its hosts up. `rank`: this process's, when the environment names it.
  /// Errors: one line with the file's.
  static Result<std::unique_ptr<JobFileWatch>> open(const std::string& path,
                                                    std::optional<std::uint32_t> rank);

  const JobFile& file() const { return file_; }
  /// The ranks that this process may be, in order: those of this machine, or its own.
  const std::vector<std::uint32_t>& candidates() const { return candidates_; }
  /// Returns the number of ranks on this machine.
  std::uint32_t ranks_here() const { return ranks_here_; }

  /// The place that this process took, and an endpoint that listens there.
  struct Place {
    NodeId self{};
    /// By the time of day, until other ranks say that they know a later one.
    std::shared_ptr<const OwnLife> life;
    OpenedFabric opened;
  };
  /// `secret` is of those processes of the job that use the same fabric; a process with another one
  /// is turned away. Listens at the first address of this machine that is free, or at the rank's:
  /// no two processes can be one rank. When all are taken, it tries for some seconds more; that
  /// blocks. Adds all other ranks as peers.
  Result<Place> take_place(const FabricChoice& choice, const JobSecret& secret);

  /// Looks whether the file has changed, and gives the fabric the addresses that have. An
  /// unreadable file is logged, and the old addresses stay. Error: another process was given this
  /// rank.
  Result<void> take_news(Fabric& fabric) override;
  Duration period() const override { return Duration::seconds(1); }

 private:
  explicit JobFileWatch(std::string path) : path_(std::move(path)) {}
  Result<void> read();
  Result<void> find_candidates(std::optional<std::uint32_t> rank);
  Result<Place> try_place(std::uint32_t rank, const FabricChoice& choice, const JobSecret& secret);
  Result<void> add_peers(Fabric& fabric);
  Result<void> add_peer(Fabric& fabric, std::uint32_t rank, Incarnation incarnation);
  Error all_taken(const Error& last) const;
  bool has_changed();

  std::string path_;
  JobFile file_;
  RankAddresses names_;
  std::vector<std::string> addresses_;     // by rank
  std::vector<bool> is_here_;              // by rank
  std::vector<std::uint32_t> candidates_;  // ranks that this process may be
  std::uint32_t ranks_here_ = 0;
  NodeId self_{};
  JobSecret secret_;
  struct stat seen_ {};
  std::string complaint_;  // the last one
};

}  // namespace weft
