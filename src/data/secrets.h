// Secrets in JSON. What is one, base/redact.h says.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/json.h"

namespace trainstep {

// The texts to look for: of members whose names sound secret, of words behind a flag that does, and of addresses, at any depth. `name` is the value's
// own.
void collect_secrets(std::string_view name, const Json& value, std::vector<std::string>& secrets);

// The same of a manifest or a part of one, a patch: of what its containers run and of their variables. It names Secrets, which are none.
void collect_secrets_of_containers(const Json& part, std::vector<std::string>& secrets);

// The values of a Secret (core/v1), of `data` and `stringData`: as they are, and in base64.
std::vector<std::string> values_of_secret(const Json& secret);

// Adds the base64 of each that is long enough for redacted(): an API server quotes the values of a Secret in this form.
void add_base64(std::vector<std::string>& secrets);

// The value without them: a member whose name sounds secret is "[redacted]" as a whole, other texts are redacted().
Json redacted_json(const Json& value, const std::vector<std::string>& secrets);

// The value, for a message about it: as JSON, cut after 60 characters. Of one that is secret by a part of its place ("train_parameters.api_key"), or
// in which something sounds like one ("--password x", [{"name": "TOKEN", …}], "me:x@host"), only what it is: "a string that is not shown here".
std::string shown_value(std::string_view place, const Json& value);

// An error about a text that may be JSON, YAML or Python, right or wrong, without what stands there behind a name that sounds secret and a colon or
// an equals sign.
Error without_secrets_of(std::string_view text, Error error);

}  // namespace trainstep
