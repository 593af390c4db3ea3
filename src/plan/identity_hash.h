// The addresses that the pods read and write are part of a job's identity: an attempt with other addresses needs another job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trainstep::plan {

struct Plan;

// For a plan whose data have been routed: a hash of its spec_hash, the addresses and claim paths that the pods read and write, and the address for
// TensorBoard; the spec_hash itself if there are none. Excluded is what may differ between two attempts of one step: queries of addresses, where a
// claim is mounted, local paths whose data are transferred through the job's prefix.
std::string hash_with_addresses(const Plan& plan);

}  // namespace trainstep::plan
