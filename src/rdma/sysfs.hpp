// SPDX-License-Identifier: Apache-2.0
// Small files of the kernel's device tree, as they are read for adapters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft::rdma {

/// The beginning of an ordinary file, at most so many bytes; empty when it cannot be read. Never
/// waits: what is no ordinary file, as a pipe or a device, is not read.
std::string text_of(const std::filesystem::path& path, std::size_t most);
/// The name of a file or directory, fit for a terminal: as `line_of`.
std::string name_of(const std::filesystem::path& path);
/// The first line, without its end; empty when there is none. Bytes of it that are no printable
/// ASCII, as a terminal's escape, become '?'.
std::string line_of(const std::filesystem::path& path);
/// The number that the file begins with; none when it has none, or one with a sign, or cannot be
/// read.
std::optional<std::uint64_t> number_in(const std::filesystem::path& path);
/// The entries of a directory, sorted by name; none when it cannot be read.
std::vector<std::filesystem::path> entries(const std::filesystem::path& directory);

}  // namespace weft::rdma
