// SPDX-License-Identifier: Apache-2.0
// Pmi1Session: a launcher that speaks PMI-1 over a socket that the process inherits (Balaji et al.,
// PMI: A Scalable Parallel Process-Management Interface, 2010).
#pragma once

#include "runtime/manager/manager_session.hpp"

namespace weft {

class Pmi1Session final : public ManagerSession {
 public:
  static bool offered();
  static Result<std::unique_ptr<ManagerSession>> open();
  /// The same over `socket`, which it then owns. For tests.
  static Result<std::unique_ptr<ManagerSession>> open(int socket);
  ~Pmi1Session() override;

  Result<std::vector<std::string>> exchange(const std::string& key,
                                            const std::string& text) override;

 private:
  explicit Pmi1Session(int socket) : socket_(socket) {}
  Result<void> introduce();
  /// Sends a line, and yields the answer, which begins with `cmd=ANSWER`.
  Result<std::string> ask(const std::string& line, std::string_view answer);
  Result<void> put(const std::string& key, const std::string& value);
  Result<std::string> get(const std::string& key);

  int socket_;
  std::string space_;
  std::size_t longest_value_ = 0;
  std::string received_;
};

}  // namespace weft
