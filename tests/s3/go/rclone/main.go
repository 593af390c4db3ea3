// rclone with what the benchmark uses of it: S3, local files, copy. All of its backends would take minutes to build.
// SPDX-License-Identifier: Apache-2.0
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/copy"
	_ "github.com/rclone/rclone/cmd/copyto"
	_ "github.com/rclone/rclone/cmd/version"
)

func main() {
	cmd.Main()
}
