// SPDX-License-Identifier: Apache-2.0
// The word that a user is likely to have meant: "did you mean …?".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Returns the edit distance of two words (optimal string alignment): the number of insertions,
/// deletions, substitutions and swaps of neighbours that turn `b` into `a`.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the word of `known` that a user who typed `word` is likely to mean: one that begins with
/// it, or differs in at most a third of its letters, whatever their case. Returns an empty string
/// when no word does.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// Returns ": did you mean WORD?", or `otherwise` for an empty word.
std::string did_you_mean(std::string_view word, std::string_view otherwise = "");

/// Returns the error text for a key that `owner` ("a cable") has not: the nearest one, and all.
std::string unknown_key(std::string_view key, std::string_view owner,
                        std::span<const std::string_view> known);

}  // namespace weft
