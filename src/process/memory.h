// What a program that waits for hours need not keep.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace trainstep::process {

// Gives back what the allocator holds without use, and the pages of the program's own file that a start has touched: those that are needed again come
// back from the page cache, a microsecond each. For who is going to wait.
void give_back_memory();

}  // namespace trainstep::process
