// SPDX-License-Identifier: Apache-2.0
#include "runtime/manager/pmix_session.hpp"

#include <fmt/format.h>
#include <pmix.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/make_error.hpp"

namespace weft {
namespace {

Error refused(std::string_view what, pmix_status_t status) {
  return make_error(ErrorCode::unavailable, "PMIx: {}: {}", what, PMIx_Error_string(status));
}

pmix_proc_t process(const std::string& job, pmix_rank_t rank) {
  pmix_proc_t proc{};
  std::strncpy(proc.nspace, job.c_str(), PMIX_MAX_NSLEN);
  proc.rank = rank;
  return proc;
}

/// A figure of the whole job.
std::optional<std::uint32_t> job_figure(const std::string& job, const char* key) {
  const pmix_proc_t all = process(job, PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  if (PMIx_Get(&all, key, nullptr, 0, &value) != PMIX_SUCCESS || value == nullptr) {
    return std::nullopt;
  }
  std::optional<std::uint32_t> figure;
  if (value->type == PMIX_UINT32) figure = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return figure;
}

Result<std::string> text_of(const std::string& job, std::uint32_t rank, const std::string& key) {
  const pmix_proc_t from = process(job, rank);
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&from, key.c_str(), nullptr, 0, &value);
  if (status != PMIX_SUCCESS || value == nullptr) {
    return refused(fmt::format("rank {} published no {}", rank, key), status);
  }
  std::string text;
  if (value->type == PMIX_BYTE_OBJECT && value->data.bo.size <= ManagerSession::longest_text) {
    text.assign(value->data.bo.bytes, value->data.bo.size);
  }
  PMIX_VALUE_RELEASE(value);
  return text;
}

}  // namespace

bool PmixSession::offered() {
  return std::getenv("PMIX_NAMESPACE") != nullptr && std::getenv("PMIX_RANK") != nullptr;
}

Result<std::unique_ptr<ManagerSession>> PmixSession::open() {
  pmix_proc_t self{};
  if (const auto status = PMIx_Init(&self, nullptr, 0); status != PMIX_SUCCESS) {
    return refused("cannot reach the launcher", status);
  }
  std::unique_ptr<PmixSession> session(new PmixSession);
  session->job_id_ = self.nspace;
  session->rank_ = self.rank;
  const auto size = job_figure(session->job_id_, PMIX_JOB_SIZE);
  if (!size || self.rank >= *size) {
    return Error{ErrorCode::unavailable, "PMIx: the launcher does not say how large the job is"};
  }
  session->size_ = *size;
  session->size_here_ = job_figure(session->job_id_, PMIX_LOCAL_SIZE).value_or(0);
  return std::unique_ptr<ManagerSession>(std::move(session));
}

PmixSession::~PmixSession() {
  (void)PMIx_Finalize(nullptr, 0);
}

Result<std::vector<std::string>> PmixSession::exchange(const std::string& key,
                                                       const std::string& text) {
  if (text.size() > longest_text) {
    return invalid("PMIx: {} is too long", key);
  }
  std::string copy = text;  // PMIx wants to be able to write
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = copy.data();
  value.data.bo.size = copy.size();
  pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value);
  if (status == PMIX_SUCCESS) status = PMIx_Commit();
  if (status != PMIX_SUCCESS) return refused("cannot publish " + key, status);

  pmix_info_t collect{};
  bool yes = true;
  PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  const pmix_proc_t all = process(job_id_, PMIX_RANK_WILDCARD);
  status = PMIx_Fence(&all, 1, &collect, 1);
  PMIX_INFO_DESTRUCT(&collect);
  if (status != PMIX_SUCCESS) return refused("cannot wait for the other ranks", status);

  std::vector<std::string> texts;
  for (std::uint32_t rank = 0; rank < size_; ++rank) {
    auto theirs = rank == rank_ ? Result<std::string>(text) : text_of(job_id_, rank, key);
    if (!theirs) return std::move(theirs).error();
    texts.push_back(std::move(theirs).value());
  }
  return texts;
}

}  // namespace weft
