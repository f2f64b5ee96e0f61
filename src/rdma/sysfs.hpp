// SPDX-License-Identifier: Apache-2.0
// Small files of the kernel's device tree, as they are read for adapters.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft::rdma {

/// The first line, without what ends it; empty when there is none.
std::string line_of(const std::filesystem::path& path);
/// The number that the file begins with; none when it has none, or cannot be read.
std::optional<std::uint64_t> number_in(const std::filesystem::path& path);
/// The entries of a directory, sorted by name; none when it cannot be read.
std::vector<std::filesystem::path> entries(const std::filesystem::path& directory);

}  // namespace weft::rdma
