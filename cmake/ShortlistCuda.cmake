# Finds PyTorch if it is needed, resolves SHORTLIST_CUDA, and configures the CUDA language as kernels/cuda needs it.

if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90a)
endif()

if(SHORTLIST_WITH_TORCH)
  # If PyTorch has CUDA, its package needs nvcc too, and adds its own flags and architectures to every .cu.
  set(architectures ${CMAKE_CUDA_ARCHITECTURES})
  if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
    # Unused. Without it, a program is run to detect the GPU, which CMake 3.25 cannot compile.
    set(TORCH_CUDA_ARCH_LIST 8.0)
  endif()
  find_package(Torch REQUIRED)
  set(CMAKE_CUDA_ARCHITECTURES ${architectures})
  unset(CMAKE_CUDA_FLAGS)  # removes the local variable; the cached flags stay
  # The libraries of PyTorch's wheels export parts of an older libstdc++, such as std::filesystem. If ours is linked
  # before them, its symbols are found first.
  link_libraries(stdc++)
endif()

if(SHORTLIST_CUDA STREQUAL AUTO)
  set(SHORTLIST_CUDA OFF)
  if(TARGET c10_cuda)
    set(SHORTLIST_CUDA ON)
  endif()
endif()
if(SHORTLIST_WITH_TORCH AND NOT SHORTLIST_CUDA)
  message(STATUS "Without --device cuda: it takes nvcc and a PyTorch that has CUDA")
elseif(SHORTLIST_WITH_TORCH AND NOT TARGET c10_cuda)
  message(STATUS "Without --device cuda: ${TORCH_INSTALL_PREFIX} is a PyTorch without CUDA. The kernels are built")
endif()

if(SHORTLIST_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "SHORTLIST_CUDA=ON needs the CUDA compiler, and no nvcc was found. Put it on PATH "
                        "(often /usr/local/cuda/bin) or set CUDACXX, or configure with SHORTLIST_CUDA=OFF.")
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

  # PyTorch and this project must share one CUDA runtime: each runtime has its own current device.
  set(SHORTLIST_CUDART CUDA::cudart_static)
  if(TARGET c10_cuda)
    set(SHORTLIST_CUDART CUDA::cudart)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
  endif()
endif()
