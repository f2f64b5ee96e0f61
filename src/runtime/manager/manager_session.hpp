// SPDX-License-Identifier: Apache-2.0
// ManagerSession: this process among those that a launcher (mpirun, srun) started together, and how
// they exchange the data that they need to connect.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft {

/// From construction to destruction this process is its launcher's client, and must be, for the
/// launcher not to take its end for an accident. One at a time, one thread.
class ManagerSession {
 public:
  /// Returns whether a launcher started this process that speaks PMIx (mpirun of Open MPI, prterun,
  /// srun --mpi=pmix) or PMI-1 (mpirun of MPICH, srun --mpi=pmi2).
  static bool offered();
  /// Errors: no launcher, or one that refuses.
  static Result<std::unique_ptr<ManagerSession>> open();
  virtual ~ManagerSession() = default;

  const std::string& job_id() const { return job_id_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  /// Returns how many of the job's processes run on this machine; 0 when the launcher does not say.
  std::uint32_t size_here() const { return size_here_; }

  /// All processes of the job call this with the same key, and get everybody's text, by rank. Any
  /// bytes, at most `longest_text`. Blocks until all have called.
  virtual Result<std::vector<std::string>> exchange(const std::string& key,
                                                    const std::string& text) = 0;

  static constexpr std::size_t longest_text = 4096;

 protected:
  ManagerSession() = default;

  std::string job_id_;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t size_here_ = 0;
};

}  // namespace weft
