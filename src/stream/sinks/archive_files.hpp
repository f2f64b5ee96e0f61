// SPDX-License-Identifier: Apache-2.0
// ArchiveFiles: the names of a tsa: sink's files, finished and not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stream/uri.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft {

class ArchiveFiles {
 public:
  ArchiveFiles(const Uri& uri, const SinkPlace& place);

  bool are_numbered() const { return is_numbered_; }
  std::string name(std::uint64_t number) const;
  /// The first number from `number` on that is not of a file that an earlier life finished.
  std::uint64_t skip_finished(std::uint64_t number) const;
  /// The unfinished file of a killed life, if there is one. A life that was killed while it copied
  /// one left two, and the copy is the shorter one.
  std::optional<std::string> find_unfinished(const std::string& name) const;
  /// The file that an earlier life was killed over, or finished just before, under a name that no
  /// life writes to; empty if there is none.
  Result<std::string> set_aside(const std::string& name) const;
  /// Removes what lives left unfinished.
  void forget_unfinished(const std::string& name) const;

 private:
  std::string unfinished(const std::string& name) const;
  std::string aside(const std::string& name) const { return unfinished(name) + "-earlier"; }

  std::string path_;  // with %s where files are numbered
  bool is_numbered_;
  std::string run_;
  std::vector<OlderFile> older_;
};

}  // namespace weft
