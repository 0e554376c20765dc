# SPDX-License-Identifier: Apache-2.0
# The one library that users link, and everything that `cmake --install` puts in place.
#
# Inside the project every stage is a static library of its own, so that a test links only what it
# tests. Users get one file, libvyre, made from the very objects of those libraries: nothing is
# compiled twice, nothing is left out because no one refers to it, and it does not matter in which
# order the stages depend on each other. The program `vyre` links the stages and stands alone.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# What the objects need when they are linked: <target>=<name for pkg-config>. Others that a stage
# names are headers only.
set(VYRE_LIBRARY_LINKS fmt::fmt=fmt PkgConfig::SODIUM=libsodium)
# LLVM has no pkg-config file; its targets are named in cmake/VyreLlvm.cmake.
set(VYRE_HEADER_ONLY_LINKS nlohmann_json::nlohmann_json)

# vyre_library(): the target vyre_library (libvyre.a, or libvyre.so with VYRE_SHARED), known as
# vyre::vyre here and in the installed package. Call it after all stages but the command line.
function(vyre_library)
  get_property(stages GLOBAL PROPERTY VYRE_LIBRARY_STAGES)
  set(objects ${stages})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  set(kind STATIC)
  if(VYRE_SHARED)
    set(kind SHARED)
  endif()
  add_library(vyre_library ${kind} ${objects})
  add_library(vyre::vyre ALIAS vyre_library)
  set_target_properties(vyre_library PROPERTIES
    OUTPUT_NAME vyre
    EXPORT_NAME vyre
    LINKER_LANGUAGE CXX
    VERSION ${PROJECT_VERSION}
    # Before 1.0 a minor version may change anything.
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  target_compile_features(vyre_library PUBLIC cxx_std_23)
  target_include_directories(vyre_library PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include;${VYRE_GENERATED_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_libraries(vyre_library PRIVATE $<BUILD_INTERFACE:vyre_options>)

  get_property(wanted GLOBAL PROPERTY VYRE_LIBRARY_WANTED)
  set(known "")
  foreach(row IN LISTS VYRE_LIBRARY_LINKS)
    string(REGEX REPLACE "=.*" "" target "${row}")
    target_link_libraries(vyre_library PRIVATE ${target})
    list(APPEND known ${target})
  endforeach()
  target_link_libraries(vyre_library PRIVATE ${VYRE_LLVM_TARGET})
  list(APPEND known ${VYRE_LLVM_TARGET})
  if(VYRE_SHARED AND VYRE_LLVM_STATIC)
    # A program may have an LLVM of its own beside the one in libvyre.so; neither is to take the
    # other's functions.
    set(map "${PROJECT_SOURCE_DIR}/cmake/libvyre.map")
    target_link_options(vyre_library PRIVATE "LINKER:--exclude-libs,ALL"
                                             "LINKER:--version-script,${map}")
    set_property(TARGET vyre_library APPEND PROPERTY LINK_DEPENDS "${map}")
  endif()
  foreach(target IN LISTS wanted)
    if(NOT target IN_LIST known AND NOT target IN_LIST VYRE_HEADER_ONLY_LINKS)
      message(FATAL_ERROR "a stage links ${target}, of which users of libvyre would not know. Fix: "
                          "name it in cmake/VyreLibrary.cmake and cmake/vyre-config.cmake.in.")
    endif()
  endforeach()
endfunction()

# vyre_compile_program(): the program vyre-compile, which library and tools start. In a build it lies
# in bin/, where test programs find it. With a shared library it is a few lines around that; else it
# has everything inside.
function(vyre_compile_program)
  add_executable(vyre_compile "${PROJECT_SOURCE_DIR}/src/pipeline/main.cpp")
  target_include_directories(vyre_compile PRIVATE "${PROJECT_SOURCE_DIR}/src")
  set_target_properties(vyre_compile PROPERTIES
    OUTPUT_NAME vyre-compile
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(VYRE_SHARED)
    file(RELATIVE_PATH libraries "/p/${CMAKE_INSTALL_BINDIR}" "/p/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(vyre_compile PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
    target_link_libraries(vyre_compile PRIVATE vyre_library vyre_options)
  else()
    target_link_libraries(vyre_compile PRIVATE vyre_pipeline vyre_options)
  endif()
  if(VYRE_INSTALL)
    install(TARGETS vyre_compile RUNTIME)
  endif()
  # Whatever runs a program may need it.
  foreach(user IN ITEMS vyre ${ARGN})
    if(TARGET ${user})
      add_dependencies(${user} vyre_compile)
    endif()
  endforeach()
endfunction()

# vyre_install(): headers, libraries, CMake package, pkg-config files, licence. The program installs
# itself in src/cli.
function(vyre_install)
  install(TARGETS vyre_library vyre_c EXPORT vyre-targets)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/vyre" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
          FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl" PATTERN "*.h")
  install(FILES "${VYRE_GENERATED_DIR}/vyre/base/version.hpp"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vyre/base")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/README.md"
                "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
          DESTINATION "${CMAKE_INSTALL_DOCDIR}")

  set(package "${CMAKE_INSTALL_LIBDIR}/cmake/vyre")
  set(made "${PROJECT_BINARY_DIR}/package")
  install(EXPORT vyre-targets NAMESPACE vyre:: DESTINATION "${package}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/vyre-config.cmake.in"
                                "${made}/vyre-config.cmake" INSTALL_DESTINATION "${package}")
  write_basic_package_version_file("${made}/vyre-config-version.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(FILES "${made}/vyre-config.cmake" "${made}/vyre-config-version.cmake"
          DESTINATION "${package}")

  # A shared library brings what it needs; a static one leaves it to its user.
  set(names ${VYRE_LIBRARY_LINKS})
  list(TRANSFORM names REPLACE ".*=" "")
  string(JOIN " " names ${names})
  set(VYRE_PC_REQUIRES "Requires")
  if(VYRE_SHARED)
    set(VYRE_PC_REQUIRES "Requires.private")
  endif()
  string(APPEND VYRE_PC_REQUIRES ": ${names}")
  # What pkg-config cannot ask of LLVM itself.
  set(VYRE_PC_LIBS "")
  if(NOT VYRE_SHARED AND NOT VYRE_LLVM_STATIC)
    set(VYRE_PC_LIBS " -L${LLVM_LIBRARY_DIR} -lLLVM-${LLVM_VERSION_MAJOR}")
  elseif(NOT VYRE_SHARED)
    string(TOLOWER "${VYRE_LLVM_COMPONENTS}" components)
    execute_process(
      COMMAND "${LLVM_TOOLS_BINARY_DIR}/llvm-config" --link-static --ldflags --libs --system-libs
              ${components}
      OUTPUT_VARIABLE libs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX REPLACE "[ \n]+" " " libs "${libs}")
    set(VYRE_PC_LIBS " ${libs}")
  endif()
  # Relative to the file itself, so that the installed tree may be moved.
  file(RELATIVE_PATH VYRE_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/vyre.pc.in" "${made}/vyre.pc" @ONLY)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/vyre-c.pc.in" "${made}/vyre-c.pc" @ONLY)
  install(FILES "${made}/vyre.pc" "${made}/vyre-c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
