// SPDX-License-Identifier: Apache-2.0
// Partitioned communication: a message whose parts are sent as soon as each is ready. Each part of
// the sender's is a message of its own, in flows of that pair of requests alone. The first message
// says how the sender divides it, since the receiver may divide it otherwise.
#include <fmt/format.h>

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "mpi/api/continuation.hpp"
#include "mpi/api/point_to_point.hpp"

namespace weft::mpi {
namespace {

/// The tag of the flow of the first message: no part has it.
constexpr std::int32_t shape_tag = 0x7fff'ffff;

/// How a sender divides the bytes.
struct Shape {
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;  // of each
};

/// A request, of its sender or its receiver.
struct Partitioned {
  Buffer buffer;  // of all parts, but for its count
  int rank_there = 0;
  int tag = 0;
  bool is_null = false;
  bool sends = false;
  int parts = 0;
  std::uint64_t count = 0;  // of each part
  Group group;              // with the generation of this pair of requests
  Shape shape;
  bool has_shape = false;  // on its way, or received
  bool shape_done = false;
  bool are_posted = false;       // the receives of all parts
  std::unique_ptr<bool[]> done;  // of each of the sender's parts; operations write into it
  std::vector<std::byte> packed;
  std::vector<bool> is_ready;     // of the sender's
  std::vector<bool> is_unpacked;  // of the receiver's

  std::uint64_t part_bytes() const { return count * buffer.type->size(); }
  std::uint32_t peer() const { return static_cast<std::uint32_t>(rank_there); }
  bool is_contiguous() const { return buffer.type->is_contiguous(); }
  std::byte* address_of(int part) const {
    const auto elements = static_cast<std::int64_t>(count) * part;
    return static_cast<std::byte*>(buffer.address) + elements * buffer.type->extent();
  }
  /// The bytes of all parts, as they travel.
  std::byte* bytes() {
    return is_contiguous() ? static_cast<std::byte*>(buffer.address) : packed.data();
  }

  void begin();
  void send(int part);
  bool has_arrived(int part);
  bool advance();
};

void Partitioned::begin() {
  if (!is_contiguous()) packed.resize(part_bytes() * static_cast<std::uint64_t>(parts));
  if (sends) {
    is_ready.assign(static_cast<std::size_t>(parts), false);
    done = std::make_unique<bool[]>(static_cast<std::size_t>(parts));
    if (!std::exchange(has_shape, true)) {
      shape = {static_cast<std::uint64_t>(parts), part_bytes()};
      library().transfer->send_plain(group, peer(), shape_tag, std::as_bytes(std::span(&shape, 1)),
                                     shape_done);
    }
    return;
  }
  are_posted = false;
  is_unpacked.assign(static_cast<std::size_t>(parts), false);
  if (!std::exchange(has_shape, true)) {
    library().transfer->receive_plain(group, peer(), shape_tag,
                                      std::as_writable_bytes(std::span(&shape, 1)), shape_done);
  }
}

void Partitioned::send(int part) {
  const std::uint64_t size = part_bytes();
  std::byte* const from = bytes() + size * static_cast<std::uint64_t>(part);
  if (!is_contiguous()) buffer.type->pack(address_of(part), count, from);
  is_ready[static_cast<std::size_t>(part)] = true;
  library().transfer->send_plain(group, peer(), part, {from, size}, done[part]);
}

/// True when all parts of the sender that make up this part of the receiver have arrived.
bool Partitioned::has_arrived(int part) {
  if (!are_posted) return false;
  const auto i = static_cast<std::size_t>(part);
  if (is_unpacked[i]) return true;
  const std::uint64_t size = part_bytes();
  if (size > 0) {
    // The sender may send less than there is room for.
    const std::uint64_t first = shape.bytes > 0 ? size * i / shape.bytes : shape.parts;
    const std::uint64_t last = shape.bytes > 0 ? (size * (i + 1) - 1) / shape.bytes : 0;
    for (std::uint64_t k = first; k <= last && k < shape.parts; ++k) {
      if (!done[k]) return false;
    }
  }
  const std::uint64_t sent = shape.parts * shape.bytes, begin = size * i;
  if (!is_contiguous() && begin < sent) {
    buffer.type->unpack({packed.data() + begin, std::min(size, sent - begin)}, address_of(part));
  }
  return is_unpacked[i] = true;
}

/// True: all parts are sent, or received.
bool Partitioned::advance() {
  if (!shape_done) return false;
  if (!sends && !std::exchange(are_posted, true)) {
    if (shape.parts * shape.bytes > part_bytes() * static_cast<std::uint64_t>(parts)) {
      end_job(1, fmt::format(
                     "rank {}: MPI_Precv_init: the sender has {} parts of {} bytes, and the "
                     "receiver {} of {}, which is less",
                     library().world.group.rank, shape.parts, shape.bytes, parts, part_bytes()));
    }
    done = std::make_unique<bool[]>(shape.parts);
    for (std::uint64_t k = 0; k < shape.parts; ++k) {
      library().transfer->receive_plain(group, peer(), static_cast<std::int32_t>(k),
                                        {bytes() + shape.bytes * k, shape.bytes}, done[k]);
    }
  }
  bool all = true;
  if (sends) {
    for (int i = 0; i < parts; ++i) all = all && is_ready[static_cast<std::size_t>(i)] && done[i];
  } else {
    for (int i = 0; i < parts; ++i) all = has_arrived(i) && all;
    for (std::uint64_t k = 0; k < shape.parts; ++k) all = all && done[k];
  }
  return all;
}

/// Starts the request anew; the request's `starts` has it as its target.
struct StartPartitioned {
  std::shared_ptr<Partitioned> what;
  int operator()(Request& request) const {
    if (what->is_null) {
      request.status = Message::null_status();
      request.done = true;
      return MPI_SUCCESS;
    }
    what->begin();
    request.status = {.source = what->peer(),
                      .tag = what->tag,
                      .bytes = what->part_bytes() * static_cast<std::uint64_t>(what->parts)};
    auto step = [what = what, target = &request] {
      target->done = what->advance();
      if (target->done && !what->sends) {
        target->status.bytes = what->shape.parts * what->shape.bytes;
      }
      return target->done;
    };
    library().transfer->start(std::make_unique<Continuation>(std::move(step)));
    return Call{"MPI_Start"}.settle(nullptr);
  }
};

/// Requests of one communicator, peer and tag are paired in the order in which they are made.
Generation generation_of(const Partitioned& request, const Group& parent) {
  static auto* const counts =
      new std::map<std::tuple<std::uint64_t, int, int, bool>, std::uint64_t>;
  const std::uint64_t n =
      (*counts)[{parent.generation.value(), request.rank_there, request.tag, request.sends}]++;
  // The second highest bit keeps them apart from the parent's communicators.
  const Generation tagged = child_generation(
      parent, std::uint64_t{1} << 62 | static_cast<std::uint32_t>(request.tag), parent.members);
  return child_generation({.generation = tagged, .members = {}, .rank = 0}, n, {});
}

int prepare_partitioned(Message message, bool sends, int parts, MPI_Request* handle) {
  if (const int error = message.check(sends, handle); error != MPI_SUCCESS) return error;
  if (parts < 1 || message.peer == MPI_ANY_SOURCE || message.tag == MPI_ANY_TAG) {
    return message.call.fail(
        message.communicator, MPI_ERR_ARG,
        "{} parts from {} with tag {}: there is at least one part, and no wildcard", parts,
        message.peer, message.tag);
  }
  auto what = std::make_shared<Partitioned>(Partitioned{.buffer = message.buffer,
                                                        .rank_there = message.peer,
                                                        .tag = message.tag,
                                                        .is_null = message.is_null,
                                                        .sends = sends,
                                                        .parts = parts});
  what->count = message.buffer.count;
  if (!message.is_null) {
    what->group = message.communicator->group;
    what->group.generation = generation_of(*what, what->group);
  }
  auto request = std::make_unique<Request>();
  request->starts = StartPartitioned{std::move(what)};
  *handle = keep_prepared(std::move(request));
  return MPI_SUCCESS;
}

/// Null, with `error` set: the handle is of another request, or is not started.
Partitioned* find_partitioned(const Call& call, MPI_Request handle, bool sends, int first, int last,
                              int& error) {
  Request* const request =
      is_of(abi::made_request, handle) ? library().requests.find(number_of(handle)) : nullptr;
  const auto* const start =
      request != nullptr ? request->starts.target<StartPartitioned>() : nullptr;
  if (start == nullptr || start->what->sends != sends || (sends && !request->is_active)) {
    error = call.fail(&library().world, MPI_ERR_REQUEST,
                      "the request is not partitioned, not of this side, or not started");
    return nullptr;
  }
  if (first < 0 || first > last || last >= start->what->parts) {
    error = call.fail(&library().world, MPI_ERR_ARG, "parts {} to {} of {}", first, last,
                      start->what->parts);
    return nullptr;
  }
  return start->what.get();
}

int make_ready(const Call& call, int first, int last, MPI_Request handle) {
  int error = MPI_SUCCESS;
  Partitioned* const what = find_partitioned(call, handle, true, first, last, error);
  if (what == nullptr || what->is_null) return error;
  for (int part = first; part <= last; ++part) what->send(part);
  // Short parts are sent at once, of which the request's task hears nothing: another task lets all
  // look.
  library().transfer->start(std::make_unique<Continuation>([] { return true; }));
  library().transfer->turn();
  return call.settle(nullptr);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Psend_init(const void* buffer, int parts, MPI_Count count, MPI_Datatype type, int to,
                   int tag, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_partitioned({{"MPI_Psend_init"}, buffer, count, type, to, tag, comm}, true, parts,
                             request);
}

int MPI_Precv_init(void* buffer, int parts, MPI_Count count, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_partitioned({{"MPI_Precv_init"}, buffer, count, type, from, tag, comm}, false,
                             parts, request);
}

int MPI_Pready(int part, MPI_Request request) {
  return make_ready({"MPI_Pready"}, part, part, request);
}

int MPI_Pready_range(int first, int last, MPI_Request request) {
  return make_ready({"MPI_Pready_range"}, first, last, request);
}

/// The C types of the list differ between versions of the standard.
extern "C" int MPI_Pready_list(int count, const int* parts, MPI_Request request);
int MPI_Pready_list(int count, const int* parts, MPI_Request request) {
  const Call call{"MPI_Pready_list"};
  if (const int error = call.check_arrays(count, nullptr, parts); error != MPI_SUCCESS) {
    return error;
  }
  for (int i = 0; i < count; ++i) {
    if (const int error = make_ready(call, parts[i], parts[i], request); error != MPI_SUCCESS) {
      return error;
    }
  }
  return MPI_SUCCESS;
}

int MPI_Parrived(MPI_Request request, int part, int* flag) {
  const Call call{"MPI_Parrived"};
  int error = MPI_SUCCESS;
  Partitioned* const what = find_partitioned(call, request, false, part, part, error);
  if (what == nullptr) return error;
  if ((error = call.check_results(flag)) != MPI_SUCCESS) return error;
  const Request& all = *library().requests.find(number_of(request));
  const auto arrived = [&] { return !all.is_active || all.done || what->has_arrived(part); };
  *flag = library().questions->is(arrived) ? 1 : 0;
  return call.settle(nullptr);
}
