// SPDX-License-Identifier: Apache-2.0
// ListablePath: a file for lists of files whose separators its own path may have.
#pragma once

#include <string>

#include "base/descriptor.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// A path for LD_PRELOAD, FI_PROVIDER_PATH and the like, where spaces and colons separate and '$'
/// expands, without any way to quote them. A file or directory whose path has one of those is named
/// by way of this process, which holds it open: processes of this user can use that path, on this
/// host, for as long as the object lives. Nothing is left behind when weft is killed.
class ListablePath {
 public:
  /// Error: the file cannot be opened; names it.
  static Result<ListablePath> of(const std::string& path);
  const std::string& text() const { return text_; }

 private:
  ListablePath(std::string text, Descriptor file)
      : text_(std::move(text)), file_(std::move(file)) {}

  std::string text_;
  Descriptor file_;
};

}  // namespace weft::emulate
