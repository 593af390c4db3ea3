// What a pipeline writes into the inputs of a step where a value is known only when it runs. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep::step {

// A pipeline's parameter inside a text or object of its author: the value refers to it, {{$.inputs.parameters['pipelinechannel--x']}}, and the
// executor input carries it beside itself under this name. Launchers since 2.14 replace the references, as text; older ones may leave them
// (docs/design/kfp.md, Placeholders).
inline constexpr std::string_view channel_prefix = "pipelinechannel--";

// `value` with its references replaced by `channels` (name → value; other names are let be), at any depth. A text that is one reference becomes the
// parameter, of its own type; inside a longer text it is written as the launcher does. The text "null" is null where a channel is: launchers write it
// so. Errors (input), named by `place` ("job_options.environment.MODE"): a reference to no channel, a null inside a longer text, another placeholder.
Result<Json> resolved(const Json& value, const Json& channels, const std::string& place);

// A specification, which has placeholders of its own: references to `channels` are replaced, as text; everything else stays.
Json with_channels(const Json& specification, const Json& channels);

// Whose words a text are.
enum class Author { user, pipeline };

// Error (input): the text holds a placeholder that somebody should have replaced. What a user has typed may hold what looks like one of Argo's.
Result<void> check_resolved(std::string_view text, Author author, std::string_view place);

// Of a train_specification, which has placeholders of its own: only a text that is nothing else is an error.
Result<void> check_specification_resolved(std::string_view text, std::string_view place);

}  // namespace trainstep::step
