# For the Python package: finds the PyTorch that pip's Python imports, and resolves SHORTLIST_CUDA for it. The kernels
# are compiled if that PyTorch has CUDA and there is an nvcc of its major version.

find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)

# Not find_package(Torch): if PyTorch has CUDA, that needs a CUDA toolkit. -E: pip's build isolation uses PYTHONPATH
# to hide the PyTorch that the package is for.
execute_process(
  COMMAND ${Python_EXECUTABLE} -E -c
    "import os, torch; print(os.path.dirname(os.path.realpath(torch.__file__)), torch.__version__, int(torch.compiled_with_cxx11_abi()), torch.version.cuda or 'none', sep=';')"
  WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
  OUTPUT_VARIABLE TORCH_FACTS OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE TORCH_ERROR RESULT_VARIABLE TORCH_RESULT)
if(NOT TORCH_RESULT EQUAL 0)
  message(FATAL_ERROR "${Python_EXECUTABLE} has no PyTorch; install one first, and with other tools than pip build "
                      "without isolation:\n${TORCH_ERROR}")
endif()
list(GET TORCH_FACTS 0 TORCH_ROOT)
list(GET TORCH_FACTS 1 TORCH_VERSION)
list(GET TORCH_FACTS 2 TORCH_CXX11_ABI)
list(GET TORCH_FACTS 3 TORCH_CUDA_VERSION)  # none: a PyTorch without CUDA
# Next to the Python files, or where a system package installs libraries and headers.
find_library(TORCH_CPU_LIBRARY torch_cpu HINTS ${TORCH_ROOT}/lib REQUIRED)
find_library(C10_LIBRARY c10 HINTS ${TORCH_ROOT}/lib REQUIRED)
find_path(TORCH_INCLUDE torch/library.h HINTS ${TORCH_ROOT}/include REQUIRED)
message(STATUS "PyTorch ${TORCH_VERSION}: ${TORCH_CPU_LIBRARY}")

# Sets RESULT to why the operators cannot have CUDA; empty if they can.
function(shortlist_cuda_obstacle RESULT)
  if(TORCH_CUDA_VERSION STREQUAL none)
    set(${RESULT} "PyTorch ${TORCH_VERSION} has none" PARENT_SCOPE)
    return()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(${RESULT} "there is no nvcc on PATH or in CUDACXX" PARENT_SCOPE)
    return()
  endif()
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(NOT version MATCHES "release ([0-9]+)(\\.[0-9]+)")
    set(${RESULT} "${CMAKE_CUDA_COMPILER} --version names no release" PARENT_SCOPE)
    return()
  endif()
  set(nvcc_major ${CMAKE_MATCH_1})
  set(nvcc_version ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  string(REGEX MATCH "^[0-9]+" torch_major ${TORCH_CUDA_VERSION})
  if(NOT nvcc_major EQUAL torch_major)
    # Its runtime would be a second one in the process, with its own current device.
    set(${RESULT} "${CMAKE_CUDA_COMPILER} is CUDA ${nvcc_version}, PyTorch's is ${TORCH_CUDA_VERSION}" PARENT_SCOPE)
  endif()
endfunction()

if(SHORTLIST_CUDA)  # ON or AUTO
  shortlist_cuda_obstacle(OBSTACLE)
  if(OBSTACLE AND NOT SHORTLIST_CUDA STREQUAL AUTO)
    message(FATAL_ERROR "SHORTLIST_CUDA=${SHORTLIST_CUDA}, and there can be no CUDA: ${OBSTACLE}")
  elseif(OBSTACLE)
    message(STATUS "Operators without CUDA: ${OBSTACLE}")
    set(SHORTLIST_CUDA OFF)
  else()
    message(STATUS "Operators with CUDA ${TORCH_CUDA_VERSION}")
    set(SHORTLIST_CUDA ON)
    find_library(C10_CUDA_LIBRARY c10_cuda HINTS ${TORCH_ROOT}/lib REQUIRED)
    add_library(c10_cuda SHARED IMPORTED)  # ShortlistCuda detects a PyTorch with CUDA by this name
    set_target_properties(c10_cuda PROPERTIES IMPORTED_LOCATION ${C10_CUDA_LIBRARY})
  endif()
endif()
