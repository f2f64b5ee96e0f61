// SPDX-License-Identifier: Apache-2.0
#include "spmd/agreement.hpp"

#include <algorithm>
#include <array>

namespace weft::spmd {
namespace {

struct Verdict {
  bool failed = false;
  ErrorCode code = ErrorCode::io;
  std::uint16_t length = 0;
  std::array<char, 508> text{};
};

}  // namespace

Result<void> agree(const Group& group, const Result<void>& own) {
  Verdict verdict;
  if (!own.ok()) {
    const std::string& message = own.error().message;
    verdict.failed = true;
    verdict.code = own.error().code;
    verdict.length = static_cast<std::uint16_t>(std::min(message.size(), verdict.text.size()));
    std::copy_n(message.begin(), verdict.length, verdict.text.begin());
  }
  const auto first_failure = Reduction<Verdict>::of(
      Verdict(), [](const Verdict& a, const Verdict& b) { return a.failed ? a : b; },
      Grouping::any);
  auto all = reduce_value(group, verdict, first_failure);
  if (!all.ok()) return all.error();
  if (!all->failed) return {};
  const std::size_t length = std::min<std::size_t>(all->length, all->text.size());
  return Error{all->code, std::string(all->text.data(), length)};
}

}  // namespace weft::spmd
