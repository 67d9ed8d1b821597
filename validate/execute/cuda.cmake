# The CUDA part of the executor (cmake/cuda.cmake looks for what it needs).

# The kernels, by nvcc. -Wpedantic is left out: what nvcc generates does not stand it.
add_library(
  shardsim_cuda_kernels OBJECT
  kernels/cuda_lookup.cu
  kernels/cuda_sort.cu
  kernels/cuda_update.cu
  kernels/cuda_workspace.cu)
set_target_properties(shardsim_cuda_kernels PROPERTIES CUDA_ARCHITECTURES "${SHARDSIM_CUDA_ARCHITECTURES}")
target_include_directories(shardsim_cuda_kernels PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(shardsim_cuda_kernels
  PRIVATE -Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion,-Wno-sign-conversion
          $<$<BOOL:${SHARDSIM_WERROR}>:-Werror=all-warnings -Xcompiler=-Werror>)

add_library(
  shardsim_cuda STATIC
  kernels/cuda_memory.cpp
  kernels/cuda_tables.cpp
  $<TARGET_OBJECTS:shardsim_cuda_kernels>)
target_include_directories(shardsim_cuda SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
target_link_libraries(shardsim_cuda
  PUBLIC shardsim_flags shardsim_execute
  PRIVATE CUDA::cudart_static ${NCCL_LIBRARY} fmt::fmt)
