// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/file_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace weft::mpi {

FileLock::FileLock(int descriptor, bool writes, bool is_wanted)
    : descriptor_(is_wanted ? descriptor : -1) {
  if (descriptor_ < 0) return;
  struct flock whole {};
  whole.l_type = writes ? F_WRLCK : F_RDLCK;
  whole.l_whence = SEEK_SET;
  // A signal with a handler ends the wait without the lock.
  while (::fcntl(descriptor_, F_OFD_SETLKW, &whole) != 0 && errno == EINTR) {
  }
}

FileLock::~FileLock() {
  if (descriptor_ < 0) return;
  struct flock whole {};
  whole.l_type = F_UNLCK;
  whole.l_whence = SEEK_SET;
  (void)::fcntl(descriptor_, F_OFD_SETLK, &whole);
}

}  // namespace weft::mpi
