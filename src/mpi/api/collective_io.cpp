// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/collective_io.hpp"

#include <cerrno>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "base/check.hpp"

namespace weft::mpi {
namespace {

/// Gaps of up to this length are read with what is around them.
constexpr std::uint64_t small_gap = 64 * 1024;
/// Accesses of fewer than one of so many bytes of the file are not gathered.
constexpr std::uint64_t most_sparse = 64;

/// One process's part of an access, as all hear of it.
struct Part {
  std::int64_t first = 0;
  std::int64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
  std::uint64_t is_missing = 0;
};

Part part_of(const FileView& view, std::uint64_t begin, std::uint64_t bytes) {
  Part part{.first = std::numeric_limits<std::int64_t>::max(), .bytes = bytes};
  for_pieces(view, begin, bytes, [&](const FilePiece& piece) {
    part.first = std::min(part.first, piece.place);
    part.end = std::max(part.end, piece.place + static_cast<std::int64_t>(piece.bytes));
    ++part.pieces;
    return true;
  });
  return part;
}

/// Empty: the job is over.
std::vector<Part> exchange_parts(const FileObject& file, const Part& own) {
  int size = 1;
  (void)MPI_Comm_size(file.comm, &size);
  std::vector<Part> parts(static_cast<std::size_t>(size));
  const int error =
      MPI_Allgather(&own, sizeof own, MPI_BYTE, parts.data(), sizeof own, MPI_BYTE, file.comm);
  if (error != MPI_SUCCESS) parts.clear();
  return parts;
}

/// What all parts are together.
struct Whole {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t pieces = 0;
  bool is_interleaved = false;  ///< some part begins before the end of one of a lower rank
  bool is_missing = false;      ///< some process has no part, as it had an error
};

Whole whole_of(std::span<const Part> parts) {
  Whole whole;
  for (const Part& part : parts) {
    if (part.is_missing != 0) whole.is_missing = true;
    if (part.bytes == 0) continue;
    if (whole.bytes > 0 && part.first < whole.end) whole.is_interleaved = true;
    whole.first = std::min(whole.first, part.first);
    whole.end = std::max(whole.end, part.end);
    whole.bytes += part.bytes;
    whole.pieces += part.pieces;
  }
  return whole;
}

bool pays(const Whole& whole, Gathering wanted, std::int64_t short_piece) {
  if (whole.is_missing || whole.bytes == 0 || whole.first < 0) return false;
  if (static_cast<std::uint64_t>(whole.end - whole.first) / most_sparse > whole.bytes) return false;
  if (wanted == Gathering::enable) return true;
  return whole.is_interleaved &&
         whole.bytes / whole.pieces < static_cast<std::uint64_t>(short_piece);
}

Gathering wanted(const FileObject& file, Direction direction) {
  int size = 1;
  (void)MPI_Comm_size(file.comm, &size);
  // Aggregators would not keep what others access at the same time away.
  if (size == 1 || file.is_atomic) return Gathering::disable;
  return direction == Direction::read ? file.hints.read : file.hints.write;
}

/// Bytes of a stripe.
struct Extent {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint64_t end() const { return std::uint64_t{offset} + bytes; }
};
static_assert(sizeof(Extent) == 8, "sent as it is");

/// Extents in ascending order; those that touch, overlap, or have a gap of up to `gap` are one.
void join(std::vector<Extent>& extents, std::uint64_t gap) {
  const auto before = [](const Extent& a, const Extent& b) { return a.offset < b.offset; };
  std::sort(extents.begin(), extents.end(), before);
  std::size_t last = 0;
  for (std::size_t i = 1; i < extents.size(); ++i) {
    Extent& joined = extents[last];
    if (extents[i].offset > joined.end() + gap) {
      extents[++last] = extents[i];
    } else if (extents[i].end() > joined.end()) {
      joined.bytes = static_cast<std::uint32_t>(extents[i].end() - joined.offset);
    }
  }
  if (!extents.empty()) extents.resize(last + 1);
}

/// Messages of one process to and from all others, one behind the other.
struct Messages {
  std::vector<MPI_Count> sizes;
  std::vector<MPI_Aint> places;
  std::vector<std::byte> bytes;

  explicit Messages(std::size_t peers) : sizes(peers), places(peers) {}
  void clear() { std::fill(sizes.begin(), sizes.end(), 0); }
  /// Room for messages of `sizes`.
  void lay_out() {
    std::exclusive_scan(sizes.begin(), sizes.end(), places.begin(), MPI_Aint{0});
    const auto all = static_cast<std::size_t>(places.back() + sizes.back());
    if (all > bytes.size()) bytes.resize(all);
  }
  std::byte* of(std::size_t peer) { return bytes.data() + places[peer]; }
};

/// A message of extents: their number, they themselves, and their content if it is written.
struct Wanted {
  std::span<const Extent> extents;
  const std::byte* content = nullptr;
};

Wanted wanted_by(Messages& messages, std::size_t peer) {
  if (messages.sizes[peer] == 0) return {};
  const std::byte* const message = messages.of(peer);
  std::uint64_t count = 0;
  std::memcpy(&count, message, sizeof count);
  const auto size = static_cast<std::uint64_t>(messages.sizes[peer]);
  WEFT_CHECK(count <= (size - sizeof count) / sizeof(Extent), "a peer sends half a message");
  const std::byte* const extents = message + sizeof count;
  return {{reinterpret_cast<const Extent*>(extents), count}, extents + count * sizeof(Extent)};
}

std::uint64_t bytes_of(std::span<const Extent> extents) {
  std::uint64_t sum = 0;
  for (const Extent& extent : extents) sum += extent.bytes;
  return sum;
}

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

/// One access by aggregators. Stripe number s, of `buffer_bytes`, is the business of aggregator s
/// modulo their number in every access, so that accesses of one place have one order. In each round
/// every aggregator has one stripe.
class TwoPhases {
 public:
  TwoPhases(const FileObject& file, Direction direction, std::span<std::byte> memory,
            std::uint64_t begin, std::size_t peers, std::size_t rank)
      : file_(file),
        is_write_(direction == Direction::write),
        memory_(memory),
        stripe_bytes_(static_cast<std::uint64_t>(file.hints.buffer_bytes)),
        aggregators_(static_cast<std::uint64_t>(file.hints.nodes)),
        out_(peers),
        in_(peers),
        done_(memory.size()) {
    for (std::uint64_t a = 0; a < aggregators_; ++a) {
      if (rank_of(a) == rank) own_ = a;
    }
    cut(begin);
  }

  std::int64_t run(const Whole& whole) {
    const std::uint64_t first = stripe_of(whole.first) / aggregators_;
    const std::uint64_t last = stripe_of(whole.end - 1) / aggregators_;
    for (std::uint64_t round = first; round <= last && error_ == 0; ++round) {
      send_wanted(round);
      if (own_) serve(round * aggregators_ + *own_);
      if (!is_write_) take_replies(round);
    }
    return settle();
  }

 private:
  /// Consecutive bytes of the file, within one stripe, and of this process's memory.
  struct Cut {
    std::uint64_t stripe = 0;
    Extent extent;
    std::uint64_t at = 0;
  };

  std::size_t rank_of(std::uint64_t aggregator) const {
    return aggregator * out_.sizes.size() / aggregators_;
  }
  std::uint64_t stripe_of(std::int64_t place) const {
    return static_cast<std::uint64_t>(place) / stripe_bytes_;
  }

  void cut(std::uint64_t begin) {
    std::uint64_t at = 0;
    for_pieces(file_.view, begin, memory_.size(), [&](FilePiece piece) {
      while (piece.bytes > 0) {
        const std::uint64_t offset = static_cast<std::uint64_t>(piece.place) % stripe_bytes_;
        const std::uint64_t bytes = std::min(piece.bytes, stripe_bytes_ - offset);
        cuts_.push_back({stripe_of(piece.place),
                         {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes)},
                         at});
        at += bytes;
        piece.place += static_cast<std::int64_t>(bytes);
        piece.bytes -= bytes;
      }
      return true;
    });
    std::stable_sort(cuts_.begin(), cuts_.end(),
                     [](const Cut& a, const Cut& b) { return a.stripe < b.stripe; });
  }

  /// Those of a stripe, which are not before `next_`.
  std::span<const Cut> cuts_of(std::uint64_t stripe, std::size_t& next) const {
    const std::size_t first = next;
    while (next < cuts_.size() && cuts_[next].stripe == stripe) ++next;
    return {cuts_.data() + first, next - first};
  }

  /// Tells each aggregator what this process wants of its stripe, or writes there.
  void send_wanted(std::uint64_t round) {
    out_.clear();
    std::size_t next = next_;
    for (std::uint64_t a = 0; a < aggregators_; ++a) {
      const auto cuts = cuts_of(round * aggregators_ + a, next);
      if (cuts.empty()) continue;
      std::uint64_t bytes = sizeof(std::uint64_t) + cuts.size() * sizeof(Extent);
      for (const Cut& cut : cuts) bytes += is_write_ ? cut.extent.bytes : 0;
      out_.sizes[rank_of(a)] = static_cast<MPI_Count>(aligned(bytes));
    }
    out_.lay_out();
    next = next_;
    for (std::uint64_t a = 0; a < aggregators_; ++a) {
      const auto cuts = cuts_of(round * aggregators_ + a, next);
      if (!cuts.empty()) write_wanted(cuts, out_.of(rank_of(a)));
    }
    if (is_write_) next_ = next;
    if (MPI_Alltoall(out_.sizes.data(), sizeof(MPI_Count), MPI_BYTE, in_.sizes.data(),
                     sizeof(MPI_Count), MPI_BYTE, file_.comm) != MPI_SUCCESS) {
      error_ = EIO;
      return;
    }
    in_.lay_out();
    exchange(out_, in_);
  }

  void write_wanted(std::span<const Cut> cuts, std::byte* to) const {
    const std::uint64_t count = cuts.size();
    std::memcpy(to, &count, sizeof count);
    std::byte* extent = to + sizeof count;
    std::byte* content = extent + count * sizeof(Extent);
    for (const Cut& cut : cuts) {
      std::memcpy(extent, &cut.extent, sizeof cut.extent);
      extent += sizeof cut.extent;
      if (!is_write_) continue;
      std::memcpy(content, memory_.data() + cut.at, cut.extent.bytes);
      content += cut.extent.bytes;
    }
  }

  void exchange(Messages& from, Messages& to) {
    if (MPI_Alltoallv_c(from.bytes.data(), from.sizes.data(), from.places.data(), MPI_BYTE,
                        to.bytes.data(), to.sizes.data(), to.places.data(), MPI_BYTE,
                        file_.comm) != MPI_SUCCESS) {
      error_ = EIO;
    }
  }

  /// Accesses the stripe as the others want it.
  void serve(std::uint64_t stripe) {
    extents_.clear();
    for (std::size_t peer = 0; peer < in_.sizes.size(); ++peer) {
      const Wanted wanted = wanted_by(in_, peer);
      extents_.insert(extents_.end(), wanted.extents.begin(), wanted.extents.end());
    }
    if (extents_.empty()) return;
    join(extents_, is_write_ ? 0 : small_gap);
    buffer_.resize(std::max<std::size_t>(buffer_.size(), extents_.back().end()));
    const auto place = static_cast<std::int64_t>(stripe * stripe_bytes_);
    if (is_write_) {
      fill_buffer();
      write_stripe(place);
    } else {
      read_stripe(place);
    }
  }

  /// Where processes write the same bytes, those of the highest rank stay.
  void fill_buffer() {
    for (std::size_t peer = 0; peer < in_.sizes.size(); ++peer) {
      Wanted wanted = wanted_by(in_, peer);
      for (const Extent& extent : wanted.extents) {
        std::memcpy(buffer_.data() + extent.offset, wanted.content, extent.bytes);
        wanted.content += extent.bytes;
      }
    }
  }

  void write_stripe(std::int64_t place) {
    for (const Extent& extent : extents_) {
      const auto write = [&] {
        return access_piece(file_.descriptor, Direction::write, buffer_.data() + extent.offset,
                            {place + extent.offset, extent.bytes});
      };
      if (write_once(extent.bytes, write) < 0) write_error_ = errno;
    }
  }

  void read_stripe(std::int64_t place) {
    answer_ = static_cast<std::int64_t>(stripe_bytes_);
    for (const Extent& extent : extents_) {
      const std::int64_t n =
          access_piece(file_.descriptor, Direction::read, buffer_.data() + extent.offset,
                       {place + extent.offset, extent.bytes});
      if (n == static_cast<std::int64_t>(extent.bytes)) continue;
      answer_ = n < 0 ? -errno : extent.offset + n;
      break;
    }
  }

  /// A reply has how many bytes of the stripe there are before the file's end, or −errno; then the
  /// content of each extent.
  void write_replies() {
    for (std::size_t peer = 0; peer < in_.sizes.size(); ++peer) {
      const Wanted wanted = wanted_by(in_, peer);
      out_.sizes[peer] = 0;
      if (!wanted.extents.empty()) {
        out_.sizes[peer] = static_cast<MPI_Count>(sizeof answer_ + bytes_of(wanted.extents));
      }
    }
    out_.lay_out();
    for (std::size_t peer = 0; peer < in_.sizes.size(); ++peer) {
      if (out_.sizes[peer] == 0) continue;
      std::byte* to = out_.of(peer);
      std::memcpy(to, &answer_, sizeof answer_);
      to += sizeof answer_;
      for (const Extent& extent : wanted_by(in_, peer).extents) {
        std::memcpy(to, buffer_.data() + extent.offset, extent.bytes);
        to += extent.bytes;
      }
    }
  }

  void take_replies(std::uint64_t round) {
    write_replies();
    in_.clear();
    std::size_t next = next_;
    for (std::uint64_t a = 0; a < aggregators_; ++a) {
      const auto cuts = cuts_of(round * aggregators_ + a, next);
      if (cuts.empty()) continue;
      MPI_Count bytes = sizeof answer_;
      for (const Cut& cut : cuts) bytes += cut.extent.bytes;
      in_.sizes[rank_of(a)] = bytes;
    }
    in_.lay_out();
    exchange(out_, in_);
    for (std::uint64_t a = 0; a < aggregators_; ++a) {
      const auto cuts = cuts_of(round * aggregators_ + a, next_);
      if (!cuts.empty()) take_reply(cuts, in_.of(rank_of(a)));
    }
  }

  void take_reply(std::span<const Cut> cuts, const std::byte* reply) {
    std::int64_t there = 0;
    std::memcpy(&there, reply, sizeof there);
    reply += sizeof there;
    if (there < 0) read_error_ = static_cast<int>(-there);
    for (const Cut& cut : cuts) {
      const std::int64_t left = std::max<std::int64_t>(there - cut.extent.offset, 0);
      const std::uint64_t bytes =
          std::min<std::uint64_t>(cut.extent.bytes, static_cast<std::uint64_t>(left));
      std::memcpy(memory_.data() + cut.at, reply, bytes);
      reply += cut.extent.bytes;
      if (bytes < cut.extent.bytes) done_ = std::min(done_, cut.at + bytes);
    }
  }

  /// What one process wrote is in the file when any process goes on.
  std::int64_t settle() {
    int worst = read_error_;
    if (is_write_ && error_ == 0 &&
        MPI_Allreduce(&write_error_, &worst, 1, MPI_INT, MPI_MAX, file_.comm) != MPI_SUCCESS) {
      error_ = EIO;
    }
    errno = error_ != 0 ? error_ : worst;
    return errno != 0 ? -1 : static_cast<std::int64_t>(done_);
  }

  const FileObject& file_;
  const bool is_write_;
  const std::span<std::byte> memory_;
  const std::uint64_t stripe_bytes_;
  const std::uint64_t aggregators_;
  std::optional<std::uint64_t> own_;  ///< which of the aggregators this process is
  std::vector<Cut> cuts_;             ///< by stripe
  std::size_t next_ = 0;              ///< the first one of those that are to be accessed
  Messages out_, in_;
  std::uint64_t done_;   ///< bytes of the memory that the file has
  int error_ = 0;        ///< messages failed: no more of them
  int write_error_ = 0;  ///< of this aggregator
  int read_error_ = 0;   ///< of an aggregator, of bytes that are this process's

  // Of an aggregator.
  std::vector<Extent> extents_;
  std::vector<std::byte> buffer_;  ///< a stripe
  std::int64_t answer_ = 0;        ///< of the read
};

}  // namespace

std::int64_t access_together(const FileObject& file, Direction direction,
                             std::span<std::byte> memory, std::uint64_t begin) {
  const Gathering how = wanted(file, direction);
  if (how != Gathering::disable) {
    const auto parts = exchange_parts(file, part_of(file.view, begin, memory.size()));
    const Whole whole = whole_of(parts);
    const bool reads = direction == Direction::read;
    if (pays(whole, how, reads ? file.hints.short_read : file.hints.short_write)) {
      int rank = 0;
      (void)MPI_Comm_rank(file.comm, &rank);
      return TwoPhases(file, direction, memory, begin, parts.size(), static_cast<std::size_t>(rank))
          .run(whole);
    }
  }
  return access_view(file, direction, memory, begin);
}

void miss_together(const FileObject& file, Direction direction) {
  if (wanted(file, direction) != Gathering::disable) {
    (void)exchange_parts(file, {.is_missing = 1});
  }
}

}  // namespace weft::mpi
