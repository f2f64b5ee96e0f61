// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <numeric>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "trace/otf2/definitions.hpp"
#include "trace/otf2/otf2_trace.hpp"

namespace weft::trace {
namespace {

OTF2_FlushType flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
constexpr OTF2_FlushCallbacks flush_callbacks{.otf2_pre_flush = flush, .otf2_post_flush = nullptr};

/// Memory of one file's buffer. libotf2 flushes when it gets no more: by itself it would keep up to
/// 128 MiB of each rank's events.
struct Chunks {
  std::vector<void*> all;
};
void* allocate_chunk(void*, OTF2_FileType file, OTF2_LocationRef, void** buffer,
                     std::uint64_t bytes) {
  constexpr std::size_t most_of_events = 4;
  if (*buffer == nullptr) *buffer = new Chunks;
  auto& chunks = static_cast<Chunks*>(*buffer)->all;
  if (file == OTF2_FILETYPE_EVENTS && chunks.size() == most_of_events) return nullptr;
  chunks.push_back(std::malloc(bytes));
  return chunks.back();
}
void free_chunks(void*, OTF2_FileType, OTF2_LocationRef, void** buffer, bool final) {
  auto* chunks = static_cast<Chunks*>(*buffer);
  if (chunks == nullptr) return;
  for (void* chunk : chunks->all) std::free(chunk);
  chunks->all.clear();
  if (!final) return;
  delete chunks;
  *buffer = nullptr;
}
constexpr OTF2_MemoryCallbacks memory_callbacks{.otf2_allocate = allocate_chunk,
                                                .otf2_free_all = free_chunks};

class Writer final : public Otf2Writer {
 public:
  Writer(OTF2_Archive* archive, std::string path, std::uint32_t ranks)
      : archive_(archive), path_(std::move(path)), ranks_(ranks), events_(ranks) {
    OTF2_Error_RegisterCallback(keep_first, this);
  }
  ~Writer() override {
    say_errors_once();
    // After a failed write libotf2 uses memory that it has freed when it closes an archive.
    static std::atomic<OTF2_Archive*> left_open;  // reachable for a search for leaks
    if (failed_ != OTF2_SUCCESS) {
      left_open = archive_;
    } else if (archive_ != nullptr) {
      OTF2_Archive_Close(archive_);
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  Result<void> start() {
    try_(OTF2_Archive_SetFlushCallbacks(archive_, &flush_callbacks, nullptr));
    try_(OTF2_Archive_SetMemoryCallbacks(archive_, &memory_callbacks, nullptr));
    try_(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    try_(OTF2_Archive_SetCreator(archive_, "weft"));
    try_(OTF2_Archive_OpenEvtFiles(archive_));
    return state();
  }
  Result<void> begin_rank(std::uint32_t rank) override {
    rank_ = rank;
    latest_ns_ = 0;
    writer_ = OTF2_Archive_GetEvtWriter(archive_, rank);
    if (writer_ == nullptr) failed_ = OTF2_ERROR_INVALID;
    return state();
  }
  Result<void> add(const Record& record) override {
    first_ns_ = std::min(first_ns_, record.time_ns);
    last_ns_ = std::max(last_ns_, record.time_ns);
    put(record);
    latest_ns_ = record.time_ns;
    return state();
  }
  Result<void> end_rank() override {
    if (writer_ != nullptr) {
      try_(OTF2_EvtWriter_GetNumberOfEvents(writer_, &events_[rank_]));
      try_(OTF2_Archive_CloseEvtWriter(archive_, writer_));
    }
    writer_ = nullptr;
    return state();
  }
  Result<void> finish(const std::vector<std::vector<std::uint32_t>>& communicators) override;

 private:
  void try_(OTF2_ErrorCode code) {
    if (failed_ == OTF2_SUCCESS) failed_ = code;
  }
  /// The system's error comes before those of libotf2 that follow from it.
  static OTF2_ErrorCode keep_first(void* writer, const char*, std::uint64_t, const char*,
                                   OTF2_ErrorCode code, const char*, va_list) {
    static_cast<Writer*>(writer)->try_(code);
    return code;
  }
  Result<void> state() const {
    if (failed_ == OTF2_SUCCESS) return {};
    if (failed_ == OTF2_ERROR_ENOSPC) return system_error("write", path_, ENOSPC);
    return make_error(ErrorCode::io, "{}: cannot write: {}", path_,
                      OTF2_Error_GetDescription(failed_));
  }
  void put(const Record& r);
  OTF2_StringRef text(OTF2_GlobalDefWriter* to, const std::string& text) {
    try_(OTF2_GlobalDefWriter_WriteString(to, strings_, text.c_str()));
    return strings_++;
  }
  void define_regions(OTF2_GlobalDefWriter* to);
  void define_ranks(OTF2_GlobalDefWriter* to);
  void define_communicators(OTF2_GlobalDefWriter* to,
                            const std::vector<std::vector<std::uint32_t>>& communicators);

  OTF2_Archive* archive_;
  std::string path_;
  std::uint32_t ranks_;
  std::vector<std::uint64_t> events_;
  OTF2_ErrorCode failed_ = OTF2_SUCCESS;
  OTF2_EvtWriter* writer_ = nullptr;
  std::uint32_t rank_ = 0;
  std::uint64_t entered_ns_ = 0;
  std::uint64_t latest_ns_ = 0;  // of this rank's events
  std::uint64_t first_ns_ = ~std::uint64_t{0};
  std::uint64_t last_ns_ = 0;
  OTF2_StringRef strings_ = 0;
};

void Writer::put(const Record& r) {
  using Kind = Record::Kind;
  const std::uint64_t t = r.time_ns;
  const auto tag = static_cast<std::uint32_t>(r.tag);
  const auto region = static_cast<OTF2_RegionRef>(r.operation);
  switch (r.kind) {
    case Kind::enter:
      entered_ns_ = t;
      return try_(OTF2_EvtWriter_Enter(writer_, nullptr, t, region));
    case Kind::leave:
      return try_(OTF2_EvtWriter_Leave(writer_, nullptr, t, region));
    case Kind::send:
      return try_(
          OTF2_EvtWriter_MpiSend(writer_, nullptr, t, r.peer, r.communicator, tag, r.bytes));
    case Kind::receive:
      return try_(
          OTF2_EvtWriter_MpiRecv(writer_, nullptr, t, r.peer, r.communicator, tag, r.bytes));
    case Kind::send_started:
      return try_(OTF2_EvtWriter_MpiIsend(writer_, nullptr, t, r.peer, r.communicator, tag, r.bytes,
                                          r.more));
    case Kind::send_done:
      return try_(OTF2_EvtWriter_MpiIsendComplete(writer_, nullptr, t, r.more));
    case Kind::receive_started:
      return try_(OTF2_EvtWriter_MpiIrecvRequest(writer_, nullptr, t, r.more));
    case Kind::receive_done:
      return try_(OTF2_EvtWriter_MpiIrecv(writer_, nullptr, t, r.peer, r.communicator, tag, r.bytes,
                                          r.more));
    case Kind::cancelled:
      return try_(OTF2_EvtWriter_MpiRequestCancelled(writer_, nullptr, t, r.more));
    case Kind::collective:
      // A call may end several: then each begins no earlier than the event before it.
      try_(OTF2_EvtWriter_MpiCollectiveBegin(writer_, nullptr, std::max(entered_ns_, latest_ns_)));
      return try_(OTF2_EvtWriter_MpiCollectiveEnd(
          writer_, nullptr, t, static_cast<OTF2_CollectiveOp>(r.operation), r.communicator,
          r.tag < 0 ? OTF2_UNDEFINED_UINT32 : tag, r.bytes, r.more));
    case Kind::progress: {
      const auto mark = static_cast<OTF2_RegionRef>(Call::progress);
      try_(OTF2_EvtWriter_Enter(writer_, nullptr, t, mark));
      return try_(OTF2_EvtWriter_Leave(writer_, nullptr, t, mark));
    }
    case Kind::communicator:
    case Kind::members:
    case Kind::clock:
    case Kind::incomplete:
    case Kind::end:
      return;
  }
}

void Writer::define_regions(OTF2_GlobalDefWriter* to) {
  const OTF2_StringRef none = text(to, "");
  for (OTF2_RegionRef i = 0; i < calls; ++i) {
    const bool marks = i == static_cast<OTF2_RegionRef>(Call::progress);
    const OTF2_StringRef name = text(to, marks ? progress_region : call_names[i]);
    try_(OTF2_GlobalDefWriter_WriteRegion(to, i, name, name, none, OTF2_REGION_ROLE_FUNCTION,
                                          marks ? OTF2_PARADIGM_USER : OTF2_PARADIGM_MPI,
                                          OTF2_REGION_FLAG_NONE, none, 0, 0));
  }
}

void Writer::define_ranks(OTF2_GlobalDefWriter* to) {
  const OTF2_StringRef machine = text(to, "machine");
  try_(OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, machine, machine,
                                                OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    const OTF2_StringRef name = text(to, fmt::format("MPI Rank {}", r));
    try_(OTF2_GlobalDefWriter_WriteLocationGroup(to, r, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                 OTF2_UNDEFINED_LOCATION_GROUP));
    try_(OTF2_GlobalDefWriter_WriteLocation(to, r, name, OTF2_LOCATION_TYPE_CPU_THREAD, events_[r],
                                            r));
  }
}

void Writer::define_communicators(OTF2_GlobalDefWriter* to,
                                  const std::vector<std::vector<std::uint32_t>>& communicators) {
  const OTF2_StringRef none = text(to, "");
  std::vector<std::uint64_t> members(ranks_);
  std::iota(members.begin(), members.end(), 0);
  try_(OTF2_GlobalDefWriter_WriteGroup(to, 0, none, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                       OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, ranks_,
                                       members.data()));
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    members.assign(communicators[c].begin(), communicators[c].end());
    try_(OTF2_GlobalDefWriter_WriteGroup(
        to, c + 1, none, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
        static_cast<std::uint32_t>(members.size()), members.data()));
    const OTF2_StringRef name = text(to, c == 0 ? "MPI_COMM_WORLD" : "");
    try_(OTF2_GlobalDefWriter_WriteComm(to, c, name, c + 1, OTF2_UNDEFINED_COMM,
                                        OTF2_COMM_FLAG_NONE));
  }
}

Result<void> Writer::finish(const std::vector<std::vector<std::uint32_t>>& communicators) {
  try_(OTF2_Archive_CloseEvtFiles(archive_));
  try_(OTF2_Archive_OpenDefFiles(archive_));
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive_, r);
    if (writer != nullptr) try_(OTF2_Archive_CloseDefWriter(archive_, writer));
  }
  try_(OTF2_Archive_CloseDefFiles(archive_));
  OTF2_GlobalDefWriter* to = OTF2_Archive_GetGlobalDefWriter(archive_);
  if (to == nullptr) return Error{ErrorCode::io, path_ + ": cannot write its definitions"};
  if (first_ns_ > last_ns_) first_ns_ = last_ns_;
  try_(OTF2_GlobalDefWriter_WriteClockProperties(to, 1'000'000'000, first_ns_, last_ns_ - first_ns_,
                                                 OTF2_UNDEFINED_TIMESTAMP));
  define_regions(to);
  define_ranks(to);
  define_communicators(to, communicators);
  try_(OTF2_Archive_CloseGlobalDefWriter(archive_, to));
  if (auto good = state(); !good) return good;
  try_(OTF2_Archive_Close(archive_));
  archive_ = nullptr;
  return state();
}

}  // namespace

Result<std::unique_ptr<Otf2Writer>> create_otf2(const std::string& directory, std::uint32_t ranks) {
  say_errors_once();
  OTF2_Archive* archive = OTF2_Archive_Open(
      directory.c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
      OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (archive == nullptr) {
    return make_error(ErrorCode::io,
                      "{}: cannot make an OTF2 archive there; name a directory that does not exist",
                      directory);
  }
  auto writer = std::make_unique<Writer>(archive, directory + "/traces.otf2", ranks);
  if (auto good = writer->start(); !good) return std::move(good).error();
  return std::unique_ptr<Otf2Writer>(std::move(writer));
}

}  // namespace weft::trace
