// SPDX-License-Identifier: Apache-2.0
#include "trace/goal/goal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <new>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/system_error.hpp"

namespace weft::trace {
namespace {

struct Token {
  std::string_view text;  ///< empty: the file's end
  std::uint32_t line = 0;
};

/// Splits the text into words and the marks { } :, without comments.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  Token next() {
    skip_blanks();
    if (at_ >= text_.size()) return {{}, line_};
    const std::size_t begin = at_;
    if (is_word(text_[at_])) {
      while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    } else {
      ++at_;
    }
    return {text_.substr(begin, at_ - begin), line_};
  }

 private:
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  }
  void skip_blanks() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("//")) {
        skip_to("\n", 0);
      } else if (rest.starts_with("/*")) {
        skip_to("*/", 2);
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        line_ += text_[at_++] == '\n';
      } else {
        return;
      }
    }
  }
  void skip_to(std::string_view mark, std::size_t behind) {
    const std::size_t found = text_.find(mark, at_ + 2);
    const std::size_t end = found == std::string_view::npos ? text_.size() : found + behind;
    line_ += static_cast<std::uint32_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                   text_.begin() + static_cast<std::ptrdiff_t>(end),
                                                   '\n'));
    at_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
};

std::string shown(std::string_view text) {
  if (text.empty()) return "the file's end";
  std::string out = "'";
  for (const char c : text.substr(0, 40)) {
    out += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : '?';
  }
  return out + "'";
}

/// Reads the file statement by statement. The first error ends it.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : words_(text) {
    trace_.file = file;
    advance();
  }

  Result<GoalTrace> parse() {
    if (!read_head()) return std::move(*error_);
    while (!now_.text.empty()) {
      if (!read_rank()) return std::move(*error_);
    }
    return std::move(trace_);
  }

 private:
  struct Link {
    std::uint32_t line = 0;
    std::string_view later, earlier;
    bool at_start = false;
  };

  void advance() { now_ = words_.next(); }
  bool fail(std::uint32_t line, std::string_view text) {
    error_ = corrupt("{}:{}: {}", trace_.file, line, text);
    return false;
  }
  bool expect(std::string_view word, std::string_view where) {
    if (now_.text != word) {
      return fail(now_.line,
                  fmt::format("{} stands {}: write '{}' there", shown(now_.text), where, word));
    }
    advance();
    return true;
  }
  template <class T>
  bool read_number(T& value, std::string_view name, std::string_view unit = {}) {
    std::string_view text = now_.text;
    if (!unit.empty() && text.ends_with(unit)) text.remove_suffix(unit.size());
    const auto number = parse_number<T>(text);
    if (!number) {
      return fail(now_.line, fmt::format("{} is no {}: write a whole number of 0 or more",
                                         shown(now_.text), name));
    }
    value = *number;
    advance();
    return true;
  }

  bool read_head() {
    const std::uint32_t line = now_.line;
    std::uint64_t ranks = 0;
    if (now_.text != "num_ranks") {
      fail(line, fmt::format("{} stands at the beginning of what should be GOAL text: write "
                             "'num_ranks' there, or name another file: a GOAL text, or the "
                             "anchor file of an OTF2 archive, which ends with .otf2",
                             shown(now_.text)));
      error_->code = ErrorCode::invalid_argument;  // a file of another kind
      return false;
    }
    advance();
    if (!read_number(ranks, "number of ranks")) return false;
    if (ranks == 0 || ranks > most_goal_ranks) {
      return fail(line, fmt::format("num_ranks is {}: use 1 to {}", ranks, most_goal_ranks));
    }
    trace_.ranks.resize(ranks);
    is_there_.resize(ranks);
    return true;
  }

  bool read_rank() {
    const std::uint32_t line = now_.line;
    std::uint32_t rank = 0;
    if (!expect("rank", "where a rank should begin") || !read_number(rank, "rank")) return false;
    if (!check_rank(line, rank)) return false;
    if (is_there_[rank]) return fail(line, fmt::format("rank {} is there twice: join both", rank));
    is_there_[rank] = true;
    rank_ = &trace_.ranks[rank];
    own_ = rank;
    labels_.clear();
    links_.clear();
    if (!expect("{", "behind the rank's number")) return false;
    while (now_.text != "}") {
      if (now_.text.empty()) {
        return fail(line, fmt::format("rank {} does not end: write }} behind its last operation "
                                      "(the file may be truncated)",
                                      rank));
      }
      if (!read_statement()) return false;
    }
    advance();
    return resolve_links() && check_cycles(line, rank);
  }

  bool check_rank(std::uint32_t line, std::uint32_t rank) {
    if (rank < trace_.ranks.size()) return true;
    return fail(line, fmt::format("rank {} does not exist: num_ranks is {}; use 0 to {}", rank,
                                  trace_.ranks.size(), trace_.ranks.size() - 1));
  }

  static bool is_operation(std::string_view word) {
    return word == "calc" || word == "send" || word == "recv";
  }

  bool read_statement() {
    if (is_operation(now_.text)) return read_operation();
    const Token first = now_;
    advance();
    if (now_.text == ":") {
      advance();
      const auto index = static_cast<std::uint32_t>(rank_->operations.size());
      if (!labels_.emplace(first.text, index).second) {
        return fail(first.line,
                    fmt::format("label {} is there twice: use another", shown(first.text)));
      }
      return read_operation();
    }
    const bool at_start = now_.text == "irequires";
    if (!at_start && now_.text != "requires") {
      return fail(first.line,
                  fmt::format("{} is no operation: write calc, send, recv, or LABEL requires LABEL",
                              shown(first.text)));
    }
    advance();
    links_.push_back({first.line, first.text, now_.text, at_start});
    advance();
    return true;
  }

  bool read_operation() {
    using Kind = GoalOperation::Kind;
    GoalOperation op{.line = now_.line};
    const std::string_view word = now_.text;
    if (!is_operation(word)) {
      return fail(now_.line,
                  fmt::format("{} is no operation: write calc, send or recv", shown(word)));
    }
    advance();
    if (word == "calc") {
      if (!read_number(op.amount, "time in nanoseconds")) return false;
      if (op.amount > longest_calc_ns) {
        return fail(op.line, fmt::format("calc is {} ns, longer than a day: divide it", op.amount));
      }
    } else {
      op.kind = word == "send" ? Kind::send : Kind::receive;
      if (!read_message(op)) return false;
    }
    if (!read_options(op)) return false;
    rank_->operations.push_back(op);
    return true;
  }

  bool read_message(GoalOperation& op) {
    if (!read_number(op.amount, "size in bytes", "b")) return false;
    if (op.amount > most_bytes) {
      return fail(op.line,
                  fmt::format("a message of {} bytes: use at most {}", op.amount, most_bytes));
    }
    const bool sends = op.kind == GoalOperation::Kind::send;
    if (!expect(sends ? "to" : "from", "behind the size")) return false;
    if (!read_number(op.peer, "rank") || !check_rank(op.line, op.peer)) return false;
    if (now_.text != "tag") return true;
    advance();
    return read_number(op.tag, "tag");
  }

  bool read_options(const GoalOperation& op) {
    while (now_.text == "cpu" || now_.text == "nic") {
      const std::string_view name = now_.text;
      std::uint32_t number = 0;
      advance();
      if (!read_number(number, "number")) return false;
      if (number != 0) {
        return fail(op.line, fmt::format("{} {}: a simulated rank has one; write {} 0, and a rank "
                                         "of its own for each further one",
                                         name, number, name));
      }
    }
    return true;
  }

  bool resolve_links() {
    for (const Link& link : links_) {
      const auto later = labels_.find(link.later);
      const auto earlier = labels_.find(link.earlier);
      if (later == labels_.end() || earlier == labels_.end()) {
        return fail(link.line,
                    fmt::format("no operation of rank {} has the label {}: give one that label",
                                own_, shown(later == labels_.end() ? link.later : link.earlier)));
      }
      rank_->dependencies.push_back({earlier->second, later->second, link.at_start});
    }
    std::stable_sort(rank_->dependencies.begin(), rank_->dependencies.end(),
                     [](const auto& a, const auto& b) { return a.earlier < b.earlier; });
    return true;
  }

  bool check_cycles(std::uint32_t line, std::uint32_t rank) {
    const std::size_t count = rank_->operations.size();
    std::vector<std::uint32_t> first(count + 1);
    std::vector<std::uint32_t> missing(count);
    for (const GoalDependency& d : rank_->dependencies) {
      ++first[d.earlier + 1];
      ++missing[d.later];
    }
    for (std::size_t i = 0; i < count; ++i) first[i + 1] += first[i];
    std::vector<std::uint32_t> ready;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (missing[i] == 0) ready.push_back(i);
    }
    std::size_t done = 0;
    while (done < ready.size()) {
      const std::uint32_t op = ready[done++];
      for (std::uint32_t d = first[op]; d < first[op + 1]; ++d) {
        const std::uint32_t later = rank_->dependencies[d].later;
        if (--missing[later] == 0) ready.push_back(later);
      }
    }
    if (done == count) return true;
    return fail(line,
                fmt::format("{} operations of rank {} wait for each other in a circle: remove "
                            "a requires",
                            count - done, rank));
  }

  static constexpr std::uint64_t longest_calc_ns = 86'400'000'000'000;
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 48;

  Words words_;
  Token now_;
  GoalTrace trace_;
  std::vector<bool> is_there_;
  std::optional<Error> error_;
  // The rank that the parser is reading.
  GoalRank* rank_ = nullptr;
  std::uint32_t own_ = 0;
  std::unordered_map<std::string_view, std::uint32_t> labels_;
  std::vector<Link> links_;
};

}  // namespace

Result<GoalTrace> parse_goal(std::string_view text, const std::string& file) {
  return Parser(text, file).parse();
}

Result<GoalTrace> read_goal(const std::string& path) try {
  const auto text = read_text_file(path);
  if (!text) {
    return Error{text.error().code, text.error().message +
                                        ": a GOAL text, or the anchor file of an OTF2 archive, "
                                        "which ends with .otf2"};
  }
  return parse_goal(*text, path);
} catch (const std::bad_alloc&) {
  // It may be as large as memory allows.
  return make_error(ErrorCode::exhausted,
                    "'{}' does not fit in the memory that is left; use a smaller trace, or raise "
                    "the limit (ulimit -v)",
                    path);
}

}  // namespace weft::trace
