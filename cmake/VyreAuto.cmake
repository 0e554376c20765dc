# SPDX-License-Identifier: Apache-2.0
# Options that follow another option until they are set themselves.

# vyre_resolve_auto(<option> <other>): <option>, a cache entry of ON, OFF or AUTO, becomes a plain
# variable of ON or OFF in the caller's scope; AUTO means what <other> says in this configuration. The
# cache entry stays as it is.
function(vyre_resolve_auto option other)
  set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  set(value "$CACHE{${option}}")
  # A project that includes this one may have set a plain variable.
  if(DEFINED ${option})
    set(value "${${option}}")
  endif()
  if(value STREQUAL "AUTO")
    set(value "${${other}}")
  endif()
  if(value)
    set(${option} ON PARENT_SCOPE)
  else()
    set(${option} OFF PARENT_SCOPE)
  endif()
endfunction()
