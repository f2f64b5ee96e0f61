// SPDX-License-Identifier: Apache-2.0
// PmixSession: this process among those that a launcher (mpirun, srun --mpi=pmix, prterun) started
// together. The only code that knows PMIx.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft::stream {

/// From construction to destruction this process is a client of its launcher's PMIx server, and
/// must be, for the launcher not to take its end for an accident. One at a time.
class PmixSession {
 public:
  /// Whether a launcher that speaks PMIx started this process.
  static bool offered();
  /// Errors: no launcher, or one that refuses.
  static Result<std::unique_ptr<PmixSession>> open();
  ~PmixSession();
  PmixSession(const PmixSession&) = delete;
  PmixSession& operator=(const PmixSession&) = delete;

  const std::string& job_id() const { return job_id_; }
  std::uint32_t rank() const { return rank_; }
  std::uint32_t size() const { return size_; }
  /// How many of the job's processes run on this machine; 0 when the launcher does not say.
  std::uint32_t size_here() const { return size_here_; }

  /// All processes of the job call this with the same key, and get everybody's text, by rank.
  /// Blocks until all have called. Text is at most 4096 bytes.
  Result<std::vector<std::string>> exchange(const std::string& key, const std::string& text);

 private:
  PmixSession() = default;

  std::string job_id_;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t size_here_ = 0;
};

}  // namespace weft::stream
