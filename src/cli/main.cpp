// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

int main(int argc, char** argv) { return trainstep::cli::run_app(argc, argv); }
