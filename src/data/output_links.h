// Links that a program has left in an output, or as one, when the output goes to its place.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"

namespace trainstep {

// Of a path without links: what is there now will not be when the output is used.
using Vanishes = std::function<bool(const std::filesystem::path& path)>;

// What the kernel makes up as it is read, in /proc and /sys: it has no end, and is never the same twice.
bool is_made_up(const std::filesystem::path& path);

// Asked while files are copied, every few hundred megabytes: an error ends it.
using GoOn = std::function<Result<void>()>;

// Of the links in `tree`, a folder: what leads into it becomes relative, so that the folder can be moved. What leads to something that vanishes
// becomes a copy of it. What leads elsewhere becomes absolute; what leads nowhere stays. Errors: denied, internal, that of `go_on`.
Result<void> settle_links(const std::filesystem::path& tree, const Vanishes& vanishes, const GoOn& go_on = {});

// Whether a link in `tree`, or `tree` itself as one, leads to something that vanishes.
bool leads_to_vanishing(const std::filesystem::path& tree, const Vanishes& vanishes);

// Puts a copy of what the link leads to in its place. Links in a folder that is copied: those to files become files, those to folders stay where they
// lead into it, others are left out, as is what is neither file nor folder. Errors: input (the link leads to a folder in which it lies itself, or to
// what is no file on a disk), denied, internal (no space); the link is there as it was.
Result<void> replace_by_copy(const std::filesystem::path& link, const GoOn& go_on = {});

}  // namespace trainstep
