// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "base/descriptor_limit.hpp"
#include "base/make_error.hpp"
#include "fabric/tcp/handshake.hpp"

namespace weft::shm {
namespace {

constexpr std::uint64_t kMagic = 0x314D48535F544657;  // "WFT_SHM1"
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Error failed(const char* what, const char* fix) {
  const int number = errno;
  tell_of_lacking_descriptors("shared memory", number);
  return make_error(ErrorCode::unavailable, "shared memory: {}: {}; {}", what,
                    std::strerror(number), lacks_descriptors(number) ? raise_open_files : fix);
}

}  // namespace

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(memory_, other.memory_);
  std::swap(name_, other.name_);
  return *this;
}

Segment::~Segment() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

Result<void> Segment::map(std::size_t ring_size) {
  const std::size_t size = kRingOffset + ring_size;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0);
  if (memory == MAP_FAILED) return failed("mmap", "raise the limit of address space");
  memory_ = {static_cast<std::byte*>(memory), size};
  // A forked process must not keep it alive.
  ::madvise(memory, size, MADV_DONTFORK);
  return {};
}

Result<Segment> Segment::make(std::size_t ring_size, std::uint64_t nonce) {
  Segment segment;
  segment.descriptor_ = Descriptor(::memfd_create("weft-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const int fd = segment.descriptor_.get();
  if (fd < 0) return failed("memfd_create", "free some memory, or use tcp");
  if (::ftruncate(fd, static_cast<off_t>(kRingOffset + ring_size)) != 0) {
    return failed("ftruncate", "free some memory");
  }
  if (::fcntl(fd, F_ADD_SEALS, kSeals) != 0) return failed("sealing", "use tcp");
  if (auto mapped = segment.map(ring_size); !mapped.ok()) return mapped.error();
  const RingMemory ring = segment.ring();
  ring.control->identity[0] = kMagic;
  ring.control->identity[1] = nonce;
  segment.name_ = {static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(fd), nonce,
                   ring_size};
  return segment;
}

Result<Segment> Segment::find(const SegmentName& name) {
  if (name.ring_size < kSmallestRing || name.ring_size > kLargestRing ||
      !std::has_single_bit(name.ring_size)) {
    return corrupt("shared memory: a ring of {} bytes; install the same weft on all nodes",
                   name.ring_size);
  }
  Segment segment;
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.descriptor);
  // Any kind of file: opening it must not block, and not make it the controlling terminal.
  segment.descriptor_ =
      Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int fd = segment.descriptor_.get();
  if (fd < 0) return failed(path.c_str(), "run both processes as one user, or use tcp");
  struct stat about {};
  if (::fstat(fd, &about) != 0) return failed("fstat", "use tcp");
  const bool is_sealed = (::fcntl(fd, F_GET_SEALS) & kSeals) == kSeals;
  if (!is_sealed || about.st_size != static_cast<off_t>(kRingOffset + name.ring_size)) {
    return corrupt("shared memory: {} is something else", path);
  }
  if (about.st_uid != ::geteuid()) {
    return make_error(ErrorCode::unavailable,
                      "shared memory: {} belongs to user {}; run both processes as one user", path,
                      about.st_uid);
  }
  if (auto mapped = segment.map(name.ring_size); !mapped.ok()) return mapped.error();
  const RingMemory ring = segment.ring();
  if (ring.control->identity[0] != kMagic || ring.control->identity[1] != name.nonce) {
    return corrupt("shared memory: {} is of another pair", path);
  }
  segment.name_ = name;
  segment.forget_descriptor();
  return segment;
}

Result<void> check_segments() {
  auto made = Segment::make(kSmallestRing, tcp::random_id());
  if (!made.ok()) return made.error();
  auto found = Segment::find(made->name());
  if (!found.ok()) return found.error();
  return {};
}

ssize_t copy_from(const OtherMemory& other, std::uint64_t source, std::byte* target,
                  std::size_t size) {
  std::uint64_t seen = 0;
  const std::array<iovec, 2> here{{{&seen, sizeof seen}, {target, size}}};
  const std::array<iovec, 2> there{{{reinterpret_cast<void*>(other.probe), sizeof seen},
                                    {reinterpret_cast<void*>(source), size}}};
  // One call looks up the process once: word and bytes are the same one's.
  const ssize_t n =
      ::process_vm_readv(other.process, here.data(), here.size(), there.data(), there.size(), 0);
  if (n < 0 && errno != EFAULT) return n;
  const bool is_that_one = n >= static_cast<ssize_t>(sizeof seen) && seen == other.nonce;
  if (!is_that_one) {
    errno = ESRCH;
    return -1;
  }
  return n - static_cast<ssize_t>(sizeof seen);
}

}  // namespace weft::shm
