# SPDX-License-Identifier: Apache-2.0
# The list of backends: each one in the build is in the registry, and no other.

# vyre_backend(<id> [arguments of vyre_stage]...): the stage src/backend/<id>, which defines
# `device::BackendDescriptor vyre::backend::<id>_descriptor()`, as a part of the registry.
function(vyre_backend id)
  get_property(folder GLOBAL PROPERTY VYRE_BACKEND_FOLDER_${id})
  if(folder)
    message(FATAL_ERROR "backend '${id}' is there twice, in ${folder} and in "
                        "${CMAKE_CURRENT_SOURCE_DIR}. Fix: give one of them another id.")
  endif()
  set_property(GLOBAL PROPERTY VYRE_BACKEND_FOLDER_${id} "${CMAKE_CURRENT_SOURCE_DIR}")
  set_property(GLOBAL APPEND PROPERTY VYRE_BACKENDS ${id})
  vyre_stage(backend/${id} ${ARGN})
endfunction()

# The library vyre_backends: device::registry() over all backends added so far.
function(vyre_backend_list)
  get_property(ids GLOBAL PROPERTY VYRE_BACKENDS)
  vyre_registry(vyre_backends ${ids})
  vyre_in_library(vyre_backends)
endfunction()

# vyre_registry(<target> <id>...): a library with device::registry() over these backends.
function(vyre_registry target)
  set(ids ${ARGN})
  list(SORT ids)
  set(declarations "")
  set(rows "")
  set(targets "")
  foreach(id IN LISTS ids)
    string(APPEND declarations "device::BackendDescriptor ${id}_descriptor();\n")
    string(APPEND rows "    rows.push_back(backend::${id}_descriptor());\n")
    list(APPEND targets vyre_backend_${id})
  endforeach()
  file(CONFIGURE OUTPUT "${VYRE_GENERATED_DIR}/backend/${target}.cpp" @ONLY CONTENT
"// Written by cmake/VyreBackend.cmake.
#include <vector>

#include \"base/check.hpp\"
#include \"vyre/device/registry.hpp\"

namespace vyre::backend {
@declarations@}  // namespace vyre::backend

namespace vyre::device {

const Registry& registry() {
  static const Registry kAll = [] {
    std::vector<BackendDescriptor> rows;
@rows@    auto made = Registry::make(std::move(rows));
    VYRE_CHECK(made.has_value());
    return std::move(*made);
  }();
  return kAll;
}

}  // namespace vyre::device
")
  add_library(${target} STATIC "${VYRE_GENERATED_DIR}/backend/${target}.cpp")
  target_link_libraries(${target} PUBLIC vyre_device ${targets}
                                  PRIVATE $<BUILD_INTERFACE:vyre_options>)
endfunction()
