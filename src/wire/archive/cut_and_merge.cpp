// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/tools.hpp"
#include "wire/archive/writer.hpp"

namespace weft::wire {
namespace {

Result<void> copy_item(const ArchiveReader& from, ArchiveWriter& to) {
  if (from.type() == ArchiveType::timeslices) return to.write(from.timeslice());
  return to.write(from.microslice().descriptor, from.microslice().content);
}

std::uint64_t index_of_item(const ArchiveReader& reader) {
  return reader.type() == ArchiveType::timeslices ? reader.timeslice().descriptor.index
                                                  : reader.microslice().descriptor.index;
}

/// Open inputs of one type, and how far all of them together have been read.
class Inputs {
 public:
  /// Refuses an output that exists, or is an input, before it reads anything.
  static Result<Inputs> open(std::span<const std::string> paths, const ArchiveTarget& out) {
    Inputs inputs;
    if (paths.empty()) {
      return Error{ErrorCode::invalid_argument, "no archives to merge; name at least one"};
    }
    if (auto good = refuse_own_input(paths, out.path); !good) return std::move(good).error();
    if (auto good = refuse_existing(out.path, out.existing); !good) return std::move(good).error();
    for (const std::string& path : paths) {
      auto reader = ArchiveReader::open(path);
      if (!reader) return std::move(reader).error();
      if (const auto left = reader->remaining(); left && inputs.total_) {
        *inputs.total_ += reader->position() + *left;
      } else {
        inputs.total_.reset();
      }
      inputs.readers_.push_back(std::move(*reader));
      const ArchiveType type = inputs.readers_[0].type();
      if (inputs.readers_.back().type() == type) continue;
      return invalid("'{}' holds {}, '{}' {}; merge archives of one type", paths[0], to_text(type),
                     path, to_text(inputs.readers_.back().type()));
    }
    return inputs;
  }
  std::vector<ArchiveReader>& readers() { return readers_; }
  ArchiveType type() const { return readers_[0].type(); }
  Result<void> tell(const ProgressCallback& progress) const {
    if (!progress) return {};
    ArchiveProgress now{.items = 0, .bytes = 0, .total_bytes = total_};
    for (const ArchiveReader& reader : readers_) {
      now.items += reader.items();
      now.bytes += reader.position();
    }
    if (progress(now)) return {};
    return Error{ErrorCode::cancelled, "interrupted; nothing was written"};
  }

 private:
  std::vector<ArchiveReader> readers_;
  std::optional<std::uint64_t> total_ = 0;
};

/// One timeslice as it grows, and the one before it, which lacks its duration until then.
class TimesliceAssembler {
 public:
  explicit TimesliceAssembler(std::size_t components) : data_(components), row_(components) {}

  void begin(std::uint64_t index) {
    timeslice_.index = index;
    for (auto& contents : row_) contents = {};
  }
  void add(std::size_t c, const ArchivedMicroslice& item) {
    Row& row = row_[c];
    if (c == 0 && row.descriptors.empty()) timeslice_.start_time = item.descriptor.index;
    MicrosliceDescriptor d = item.descriptor;
    // Offsets count through the component; those of the old file mean nothing here.
    d.offset = row.contents.size();
    row.descriptors.push_back(d);
    row.contents.insert(row.contents.end(), item.content.begin(), item.content.end());
  }
  std::uint64_t start_time() const { return timeslice_.start_time; }

  Result<void> write(ArchiveWriter& writer, std::uint64_t duration) {
    timeslice_.duration = duration;
    timeslice_.num_components = static_cast<std::uint32_t>(row_.size());
    timeslice_.num_core_microslices = static_cast<std::uint32_t>(row_[0].descriptors.size());
    components_.clear();
    for (std::size_t c = 0; c < row_.size(); ++c) {
      const auto descriptors = std::as_bytes(std::span(row_[c].descriptors));
      data_[c].assign(descriptors.begin(), descriptors.end());
      data_[c].insert(data_[c].end(), row_[c].contents.begin(), row_[c].contents.end());
      components_.push_back({{.ts_num = timeslice_.index,
                              .size = data_[c].size(),
                              .num_microslices = row_[c].descriptors.size()},
                             data_[c]});
    }
    return writer.write(ArchivedTimeslice{timeslice_, components_});
  }

 private:
  struct Row {
    std::vector<MicrosliceDescriptor> descriptors;
    std::vector<std::byte> contents;
  };
  TimesliceDescriptor timeslice_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<Row> row_;
  std::vector<ArchivedComponent> components_;
};

/// How much of a timeslice there was.
struct RowRead {
  std::uint64_t taken = 0;
  bool complete = true;
};

Result<RowRead> read_row(Inputs& inputs, std::uint32_t microslices, TimesliceAssembler& into) {
  RowRead row;
  for (std::size_t c = 0; c < inputs.readers().size(); ++c) {
    ArchiveReader& reader = inputs.readers()[c];
    for (std::uint32_t m = 0; m < microslices; ++m) {
      const auto more = reader.next();
      if (!more) return more.error();
      if (!*more) {
        row.complete = false;
        return row;
      }
      into.add(c, reader.microslice());
      ++row.taken;
    }
  }
  return row;
}

Result<std::unique_ptr<ArchiveWriter>> create(const ArchiveTarget& out, ArchiveType type,
                                              CompressionChoice choice) {
  return ArchiveWriter::create(out.path, new_archive_format(type, choice.compression),
                               choice.zstd_level, out.existing);
}

}  // namespace

Result<std::uint64_t> cut_archive(const std::string& in, const ArchiveTarget& out,
                                  std::uint64_t from, std::uint64_t count,
                                  const ProgressCallback& progress) {
  if (count == 0) {
    return Error{ErrorCode::invalid_argument, "--count: 0 items make no archive; give 1 or more"};
  }
  const std::string one[] = {in};
  auto inputs = Inputs::open(one, out);
  if (!inputs) return std::move(inputs).error();
  ArchiveReader& reader = inputs->readers()[0];
  std::unique_ptr<ArchiveWriter> writer;
  while (reader.items() < from) {
    const auto more = reader.skip();
    if (!more) return more.error();
    if (!*more) {
      return invalid("--from {}: '{}' has {} items, counted from 0; name one of them", from, in,
                     reader.items());
    }
    if (auto told = inputs->tell(progress); !told) return std::move(told).error();
  }
  for (std::uint64_t n = 0;; ++n) {
    const auto more = n < count ? reader.next() : Result<bool>(false);
    if (!more) return more.error();
    // The versions of items are known once one was read.
    if (!writer) {
      auto created = ArchiveWriter::create(out.path, reader.format(), 1, out.existing);
      if (!created) return std::move(created).error();
      writer = std::move(*created);
    }
    if (!*more) break;
    if (auto copied = copy_item(reader, *writer); !copied) return std::move(copied).error();
    if (auto told = inputs->tell(progress); !told) return std::move(told).error();
  }
  if (auto finished = writer->finish(); !finished) return std::move(finished).error();
  return writer->items();
}

Result<MergeResult> merge_archives(std::span<const std::string> paths, const ArchiveTarget& out,
                                   CompressionChoice compression,
                                   const ProgressCallback& progress) {
  auto inputs = Inputs::open(paths, out);
  if (!inputs) return std::move(inputs).error();
  auto writer = create(out, inputs->type(), compression);
  if (!writer) return std::move(writer).error();
  std::vector<ArchiveReader*> heads;  // have an item that is not written yet
  for (ArchiveReader& reader : inputs->readers()) {
    const auto more = reader.next();
    if (!more) return more.error();
    if (*more) heads.push_back(&reader);
  }
  MergeResult result;
  std::uint64_t previous = 0;
  while (!heads.empty()) {
    const auto lowest =
        std::ranges::min_element(heads, {}, [](ArchiveReader* r) { return index_of_item(*r); });
    ArchiveReader& reader = **lowest;
    const std::uint64_t index = index_of_item(reader);
    if (result.items > 0 && index == previous) ++result.repeated;
    if (result.items > 0 && index < previous) ++result.out_of_order;
    previous = index;
    ++result.items;
    if (auto copied = copy_item(reader, **writer); !copied) return std::move(copied).error();
    if (auto told = inputs->tell(progress); !told) return std::move(told).error();
    const auto more = reader.next();
    if (!more) return more.error();
    if (!*more) heads.erase(lowest);
  }
  if (auto finished = (*writer)->finish(); !finished) return std::move(finished).error();
  return result;
}

Result<MergeResult> merge_components(std::span<const std::string> paths, const ArchiveTarget& out,
                                     std::uint32_t microslices_per_timeslice,
                                     CompressionChoice compression,
                                     const ProgressCallback& progress) {
  WEFT_CHECK(microslices_per_timeslice > 0);
  auto inputs = Inputs::open(paths, out);
  if (!inputs) return std::move(inputs).error();
  if (inputs->type() != ArchiveType::microslices) {
    return invalid("'{}' holds timeslices; components are made of microslice archives", paths[0]);
  }
  auto writer = create(out, ArchiveType::timeslices, compression);
  if (!writer) return std::move(writer).error();
  MergeResult result;
  TimesliceAssembler assembler[2] = {TimesliceAssembler(paths.size()),
                                     TimesliceAssembler(paths.size())};
  std::uint64_t duration = 0;
  for (;; ++result.items) {
    TimesliceAssembler& current = assembler[result.items % 2];
    TimesliceAssembler& before = assembler[(result.items + 1) % 2];
    current.begin(result.items);
    const auto row = read_row(*inputs, microslices_per_timeslice, current);
    if (!row) return row.error();
    if (result.items > 0) {
      // A timeslice lasts until the next one starts; the last one as long as the one before.
      if (row->complete) duration = current.start_time() - before.start_time();
      if (auto w = before.write(**writer, duration); !w) return std::move(w).error();
    }
    if (auto told = inputs->tell(progress); !told) return std::move(told).error();
    if (row->complete) continue;
    result.left_over = row->taken;
    break;
  }
  if (auto finished = (*writer)->finish(); !finished) return std::move(finished).error();
  return result;
}

}  // namespace weft::wire
