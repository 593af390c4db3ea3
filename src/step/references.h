// References that a pipeline writes into inputs whose values are only known at run time. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::step {

// A parameter of the pipeline inside a string or object: the value contains the reference {{$.inputs.parameters['pipelinechannel--x']}}, and the
// executor input has the parameter under this name. Launchers since 2.14 replace the references, as text; older ones may leave them
// (docs/design/kfp.md, Placeholders).
inline constexpr std::string_view channel_prefix = "pipelinechannel--";

// Returns `value` with its references replaced by `channels` (name → value; other names are kept), at any depth. A string that consists of one
// reference becomes the parameter, with its type; inside a longer string it is formatted as the launcher does. The string "null" of a channel is
// null: launchers write it like that. Errors (input), which start with `place` ("job_options.environment.MODE"): a reference to an unknown channel, a
// null inside a longer string, another placeholder.
Result<Json> resolved(const Json& value, const Json& channels, const std::string& place);

// For a specification, which has its own placeholders: references to `channels` are replaced, as text; everything else is kept.
Json with_channels(const Json& specification, const Json& channels);

// Who wrote a text.
enum class Author { user, pipeline };

// Error (input): the text has a placeholder that should have been replaced. What a user has typed may contain what looks like one of Argo's.
Result<void> check_resolved(std::string_view text, Author author, std::string_view place);

// For a train_specification, which has its own placeholders: only a text that consists of one placeholder is an error.
Result<void> check_specification_resolved(std::string_view text, std::string_view place);

}  // namespace trainstep::step
