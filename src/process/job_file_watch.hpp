// SPDX-License-Identifier: Apache-2.0
// JobFileWatch: one process's view of a job's file. Finds the process's rank, and follows the
// others when they move (paper 4, 4.5.6 and 4.5.7).
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
  /// Reads the file, and looks up its hosts. `rank`: this process's, if the environment names it.
  /// Errors: the file's, in one line.
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
    /// From the time of day, until another rank knows a later one.
    std::shared_ptr<const OwnLife> life;
    OpenedFabric opened;
  };
  /// Processes of the job that use the same fabric share `secret`; a process with another one is
  /// refused. Listens at the first address of this machine that is free, or at the rank's: no two
  /// processes can have the same rank. When all are taken, it blocks and retries for some seconds.
  /// Adds all other ranks as peers.
  Result<Place> take_place(const FabricChoice& choice, const JobSecret& secret);

  /// Checks the file for changes, and gives the fabric the new addresses. Logs an unreadable file,
  /// and keeps the old addresses. Error: this rank has moved elsewhere.
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
