// SPDX-License-Identifier: Apache-2.0
#include "spec/reported_location.h"

#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::spec;

namespace {

std::string show(const char* text) {
  const auto place = parse_reported_location(text);
  return (place.address ? "address " : "path ") + place.text + (place.fault.empty() ? "" : ": " + place.fault);
}

}  // namespace

TEST_CASE("an artifact address reported by the program is complete, or has a reason why not") {
  const auto [text, shown] = GENERATE(table<const char*, const char*>({
      {"s3://b/k", "address s3://b/k"},
      {"s3://bucket", "address s3://bucket"},
      {"s3://bucket/my model", "address s3://bucket/my model"},
      {"S3://Bucket/Key", "address s3://Bucket/Key"},
      {" hf://org/model\n", "address hf://org/model"},
      {"https://me@host:8080/x?y=1", "address https://me@host:8080/x?y=1"},
      {"http://[::1]:8080/x", "address http://[::1]:8080/x"},
      {"oci://registry/model:1", "address oci://registry/model:1"},
      {"abfss://box@account.dfs.core.windows.net/m", "address abfss://box@account.dfs.core.windows.net/m"},
      {"hdfs:///models/x", "address hdfs:///models/x"},
      {"dbfs:/models/x", "address dbfs:/models/x"},
      {"pvc://claim/x", "address pvc://claim/x"},
      {"models:/digits/3", "address models:/digits/3"},
      {"models:/digits/Production", "address models:/digits/Production"},
      {"Models:/digits@champion", "address models:/digits@champion"},
      {"models://profile@databricks/digits/3", "address models://profile@databricks/digits/3"},
      {"models:/m-0a1b2c", "address models:/m-0a1b2c"},
      {"runs:/0a1b2c/model", "address runs:/0a1b2c/model"},
      {"mlflow-artifacts:/1/0a1b2c/artifacts/model", "address mlflow-artifacts:/1/0a1b2c/artifacts/model"},
      {"mlflow-artifacts://host:5000/1/model", "address mlflow-artifacts://host:5000/1/model"},
      {"s3://", "address s3://: has no name after s3://"},
      {"s3:///key", "address s3:///key: has no name after s3://"},
      {"s3:/bucket/key", "address s3:/bucket/key: has no name after s3://"},
      {"GS://", "address gs://: has no name after gs://"},
      {"hf://", "address hf://: has no name after hf://"},
      {"hf:// ", "address hf://: has no name after hf://"},
      {"hf:// /x", "address hf:// /x: has a space in the name after hf://"},
      {"https://:80/x", "address https://:80/x: has no name after https://"},
      {"https://?model=1", "address https://?model=1: has no name after https://"},
      {"hdfs:///", "address hdfs:///: has no name after hdfs://"},
      {"s3://b/k\x01", "address s3://b/k\x01: contains control characters"},
      {"models:/", "address models:/: does not have the form models:/NAME/VERSION or models:/NAME@ALIAS"},
      {"models:/digits", "address models:/digits: does not have the form models:/NAME/VERSION or models:/NAME@ALIAS"},
      {"models:/digits/", "address models:/digits/: does not have the form models:/NAME/VERSION or models:/NAME@ALIAS"},
      {"models:/@champion", "address models:/@champion: does not have the form models:/NAME/VERSION or models:/NAME@ALIAS"},
      {"models:/digits@", "address models:/digits@: does not have the form models:/NAME/VERSION or models:/NAME@ALIAS"},
      {"models:/digits/ /3", "address models:/digits/ /3: does not have the form models:/NAME/VERSION or models:/NAME@ALIAS"},
      {"runs:/0a1b2c", "address runs:/0a1b2c: does not have the form runs:/RUN_ID/PATH"},
      {"runs:/0a1b2c/", "address runs:/0a1b2c/: does not have the form runs:/RUN_ID/PATH"},
      {"mlflow-artifacts:/", "address mlflow-artifacts:/: has no path after mlflow-artifacts:/"},
      {"mlflow-artifacts://host/", "address mlflow-artifacts://host/: has no path after mlflow-artifacts:/"},
  }));
  CHECK(show(text) == shown);
}

TEST_CASE("a file URL is its path, and text without a scheme is a path as written") {
  const auto [text, shown] = GENERATE(table<const char*, const char*>({
      {"file:///data/my%20model", "path /data/my model"},
      {"FILE://localhost/data/x", "path /data/x"},
      {"file:/data/x", "path /data/x"},
      {"file:///data/100%", "path /data/100%"},
      {"file:///data/a?b#c", "path /data/a?b#c"},
      {"file://", "address file://: does not name a file"},
      {"file:///", "address file:///: does not name a file"},
      {"file://other/data/x", "address file://other/data/x: is a file on another machine"},
      {"/data/x ", "path /data/x "},
      {"models/x", "path models/x"},
      {"C:/models/x", "path C:/models/x"},
      {"digits:3", "path digits:3"},
      {"://x", "path ://x"},
      {"my model://x", "path my model://x"},
      {"3s://x", "path 3s://x"},
      {"", "path "},
  }));
  CHECK(show(text) == shown);
}
