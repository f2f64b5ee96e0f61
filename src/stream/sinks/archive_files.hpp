// SPDX-License-Identifier: Apache-2.0
// ArchiveFiles: the names of a tsa: sink's files, finished and not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/existing_file.hpp"
#include "stream/uri.hpp"
#include "weft/result.hpp"
#include "weft/sink.hpp"

namespace weft {

class ArchiveFiles {
 public:
  /// Behind the name of an unfinished file that an earlier life left.
  static constexpr std::string_view earlier_suffix = "-earlier";

  ArchiveFiles(const Uri& uri, const SinkPlace& place);

  /// The files' name, in which "%s" stands for their number.
  const std::string& pattern() const { return path_; }
  std::string name(std::uint64_t number) const;
  /// The first number from `number` on that is not of a file that an earlier life finished.
  std::uint64_t skip_finished(std::uint64_t number) const;
  /// The unfinished file of a killed life, if there is one. A life that was killed while it copied
  /// one left two, and the copy is the shorter one.
  std::optional<std::string> find_unfinished(const std::string& name) const;
  /// Makes an archive of what lies unfinished, if anything in it is whole, and removes the rest.
  /// Returns the number of its timeslices. Errors name the file that has the data.
  Result<std::uint64_t> complete(const std::string& name, Existing existing) const;
  /// The file that an earlier life was killed over, or finished just before, under a name that no
  /// life writes to; empty if there is none.
  Result<std::string> set_aside(const std::string& name) const;

 private:
  void forget_unfinished(const std::string& name) const;
  std::string unfinished(const std::string& name) const;
  std::string aside(const std::string& name) const {
    return unfinished(name).append(earlier_suffix);
  }

  std::string path_;  // with %s where files are numbered
  bool is_numbered_;
  std::string run_;
  std::vector<OlderFile> older_;
};

}  // namespace weft
