// kubeconfig files: found, merged, one context chosen. What stands in it is read by credentials.cpp.
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/json.h"

namespace trainstep::kube {

// A cluster, user or context, and where it stands.
struct KubeEntry {
  Json value;                    // an object
  std::string where;             // "~/.kube/config: user 'alice'", for messages
  std::filesystem::path folder;  // paths in it are relative to this; empty: it may name no files and no programs
};

struct Kubeconfig {
  std::map<std::string, KubeEntry> clusters, users, contexts;
  std::string current;  // context; "": none
  std::string files;    // as messages name them

  // Of what both name, this counts.
  void merge(Kubeconfig other);
};

// Errors (input): with file and place.
Result<Kubeconfig> parse_kubeconfig(const std::string& text, const std::string& what, const std::filesystem::path& folder);

// `path`, else the files of $KUBECONFIG that exist, else ~/.kube/config. Errors (input): there is none, one cannot be read.
Result<Kubeconfig> find_kubeconfig(const std::string& path);

struct KubeContext {
  std::string name;
  std::string name_space;  // "": none
  KubeEntry cluster;
  KubeEntry user;  // an empty object if the context has none
};

// `name` empty: the current one. Errors (input): with the names that there are.
Result<KubeContext> choose_context(const Kubeconfig& config, const std::string& name);

// The text of a key; "" if it is absent. Error (input): it is no text; values are never shown, they may be secret.
Result<std::string> text_in(const KubeEntry& entry, std::string_view key);

}  // namespace trainstep::kube
