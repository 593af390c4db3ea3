// How outputs are delivered.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "objectstore/local_tree.h"
#include "plan/task.h"

namespace trainstep::staging {

struct DeliveryOptions {
  // Which files count as already there: those that the stores' sync state knows, or also those with the same contents, for which files are read.
  enum class Equal { known, content };
  Equal equal = Equal::known;
  std::string own{};                 // an address: everything below it is the job's own
  plan::TaskPlace written{};         // of the WrittenObjects: outside `own`, only what they list is the job's; if unset, nothing is
  std::string_view what = "output";  // for messages
  std::string pod{};                 // identifies the pod within the job, in characters valid in an address: also part of the mark of its objects
  // Distinguishes the job's objects from others, in characters valid in an address; if empty, the job's objects outside `own` stay.
  std::string mark{};
  // By output name: the files to deliver, as they were when the program ended. If absent: those that exist when the output is read.
  std::map<std::string, std::vector<objectstore::LocalFile>> at_end{};
  // Deliver nothing: remove what the job has written outside `own`, according to `written`; without that nothing is removed.
  bool nothing = false;

  [[nodiscard]] bool is_own(const std::string& uri) const { return !own.empty() && uri.starts_with(own + '/'); }
};

}  // namespace trainstep::staging
