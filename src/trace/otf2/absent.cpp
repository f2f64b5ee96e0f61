// SPDX-License-Identifier: Apache-2.0
// In place of the rest, where libotf2 was not there when weft was built.
#include "trace/otf2/otf2_trace.hpp"

namespace weft::trace {
namespace {

Error absent(const std::string& path) {
  return {ErrorCode::unavailable, path +
                                      ": this weft was built without OTF2: install "
                                      "libopen-trace-format2-dev and build it again"};
}

}  // namespace

Result<std::unique_ptr<EventStream>> open_otf2(const std::string& path, std::size_t) {
  return absent(path);
}
Result<std::unique_ptr<Otf2Writer>> create_otf2(const std::string& directory, std::uint32_t) {
  return absent(directory);
}

}  // namespace weft::trace
