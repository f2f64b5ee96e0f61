// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/library.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>

namespace weft::mpi {
namespace {

/// The types that MPI has before the program makes any.
const Datatype* predefined(MPI_Datatype handle) {
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(type, name, object)
#define WEFT_MPI_TYPE(name, value, basic) {name, Datatype(Basic::basic)},
  static const std::map<MPI_Datatype, Datatype> types = {
#include WEFT_MPI_CONSTANTS
  };
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
  const auto found = types.find(handle);
  return found != types.end() ? &found->second : nullptr;
}

}  // namespace

Library& library() {
  // Never destroyed: a program may exit from anywhere.
  static Library* const the_library = new Library;
  return *the_library;
}

void end_job(int code, const std::string& why) {
  Library& mpi = library();
  std::fflush(nullptr);
  fmt::print(stderr, "{}\n", why);
  if (mpi.process != nullptr) mpi.process->fail(why);
  std::fflush(nullptr);
  ::_exit(code != 0 ? code : 1);
}

int Call::fail(const Communicator* communicator, int error, const std::string& what) const {
  if (communicator != nullptr && communicator->returns_errors) return error;
  const Library& mpi = library();
  const std::string rank =
      mpi.is_initialized ? fmt::format("rank {}: ", mpi.world.group.rank) : std::string();
  end_job(1, fmt::format("{}{}: {}", rank, function, what));
}

Communicator* Call::communicator(MPI_Comm handle, int& error) const {
  Library& mpi = library();
  if (!mpi.is_initialized || mpi.is_finalized) {
    fail(nullptr, MPI_ERR_OTHER,
         mpi.is_finalized ? "called after MPI_Finalize" : "called before MPI_Init");
  }
  Communicator* found = nullptr;
  if (handle == MPI_COMM_WORLD) found = &mpi.world;
  if (handle == MPI_COMM_SELF) found = &mpi.self;
  if (is_of(abi::made_comm, handle)) found = mpi.communicators.find(number_of(handle));
  if (found == nullptr) {
    error =
        fail(&mpi.world, MPI_ERR_COMM, fmt::format("{:#x} is no communicator", abi::shown(handle)));
  }
  return found;
}

const Datatype* Call::type(MPI_Datatype handle, int& error) const {
  const Datatype* found = nullptr;
  if (is_of(abi::made_type, handle)) {
    found = library().types.find(number_of(handle) - abi::pair_types);
  } else {
    found = predefined(handle);
  }
  if (found == nullptr) {
    error = fail(&library().world, MPI_ERR_TYPE,
                 fmt::format("{:#x} is no datatype, or one that weft does not have yet "
                             "(docs/mpi.md)",
                             abi::shown(handle)));
  }
  return found;
}

int Call::settle(const Communicator*) const {
  const auto& failure = library().transfer->failure();
  if (!failure) return MPI_SUCCESS;
  return fail(nullptr, MPI_ERR_OTHER, failure->message);
}

const char* text_of(int error) {
  switch (error) {
    case MPI_SUCCESS:
      return "no error";
    case MPI_ERR_BUFFER:
      return "invalid buffer";
    case MPI_ERR_COUNT:
      return "invalid count";
    case MPI_ERR_TYPE:
      return "invalid datatype";
    case MPI_ERR_TAG:
      return "invalid tag";
    case MPI_ERR_COMM:
      return "invalid communicator";
    case MPI_ERR_RANK:
      return "invalid rank";
    case MPI_ERR_ROOT:
      return "invalid root";
    case MPI_ERR_OP:
      return "invalid operation";
    case MPI_ERR_ARG:
      return "invalid argument";
    case MPI_ERR_TRUNCATE:
      return "the message is longer than the receive's buffer";
    case MPI_ERR_IN_STATUS:
      return "the statuses have the errors";
    case MPI_ERR_REQUEST:
      return "invalid request";
    default:
      return "other error";
  }
}

void write_status(MPI_Status* status, const Status& from) {
  if (status == abi::status_ignore) return;
  status->MPI_SOURCE = static_cast<int>(from.source);
  status->MPI_TAG = from.tag;
  abi::write_bytes(*status, from.bytes, from.is_cancelled);
}

}  // namespace weft::mpi
