// SPDX-License-Identifier: Apache-2.0
#include "spmd/checkpoint_image.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/crc32c.hpp"
#include "base/make_error.hpp"
#include "spmd/partitioning_message.hpp"

namespace weft::spmd {
namespace {

constexpr char magic[] = "WEFTCKP1";
constexpr std::size_t integer = 8;
constexpr std::size_t shape_begin = 3 * integer;

std::uint64_t integer_at(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < integer; ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << 8 * i;
  }
  return value;
}

}  // namespace

std::vector<std::byte> checkpoint_head(const ContainerList& containers, Rank rank,
                                       std::uint64_t step) {
  std::vector<std::byte> shape;
  append_integer(shape, rank.value());
  append_integer(shape, containers.empty() ? 0 : containers[0]->group().size());
  append_integer(shape, containers.size());
  for (const ContainerBase* container : containers) {
    WEFT_CHECK(container->partitioning().has_value(), "a checkpoint of a container without values");
    append_integer(shape, container->element_size());
    for (unsigned d = 0; d < max_dimensions; ++d) {
      append_integer(shape, static_cast<std::uint64_t>(container->space().extent(d)));
    }
    append_slices(shape, container->partitioning()->slices(rank));
  }
  std::vector<std::byte> head(integer);
  std::memcpy(head.data(), magic, integer);
  append_integer(head, step);
  append_integer(head, shape.size());
  head.insert(head.end(), shape.begin(), shape.end());
  return head;
}

std::uint64_t checkpoint_size(const ContainerList& containers, Rank rank) {
  std::uint64_t size = checkpoint_head(containers, rank, 0).size() + integer;
  for (const ContainerBase* container : containers) {
    const auto elements = static_cast<std::uint64_t>(container->partitioning()->size(rank));
    size += elements * container->element_size();
  }
  return size;
}

Result<void> write_checkpoint(
    const ContainerList& containers, Rank rank, std::uint64_t step,
    const std::function<Result<void>(std::span<const std::byte>)>& write) {
  std::vector<std::byte> piece = checkpoint_head(containers, rank, step);
  std::uint32_t checksum = crc32c(piece);
  if (auto done = write(piece); !done.ok()) return done;
  for (const ContainerBase* container : containers) {
    const auto slices = container->slices();
    for (std::size_t k = 0; k < slices.size(); ++k) {
      piece.resize(static_cast<std::size_t>(slices[k].box.size()) * container->element_size());
      container->pack(k, piece);
      checksum = crc32c(piece, checksum);
      if (auto done = write(piece); !done.ok()) return done;
    }
  }
  piece.clear();
  append_integer(piece, checksum);
  return write(piece);
}

Result<void> check_head(const std::string& name, std::span<const std::byte> head,
                        const ContainerList& containers, Rank rank) {
  const std::vector<std::byte> expected = checkpoint_head(containers, rank, 0);
  if (head.size() < shape_begin || std::memcmp(head.data(), magic, integer) != 0) {
    return corrupt("{}: not a checkpoint, or a damaged one", name);
  }
  const bool same =
      head.size() >= expected.size() &&
      std::equal(expected.begin() + 2 * integer, expected.end(), head.begin() + 2 * integer);
  if (!same) {
    return invalid(
        "{}: of other containers, partitionings or ranks: restore with those that it was saved "
        "with",
        name);
  }
  return {};
}

std::uint64_t step_of(std::span<const std::byte> head) {
  return integer_at(head, integer);
}

Result<void> read_values(const ContainerList& containers,
                         const std::function<Result<void>(std::span<std::byte>)>& read) {
  std::vector<std::byte> piece;
  for (ContainerBase* container : containers) {
    const auto slices = container->slices();
    for (std::size_t k = 0; k < slices.size(); ++k) {
      piece.resize(static_cast<std::size_t>(slices[k].box.size()) * container->element_size());
      if (auto done = read(piece); !done.ok()) return done;
      container->unpack(k, piece);
    }
  }
  return {};
}

}  // namespace weft::spmd
