// SPDX-License-Identifier: Apache-2.0
// Library: a process's state of MPI between init and finalize, and the objects behind handles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpi/abi/abi.hpp"
#include "mpi/object/fold.hpp"
#include "mpi/object/transfer.hpp"
#include "process/job_process.hpp"

namespace weft::mpi {

struct Communicator {
  Group group;
  std::uint64_t children = 0;
  bool returns_errors = false;
};

/// Of the program's own.
struct UserOperation {
  MPI_User_function* function = nullptr;
  bool commutes = false;
};

/// Objects by number. Numbers are used again.
template <class T>
class Objects {
 public:
  int add(std::unique_ptr<T> object) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(objects_.size()));
      objects_.emplace_back();
    }
    const int number = free_.back();
    free_.pop_back();
    objects_[static_cast<std::size_t>(number)] = std::move(object);
    return number;
  }
  /// Null: there is none of that number.
  T* find(int number) const {
    const auto i = static_cast<std::size_t>(number);
    return number >= 0 && i < objects_.size() ? objects_[i].get() : nullptr;
  }
  std::unique_ptr<T> remove(int number) {
    free_.push_back(number);
    return std::move(objects_[static_cast<std::size_t>(number)]);
  }

 private:
  std::vector<std::unique_ptr<T>> objects_;
  std::vector<int> free_;
};

/// One per process, one thread at a time.
struct Library {
  std::unique_ptr<JobProcess> process;
  std::unique_ptr<Transfer> transfer;
  bool is_initialized = false;
  bool is_finalized = false;
  Communicator world, self;
  Objects<Communicator> communicators;
  Objects<Datatype> types;
  Objects<UserOperation> operations;
  Objects<Request> requests;
  /// Messages for them may still come.
  std::vector<std::unique_ptr<Communicator>> freed_communicators;
  std::vector<std::unique_ptr<Request>> freed_requests;
};
Library& library();

/// Of the call that is made: found or, after an error that does not return, not.
struct Call {
  const char* function;
  /// Ends the program with one line, unless the communicator returns errors: then that error.
  int fail(const Communicator* communicator, int error, const std::string& what) const;
  /// Null, with `error` set.
  Communicator* communicator(MPI_Comm handle, int& error) const;
  const Datatype* type(MPI_Datatype handle, int& error) const;
  /// The job is over, a peer is gone.
  int settle(const Communicator* communicator) const;
};

/// Ends this process and, through its launcher, the job.
[[noreturn]] void end_job(int code, const std::string& why);

const char* text_of(int error);
void write_status(MPI_Status* status, const Status& from);

}  // namespace weft::mpi
