// SPDX-License-Identifier: Apache-2.0
// Recorder: writes the records of one rank to its file. Used within programs of others, so that it
// needs nothing but the C library.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "trace/events/record.hpp"

namespace weft::trace {

/// The environment names the directory of the recordings by it.
inline constexpr const char* recordings_variable = "WEFT_TRACE_RECORDINGS";
/// For `weft run`: it loads the module of this name into programs of MPI (launch/own_mpi).
inline constexpr const char* module_of_weft_run = "WEFT_MPI_MODULE=libweft_record";

inline std::string recording_path(const std::string& directory, std::uint32_t rank) {
  return directory + "/rank-" + std::to_string(rank) + ".record";
}

/// A file PATH.errno-NUMBER says that the recording PATH could not be written, and why. It is
/// empty: a full disk has room for its name.
inline constexpr const char* errno_infix = ".errno-";

/// One thread. Records are collected in memory and written a mebibyte at a time, so that a killed
/// process loses the last ones: its file then has no `end`.
class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() {
    if (file_ >= 0) ::close(file_);
  }

  /// Reads the clock of recordings of MPI programs. All times of a rank are on this clock.
  static std::uint64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
  }

  /// 0, or the errno by which the file cannot be made or written. It is made anew.
  int open(const std::string& directory, std::uint32_t rank, std::uint32_t ranks) {
    path_ = recording_path(directory, rank);
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) return fail(errno);
    records_.reserve(at_once);
    const RecordingHead head{recording_magic, rank, ranks};
    return put(&head, sizeof head);
  }
  void add(const Record& record) {
    records_.push_back(record);
    if (records_.size() == at_once) flush();
  }
  /// Defines a communicator by the world's ranks of its members.
  void define(std::uint64_t now_ns, std::uint32_t communicator, std::uint64_t identity,
              const std::vector<std::uint32_t>& members) {
    add({.time_ns = now_ns,
         .more = identity,
         .peer = static_cast<std::uint32_t>(members.size()),
         .communicator = communicator,
         .kind = Record::Kind::communicator});
    for (std::size_t i = 0; i < members.size(); i += members_in_record) {
      std::uint64_t six[3] = {};
      for (std::size_t j = 0; j < members_in_record && i + j < members.size(); ++j) {
        six[j / 2] |= std::uint64_t{members[i + j]} << (j % 2 * 32);
      }
      add({.time_ns = six[0],
           .bytes = six[1],
           .more = six[2],
           .communicator = communicator,
           .kind = Record::Kind::members});
    }
  }
  /// The program has ended in order. Nothing is added behind.
  void finish(std::uint64_t now_ns) {
    add({.time_ns = now_ns, .kind = Record::Kind::end});
    flush();
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0) fail(errno);
  }
  void flush() {
    put(records_.data(), records_.size() * sizeof(Record));
    records_.clear();
  }

 private:
  static constexpr std::size_t at_once = (1 << 20) / sizeof(Record);

  /// Writes nothing more, and says so in the directory of the recordings, where weft looks.
  int fail(int number) {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
    const std::string mark = path_ + errno_infix + std::to_string(number);
    const int made = ::open(mark.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (made >= 0) {
      ::close(made);
    } else {
      std::fprintf(stderr, "weft trace record: cannot write '%s': %s\n", path_.c_str(),
                   std::strerror(number));
    }
    return number;
  }
  /// Beyond a limit of file sizes it fails instead of ending the program by SIGXFSZ.
  ssize_t write_some(const void* data, std::size_t size) const {
    sigset_t beyond{}, before{};
    sigaddset(&beyond, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &beyond, &before);
    const ssize_t n = ::write(file_, data, size);
    const int number = errno;
    constexpr timespec now{};
    if (n < 0 && number == EFBIG) ::sigtimedwait(&beyond, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = number;
    return n;
  }
  int put(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0 && file_ >= 0) {
      const ssize_t n = write_some(at, size);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail(n < 0 ? errno : ENOSPC);
      at += n;
      size -= static_cast<std::size_t>(n);
    }
    return 0;
  }

  std::string path_;
  int file_ = -1;
  std::vector<Record> records_;
};

}  // namespace weft::trace
