// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/byte_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft::wire {
namespace {

constexpr std::size_t output_buffer_size = 256 << 10;

}  // namespace

FileOutput::FileOutput(std::string path, std::string temporary, int descriptor, Existing existing)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(descriptor),
      existing_(existing) {
  buffer_.reserve(output_buffer_size);
}

Result<std::unique_ptr<FileOutput>> FileOutput::create(std::string path, Existing existing,
                                                       std::string_view writer) {
  struct stat status {};
  const bool is_there = stat(path.c_str(), &status) == 0;
  const bool special = is_there && !S_ISREG(status.st_mode);
  if (is_there && !special && existing == Existing::refuse) return exists_error(path);
  if (special) {
    const auto opened = open_special(path);
    if (!opened) return opened.error();
    return std::unique_ptr<FileOutput>(new FileOutput(std::move(path), "", *opened, existing));
  }
  std::string temporary = unfinished(path, writer);
  const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666);
  if (descriptor < 0) return system_error("write", path, errno);
  // Says to others that the file is not left behind. Not every file system can say it.
  (void)::flock(descriptor, LOCK_EX | LOCK_NB);
  return std::unique_ptr<FileOutput>(
      new FileOutput(std::move(path), std::move(temporary), descriptor, existing));
}

std::string FileOutput::unfinished(const std::string& path, std::string_view writer) {
  return writer.empty() ? fmt::format("{}{}{}", path, unfinished_infix, getpid())
                        : fmt::format("{}{}{}", path, unfinished_infix, writer);
}

std::unique_ptr<FileOutput> FileOutput::adopt(int descriptor, std::string name) {
  return std::unique_ptr<FileOutput>(
      new FileOutput(std::move(name), "", descriptor, Existing::replace));
}

FileOutput::~FileOutput() {
  abandon();
}

void FileOutput::leave() {
  if (descriptor_ >= 0) close(std::exchange(descriptor_, -1));
}

void FileOutput::abandon() {
  if (descriptor_ < 0) return;
  leave();
  remove_unfinished();
}

void FileOutput::remove_unfinished() {
  if (!temporary_.empty() && !keeps_unfinished_) unlink(temporary_.c_str());
}

Result<void> FileOutput::give_up(int number) {
  error_ = std::make_unique<Error>(system_error("write", path_, number));
  abandon();
  return *error_;
}

Result<void> FileOutput::write_through(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return give_up(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> FileOutput::flush() {
  if (error_) return *error_;
  auto written = write_through(buffer_);
  buffer_.clear();
  return written;
}

Result<void> FileOutput::write(std::span<const std::byte> bytes) {
  if (error_) return *error_;
  WEFT_CHECK(descriptor_ >= 0, "write after finish");
  bytes_ += bytes.size();
  if (bytes.size() > output_buffer_size - buffer_.size()) {
    if (auto flushed = flush(); !flushed) return flushed;
  }
  if (bytes.size() >= output_buffer_size) return write_through(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  return {};
}

Result<void> FileOutput::finish() {
  if (error_) return *error_;
  WEFT_CHECK(descriptor_ >= 0, "finished twice");
  if (auto flushed = flush(); !flushed) return flushed;
  // Network file systems report a full disk only now.
  const int descriptor = std::exchange(descriptor_, -1);
  int number = close(descriptor) == 0 ? 0 : errno;
  if (number == 0 && !temporary_.empty()) number = rename_file(temporary_, path_, existing_);
  if (number == 0) return {};
  remove_unfinished();
  if (number != EEXIST) return give_up(number);
  error_ = std::make_unique<Error>(exists_error(path_));
  return *error_;
}

ZstdOutput::ZstdOutput(FileOutput& file, int level)
    : file_(file), context_(ZSTD_createCCtx()), compressed_(ZSTD_CStreamOutSize()) {
  WEFT_CHECK(context_ != nullptr, "no memory for a zstd compressor");
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

ZstdOutput::~ZstdOutput() {
  ZSTD_freeCCtx(context_);
}

Result<void> ZstdOutput::run(std::span<const std::byte> bytes, int directive) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  const auto mode = static_cast<ZSTD_EndDirective>(directive);
  for (;;) {
    ZSTD_outBuffer out{compressed_.data(), compressed_.size(), 0};
    const std::size_t left = ZSTD_compressStream2(context_, &out, &in, mode);
    if (ZSTD_isError(left) != 0) {
      return make_error(ErrorCode::io, "cannot compress '{}': {}", file_.path(),
                        ZSTD_getErrorName(left));
    }
    if (auto written = file_.write(std::span(compressed_).first(out.pos)); !written) return written;
    if (mode == ZSTD_e_continue ? in.pos == in.size : left == 0) return {};
  }
}

Result<void> ZstdOutput::write(std::span<const std::byte> bytes) {
  return run(bytes, ZSTD_e_continue);
}

Result<void> ZstdOutput::flush() {
  return run({}, ZSTD_e_flush);
}

Result<void> ZstdOutput::finish() {
  return run({}, ZSTD_e_end);
}

}  // namespace weft::wire
