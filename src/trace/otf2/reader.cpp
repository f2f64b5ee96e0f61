// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <otf2/otf2.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <filesystem>
#include <utility>

#include "base/make_error.hpp"
#include "base/system_error.hpp"
#include "trace/otf2/definitions.hpp"
#include "trace/otf2/otf2_trace.hpp"

namespace weft::trace {
namespace {

using Kind = Record::Kind;

/// One rank of an archive that is being read.
struct Rank {
  Rank(std::uint32_t number, const Otf2Definitions& defs, std::size_t look_ahead)
      : definitions(defs), rank(number), interpreter(number, defs.communicators, look_ahead) {}

  OTF2_CallbackCode add(OTF2_TimeStamp time, std::uint64_t position, Record record) {
    const std::uint64_t ticks = time > definitions.first_tick ? time - definitions.first_tick : 0;
    record.time_ns =
        static_cast<std::uint64_t>(static_cast<double>(ticks) * definitions.ns_per_tick);
    if (auto good = interpreter.add(record, position); !good) {
      problem = fmt::format("rank {}, event {}: {}", rank, position, good.error().message);
      return OTF2_CALLBACK_INTERRUPT;
    }
    return OTF2_CALLBACK_SUCCESS;
  }
  /// A communicator that is not defined has a number that is none either.
  std::uint32_t communicator(OTF2_CommRef ref) const {
    const auto found = definitions.communicator_of.find(ref);
    return found == definitions.communicator_of.end() ? ~std::uint32_t{0} : found->second;
  }

  const Otf2Definitions& definitions;
  std::uint32_t rank;
  Interpreter interpreter;
  OTF2_EvtReader* reader = nullptr;
  std::uint64_t read = 0;
  bool at_end = false;
  std::string problem;
};

Rank& rank_of(void* data) {
  return *static_cast<Rank*>(data);
}

#define WEFT_EVENT_HEAD \
  OTF2_LocationRef, OTF2_TimeStamp time, std::uint64_t position, void *data, OTF2_AttributeList *

OTF2_CallbackCode on_region(Rank& rank, OTF2_TimeStamp time, std::uint64_t position,
                            OTF2_RegionRef region, Kind kind) {
  const auto call = rank.definitions.calls.find(region);
  if (call == rank.definitions.calls.end()) return OTF2_CALLBACK_SUCCESS;
  if (call->second == Call::progress) {
    if (kind == Kind::leave) return OTF2_CALLBACK_SUCCESS;
    return rank.add(time, position, {.kind = Kind::progress});
  }
  return rank.add(time, position,
                  {.operation = static_cast<std::uint16_t>(call->second), .kind = kind});
}
OTF2_CallbackCode on_enter(WEFT_EVENT_HEAD, OTF2_RegionRef region) {
  return on_region(rank_of(data), time, position, region, Kind::enter);
}
OTF2_CallbackCode on_leave(WEFT_EVENT_HEAD, OTF2_RegionRef region) {
  return on_region(rank_of(data), time, position, region, Kind::leave);
}
OTF2_CallbackCode on_message(Rank& rank, OTF2_TimeStamp time, std::uint64_t position, Kind kind,
                             std::uint32_t peer, OTF2_CommRef communicator, std::uint32_t tag,
                             std::uint64_t bytes, std::uint64_t request) {
  return rank.add(time, position,
                  {.bytes = bytes,
                   .more = request,
                   .peer = peer,
                   .tag = static_cast<std::int32_t>(tag),
                   .communicator = rank.communicator(communicator),
                   .kind = kind});
}
OTF2_CallbackCode on_send(WEFT_EVENT_HEAD, std::uint32_t peer, OTF2_CommRef communicator,
                          std::uint32_t tag, std::uint64_t bytes) {
  return on_message(rank_of(data), time, position, Kind::send, peer, communicator, tag, bytes, 0);
}
OTF2_CallbackCode on_receive(WEFT_EVENT_HEAD, std::uint32_t peer, OTF2_CommRef communicator,
                             std::uint32_t tag, std::uint64_t bytes) {
  return on_message(rank_of(data), time, position, Kind::receive, peer, communicator, tag, bytes,
                    0);
}
OTF2_CallbackCode on_isend(WEFT_EVENT_HEAD, std::uint32_t peer, OTF2_CommRef communicator,
                           std::uint32_t tag, std::uint64_t bytes, std::uint64_t request) {
  return on_message(rank_of(data), time, position, Kind::send_started, peer, communicator, tag,
                    bytes, request);
}
OTF2_CallbackCode on_irecv(WEFT_EVENT_HEAD, std::uint32_t peer, OTF2_CommRef communicator,
                           std::uint32_t tag, std::uint64_t bytes, std::uint64_t request) {
  return on_message(rank_of(data), time, position, Kind::receive_done, peer, communicator, tag,
                    bytes, request);
}
OTF2_CallbackCode on_isend_complete(WEFT_EVENT_HEAD, std::uint64_t request) {
  return rank_of(data).add(time, position, {.more = request, .kind = Kind::send_done});
}
OTF2_CallbackCode on_irecv_request(WEFT_EVENT_HEAD, std::uint64_t request) {
  return rank_of(data).add(time, position, {.more = request, .kind = Kind::receive_started});
}
OTF2_CallbackCode on_cancelled(WEFT_EVENT_HEAD, std::uint64_t request) {
  return rank_of(data).add(time, position, {.more = request, .kind = Kind::cancelled});
}
OTF2_CallbackCode on_collective(WEFT_EVENT_HEAD, OTF2_CollectiveOp operation,
                                OTF2_CommRef communicator, std::uint32_t root, std::uint64_t sent,
                                std::uint64_t received) {
  Rank& rank = rank_of(data);
  // Windows and files are made and freed by all at once, and nothing travels.
  if (operation >= OTF2_COLLECTIVE_OP_CREATE_HANDLE) return OTF2_CALLBACK_SUCCESS;
  return rank.add(time, position,
                  {.bytes = sent,
                   .more = received,
                   .tag = root == OTF2_UNDEFINED_UINT32 ? -1 : static_cast<std::int32_t>(root),
                   .communicator = rank.communicator(communicator),
                   .operation = static_cast<std::uint16_t>(operation),
                   .kind = Kind::collective});
}
#undef WEFT_EVENT_HEAD

OTF2_EvtReaderCallbacks* event_callbacks() {
  OTF2_EvtReaderCallbacks* calls = OTF2_EvtReaderCallbacks_New();
  OTF2_EvtReaderCallbacks_SetEnterCallback(calls, on_enter);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(calls, on_leave);
  OTF2_EvtReaderCallbacks_SetMpiSendCallback(calls, on_send);
  OTF2_EvtReaderCallbacks_SetMpiRecvCallback(calls, on_receive);
  OTF2_EvtReaderCallbacks_SetMpiIsendCallback(calls, on_isend);
  OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(calls, on_isend_complete);
  OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(calls, on_irecv_request);
  OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(calls, on_irecv);
  OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(calls, on_cancelled);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(calls, on_collective);
  return calls;
}

class Stream final : public EventStream {
 public:
  Stream(OTF2_Reader* reader, std::string path) : reader_(reader), path_(std::move(path)) {}
  ~Stream() override { OTF2_Reader_Close(reader_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Result<void> open(std::size_t look_ahead) {
    OTF2_Reader_SetSerialCollectiveCallbacks(reader_);
    auto definitions = read_definitions(reader_, path_);
    if (!definitions) return std::move(definitions).error();
    definitions_ = std::move(definitions).value();
    for (const OTF2_LocationRef location : definitions_.locations) {
      if (!definitions_.events_of.contains(location)) {
        return corrupt(fmt::format("location {} of a rank is not defined", location));
      }
      OTF2_Reader_SelectLocation(reader_, location);
    }
    // They hold the corrections of each rank's clock and its own numbers of things.
    const bool has_local = OTF2_Reader_OpenDefFiles(reader_) == OTF2_SUCCESS;
    if (OTF2_Reader_OpenEvtFiles(reader_) != OTF2_SUCCESS) {
      return corrupt("the files of its events cannot be opened");
    }
    for (std::uint32_t r = 0; r < definitions_.locations.size(); ++r) {
      if (auto good = open_rank(r, has_local, look_ahead); !good) return good;
    }
    if (has_local) OTF2_Reader_CloseDefFiles(reader_);
    return {};
  }

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_.size()); }
  std::span<const std::uint32_t> members(std::uint32_t communicator) const override {
    if (communicator >= definitions_.communicators.size()) return {};
    return definitions_.communicators[communicator];
  }
  Result<Event> next(std::uint32_t r) override {
    Rank& rank = ranks_[r];
    while (!rank.interpreter.is_ready()) {
      if (auto good = read_more(rank); !good) return std::move(good).error();
    }
    return rank.interpreter.take();
  }

 private:
  Error corrupt(const std::string& text) const {
    return make_error(ErrorCode::corrupt, "{}: {}: record the program anew", path_, text);
  }
  /// The same if nothing keeps the file of the rank's events from being read.
  Error unread(std::uint32_t rank, const std::string& text) const {
    const std::string file = fmt::format("{}.evt", definitions_.locations[rank]);
    return error_of_file(std::filesystem::path(path_).replace_extension() / file,
                         corrupt(text).message);
  }

  Result<void> open_rank(std::uint32_t r, bool has_local, std::size_t look_ahead) {
    const OTF2_LocationRef location = definitions_.locations[r];
    if (has_local) {
      if (OTF2_DefReader* local = OTF2_Reader_GetDefReader(reader_, location)) {
        std::uint64_t count = 0;
        OTF2_Reader_ReadAllLocalDefinitions(reader_, local, &count);
        OTF2_Reader_CloseDefReader(reader_, local);
      }
    }
    Rank& rank = ranks_.emplace_back(r, definitions_, look_ahead);
    rank.reader = OTF2_Reader_GetEvtReader(reader_, location);
    if (rank.reader == nullptr) {
      return unread(r, fmt::format("the events of rank {} cannot be read", r));
    }
    OTF2_EvtReaderCallbacks* calls = event_callbacks();
    OTF2_Reader_RegisterEvtCallbacks(reader_, rank.reader, calls, &rank);
    OTF2_EvtReaderCallbacks_Delete(calls);
    return {};
  }

  Result<void> read_more(Rank& rank) {
    constexpr std::uint64_t at_once = 64;
    const std::uint64_t expected = definitions_.events_of[definitions_.locations[rank.rank]];
    std::uint64_t count = 0;
    const OTF2_ErrorCode code = OTF2_Reader_ReadLocalEvents(reader_, rank.reader, at_once, &count);
    rank.read += count;
    if (!rank.problem.empty()) return corrupt(rank.problem);
    if (code != OTF2_SUCCESS || (count < at_once && rank.read < expected)) {
      return unread(rank.rank,
                    fmt::format("rank {}, event {}: it is truncated, {} of {} events are there",
                                rank.rank, rank.read + 1, rank.read, expected));
    }
    if (count < at_once) rank.interpreter.finish();
    return {};
  }

  OTF2_Reader* reader_;
  std::string path_;
  Otf2Definitions definitions_;
  std::deque<Rank> ranks_;  // never moved: callbacks point there
};

}  // namespace

Result<std::unique_ptr<EventStream>> open_otf2(const std::string& path, std::size_t look_ahead) {
  if (::access(path.c_str(), R_OK) != 0) return system_error("open", path, errno);
  say_errors_once();
  OTF2_Reader* reader = OTF2_Reader_Open(path.c_str());
  if (reader == nullptr) {
    return invalid("{}: no OTF2 archive; name its anchor file, such as out/traces.otf2", path);
  }
  auto stream = std::make_unique<Stream>(reader, path);
  if (auto good = stream->open(look_ahead); !good) return std::move(good).error();
  return std::unique_ptr<EventStream>(std::move(stream));
}

}  // namespace weft::trace
