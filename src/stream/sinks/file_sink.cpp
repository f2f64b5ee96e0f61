// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/sinks.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/existing_file.hpp"
#include "base/system_error.hpp"
#include "stream/sinks/counting.hpp"
#include "stream/sinks/sink_files.hpp"
#include "stream/sources/pattern.hpp"
#include "stream/sources/pieces.hpp"
#include "wire/archive/byte_output.hpp"
#include "wire/archive/component.hpp"

namespace weft {
namespace {

/// A file that several processes write at the same time, as PATH.part-RUN until all of them are
/// done, so that two runs never write the same. While one of them has it open, it holds a shared
/// lock; the process that gets the lock for itself alone is the first, and empties the file of
/// another run, or the last, and gives it its name. An existing path that is no ordinary file (a
/// pipe, /dev/null) is written directly.
class SharedFile {
 public:
  static Result<SharedFile> open(std::string path, const SinkPlace& place) {
    struct stat status {};
    const bool is_there = stat(path.c_str(), &status) == 0;
    const bool special = is_there && !S_ISREG(status.st_mode);
    const bool is_old = is_there && !special && !place.restarted;
    if (is_old && !place.replaces_files) return exists_error(path);
    std::string temporary = special ? "" : unfinished(path, place);
    std::string incomplete = special ? "" : incomplete_name(path, place.run);
    if (is_there && !special && place.restarted) take_back(path, temporary, place);
    int descriptor = -1;
    if (special) {
      const auto opened = open_special(path);
      if (!opened) return opened.error();
      descriptor = *opened;
    } else {
      // Others that have opened the file keep it when one of them gives it this name.
      if (place.restarted && access(incomplete.c_str(), F_OK) == 0) temporary = incomplete;
      descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
      if (descriptor < 0) return system_error("write", path, errno);
    }
    const auto existing = place.replaces_files ? Existing::replace : Existing::refuse;
    SharedFile file(std::move(path), std::move(temporary), std::move(incomplete), descriptor,
                    existing);
    const bool first = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (first && !special && !place.restarted && ftruncate(descriptor, 0) != 0) {
      return system_error("empty", file.path_, errno);
    }
    if (flock(descriptor, LOCK_SH) != 0) return system_error("lock", file.path_, errno);
    return file;
  }
  static std::string unfinished(const std::string& path, const SinkPlace& place) {
    return place.run.empty() ? path + ".part" : wire::FileOutput::unfinished(path, place.run);
  }
  SharedFile(SharedFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::move(other.temporary_)),
        incomplete_(std::move(other.incomplete_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        existing_(other.existing_),
        end_(other.end_) {}
  SharedFile& operator=(SharedFile&&) = delete;
  ~SharedFile() {
    if (descriptor_ >= 0) abandon();
  }

  /// Returns whether a piece fits to those before it: only the last one is shorter than `cut`.
  bool may_have(std::uint64_t offset, std::uint64_t size, std::uint64_t cut) {
    if (size < cut) end_ = std::min(end_, offset + size);
    return size == 0 || offset < end_;
  }
  /// A failed write removes the file: its contents are of no use.
  Result<void> write(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t n = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        const int number = errno;
        abandon();
        return system_error("write", path_, number);
      }
      offset += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return {};
  }
  /// All is written that this process had to write.
  Result<void> close() {
    const int descriptor = std::exchange(descriptor_, -1);
    if (descriptor < 0) return {};  // a write failed, and was told
    // Given back before it is asked for: of two processes that end together, one gets it.
    flock(descriptor, LOCK_UN);
    const bool has_name = temporary_.empty() || is_spoiled();
    const bool last = !has_name && flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int number = last ? rename_file(temporary_, path_, existing_) : 0;
    if (number == EEXIST) unlink(temporary_.c_str());
    if (::close(descriptor) != 0) return system_error("write", path_, errno);
    if (number == EEXIST) return exists_error(path_);
    // The other may have been the last one, too, and earlier.
    if (number != 0 && number != ENOENT) return system_error("write", path_, number);
    return {};
  }
  void leave() { ::close(std::exchange(descriptor_, -1)); }
  /// The file is not as it was sent: none of the processes gives it its name any more.
  void spoil() {
    if (is_spoiled() || temporary_.empty()) return;
    // Another process may have done so.
    (void)rename_file(temporary_, incomplete_, Existing::replace);
    temporary_ = incomplete_;
  }
  bool is_spoiled() const { return !incomplete_.empty() && temporary_ == incomplete_; }
  /// The name of a spoiled file; empty if it is written directly.
  const std::string& incomplete() const { return incomplete_; }

 private:
  SharedFile(std::string path, std::string temporary, std::string incomplete, int descriptor,
             Existing existing)
      : path_(std::move(path)),
        temporary_(std::move(temporary)),
        incomplete_(std::move(incomplete)),
        descriptor_(descriptor),
        existing_(existing) {}

  void abandon() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
    leave();
  }
  /// The earlier life may have been the last one to finish the file. What this life writes belongs
  /// into the same file.
  static void take_back(const std::string& path, const std::string& temporary,
                        const SinkPlace& place) {
    if (place.run.empty() || !is_of_run(path, place.older_files)) return;
    rename_file(path, temporary, Existing::refuse);
  }

  std::string path_;
  std::string temporary_;   // empty: written directly
  std::string incomplete_;  // its name once a piece is missing or wrong
  int descriptor_;
  Existing existing_;
  std::uint64_t end_ = UINT64_MAX;  // behind the last piece, when one was seen that is short
};

class FileSink final : public Sink {
 public:
  /// One file for all inputs, or as many files as inputs.
  FileSink(std::vector<SharedFile> files, std::uint64_t cut, const SinkPlace& place)
      : files_(std::move(files)),
        grid_{.cut = cut, .inputs = files_.size() > 1 ? 1 : place.inputs},
        place_(place) {
    // The life that counted why has not told anybody, if it was one of this node.
    for (const SharedFile& file : files_) {
      if (!file.is_spoiled()) continue;
      count_error(summary_, fmt::format("something was missing or wrong before this node was "
                                        "started anew; what arrived is in {}",
                                        file.incomplete()));
    }
  }

  Result<void> consume(const TimesliceView& timeslice) override {
    count_timeslice(summary_, timeslice);
    for (std::uint32_t c = 0; c < timeslice.components.size(); ++c) {
      const ComponentView& component = timeslice.components[c];
      const auto reader = wire::ComponentReader::open(component.data, component.num_microslices);
      if (!reader || c >= place_.inputs) {
        report(timeslice, c, reader ? "there are fewer inputs" : reader.error().message);
        continue;
      }
      const bool ends = grid_.inputs == 1 && (component.flags & source_ended) != 0;
      if (component.num_microslices < timeslice.num_core_microslices && !ends) {
        report(timeslice, c,
               fmt::format("{} of {} pieces are missing",
                           timeslice.num_core_microslices - component.num_microslices,
                           timeslice.num_core_microslices));
      }
      const std::uint64_t core =
          std::min<std::uint64_t>(component.num_microslices, timeslice.num_core_microslices);
      for (std::uint64_t m = 0; m < core; ++m) {
        auto written = write_piece(timeslice, c, m, reader->microslice(m));
        if (!written) return written;
      }
    }
    return {};
  }
  Result<void> finish() override {
    for (SharedFile& file : files_) {
      if (auto closed = file.close(); !closed) return closed;
    }
    return {};
  }
  void leave() override {
    for (SharedFile& file : files_) file.leave();
  }
  SinkSummary summary() const override { return summary_; }

 private:
  /// Of a component: its file has no more pieces, if it has one of its own.
  static constexpr std::uint32_t source_ended =
      bit(TimesliceFlag::missing_microslices) | bit(TimesliceFlag::ended);

  void report(const TimesliceView& timeslice, std::uint32_t channel, std::string_view what) {
    SharedFile& file = files_[channel < files_.size() ? channel : 0];
    file.spoil();
    count_error(
        summary_,
        fmt::format("timeslice {}, component {}: {}{}{}", timeslice.index.value(), channel, what,
                    file.incomplete().empty() ? "" : "; what arrived is in ", file.incomplete()));
  }
  Result<void> write_piece(const TimesliceView& timeslice, std::uint32_t channel, std::uint64_t m,
                           const wire::MicrosliceView& piece) {
    const std::uint64_t sequence = timeslice.index.value() * place_.microslices_per_timeslice + m;
    const std::uint32_t column = grid_.inputs == 1 ? 0 : channel;
    const std::uint64_t offset = grid_.offset(sequence, column);
    SharedFile& file = files_.size() > 1 ? files_[channel] : files_[0];
    if (piece.descriptor.system_id != system_file || piece.content.size() > grid_.cut ||
        piece.descriptor.index != grid_.row_offset(sequence) ||
        !file.may_have(offset, piece.content.size(), grid_.cut)) {
      report(timeslice, channel,
             fmt::format("microslice {} is no piece of a source file: with cut={}, without stride",
                         m, grid_.cut));
      return {};
    }
    return file.write(offset, piece.content);
  }

  std::vector<SharedFile> files_;
  PieceGrid grid_;
  SinkPlace place_;
  SinkSummary summary_;
};

}  // namespace

Result<std::unique_ptr<Sink>> make_file_sink(const Uri& uri, const SinkPlace& place) {
  if (auto known = uri.allow({"cut"}); !known) return std::move(known).error();
  if (auto path = uri.need_path("the file to write"); !path) return std::move(path).error();
  const auto cut = piece_size(uri);
  if (!cut) return cut.error();
  const std::uint32_t count = has_placeholder(uri.path(), 'i') ? place.inputs : 1;
  std::vector<SharedFile> files;
  for (std::uint32_t i = 0; i < count; ++i) {
    auto file =
        SharedFile::open(expand_placeholders(uri.path(), {{'i', std::to_string(i)}}), place);
    if (!file) return std::move(file).error();
    files.push_back(std::move(*file));
  }
  return std::unique_ptr<Sink>(std::make_unique<FileSink>(std::move(files), cut->value(), place));
}

}  // namespace weft
