// The settings of pods in job_options: for all, and for one replica type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "data/json.h"

namespace trainstep {
class Fields;
}

namespace trainstep::plan {

// A new key is a member here, in read_pod_options() and in overlaid(), and is used in job_types/pod_template.cpp. The time that pods have to end is
// an option of the run: `stop_grace` in plan/options.h. Settings for all replicas, which can be overridden for one replica type (`replicas.<Type>`).
// Members that Kubernetes defines are in its JSON form. Names, paths and quantities are checked as the API server would check them; of affinity,
// security contexts and volume sources only the shape. No member is empty or null.
struct PodOptions {
  Json environment = Json::object();  // NAME → text | {"secret"|"config_map", "key", "optional"?} | {"field"} | {"value_from"}
  Json volumes = Json::array();       // {"name"?, "mount_path", "claim"|…|"empty_dir"|"volume", "sub_path"|"sub_path_expr"?, "read_only"?}
  Json tolerations = Json::array();
  Json affinity;  // null: not given
  Json node_selector = Json::object();
  Json image_pull_secrets = Json::array();  // names
  std::string image_pull_policy;            // Always, IfNotPresent, Never; empty: not given
  std::string service_account;
  std::string priority_class;
  std::string scheduler;
  std::string runtime_class;
  Json labels = Json::object();
  Json annotations = Json::object();
  Json pod_security_context, security_context;  // null: not given
  Json requests = Json::object();               // additional resources, "rdma/hca": 1; used as requests and limits
  std::optional<bool> host_network;
  std::string image;  // replicas.<Type> only: another image for this replica type
};

// Reads every key of PodOptions except `image`; other keys in `fields` are left to the caller. Errors are added to `fields`. The result is
// normalized: no member is empty or null, booleans are booleans, numbers that Kubernetes expects as strings are strings.
PodOptions read_pod_options(Fields& fields);

// `base` with those of one replica type: objects are merged, lists appended, scalars replaced.
PodOptions overlaid(PodOptions base, const PodOptions& own);

// Error (input): not a valid variable name. `where`: its location.
Result<void> check_variable_name(std::string_view name, std::string_view where);

}  // namespace trainstep::plan
