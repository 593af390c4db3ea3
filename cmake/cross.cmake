# Another architecture (TRAINSTEP_ARCH, Debian's name), with Debian's cross compiler and the libraries that tools/sysroot.sh has unpacked. Its tests run
# under qemu.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TRAINSTEP_ARCH)
set(processor_arm64 aarch64)
set(processor_ppc64el powerpc64le)
set(qemu_arm64 qemu-aarch64)
set(qemu_ppc64el qemu-ppc64le)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${processor_${TRAINSTEP_ARCH}})
set(CMAKE_C_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu_${TRAINSTEP_ARCH}})
set(CMAKE_FIND_ROOT_PATH ${CMAKE_CURRENT_LIST_DIR}/../build/deps/sysroot-${TRAINSTEP_ARCH})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# The C library of the sysroot, too: the cross compiler's own gets no security updates.
set(libraries ${CMAKE_FIND_ROOT_PATH}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -B${libraries} -L${libraries}")  # its libc.so names files of a running system
# OpenSSL's headers that differ between architectures.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_FIND_ROOT_PATH}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}")
