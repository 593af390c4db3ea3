// The one place that names the test framework's header, so that Catch2 2 and 3 both serve.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
