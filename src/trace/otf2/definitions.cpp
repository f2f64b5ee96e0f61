// SPDX-License-Identifier: Apache-2.0
#include "trace/otf2/definitions.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/descriptor.hpp"
#include "base/make_error.hpp"
#include "base/system_error.hpp"

namespace weft::trace {
namespace {

/// As it is in the file, until everything is there.
struct Collected {
  struct Region {
    OTF2_StringRef name;
    OTF2_Paradigm paradigm;
  };
  struct Group {
    OTF2_GroupType type;
    OTF2_Paradigm paradigm;
    OTF2_GroupFlag flags;
    std::vector<std::uint64_t> members;
  };
  std::uint64_t ticks_per_s = 0;
  std::uint64_t first_tick = 0;
  std::unordered_map<OTF2_StringRef, std::string> strings;
  std::unordered_map<OTF2_RegionRef, Region> regions;
  std::unordered_map<OTF2_GroupRef, Group> groups;
  std::vector<std::pair<OTF2_CommRef, OTF2_GroupRef>> communicators;
  std::unordered_map<OTF2_LocationRef, std::uint64_t> events_of;
};

Collected& collected(void* data) {
  return *static_cast<Collected*>(data);
}

OTF2_CallbackCode on_clock(void* data, std::uint64_t resolution, std::uint64_t offset,
                           std::uint64_t, std::uint64_t) {
  collected(data).ticks_per_s = resolution;
  collected(data).first_tick = offset;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_string(void* data, OTF2_StringRef self, const char* text) {
  collected(data).strings[self] = text;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_location(void* data, OTF2_LocationRef self, OTF2_StringRef, OTF2_LocationType,
                              std::uint64_t events, OTF2_LocationGroupRef) {
  collected(data).events_of[self] = events;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_region(void* data, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef,
                            OTF2_StringRef, OTF2_RegionRole, OTF2_Paradigm paradigm,
                            OTF2_RegionFlag, OTF2_StringRef, std::uint32_t, std::uint32_t) {
  collected(data).regions[self] = {name, paradigm};
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_group(void* data, OTF2_GroupRef self, OTF2_StringRef, OTF2_GroupType type,
                           OTF2_Paradigm paradigm, OTF2_GroupFlag flags, std::uint32_t count,
                           const std::uint64_t* members) {
  collected(data).groups[self] = {type, paradigm, flags, {members, members + count}};
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_communicator(void* data, OTF2_CommRef self, OTF2_StringRef,
                                  OTF2_GroupRef group, OTF2_CommRef, OTF2_CommFlag) {
  collected(data).communicators.emplace_back(self, group);
  return OTF2_CALLBACK_SUCCESS;
}

OTF2_ErrorCode read_all(OTF2_Reader* reader, Collected& into) {
  OTF2_GlobalDefReader* definitions = OTF2_Reader_GetGlobalDefReader(reader);
  if (definitions == nullptr) return OTF2_ERROR_FILE_INTERACTION;
  OTF2_GlobalDefReaderCallbacks* calls = OTF2_GlobalDefReaderCallbacks_New();
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(calls, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(calls, on_string);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(calls, on_location);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(calls, on_region);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(calls, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(calls, on_communicator);
  OTF2_Reader_RegisterGlobalDefCallbacks(reader, definitions, calls, &into);
  OTF2_GlobalDefReaderCallbacks_Delete(calls);
  std::uint64_t count = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &count);
  OTF2_Reader_CloseGlobalDefReader(reader, definitions);
  return code;
}

Call call_of(const std::string& name, OTF2_Paradigm paradigm) {
  if (name == progress_region) return Call::progress;
  const bool is_mpi = paradigm == OTF2_PARADIGM_MPI || name.starts_with("MPI_");
  if (!is_mpi) return Call::none;
  if (name == "MPI_Init") return Call::MPI_Init;
  if (name == "MPI_Init_thread") return Call::MPI_Init_thread;
  if (name == "MPI_Finalize") return Call::MPI_Finalize;
  if (name == "weft_begin") return Call::weft_begin;
  if (name == "weft_end") return Call::weft_end;
  return Call::MPI_Send;  // any that only takes time
}

Result<std::vector<std::uint32_t>> ranks_of(const Collected::Group& group,
                                            const Otf2Definitions& definitions) {
  std::vector<std::uint32_t> ranks;
  if (group.type == OTF2_GROUP_TYPE_COMM_SELF) return ranks;
  const std::size_t all = definitions.locations.size();
  for (const std::uint64_t member : group.members) {
    std::uint64_t rank = member;
    if ((group.flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS) != 0) {
      for (rank = 0; rank < all && definitions.locations[rank] != member;) ++rank;
    }
    if (rank >= all) {
      return corrupt("a communicator has a member {} of {} ranks", member, all);
    }
    ranks.push_back(static_cast<std::uint32_t>(rank));
  }
  return ranks;
}

Result<Otf2Definitions> resolve(const Collected& all) {
  Otf2Definitions out{.events_of = all.events_of};
  if (all.ticks_per_s == 0) return Error{ErrorCode::corrupt, "it does not define its clock"};
  out.ns_per_tick = 1e9 / static_cast<double>(all.ticks_per_s);
  out.first_tick = all.first_tick;
  for (const auto& [self, region] : all.regions) {
    const auto name = all.strings.find(region.name);
    if (name == all.strings.end()) continue;
    const Call call = call_of(name->second, region.paradigm);
    if (call != Call::none) out.calls[self] = call;
  }
  for (const auto& [self, group] : all.groups) {
    if (group.type != OTF2_GROUP_TYPE_COMM_LOCATIONS || group.paradigm != OTF2_PARADIGM_MPI) {
      continue;
    }
    if (!out.locations.empty()) return Error{ErrorCode::corrupt, "it defines MPI's ranks twice"};
    out.locations.assign(group.members.begin(), group.members.end());
  }
  if (out.locations.empty()) {
    return Error{ErrorCode::corrupt, "it defines no MPI ranks: only traces of MPI are replayed"};
  }
  for (const auto& [self, group] : all.communicators) {
    const auto found = all.groups.find(group);
    if (found == all.groups.end()) continue;
    if (found->second.paradigm != OTF2_PARADIGM_MPI) continue;
    auto ranks = ranks_of(found->second, out);
    if (!ranks) return std::move(ranks).error();
    out.communicator_of[self] = static_cast<std::uint32_t>(out.communicators.size());
    out.communicators.push_back(std::move(ranks).value());
  }
  return out;
}

OTF2_ErrorCode silent(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code,
                      const char*, va_list) {
  return code;
}

}  // namespace

void say_errors_once() {
  OTF2_Error_RegisterCallback(silent, nullptr);
}

Error error_of_file(const std::string& file, const std::string& otherwise) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!opened.open() && errno != ENOENT) return system_error("open", file, errno);
  const bool is_empty = opened.open() && ::fstat(opened.get(), &status) == 0 && status.st_size == 0;
  if (opened.open() && !is_empty) return {ErrorCode::corrupt, otherwise};
  return corrupt("{}: it is {}; copy the whole archive, or record the program anew", file,
                 is_empty ? "empty" : "missing");
}

Result<Otf2Definitions> read_definitions(OTF2_Reader* reader, const std::string& path) {
  Collected all;
  if (const OTF2_ErrorCode code = read_all(reader, all); code != OTF2_SUCCESS) {
    return error_of_file(
        std::filesystem::path(path).replace_extension("def"),
        fmt::format("{}: its definitions cannot be read: {}; record the program anew", path,
                    OTF2_Error_GetDescription(code)));
  }
  auto definitions = resolve(all);
  if (!definitions) {
    return Error{definitions.error().code,
                 fmt::format("{}: {}", path, definitions.error().message)};
  }
  return definitions;
}

}  // namespace weft::trace
