// SPDX-License-Identifier: Apache-2.0
#include "base/needed_libraries.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/program_for_test.hpp"

namespace weft {
namespace {

std::vector<std::byte> own_program() {
  const std::filesystem::path program("/proc/self/exe");
  std::vector<std::byte> bytes(std::filesystem::file_size(std::filesystem::canonical(program)));
  std::ifstream(program, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

struct Symbol {
  const char* name;
  bool is_defined;
};

/// Appends a table of symbols to a program.
std::vector<std::byte> with_symbols(std::vector<std::byte> program,
                                    const std::vector<Symbol>& symbols) {
  std::string names(1, '\0');
  std::vector<Elf64_Sym> table;
  for (const Symbol& symbol : symbols) {
    table.push_back({.st_name = static_cast<Elf64_Word>(names.size()),
                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                     .st_other = 0,
                     .st_shndx = static_cast<Elf64_Section>(symbol.is_defined ? 1 : SHN_UNDEF),
                     .st_value = 0,
                     .st_size = 0});
    names += std::string(symbol.name) + '\0';
  }
  const auto append = [&](const void* bytes, std::size_t size) {
    const std::size_t at = program.size();
    program.resize(at + size);
    std::memcpy(program.data() + at, bytes, size);
    return at;
  };
  Elf64_Shdr sections[2]{};
  sections[0].sh_type = SHT_SYMTAB;
  sections[0].sh_size = table.size() * sizeof(Elf64_Sym);
  sections[0].sh_offset = append(table.data(), sections[0].sh_size);
  sections[0].sh_link = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_size = names.size();
  sections[1].sh_offset = append(names.data(), names.size());
  Elf64_Ehdr header;
  std::memcpy(&header, program.data(), sizeof header);
  header.e_shoff = append(sections, sizeof sections);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  std::memcpy(program.data(), &header, sizeof header);
  return program;
}

TEST(needed_libraries, names_those_of_a_program) {
  const auto names = needed_libraries(own_program());
  EXPECT_NE(std::find(names.begin(), names.end(), "libc.so.6"), names.end());
}

TEST(needed_libraries, of_what_is_no_program_there_are_none) {
  EXPECT_TRUE(needed_libraries({}).empty());
  const std::vector<std::byte> script(2000, std::byte{'#'});
  EXPECT_TRUE(needed_libraries(script).empty());
}

TEST(needed_libraries, a_program_that_was_cut_off_does_no_harm) {
  const auto program = own_program();
  for (const std::size_t length : {4, 63, 64, 100, 1000, 5000}) {
    (void)needed_libraries(std::span(program).first(std::min<std::size_t>(length, program.size())));
  }
  // Its tables lie beyond its end.
  auto damaged = program;
  std::fill(damaged.begin() + 32, damaged.begin() + 40, std::byte{0xff});
  EXPECT_TRUE(needed_libraries(damaged).empty());
}

TEST(choose_mpi, follows_the_library_that_a_program_needs) {
  EXPECT_EQ(choose_mpi(program_with({"libc.so.6"})).abi, "");
  EXPECT_EQ(choose_mpi(program_with({"libmpich.so.12", "libc.so.6"})).abi, "mpich");
  EXPECT_EQ(choose_mpi(program_with({"libc.so.6", "libmpi.so.12"})).abi, "mpich");
  EXPECT_EQ(choose_mpi(program_with({"libmpi.so.40"})).abi, "openmpi");
  EXPECT_EQ(choose_mpi(program_with({"libmpichfort.so.12"})).abi, "mpich");
  EXPECT_EQ(choose_mpi(program_with({"libmpi_mpifh.so.40"})).abi, "openmpi");
  EXPECT_EQ(choose_mpi(program_with({"libmpi_abi.so.1"})).abi, "standard");
  EXPECT_EQ(choose_mpi(program_with({"libmpi_abi.so.0"})).abi, "standard");
  EXPECT_EQ(choose_mpi(program_with({"libweft_mpifort.so.1"})).abi, "standard");
  EXPECT_EQ(choose_mpi(program_with({"libmpi.so.40"})).library, "libmpi.so.40");
}

TEST(choose_mpi, reads_the_program_of_a_file) {
  const std::string path = ::testing::TempDir() + "/program_of_open_mpi";
  const auto program = program_with({"libmpi.so.40"});
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(program.data()),
             static_cast<std::streamsize>(program.size()));
  EXPECT_EQ(choose_mpi_of(path).abi, "openmpi");
  EXPECT_EQ(choose_mpi_of(path + "/none").abi, "");
  EXPECT_EQ(choose_mpi_of(path + "/none").wrong, "");
}

TEST(choose_mpi, leaves_open_mpi_its_module_of_fortran_2008_and_replaces_what_that_calls) {
  const MpiChoice choice = choose_mpi(program_with({"libmpi_usempif08.so.40", "libmpi.so.40"}));
  EXPECT_EQ(choice.abi, "openmpi");
  EXPECT_EQ(choice.library, "libmpi_mpifh.so.40");
  EXPECT_EQ(choice.wrong, "");
}

TEST(choose_mpi, leaves_open_mpi_its_bindings_for_cpp_and_replaces_what_those_call) {
  const MpiChoice choice = choose_mpi(program_with({"libmpi_cxx.so.40", "libmpi.so.40"}));
  EXPECT_EQ(choice.abi, "openmpi");
  EXPECT_EQ(choice.library, "libmpi.so.40");
  EXPECT_EQ(choice.wrong, "");
}

TEST(choose_mpi, leaves_mpich_its_library_of_fortran_where_a_program_uses_its_module) {
  EXPECT_EQ(choose_mpi(program_with({"libmpichfort.so.12"})).folder, "mpich");
  // A name of a library is as good as one of a function here: the image is looked through.
  const MpiChoice choice = choose_mpi(program_with({"libmpichfort.so.12", "mpi_init_f08_"}));
  EXPECT_EQ(choice.abi, "mpich");
  EXPECT_EQ(choice.folder, "mpich-own-fortran");
  EXPECT_EQ(choice.library, "libmpich.so.12");
}

TEST(choose_mpi, names_a_library_that_weft_does_not_replace) {
  for (const char* library : {"libmpi.so.1", "libmpi.so.4", "libmpi.so.400", "libmpich.so.10",
                              "libmpi_cxx.so.20", "libmpi_java.so.40", "libmpi_abi.so.2"}) {
    const MpiChoice choice = choose_mpi(program_with({library}));
    EXPECT_NE(choice.wrong.find(library), std::string::npos) << library << ": " << choice.wrong;
  }
}

TEST(choose_mpi, two_mpis_in_one_program_are_an_error_that_names_both) {
  const auto choice = choose_mpi(program_with({"libmpi.so.40", "libmpich.so.12"}));
  EXPECT_EQ(choice.wrong,
            "it needs libmpi.so.40 of one MPI and libmpich.so.12 of another; link it with one of "
            "them");
}

TEST(choose_mpi, static_and_32_bit_programs_of_mpi_are_errors) {
  auto program = program_with({"MPI_Init"});
  EXPECT_EQ(choose_mpi(program).wrong, "");
  program[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_NE(choose_mpi(program).wrong.find("32-bit"), std::string::npos);
  program[EI_CLASS] = std::byte{ELFCLASS64};
  const std::uint32_t none = PT_NULL;  // in place of PT_DYNAMIC
  std::memcpy(program.data() + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), &none, sizeof none);
  EXPECT_NE(choose_mpi(program).wrong.find("-static"), std::string::npos);
  auto other = program_with({"libc.so.6"});
  other[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_EQ(choose_mpi(other).wrong, "");
}

TEST(choose_mpi, a_program_that_defines_mpi_and_needs_no_library_of_one_is_an_error) {
  const auto wrong = [](const std::vector<std::string>& libraries,
                        const std::vector<Symbol>& symbols) {
    return choose_mpi(with_symbols(program_with(libraries), symbols)).wrong;
  };
  const std::string linked_in = "an MPI is linked into it";
  EXPECT_TRUE(wrong({"libc.so.6"}, {{"MPI_Init", true}}).starts_with(linked_in));
  EXPECT_TRUE(
      wrong({"libc.so.6"}, {{"MPI_Init", true}, {"PMPI_Init", true}}).starts_with(linked_in));
  // A program of a library that needs an MPI, and one with a tool in itself.
  EXPECT_EQ(wrong({"libc.so.6"}, {{"MPI_Init", false}}), "");
  EXPECT_EQ(wrong({"libmpich.so.12"}, {{"MPI_Init", true}, {"PMPI_Init", false}}), "");
  EXPECT_EQ(wrong({"libsolver.so"}, {{"MPI_Init", true}, {"PMPI_Init", false}}), "");
  EXPECT_EQ(wrong({"libc.so.6"}, {{"MPI_Initialized", true}}), "");
}

TEST(choose_mpi, a_table_of_symbols_that_was_cut_off_does_no_harm) {
  const auto program = with_symbols(program_with({"libc.so.6"}), {{"MPI_Init", true}});
  for (std::size_t length = 0; length < program.size(); ++length) {
    const std::vector<std::byte> cut(program.begin(), program.begin() + std::ptrdiff_t(length));
    EXPECT_EQ(choose_mpi(cut).wrong, "");
  }
}

TEST(choose_mpi, tells_that_a_program_looks_elsewhere_before_the_library_path) {
  auto program = program_with({"libmpich.so.12", "/opt/one", "/opt/two"});
  const auto make = [&](std::size_t entry, std::int64_t tag) {
    const std::size_t tables = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
    std::memcpy(program.data() + tables + entry * sizeof(Elf64_Dyn), &tag, sizeof tag);
  };
  EXPECT_FALSE(choose_mpi(program).has_first_rpath);
  make(1, DT_RPATH);
  EXPECT_TRUE(choose_mpi(program).has_first_rpath);
  EXPECT_EQ(choose_mpi(program).abi, "mpich");
  make(2, DT_RUNPATH);
  EXPECT_FALSE(choose_mpi(program).has_first_rpath) << "the linker ignores DT_RPATH then";
}

TEST(own_libraries_of, are_those_whose_place_weft_takes) {
  const auto names = own_libraries_of("openmpi");
  EXPECT_EQ(names, (std::vector<std::string>{"libmpi.so.40", "libmpi_mpifh.so.40"}));
}

}  // namespace
}  // namespace weft
