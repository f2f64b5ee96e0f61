// SPDX-License-Identifier: Apache-2.0
#include "cli/reference_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/make_error.hpp"
#include "base/nearest.hpp"
#include "base/parse_toml.hpp"
#include "base/system_error.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t largest_file = 1u << 20;
constexpr std::size_t most_references = 10'000;
constexpr std::array<std::string_view, 3> bounds{"at least", "at most", "about"};

/// An error in the file.
struct Refusal {
  Error error;
};

/// One [[reference]].
class ReferenceTable {
 public:
  ReferenceTable(const std::string& path, const toml::table& table) : path_(path), table_(table) {}

  report::Reference read() const {
    refuse_unknown();
    report::Reference reference;
    reference.schedule = text("schedule");
    reference.inputs = count("inputs");
    reference.computes = count("computes");
    reference.figure.metric = text("metric");
    const auto metrics = report::published_metrics();
    if (std::find(metrics.begin(), metrics.end(), reference.figure.metric) == metrics.end()) {
      refuse(*table_.get("metric"), fmt::format("'{}' is no metric; use one of {}",
                                                reference.figure.metric, fmt::join(metrics, ", ")));
    }
    if (table_.contains("bound")) {
      reference.figure.bound = text("bound");
      if (std::find(bounds.begin(), bounds.end(), reference.figure.bound) == bounds.end()) {
        refuse(*table_.get("bound"), fmt::format("'{}' is no bound; use one of {}",
                                                 reference.figure.bound, fmt::join(bounds, ", ")));
      }
    }
    reference.figure.value = number("value");
    reference.figure.source = text("source");
    return reference;
  }

 private:
  [[noreturn]] void refuse(const toml::node& where, const std::string& what) const {
    throw Refusal{{ErrorCode::invalid_argument,
                   fmt::format("{}:{}: {}", path_, where.source().begin.line, what)}};
  }
  void refuse_unknown() const {
    constexpr std::array<std::string_view, 7> known{"schedule", "inputs", "computes", "metric",
                                                    "bound",    "value",  "source"};
    for (const auto& [key, node] : table_) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        refuse(node, unknown_key(key.str(), "a reference", known));
      }
    }
  }
  const toml::node& need(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) refuse(table_, fmt::format("this reference has no {}", key));
    return *node;
  }
  std::string text(std::string_view key) const {
    const toml::node& node = need(key);
    if (!node.is_string()) refuse(node, fmt::format("{} is not text in quotes", key));
    return node.as_string()->get();
  }
  double number(std::string_view key) const {
    const toml::node& node = need(key);
    const auto value = node.value<double>();
    if (!node.is_number() || !value || !std::isfinite(*value)) {
      refuse(node, fmt::format("{} is not a number", key));
    }
    return *value;
  }
  std::optional<std::uint32_t> count(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    const auto* value = node->as_integer();
    if (value == nullptr || value->get() < 1 ||
        value->get() > std::numeric_limits<std::uint32_t>::max()) {
      refuse(*node, fmt::format("{} is no number of nodes", key));
    }
    return static_cast<std::uint32_t>(value->get());
  }

  const std::string& path_;
  const toml::table& table_;
};

std::vector<report::Reference> references_of(const std::string& path, const toml::table& root) {
  const auto refuse = [&](const toml::node& where, const std::string& what) {
    throw Refusal{{ErrorCode::invalid_argument,
                   fmt::format("{}:{}: {}", path, where.source().begin.line, what)}};
  };
  for (const auto& [key, node] : root) {
    if (key.str() != "reference" || !node.is_array_of_tables()) {
      refuse(node, fmt::format("'{}' is no [[reference]], which is all that the file can have",
                               key.str()));
    }
  }
  std::vector<report::Reference> references;
  if (const auto* list = root.get_as<toml::array>("reference")) {
    if (list->size() > most_references) {
      refuse(*list, fmt::format("there are more than {} references", most_references));
    }
    for (const toml::node& item : *list) {
      references.push_back(ReferenceTable(path, *item.as_table()).read());
    }
  }
  if (references.empty()) refuse(root, "there is no [[reference]] in it");
  return references;
}

}  // namespace

Result<std::vector<report::Reference>> read_references(const std::string& path) {
  const auto text = read_text_file(path, largest_file);
  if (!text) return text.error();
  try {
    return references_of(path, parse_toml(*text, path));
  } catch (const toml::parse_error& parse_error) {
    std::string what(parse_error.description());
    std::replace(what.begin(), what.end(), '\n', ' ');
    return invalid(
        "{}:{}: {}; correct that line, or name a file such as examples/references/paper-1.toml",
        path, parse_error.source().begin.line, what);
  } catch (Refusal& refusal) {
    return std::move(refusal.error);
  }
}

}  // namespace weft::cli
