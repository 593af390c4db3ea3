// SPDX-License-Identifier: Apache-2.0
#include "process/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace trainstep::process {
namespace {

// Only read-only segments, which are identical to the file.
int give_back(dl_phdr_info* object, std::size_t /*size*/, void* /*unused*/) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const auto begin = (object->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
    const auto end = (object->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;  // the program itself is first; libraries are shared with other processes
}

}  // namespace

void give_back_memory() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(give_back, nullptr);
}

}  // namespace trainstep::process
