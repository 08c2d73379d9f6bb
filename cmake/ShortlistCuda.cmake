# The CUDA language as this project's kernels/cuda needs it.

include(CheckLanguage)
check_language(CUDA)
if(NOT CMAKE_CUDA_COMPILER)
  message(FATAL_ERROR "SHORTLIST_CUDA=ON needs the CUDA compiler, and no nvcc was found. Put it on PATH "
                      "(often /usr/local/cuda/bin) or set CUDACXX, or configure with SHORTLIST_CUDA=OFF.")
endif()

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a)
endif()
enable_language(CUDA)

# CMake 3.25 does not know that nvcc takes -std=c++20.
foreach(option CMAKE_CUDA20_STANDARD_COMPILE_OPTION CMAKE_CUDA20_EXTENSION_COMPILE_OPTION)
  if(NOT ${option})
    set(${option} -std=c++20)
  endif()
endforeach()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
