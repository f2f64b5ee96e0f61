// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace weft {
namespace {

std::string lower(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, row);
  }
  return above[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  // A third of the letters may be wrong; more is another word.
  std::size_t least = std::max<std::size_t>(word.size() / 3, 1) + 1;
  std::string best;
  for (const std::string& name : known) {
    const bool begins = word.size() >= 3 && name.starts_with(word);
    const std::size_t distance = begins ? 1 : edit_distance(lower(word), lower(name));
    if (distance >= least) continue;
    least = distance;
    best = name;
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::string_view otherwise) {
  return word.empty() ? std::string(otherwise) : fmt::format(": did you mean {}?", word);
}

std::string unknown_key(std::string_view key, std::string_view owner,
                        std::span<const std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  return fmt::format("unknown key '{}'{} {} has {}", key, did_you_mean(nearest(key, names), ";"),
                     owner, fmt::join(names, ", "));
}

}  // namespace weft
