# SPDX-License-Identifier: Apache-2.0
"""boto3_client.py up|down FOLDER BUCKET PREFIX ENDPOINT: as in its manual, the transfer manager for each file and a thread pool for many."""
import concurrent.futures
import os
import pathlib
import sys

import boto3
import boto3.s3.transfer
import botocore.config

THREADS = 32


def main():
    direction, folder, bucket, prefix, endpoint = sys.argv[1:]
    folder = pathlib.Path(folder)
    # Checksums as trailers, the default, are only for Amazon's own: the server of the tests refuses some of them over TLS.
    config = botocore.config.Config(max_pool_connections=2 * THREADS, request_checksum_calculation="when_required")
    client = boto3.client("s3", endpoint_url=endpoint, config=config)
    large = boto3.s3.transfer.TransferConfig(max_concurrency=10)

    def up(path):
        client.upload_file(str(path), bucket, f"{prefix}/{path.relative_to(folder)}", Config=large)

    def down(key):
        target = folder / key[len(prefix) + 1 :]
        target.parent.mkdir(parents=True, exist_ok=True)
        client.download_file(bucket, key, str(target), Config=large)

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        if direction == "up":
            todo = [pool.submit(up, pathlib.Path(parent, name)) for parent, _, names in os.walk(folder) for name in names]
        else:
            pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix + "/")
            todo = [pool.submit(down, item["Key"]) for page in pages for item in page.get("Contents", [])]
        for one in todo:
            one.result()


if __name__ == "__main__":
    main()
