// What operators and kubelets write about objects, and how pods are told apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "sim/store.h"

namespace trainstep::sim {

// "worker-1", "launcher", "main" (of a Job of one pod), from the labels that the operators put on their pods.
std::string replica_of(const Json& pod);

// A v1 Event about `object`.
void write_event(Store& store, const Version& object, std::string_view type, std::string_view reason, const std::string& message);

// The same about an object that is not there any more.
void write_event(Store& store, std::string_view kind, std::string_view name_space, std::string_view name, std::string_view uid,
                 std::string_view reason, const std::string& message);

}  // namespace trainstep::sim
