// SPDX-License-Identifier: Apache-2.0
#pragma once

// Detects the sanitizer in use: GCC defines a macro, Clang has a feature.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define WEFT_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER
#endif
#if defined(__SANITIZE_THREAD__)
#define WEFT_THREAD_SANITIZER
#endif
