// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace weft {

/// A program that needs libraries: nothing but what the dynamic linker reads.
inline std::vector<std::byte> program_with(const std::vector<std::string>& libraries) {
  std::string names(1, '\0');
  std::vector<Elf64_Dyn> entries;
  for (const std::string& library : libraries) {
    entries.push_back({.d_tag = DT_NEEDED, .d_un = {.d_val = names.size()}});
    names += library + '\0';
  }
  const std::size_t tables = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  const std::size_t text = tables + (entries.size() + 2) * sizeof(Elf64_Dyn);
  entries.push_back({.d_tag = DT_STRTAB, .d_un = {.d_ptr = text}});
  entries.push_back({.d_tag = DT_NULL, .d_un = {.d_val = 0}});
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  const std::size_t size = text + names.size();
  const Elf64_Phdr segments[] = {{.p_type = PT_LOAD,
                                  .p_flags = PF_R,
                                  .p_offset = 0,
                                  .p_vaddr = 0,
                                  .p_paddr = 0,
                                  .p_filesz = size,
                                  .p_memsz = size,
                                  .p_align = 1},
                                 {.p_type = PT_DYNAMIC,
                                  .p_flags = PF_R,
                                  .p_offset = tables,
                                  .p_vaddr = tables,
                                  .p_paddr = 0,
                                  .p_filesz = text - tables,
                                  .p_memsz = text - tables,
                                  .p_align = 1}};
  std::vector<std::byte> bytes(size);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, segments, sizeof segments);
  std::memcpy(bytes.data() + tables, entries.data(), text - tables);
  std::memcpy(bytes.data() + text, names.data(), names.size());
  return bytes;
}

}  // namespace weft
