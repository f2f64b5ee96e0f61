// SPDX-License-Identifier: Apache-2.0
#include "base/module_loader.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/make_error.hpp"

namespace weft {
namespace {

std::vector<std::filesystem::path> places(const std::string& library) {
  std::vector<std::filesystem::path> found;
  Dl_info here{};
  const bool known = dladdr(reinterpret_cast<const void*>(&load_module_table), &here) != 0;
  for (const char* file : {"/proc/self/exe", known ? here.dli_fname : ""}) {
    std::error_code error;
    const auto directory = std::filesystem::canonical(file, error).parent_path();
    if (error) continue;
    found.push_back(directory / library);
    found.push_back(directory.parent_path() / library);
    found.push_back(directory / WEFT_BIN_TO_LIB / library);
  }
  found.emplace_back(library);
  return found;
}

/// A name alone is for the dynamic linker to search, which does not look in the working directory.
bool is_file(const std::filesystem::path& place) {
  std::error_code error;
  return place.has_parent_path() && std::filesystem::exists(place, error);
}

}  // namespace

Result<std::string> find_module(const std::string& library) {
  for (const auto& place : places(library)) {
    if (is_file(place)) return place.string();
  }
  return make_error(ErrorCode::not_found, "{} is nowhere beside this program", library);
}

Result<const void*> load_module_table(const ModuleRequest& request) {
  std::string why;
  for (const auto& place : places(request.library)) {
    void* loaded = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded == nullptr) {
      const char* said = dlerror();
      // The error names the reason for a library that exists, rather than for a missing one.
      if (why.empty() || is_file(place)) why = said != nullptr ? said : request.library;
      continue;
    }
    const auto table = reinterpret_cast<const void* (*)()>(dlsym(loaded, request.symbol));
    if (table == nullptr) {
      why =
          fmt::format("{} has no {}: it is no such module of weft", place.string(), request.symbol);
      continue;
    }
    const void* calls = table();
    std::uint32_t version = 0;
    std::memcpy(&version, calls, sizeof version);
    if (version == request.version) return calls;
    why = fmt::format("{} is of another version of weft ({}, not {})", place.string(), version,
                      request.version);
  }
  return Error{ErrorCode::not_found, why};
}

}  // namespace weft
