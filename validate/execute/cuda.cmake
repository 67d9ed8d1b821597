# The CUDA part of the executor (cmake/cuda.cmake looks for what it needs).

# Dense layers: cuBLASLt where it is, else a kernel of our own. The sources choose by SHARDSIM_CUBLASLT.
if(TARGET CUDA::cublasLt)
  set(gemm_choice SHARDSIM_CUBLASLT)
endif()

# The kernels, by nvcc. -Wpedantic is left out: what nvcc generates does not stand it.
add_library(
  shardsim_cuda_kernels OBJECT
  kernels/cuda_draw.cu
  kernels/cuda_lookup.cu
  kernels/cuda_sort.cu
  kernels/cuda_update.cu
  kernels/cuda_work.cu
  kernels/cuda_gemm_tiled.cu)
target_compile_definitions(shardsim_cuda_kernels PRIVATE ${gemm_choice})
set_target_properties(shardsim_cuda_kernels PROPERTIES CUDA_ARCHITECTURES "${SHARDSIM_CUDA_ARCHITECTURES}")
target_include_directories(shardsim_cuda_kernels PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(shardsim_cuda_kernels
  PRIVATE -Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion,-Wno-sign-conversion
          $<$<BOOL:${SHARDSIM_WERROR}>:-Werror=all-warnings -Xcompiler=-Werror>)

add_library(
  shardsim_cuda STATIC
  kernels/cuda_busy.cpp
  kernels/cuda_gemm_cublas.cpp
  kernels/cuda_memory.cpp
  devices/cuda.cpp
  devices/cuda_device.cpp
  devices/cuda_seat.cpp
  devices/cuda_stream_queue.cpp
  devices/nccl_set.cpp
  ../microbench/cuda_bench_device.cpp
  ../microbench/cuda_collective_bench.cpp
  $<TARGET_OBJECTS:shardsim_cuda_kernels>)
target_include_directories(shardsim_cuda SYSTEM PUBLIC ${CUDAToolkit_INCLUDE_DIRS} ${NCCL_INCLUDE_DIR})
target_compile_definitions(shardsim_cuda PRIVATE ${gemm_choice})
target_link_libraries(shardsim_cuda
  PUBLIC shardsim_flags shardsim_execute
  PRIVATE CUDA::cudart_static $<TARGET_NAME_IF_EXISTS:CUDA::cublasLt> ${NCCL_LIBRARY} fmt::fmt ${CMAKE_DL_LIBS})

add_library(shardsim_devices OBJECT devices/all_cuda.cpp ../microbench/bench_devices_cuda.cpp)
target_link_libraries(shardsim_devices PUBLIC shardsim_cuda)
