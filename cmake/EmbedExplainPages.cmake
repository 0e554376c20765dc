# SPDX-License-Identifier: Apache-2.0
# vyre_embed_explain_pages(<out.cpp>): a rule that turns docs/explain/<CODE>.md into the table
# behind cli/explain_pages.hpp, and again whenever a page is added, changed or removed.
function(vyre_embed_explain_pages out)
  set(folder "${PROJECT_SOURCE_DIR}/docs/explain")
  set(script "${PROJECT_SOURCE_DIR}/cmake/write_explain_pages.cmake")
  file(GLOB pages CONFIGURE_DEPENDS "${folder}/*.md")
  list(FILTER pages INCLUDE REGEX "/[A-Z]?[0-9]+\\.md$")
  list(SORT pages)

  # The names are part of the command, so that removing a page runs it again too.
  set(codes "")
  foreach(page IN LISTS pages)
    cmake_path(GET page STEM code)
    string(APPEND codes "${code},")
  endforeach()

  add_custom_command(
    OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${folder}" "-DCODES=${codes}" "-DOUT=${out}" -P "${script}"
    DEPENDS "${script}" ${pages}
    COMMENT "Embedding the explain pages"
    VERBATIM)
endfunction()
