// SPDX-License-Identifier: Apache-2.0
// What lives of a job have done to files, for those that come after them: lives that repeat them,
// and lives that begin from nothing (docs/mpi-restarts.md).
#pragma once

#include <cstdint>
#include <string>

#include "mpi/api/files.hpp"

namespace weft::mpi {

/// Differs between files, also between two that had the same name one after the other. In its lower
/// half the file's number, in its upper one, where the file system knows it, which of the files of
/// this number it is, and when it was made; else 0. Not negative. `is_written`: the descriptor is
/// open for that.
std::int64_t identity_of(int descriptor, bool is_written);
/// On another host a file system may know less.
bool is_same_file(std::int64_t one, std::int64_t other);

/// The creation or deletion of a file, which a process is about to make. It is recorded before and
/// after: the life that finds only the first of these records cannot know whether the one before
/// came to make it.
struct Intention {
  bool was_there = false;    ///< the file, before the first of these lives
  bool may_be_made = false;  ///< by an earlier life

  explicit Intention(const std::string& path);
};

/// A change that a job which begins from nothing cannot take back.
enum class FileChange : char {
  creation = 'c',  ///< of a file that must not be there
  deletion = 'd',
  update = 'u',  ///< of content that depends on what was there before
};
void note_change(FileChange change, const std::string& path);
/// A call's result shows that change, which may be one of the job before it began from nothing:
/// ends the job. Returns MPI_SUCCESS if it is none.
int refuse_if_changed(const Call& call, FileChange change, const std::string& path);

/// For the first process of a file that is open for writing: who made its content. A file that the
/// job found empty is made empty when the job begins from nothing.
Origin find_origin(const FileObject& file);
/// The file that was there is one that the job made before it began from nothing, and this process
/// has not opened it since.
bool is_of_earlier(int descriptor);
/// This process has opened it for writing since the job began, as the first of a communicator.
bool is_opened_before(const char* path);
/// This process, or an earlier life of it, has found the file empty, or created it.
bool is_made_by_job(const char* path);

/// This process learns of the file's content, or of its size. Ends the job if that may be what the
/// job has made of it before it began from nothing.
int note_knowledge(const Call& call, FileObject& file, bool is_size);
/// This process writes to the file, or resizes it.
void note_update(FileObject& file);

}  // namespace weft::mpi
