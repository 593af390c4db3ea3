// A server that speaks S3, and how it is spoken to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "http/message.h"
#include "http/url.h"

namespace trainstep::objectstore {

struct Store {
  http::Url endpoint;  // "http://seaweedfs.kubeflow:9000", "https://s3.eu-central-1.amazonaws.com"; a path in it stands before every bucket
  std::string region = "us-east-1";
  bool path_style = true;                            // false: the bucket is part of the host's name
  std::shared_ptr<const http::Endpoint> trust = {};  // null: the system's certificates
};

// The address of an object (key not empty) or a bucket. Keys are encoded segment by segment, empty segments and dots kept: "a//b", "a/../b" are keys.
http::Url url_of(const Store& store, const std::string& bucket, const std::string& key, http::Query query = {});

}  // namespace trainstep::objectstore
