// Secrets in JSON. base/redact.h defines what is a secret.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "data/json.h"

namespace trainstep {

// Collects the texts to redact: of members whose names sound secret, of words after a flag that does, and of URLs, at any depth. `name` is the name
// of the value itself.
void collect_secrets(std::string_view name, const Json& value, std::vector<std::string>& secrets);

// The same for a manifest, a part of one, or a patch: for the commands and variables of its containers. Names of Secret objects are not secret.
void collect_secrets_of_containers(const Json& part, std::vector<std::string>& secrets);

// The values of a Secret (core/v1), in `data` and `stringData`: as they are, and in base64.
std::vector<std::string> values_of_secret(const Json& secret);

// Adds the base64 form of each that is long enough for redacted(): an API server quotes the values of a Secret like this.
void add_base64(std::vector<std::string>& secrets);

// The value without secrets: a member whose name sounds secret becomes "[redacted]", other strings are redacted().
Json redacted_json(const Json& value, const std::vector<std::string>& secrets);

// The value for a message: as JSON, truncated after 60 characters. Only its type, "a string (not shown)", if a part of its path sounds secret
// ("train_parameters.api_key") or something in it does ("--password x", [{"name": "TOKEN", …}], "me:x@host").
std::string shown_value(std::string_view place, const Json& value);

// Removes from an error about a text (JSON, YAML or Python, valid or not) the values in that text that follow a name that sounds secret and a colon
// or an equals sign.
Error without_secrets_of(std::string_view text, Error error);

}  // namespace trainstep
