// SPDX-License-Identifier: Apache-2.0
// The file that a Unix socket leaves in the file system.
#pragma once

#include <string>

namespace weft {

/// Removes `path` when it is a socket. Anything else that stands there is somebody's file, and is
/// left alone: connecting to it fails as to a socket that nobody listens on. Symbolic links are not
/// followed. Returns whether it was removed.
bool remove_socket_file(const std::string& path);

}  // namespace weft
