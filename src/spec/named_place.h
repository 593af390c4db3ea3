// Where a program says that its artifact lies, instead of writing it to the path that it was given. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace trainstep::spec {

struct NamedPlace {
  std::string text;  // a path of the machine that the program ran on, or an address, its scheme in lower case
  bool address = false;
  std::string fault;  // of an address: why it can be none, as the rest of a sentence, "has no name behind hf://"; empty: it is complete
};

// An address begins with a scheme of RFC 3986, of at least two characters, a colon and a slash; blanks around it do not count. What is none is a
// path, as it stands. Of file:, the path that it means: whoever can look does so. All other addresses are only read: behind http, s3, hf and the like
// a host, bucket or owner must stand, behind others anything; MLflow's own are models:/NAME/VERSION, models:/NAME@ALIAS, models:/m-ID,
// runs:/RUN_ID/PATH and mlflow-artifacts:/PATH (mlflow/store/artifact/utils/models.py).
NamedPlace named_place(std::string_view text);

}  // namespace trainstep::spec
