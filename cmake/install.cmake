# SPDX-License-Identifier: Apache-2.0
# libweft: one shared library of everything that include/weft promises; and the places to which
# `cmake --install` copies files. Users link libweft only: the libraries below it stay its affair.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The libraries that implement the public headers; those they build on come along.
set(weft_public_libraries weft_shm weft_sinks weft_sources weft_stream weft_stream_node
  weft_stream_local weft_program weft_spmd)

# Adds `target` and every library of this tree that it links to, once each, to weft_modules, and the
# libraries from elsewhere to weft_others.
function(weft_add_with_dependencies target)
  string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" target "${target}")
  if(NOT target MATCHES "^weft_")
    list(APPEND weft_others ${target})
  elseif(TARGET ${target} AND NOT target IN_LIST weft_modules)
    get_target_property(type ${target} TYPE)
    get_target_property(depends ${target} INTERFACE_LINK_LIBRARIES)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND weft_modules ${target})
    endif()
    foreach(depend IN LISTS depends)
      if(depend AND NOT depend MATCHES "weft_flags")
        weft_add_with_dependencies("${depend}")
      endif()
    endforeach()
  endif()
  set(weft_modules ${weft_modules} PARENT_SCOPE)
  set(weft_others ${weft_others} PARENT_SCOPE)
endfunction()

set(weft_modules)
set(weft_others)
foreach(library IN LISTS weft_public_libraries)
  weft_add_with_dependencies(${library})
endforeach()
list(REMOVE_DUPLICATES weft_others)

# Of objects: from archives the linker would drop the functions that only the library's users call.
list(TRANSFORM weft_modules REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE weft_objects)
add_library(weft_lib SHARED ${weft_objects})
add_library(weft::weft ALIAS weft_lib)
set_target_properties(weft_lib PROPERTIES OUTPUT_NAME weft EXPORT_NAME weft
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(weft_lib INTERFACE cxx_std_20)
target_include_directories(weft_lib INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(weft_lib PRIVATE ${weft_others} $<BUILD_INTERFACE:weft_flags>)
set_target_properties(weft_lib PROPERTIES LINKER_LANGUAGE CXX)
if(NOT WEFT_SANITIZE)
  set(weft_map ${CMAKE_SOURCE_DIR}/cmake/libweft.map)
  target_link_options(weft_lib PRIVATE -Wl,--version-script=${weft_map} -Wl,--no-undefined)
  set_target_properties(weft_lib PROPERTIES LINK_DEPENDS ${weft_map})
endif()

install(TARGETS weft_lib EXPORT weftTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
# Errors and help name pages of docs, and the pages name files of examples.
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md
  ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs ${CMAKE_SOURCE_DIR}/examples
  DESTINATION ${CMAKE_INSTALL_DOCDIR})

# find_package(weft)
set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${weft_package_dir})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/weftConfig.cmake.in
  ${CMAKE_BINARY_DIR}/weftConfig.cmake INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/weftConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/weftConfig.cmake ${CMAKE_BINARY_DIR}/weftConfigVersion.cmake
  DESTINATION ${weft_package_dir})

# pkg-config weft: finds its prefix from where the file lies, so that the tree can be moved.
file(RELATIVE_PATH weft_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/weft.pc.in ${CMAKE_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The program, its manual page and the shells' completion, which it prints itself.
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  set(weft_generated)
  function(weft_generate what file destination)
    set(path ${CMAKE_BINARY_DIR}/generated/${file})
    add_custom_command(OUTPUT ${path} DEPENDS weft VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
      COMMAND sh -c "\"$1\" generate $2 >\"$3.new\" && mv \"$3.new\" \"$3\"" sh
        $<TARGET_FILE:weft> ${what} ${path})
    install(FILES ${path} DESTINATION ${destination})
    set(weft_generated ${weft_generated} ${path} PARENT_SCOPE)
  endfunction()
  weft_generate(man weft.1 ${CMAKE_INSTALL_MANDIR}/man1)
  weft_generate(bash weft ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  weft_generate(zsh _weft ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
  weft_generate(fish weft.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  add_custom_target(weft_generated ALL DEPENDS ${weft_generated})
endif()
