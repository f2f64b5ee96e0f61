// SPDX-License-Identifier: Apache-2.0
// Any bytes are a job's file or one line that says what is wrong with them.
#include <cstdlib>

#include "runtime/membership/job_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = weft::parse_job_file(text, "job.conf");
  if (file.ok() ? file->ranks.empty()
                : file.error().message.find('\n') != std::string::npos ||
                      !file.error().message.starts_with("job.conf:")) {
    std::abort();
  }
  return 0;
}
