// An S3 server, and how to access it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "http/message.h"
#include "http/url.h"

namespace trainstep::objectstore {

struct Store {
  http::Url endpoint;  // "http://seaweedfs.kubeflow:9000", "https://s3.eu-central-1.amazonaws.com"; its path is a prefix for all buckets
  std::string region = "us-east-1";
  bool path_style = true;                            // false: the bucket is part of the host name
  std::shared_ptr<const http::Endpoint> trust = {};  // null: the system's certificates
};

// The URL of an object (key not empty) or a bucket. Keys are encoded segment by segment; empty segments and dots are kept: "a//b", "a/../b" are keys.
http::Url url_of(const Store& store, const std::string& bucket, const std::string& key, http::Query query = {});

}  // namespace trainstep::objectstore
