// kubeconfig files: finds and merges them and selects a context. credentials.cpp reads the entries.
// https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/json.h"

namespace trainstep::kube {

// A cluster, user or context, and its source.
struct KubeEntry {
  Json value;                    // an object
  std::string where;             // "~/.kube/config: user 'alice'", for messages
  std::filesystem::path folder;  // paths in it are relative to this; empty: it must not name files or programs
};

struct Kubeconfig {
  std::map<std::string, KubeEntry> clusters, users, contexts;
  std::string current;  // context; "": none
  std::string files;    // as shown in messages

  // Where both have an entry of the same name, this object's is kept.
  void merge(Kubeconfig other);
};

// Errors (input): with file and position.
Result<Kubeconfig> parse_kubeconfig(const std::string& text, const std::string& what, const std::filesystem::path& folder);

// `path`, otherwise the existing files of $KUBECONFIG, otherwise ~/.kube/config. Errors (input): there is none, one cannot be read.
Result<Kubeconfig> find_kubeconfig(const std::string& path);

struct KubeContext {
  std::string name;
  std::string name_space;  // "": none
  KubeEntry cluster;
  KubeEntry user;  // an empty object if the context has none
};

// Empty `name`: the current one. Errors (input): with the existing names.
Result<KubeContext> choose_context(const Kubeconfig& config, const std::string& name);

// The text of a key; "" if it is absent. Error (input): not a string; values are never shown, because they may be secret.
Result<std::string> text_in(const KubeEntry& entry, std::string_view key);

}  // namespace trainstep::kube
