// Where the pods read and write is part of what a job is: another attempt that names other places wants another job. Pure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace trainstep::plan {

struct Plan;

// Of a plan whose data have been routed: its spec_hash, and over it the addresses and the places on claims that the pods read and write, and where
// they write for TensorBoard; the same hash where there is none. Not in it is what may differ between two attempts of one step: queries of addresses,
// where a claim is mounted, local paths whose data go through the job's prefix.
std::string hash_with_addresses(const Plan& plan);

}  // namespace trainstep::plan
