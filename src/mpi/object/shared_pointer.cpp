// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/shared_pointer.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace weft::mpi {
namespace {

/// Bytes that the file does not have yet are zeros.
template <class T>
bool read_at(const Descriptor& file, std::uint64_t place, T& into) {
  return ::pread(file.get(), &into, sizeof into, static_cast<off_t>(place)) >= 0;
}

template <class T>
bool write_at(const Descriptor& file, std::uint64_t place, const T& from) {
  return ::pwrite(file.get(), &from, sizeof from, static_cast<off_t>(place)) == sizeof from;
}

}  // namespace

bool SharedPointer::open(std::optional<FileLock>& lock) {
  if (!file_.open()) file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file_.open()) return false;
  lock.emplace(file_.get(), true);
  return true;
}

// One write moves the pointer and says whose move it was. The process that moves it next stores
// that in the mover's place first, since the mover may have died before it recorded its result.
template <class After>
std::int64_t SharedPointer::move(const Move& move, std::optional<FileLock>& lock, After&& after) {
  const auto place_of = [](std::uint64_t rank) { return sizeof(Head) + rank * sizeof(Moved); };
  Head head;
  if (!open(lock) || !read_at(file_, 0, head)) return -1;
  const bool is_numbered = head.last.number > 0;
  if (move.number > 0) {
    Moved own;
    if (is_numbered && head.rank == move.rank) {
      own = head.last;
    } else if (!read_at(file_, place_of(move.rank), own)) {
      return -1;
    }
    if (own.number == move.number) return own.before;
  }
  const bool is_to_be_kept = is_numbered && (head.rank != move.rank || move.number == 0);
  if (is_to_be_kept && !write_at(file_, place_of(head.rank), head.last)) return -1;
  const std::int64_t before = head.value;
  head = {.value = after(before), .last = {move.number, before}, .rank = move.rank};
  return write_at(file_, 0, head) ? before : -1;
}

std::int64_t SharedPointer::add(std::int64_t elements, const Move& move,
                                std::optional<FileLock>& lock) {
  return this->move(move, lock, [&](std::int64_t value) { return value + elements; });
}

std::int64_t SharedPointer::set(std::int64_t value, const Move& move,
                                std::optional<FileLock>& lock) {
  return this->move(move, lock, [&](std::int64_t) { return value; });
}

std::int64_t SharedPointer::get(std::optional<FileLock>& lock) {
  Head head;
  return open(lock) && read_at(file_, 0, head) ? head.value : -1;
}

}  // namespace weft::mpi
