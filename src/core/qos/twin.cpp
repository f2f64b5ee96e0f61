// SPDX-License-Identifier: Apache-2.0
#include "core/qos/twin.hpp"

namespace weft::qos {

std::vector<std::vector<double>> Twin::predict_all(std::span<const Question> questions,
                                                   double share) {
  std::vector<std::vector<double>> all;
  for (const Question& question : questions) {
    const auto jobs = predict(question.levels, question.draw, share);
    if (jobs.empty()) return {};
    auto& work = all.emplace_back();
    for (const JobWindow& job : jobs) work.push_back(job.progress_of_slowest());
  }
  return all;
}

}  // namespace weft::qos
