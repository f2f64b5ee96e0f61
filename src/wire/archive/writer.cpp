// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/writer.hpp"

#include "base/check.hpp"
#include "wire/codec.hpp"

namespace weft::wire {

/// A few fixed-size fields, gathered so that each run of them is one `put`.
class ArchiveWriter::Fields {
 public:
  template <class T>
  Fields& add(T value) {
    writer_.put(value);
    return *this;
  }
  /// Tracking off, then the version: written before the first object of a class, and only there.
  Fields& class_info(std::uint32_t version) { return add(std::uint8_t{0}).add(version); }
  std::span<const std::byte> view() const { return writer_.view(); }

 private:
  std::array<std::byte, 128> bytes_;
  Writer writer_{bytes_};
};

ArchiveWriter::ArchiveWriter(std::unique_ptr<FileOutput> file, ArchiveFormat format, int zstd_level)
    : format_(std::move(format)), file_(std::move(file)) {
  if (format_.compression == ArchiveCompression::zstd) {
    zstd_ = std::make_unique<ZstdOutput>(*file_, zstd_level);
  }
}

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::create(std::string path, ArchiveFormat format,
                                                             int zstd_level, Existing existing) {
  auto file = FileOutput::create(std::move(path), existing);
  if (!file) return std::move(file).error();
  return create(std::move(*file), std::move(format), zstd_level);
}

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::create(std::unique_ptr<FileOutput> output,
                                                             ArchiveFormat format, int zstd_level) {
  WEFT_CHECK(format.descriptor_version <= layout::newest_descriptor);
  WEFT_CHECK(format.timeslice_version <= layout::newest_timeslice);
  WEFT_CHECK(format.component_version <= layout::newest_component);
  WEFT_CHECK(format.compression == ArchiveCompression::none || format.descriptor_version >= 2,
             "archive descriptors before version 2 cannot say that they are compressed");
  std::unique_ptr<ArchiveWriter> writer(
      new ArchiveWriter(std::move(output), std::move(format), zstd_level));
  if (auto written = writer->write_header(); !written) return std::move(written).error();
  return writer;
}

Result<void> ArchiveWriter::write_header() {
  Fields fields;
  fields.add(std::uint64_t{layout::signature.size()});
  for (const char c : layout::signature) fields.add(c);
  fields.add(format_.library_version).add(layout::type_sizes).add(layout::endianness);
  fields.class_info(format_.descriptor_version);
  if (format_.descriptor_version >= 1) fields.add(format_.type);
  if (format_.descriptor_version >= 2) fields.add(format_.compression);
  fields.add(format_.time_created);
  // The header is outside of the compressed part, hence not `put`.
  if (auto written = file_->write(fields.view()); !written) return written;
  for (const std::string* text : {&format_.host, &format_.user}) {
    const std::uint64_t length = text->size();
    if (auto w = file_->write(std::as_bytes(std::span(&length, 1))); !w) return w;
    if (auto w = file_->write(std::as_bytes(std::span(*text))); !w) return w;
  }
  return {};
}

Result<void> ArchiveWriter::put(std::span<const std::byte> bytes) {
  return zstd_ ? zstd_->write(bytes) : file_->write(bytes);
}

Result<void> ArchiveWriter::write(const MicrosliceDescriptor& descriptor,
                                  std::span<const std::byte> content) {
  WEFT_CHECK(format_.type == ArchiveType::microslices);
  WEFT_CHECK(descriptor.size == content.size());
  Fields fields;
  if (!item_class_written_) fields.class_info(0).class_info(0);
  item_class_written_ = true;
  fields.add(descriptor).add(std::uint64_t{content.size()});
  if (auto written = put(fields.view()); !written) return written;
  ++items_;
  return put(content);
}

Result<void> ArchiveWriter::write(const ArchivedTimeslice& timeslice) {
  WEFT_CHECK(format_.type == ArchiveType::timeslices);
  WEFT_CHECK(timeslice.descriptor.num_components == timeslice.components.size());
  const TimesliceDescriptor& d = timeslice.descriptor;
  const bool first = !std::exchange(item_class_written_, true);
  Fields fields;
  if (first) fields.class_info(0).class_info(format_.timeslice_version);
  if (format_.timeslice_version >= 1) fields.add(std::uint64_t{d.index});
  if (format_.timeslice_version >= 2) {
    fields.add(std::uint64_t{d.start_time}).add(std::uint64_t{d.duration});
    fields.add(std::uint32_t{d.flags});
  }
  fields.add(std::uint64_t{d.ts_pos}).add(std::uint32_t{d.num_core_microslices});
  fields.add(std::uint32_t{d.num_components});
  if (first) fields.class_info(0);
  fields.add(std::uint64_t{timeslice.components.size()}).add(std::uint32_t{0});
  if (auto written = put(fields.view()); !written) return written;
  for (const ArchivedComponent& component : timeslice.components) {
    const std::uint64_t size = component.data.size();
    if (auto w = put(std::as_bytes(std::span(&size, 1))); !w) return w;
    if (auto w = put(component.data); !w) return w;
  }
  Fields list;
  if (first) list.class_info(0);
  list.add(std::uint64_t{timeslice.components.size()}).add(format_.component_item_version);
  if (auto written = put(list.view()); !written) return written;
  ++items_;
  return put_component_descriptors(timeslice);
}

Result<void> ArchiveWriter::put_component_descriptors(const ArchivedTimeslice& timeslice) {
  for (const ArchivedComponent& component : timeslice.components) {
    const ComponentDescriptor& d = component.descriptor;
    Fields fields;
    if (!component_class_written_) fields.class_info(format_.component_version);
    component_class_written_ = true;
    fields.add(std::uint64_t{d.ts_num}).add(std::uint64_t{d.offset});
    fields.add(std::uint64_t{d.size}).add(std::uint64_t{d.num_microslices});
    if (format_.component_version >= 1) fields.add(std::uint32_t{d.flags});
    if (auto written = put(fields.view()); !written) return written;
  }
  return {};
}

Result<void> ArchiveWriter::write(const TimesliceView& timeslice) {
  components_.clear();
  for (const ComponentView& component : timeslice.components) {
    components_.push_back({{.ts_num = timeslice.index.value(),
                            .size = component.data.size(),
                            .num_microslices = component.num_microslices,
                            .flags = component.flags & archived_flags},
                           component.data});
  }
  return write(
      ArchivedTimeslice{{.index = timeslice.index.value(),
                         .start_time = timeslice.start_time,
                         .duration = timeslice.duration,
                         .flags = timeslice.flags & archived_flags,
                         .num_core_microslices = timeslice.num_core_microslices,
                         .num_components = static_cast<std::uint32_t>(timeslice.components.size())},
                        components_});
}

Result<void> ArchiveWriter::flush() {
  if (zstd_) {
    if (auto flushed = zstd_->flush(); !flushed) return flushed;
  }
  return file_->flush();
}

Result<void> ArchiveWriter::finish() {
  if (zstd_) {
    if (auto ended = zstd_->finish(); !ended) return ended;
  }
  return file_->finish();
}

}  // namespace weft::wire
