// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/sinks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "stream/sinks/archive_files.hpp"
#include "stream/sinks/counting.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/writer.hpp"

namespace weft {
namespace {

using wire::ArchiveCompression;
using wire::ArchiveWriter;

struct Rotation {
  ArchiveCompression compression = ArchiveCompression::none;
  int zstd_level = 1;
  std::uint64_t bytes = UINT64_MAX;
  std::uint64_t items = UINT64_MAX;
  Existing existing = Existing::refuse;
  bool restarted = false;  ///< an earlier life of the node wrote to the same files
  std::string run;         ///< as in SinkPlace
};

std::string count_text(std::uint64_t timeslices) {
  return fmt::format("{} timeslice{}", timeslices, timeslices == 1 ? "" : "s");
}

class ArchiveSink final : public Sink {
 public:
  ArchiveSink(ArchiveFiles files, Rotation rotation)
      : names_(std::move(files)), rotation_(std::move(rotation)) {}
  /// A run that ends with an error ends all its sinks: what is whole stays.
  ~ArchiveSink() override {
    if (has_ended_ || !writer_) return;
    const auto timeslices = keep_whole();
    if (!timeslices) spdlog::warn("{}", timeslices.error().message);
    if (timeslices && *timeslices > 0) {
      spdlog::warn("'{}' ends early, with the {} that this node delivered", names_.name(files_ - 1),
                   count_text(*timeslices));
    }
  }

  Result<void> start_file() {
    // Files that an earlier life finished are part of the run.
    if (rotation_.restarted) files_ = names_.skip_finished(files_);
    const std::string name = names_.name(files_);
    // In a container an earlier process may have had this one's number.
    if (const auto left = names_.find_unfinished(name); left && rotation_.run.empty()) {
      return invalid(
          "cannot write '{}': an earlier process left '{}'; keep what is whole in it with weft "
          "archive recover '{}' --out OTHER, or remove it",
          name, *left, *left);
    }
    auto earlier = rotation_.restarted ? names_.set_aside(name) : std::string();
    if (!earlier) return std::move(earlier).error();
    auto file = wire::FileOutput::create(name, rotation_.existing, rotation_.run);
    if (!file) return std::move(file).error();
    auto writer = ArchiveWriter::create(
        std::move(*file),
        wire::new_archive_format(wire::ArchiveType::timeslices, rotation_.compression),
        rotation_.zstd_level);
    if (!writer) return std::move(writer).error();
    writer_ = std::move(*writer);
    writer_->keep_unfinished();
    ++files_;
    return earlier->empty() ? Result<void>() : take_over(*earlier);
  }
  Result<void> consume(const TimesliceView& timeslice) override {
    if (has_ended_) return end_;
    count_timeslice(summary_, timeslice);
    auto written = write(timeslice);
    return written ? written : fail(std::move(written).error());
  }
  Result<void> finish() override {
    if (has_ended_) return end_;
    auto finished = writer_->finish();
    if (!finished) return fail(std::move(finished).error());
    has_ended_ = true;
    return {};
  }
  void leave() override {
    writer_->leave();
    has_ended_ = true;
  }
  SinkSummary summary() const override { return summary_; }

 private:
  Result<void> write(const TimesliceView& timeslice) {
    if (writer_->items() >= rotation_.items || writer_->bytes() >= rotation_.bytes) {
      const std::uint64_t items = writer_->items();
      if (auto finished = writer_->finish(); !finished) return finished;
      in_finished_files_ += items;
      if (auto started = start_file(); !started) return started;
    }
    if (auto written = writer_->write(timeslice); !written) return written;
    // No node builds the timeslice again once this returns, even if this node is killed.
    return writer_->flush();
  }
  /// A disk that has no room for the next timeslice, or fails, costs none of those before.
  Result<void> fail(Error error) {
    const bool is_ordinary = names_.find_unfinished(names_.name(files_ - 1)).has_value();
    const auto kept = keep_whole();
    const std::uint64_t timeslices = in_finished_files_ + (kept ? *kept : 0);
    if (kept && timeslices > 0) {
      error.message += fmt::format("; the {} before it {} kept", count_text(timeslices),
                                   timeslices == 1 ? "is" : "are");
    } else if (kept && is_ordinary) {
      error.message += "; no timeslice before it is whole, and nothing is kept";
    } else if (!kept && kept.error().message != error.message) {
      error.message = fmt::format("{}; {}", error.message, kept.error().message);
    }
    end_ = std::move(error);
    return end_;
  }
  /// Completes the file that is not finished; returns the number of timeslices in it.
  Result<std::uint64_t> keep_whole() {
    has_ended_ = true;
    writer_.reset();
    return names_.complete(names_.name(files_ - 1), rotation_.existing);
  }
  /// Copies what an earlier life wrote. The last timeslice may be cut off: that life had not
  /// delivered it.
  Result<void> take_over(const std::string& earlier) {
    auto reader = wire::ArchiveReader::open(earlier);
    while (reader) {
      const auto more = reader->next();
      if (!more && more.error().code != ErrorCode::corrupt) return more.error();
      if (!more || !*more) break;
      if (auto written = writer_->write(reader->timeslice()); !written) return written;
    }
    if (auto flushed = writer_->flush(); !flushed) return flushed;
    if (::unlink(earlier.c_str()) != 0) return system_error("remove", earlier, errno);
    return {};
  }

  ArchiveFiles names_;
  Rotation rotation_;
  std::uint64_t files_ = 0;
  std::unique_ptr<ArchiveWriter> writer_;
  std::uint64_t in_finished_files_ = 0;  // timeslices
  bool has_ended_ = false;
  Result<void> end_;  // once it has ended
  SinkSummary summary_;
};

Result<void> read_compression(const Uri& uri, Rotation& rotation) {
  const std::string value = uri.get("zstd");
  const bool level_given = !value.empty() && value != "yes" && value != "no";
  if (level_given) {
    const auto level = uri.number("zstd", 1, 0, 19);
    if (!level) return level.error();
    if (*level > 0) rotation.compression = ArchiveCompression::zstd;
    rotation.zstd_level = static_cast<int>(*level);
  } else if (*uri.flag("zstd")) {
    rotation.compression = ArchiveCompression::zstd;
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Sink>> make_archive_sink(const Uri& uri, const SinkPlace& place) {
  if (auto known = uri.allow({"zstd", "bytes", "items"}); !known) return std::move(known).error();
  if (auto path = uri.need_path("the archive to write"); !path) return std::move(path).error();
  Rotation rotation;
  if (auto read = read_compression(uri, rotation); !read) return std::move(read).error();
  const auto bytes = uri.bytes("bytes", ByteCount(UINT64_MAX), ByteCount(1), ByteCount(UINT64_MAX));
  if (!bytes) return bytes.error();
  const auto items = uri.number("items", UINT64_MAX, 1, UINT64_MAX);
  if (!items) return items.error();
  if (place.replaces_files) rotation.existing = Existing::replace;
  rotation.restarted = place.restarted;
  rotation.run = place.run;
  rotation.bytes = bytes->value();
  rotation.items = *items;
  if ((uri.has("bytes") || uri.has("items")) && !has_placeholder(uri.path(), 's')) {
    return uri.error("with bytes or items there are many files; put %s (their number) in the name");
  }
  if (place.computes > 1 && !has_placeholder(uri.path(), 'n')) {
    return uri.error(
        fmt::format("{} compute nodes would write the same file; put %n (the compute "
                    "node's index) in the name",
                    place.computes));
  }
  auto sink = std::make_unique<ArchiveSink>(ArchiveFiles(uri, place), std::move(rotation));
  if (auto started = sink->start_file(); !started) return std::move(started).error();
  return std::unique_ptr<Sink>(std::move(sink));
}

}  // namespace weft
