// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/byte_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft::wire {
namespace {

class FileInput final : public ByteInput {
 public:
  FileInput(int descriptor, std::optional<std::uint64_t> size)
      : descriptor_(descriptor), size_(size) {}
  ~FileInput() override { close(descriptor_); }
  FileInput(const FileInput&) = delete;
  FileInput& operator=(const FileInput&) = delete;

  Result<std::size_t> read(std::span<std::byte> into) override {
    for (;;) {
      const ssize_t n = ::read(descriptor_, into.data(), into.size());
      if (n >= 0) {
        position_ += static_cast<std::uint64_t>(n);
        return static_cast<std::size_t>(n);
      }
      if (errno != EINTR) {
        return Error{code_of_errno(errno), std::generic_category().message(errno)};
      }
    }
  }
  std::optional<std::uint64_t> remaining() const override {
    if (!size_) return std::nullopt;
    return *size_ - std::min(*size_, position_);
  }
  std::uint64_t skip(std::uint64_t n) override {
    if (!size_) return 0;
    n = std::min(n, *remaining());
    if (lseek(descriptor_, static_cast<off_t>(position_ + n), SEEK_SET) < 0) return 0;
    position_ += n;
    return n;
  }

 private:
  int descriptor_;
  std::optional<std::uint64_t> size_;
  std::uint64_t position_ = 0;
};

class MemoryInput final : public ByteInput {
 public:
  explicit MemoryInput(std::span<const std::byte> bytes) : left_(bytes) {}

  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t n = std::min(into.size(), left_.size());
    if (n > 0) std::memcpy(into.data(), left_.data(), n);
    left_ = left_.subspan(n);
    return n;
  }
  std::optional<std::uint64_t> remaining() const override { return left_.size(); }
  std::uint64_t skip(std::uint64_t n) override {
    n = std::min<std::uint64_t>(n, left_.size());
    left_ = left_.subspan(n);
    return n;
  }

 private:
  std::span<const std::byte> left_;
};

class ZstdInput final : public ByteInput {
 public:
  ZstdInput(std::vector<std::byte> begin, std::unique_ptr<ByteInput> rest)
      : rest_(std::move(rest)), compressed_(std::move(begin)), context_(ZSTD_createDCtx()) {
    WEFT_CHECK(context_ != nullptr, "no memory for a zstd decompressor");
    used_end_ = compressed_.size();
    compressed_.resize(std::max(compressed_.size(), ZSTD_DStreamInSize()));
  }
  ~ZstdInput() override { ZSTD_freeDCtx(context_); }
  ZstdInput(const ZstdInput&) = delete;
  ZstdInput& operator=(const ZstdInput&) = delete;

  bool is_cut_off() const override { return is_cut_off_; }

  Result<std::size_t> read(std::span<std::byte> into) override {
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos == 0) {
      if (used_begin_ == used_end_ && !flushing_) {
        auto filled = rest_->read(compressed_);
        if (!filled) return std::move(filled).error();
        if (*filled == 0 && in_frame_) {
          is_cut_off_ = true;
          return Error{ErrorCode::corrupt, "truncated: the file ends inside of a zstd frame"};
        }
        if (*filled == 0) return std::size_t{0};
        used_begin_ = 0;
        used_end_ = *filled;
      }
      ZSTD_inBuffer in{compressed_.data(), used_end_, used_begin_};
      const std::size_t hint = ZSTD_decompressStream(context_, &out, &in);
      if (ZSTD_isError(hint) != 0) {
        return corrupt("damaged zstd stream: {}", ZSTD_getErrorName(hint));
      }
      used_begin_ = in.pos;
      in_frame_ = hint != 0;
      // A full output may leave decompressed bytes inside of the context.
      flushing_ = in_frame_ && out.pos == out.size;
    }
    return out.pos;
  }

 private:
  std::unique_ptr<ByteInput> rest_;
  std::vector<std::byte> compressed_;
  std::size_t used_begin_ = 0;
  std::size_t used_end_ = 0;
  ZSTD_DCtx* context_;
  bool in_frame_ = false;
  bool is_cut_off_ = false;
  bool flushing_ = false;
};

}  // namespace

Result<std::unique_ptr<ByteInput>> open_file_input(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  // A pipe without a writer waits for one; a signal that somebody watches for ends that.
  if (descriptor < 0 && errno == EINTR) {
    return make_error(ErrorCode::cancelled, "{}: interrupted", path);
  }
  if (descriptor < 0) return system_error("open", path, errno);
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || S_ISDIR(status.st_mode)) {
    const int number = S_ISDIR(status.st_mode) ? EISDIR : errno;
    close(descriptor);
    return system_error("read", path, number);
  }
  std::optional<std::uint64_t> size;
  if (S_ISREG(status.st_mode)) {
    size = static_cast<std::uint64_t>(status.st_size);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  return std::unique_ptr<ByteInput>(std::make_unique<FileInput>(descriptor, size));
}

std::unique_ptr<ByteInput> make_memory_input(std::span<const std::byte> bytes) {
  return std::make_unique<MemoryInput>(bytes);
}

std::unique_ptr<ByteInput> make_zstd_input(std::vector<std::byte> begin,
                                           std::unique_ptr<ByteInput> rest) {
  return std::make_unique<ZstdInput>(std::move(begin), std::move(rest));
}

}  // namespace weft::wire
