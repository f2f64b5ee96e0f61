// SPDX-License-Identifier: Apache-2.0
// JsonFields reads the members of a JSON object that a person, a crash or another program may have
// changed. It checks each member's type and range, and remembers the first one that is wrong.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::emulate {

class JsonFields {
 public:
  explicit JsonFields(std::string_view text);
  JsonFields(const JsonFields&) = delete;
  JsonFields& operator=(const JsonFields&) = delete;
  ~JsonFields();

  /// Readers of members. A member that is missing, of another type or outside its range yields an
  /// empty value, or `least`, and becomes `wrong` unless another one is already.
  std::int64_t whole(const char* name, std::int64_t least, std::int64_t most);
  double number(const char* name, double least, double most);
  /// Reads null as nothing.
  std::optional<double> number_or_null(const char* name, double least, double most);
  bool flag(const char* name);
  /// Without NUL, which no word of a command and no path can have.
  std::string text(const char* name);
  std::vector<std::int64_t> wholes(const char* name, std::int64_t least, std::int64_t most);
  std::vector<double> numbers(const char* name, double least, double most);
  std::vector<std::string> texts(const char* name);

  /// "bandwidth: is not between 0 and 1", or that the text is no JSON object; empty: nothing.
  const std::string& wrong() const { return wrong_; }

 private:
  struct Object;

  std::unique_ptr<Object> object_;
  std::string wrong_;
};

}  // namespace weft::emulate
