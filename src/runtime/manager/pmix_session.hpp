// SPDX-License-Identifier: Apache-2.0
// PmixSession: a launcher that speaks PMIx. The only code that knows it.
#pragma once

#include "runtime/manager/manager_session.hpp"

namespace weft {

class PmixSession final : public ManagerSession {
 public:
  static bool offered();
  static Result<std::unique_ptr<ManagerSession>> open();
  ~PmixSession() override;

  Result<std::vector<std::string>> exchange(const std::string& key,
                                            const std::string& text) override;

 private:
  PmixSession() = default;
};

}  // namespace weft
