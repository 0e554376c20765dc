# SPDX-License-Identifier: Apache-2.0
# D-REG.1: what the build says to two backends of one id.
include("${CMAKE_CURRENT_LIST_DIR}/../../../cmake/VyreBackend.cmake")
function(vyre_stage)
endfunction()
foreach(folder IN ITEMS /one /two)
  set(CMAKE_CURRENT_SOURCE_DIR ${folder})
  vyre_backend(twin)
endforeach()
