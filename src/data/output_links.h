// Symbolic links that a program left in an output, or as the output, when the output is committed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>

#include "base/result.h"

namespace trainstep {

// For a path without links: whether what is there now will no longer exist when the output is used.
using IsTemporary = std::function<bool(const std::filesystem::path& path)>;

// Whether the path is on /proc or /sys, whose files the kernel generates on reading: they are unbounded and differ between reads.
bool is_synthetic(const std::filesystem::path& path);

// Called every few hundred megabytes while files are copied; an error aborts the copy.
using CheckCancelled = std::function<Result<void>()>;

// Rewrites the links in `tree`, a folder. A link into the tree becomes relative, so that the tree can be moved; a link to something that vanishes is
// replaced by a copy of it; other links become absolute; dangling links are kept. Errors: denied, internal, that of `go_on`.
Result<void> resolve_links(const std::filesystem::path& tree, const IsTemporary& vanishes, const CheckCancelled& go_on = {});

// Whether `tree`, or a link in it, is a link to something that vanishes.
bool leads_to_vanishing(const std::filesystem::path& tree, const IsTemporary& vanishes);

// Replaces the link by a copy of its target. The links in a copied folder are treated as by resolve_links(): those to something that vanishes become
// copies, too; those into the output or into what is copied become relative, so circles of links stay circles; others stay links. Devices are left
// out. Errors: input (a link leads to a folder that contains it, or to /proc or /sys), denied, internal (no space), that of `go_on`; the link is then
// unchanged.
Result<void> replace_by_copy(const std::filesystem::path& link, const IsTemporary& vanishes, const CheckCancelled& go_on = {});

}  // namespace trainstep
