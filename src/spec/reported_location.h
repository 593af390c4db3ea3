// Parses the location that a program reports for its artifact, instead of writing to the path that it was given. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::spec {

struct ReportedLocation {
  std::string text;  // a path on the machine that the program ran on, or an address, with its scheme in lower case
  bool address = false;
  std::string fault;  // for an address: why it is invalid, as the end of a sentence: "has no name after hf://"; empty: it is complete
};

// An address starts with an RFC 3986 scheme of at least two characters, a colon and a slash; surrounding blanks are ignored. Anything else is a path,
// taken literally. For file:, the result is the path that it means; callers that can do so check whether it exists. All other addresses are only
// checked for their form: http, s3, hf and the like need a host, bucket or owner, other schemes any name or path; MLflow's own are
// models:/NAME/VERSION, models:/NAME@ALIAS, models:/m-ID, runs:/RUN_ID/PATH and mlflow-artifacts:/PATH (mlflow/store/artifact/utils/models.py).
ReportedLocation parse_reported_location(std::string_view text);

}  // namespace trainstep::spec
