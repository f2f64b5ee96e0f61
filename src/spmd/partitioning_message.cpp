// SPDX-License-Identifier: Apache-2.0
#include "spmd/partitioning_message.hpp"

#include <optional>

namespace weft::spmd {
namespace {

constexpr std::size_t integers_of_slice = 2 * max_dimensions + 1;
constexpr std::uint64_t most_mappings = 1 << 20;

std::optional<std::uint64_t> take_integer(std::span<const std::byte>& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  bytes = bytes.subspan(8);
  return value;
}

std::optional<Slice> take_slice(std::span<const std::byte>& bytes, const Space& space) {
  Slice slice;
  if (bytes.size() < integers_of_slice * 8) return std::nullopt;
  for (unsigned d = 0; d < max_dimensions; ++d) {
    const auto from = static_cast<std::int64_t>(*take_integer(bytes));
    const auto to = static_cast<std::int64_t>(*take_integer(bytes));
    if (from < 0 || to <= from || to > space.extent(d)) return std::nullopt;
    slice.box = slice.box.with(d, from, to);
  }
  const std::uint64_t mapping = *take_integer(bytes);
  if (mapping > most_mappings) return std::nullopt;
  slice.mapping = static_cast<std::uint32_t>(mapping);
  return slice;
}

}  // namespace

void append_integer(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) {
    out.push_back(static_cast<std::byte>(value >> shift & 0xff));
  }
}

void append_slices(std::vector<std::byte>& out, std::span<const Slice> slices) {
  append_integer(out, slices.size());
  for (const Slice& slice : slices) {
    for (unsigned d = 0; d < max_dimensions; ++d) {
      append_integer(out, static_cast<std::uint64_t>(slice.box.from[d]));
      append_integer(out, static_cast<std::uint64_t>(slice.box.to[d]));
    }
    append_integer(out, slice.mapping);
  }
}

std::vector<std::byte> encode(const Partitioning& partitioning) {
  std::vector<std::byte> out;
  for (std::uint32_t r = 0; r < partitioning.ranks(); ++r) {
    append_slices(out, partitioning.slices(Rank(r)));
  }
  return out;
}

Result<Partitioning> decode_partitioning(std::span<const std::byte> bytes, const Space& space,
                                         std::uint32_t ranks) {
  const Error corrupt{ErrorCode::corrupt,
                      "a partitioning that was received does not decode: all ranks must move the "
                      "same containers in the same order"};
  std::vector<std::vector<Slice>> slices(ranks);
  for (auto& of_rank : slices) {
    const auto count = take_integer(bytes);
    if (!count || *count > bytes.size() / (integers_of_slice * 8)) return corrupt;
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto slice = take_slice(bytes, space);
      if (!slice) return corrupt;
      of_rank.push_back(*slice);
    }
  }
  if (!bytes.empty()) return corrupt;
  return Partitioning(space, std::move(slices));
}

}  // namespace weft::spmd
