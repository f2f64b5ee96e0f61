// SPDX-License-Identifier: Apache-2.0
#include "process/outcome_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "core/determinant/kept_numbers.hpp"

namespace weft {
namespace {

constexpr ByteCount usual_outcomes = ByteCount::mib(256);
constexpr ByteCount fewest_outcomes = ByteCount::kib(4);
/// In the log's header (docs/formats.md, "Log of outcomes").
constexpr std::size_t place_of_lives = determinant::KeptNumbers::bytes + 8;

Result<ByteCount> limit_of_environment() {
  const char* text = std::getenv(outcomes_limit_variable);
  if (text == nullptr) return usual_outcomes;
  auto limit = parse_byte_count(text);
  if (limit && *limit >= fewest_outcomes) return *limit;
  return invalid("{}='{}' is no size for a log; give 4KiB or more, as in 256MiB",
                 outcomes_limit_variable, text);
}

Error no_memory(const char* what) {
  return make_error(ErrorCode::exhausted, "cannot {} the log of a process's outcomes: {}", what,
                    std::strerror(errno));
}

Error no_room(ByteCount limit) {
  const int error = errno;
  return make_error(ErrorCode::exhausted,
                    "the log of outcomes cannot be mapped with its limit, {}={}: {}; set {} to "
                    "less, or raise the process's limit of memory (ulimit -v)",
                    outcomes_limit_variable, to_text(limit), std::strerror(error),
                    outcomes_limit_variable);
}

}  // namespace

Result<void> HeldOutcomes::begin_life() {
  if (!file_.open()) {
    file_ = Descriptor(::memfd_create("weft-outcomes", MFD_CLOEXEC));
    if (!file_.open()) return no_memory("make");
  }
  ++lives_;
  if (::pwrite(file_.get(), &lives_, sizeof lives_, place_of_lives) != sizeof lives_) {
    return no_memory("write");
  }
  return {};
}

Result<OutcomeMemory> OutcomeMemory::take() {
  OutcomeMemory memory;
  const char* text = std::getenv(outcomes_variable);
  if (text == nullptr) return memory;
  const std::string shown = text;
  const int number = std::atoi(text);
  ::unsetenv(outcomes_variable);
  // Not for this process's children.
  if (number <= 2 || ::fcntl(number, F_SETFD, FD_CLOEXEC) != 0 ||
      ::lseek(number, 0, SEEK_END) < 0) {
    return invalid("{}='{}' is no log of outcomes; start the program by `weft run`",
                   outcomes_variable, shown);
  }
  memory.file_ = Descriptor(number);
  return memory;
}

Result<void> OutcomeMemory::map() {
  auto limit = limit_of_environment();
  if (!limit) return std::move(limit).error();
  // Pages that nobody writes take no memory. A later life never has less than an earlier one.
  const off_t size = ::lseek(file_.get(), 0, SEEK_END);
  const std::uint64_t length =
      std::max(determinant::KeptNumbers::bytes + limit->value(), static_cast<std::uint64_t>(size));
  if (::ftruncate(file_.get(), static_cast<off_t>(length)) != 0) return no_room(*limit);
  void* const base =
      ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (base == MAP_FAILED) return no_room(*limit);
  bytes_ = {static_cast<std::byte*>(base), length};
  file_ = {};
  return {};
}

OutcomeMemory::~OutcomeMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

OutcomeMemory::OutcomeMemory(OutcomeMemory&& other) noexcept
    : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}

OutcomeMemory& OutcomeMemory::operator=(OutcomeMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::uint64_t OutcomeMemory::lives() const {
  std::uint64_t lives = 0;
  std::memcpy(&lives, bytes_.data() + place_of_lives, sizeof lives);
  return lives;
}

}  // namespace weft
