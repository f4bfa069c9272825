/* The bounds-checked memory and string functions that the HCCL and HCOMM headers use, as far as they and operators use
 * them. Inline: the stand-in needs no further library. */
#ifndef HCOMM_STANDIN_SECUREC_H
#define HCOMM_STANDIN_SECUREC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifndef EOK
#define EOK 0
#endif

/* What went wrong, with the numbers of libc_sec. */
#ifndef EINVAL_AND_RESET
#define EINVAL_AND_RESET 150
#define ERANGE_AND_RESET 162
#endif

typedef int errno_t;

static inline errno_t memset_s(void* dest, size_t destMax, int c, size_t count)
{
    if (dest == NULL || destMax == 0) {
        return 22;
    }
    if (count > destMax) {
        memset(dest, c, destMax);
        return ERANGE_AND_RESET;
    }
    memset(dest, c, count);
    return EOK;
}

static inline errno_t memcpy_s(void* dest, size_t destMax, const void* src, size_t count)
{
    if (dest == NULL || destMax == 0) {
        return 22;
    }
    if (src == NULL) {
        memset(dest, 0, destMax);
        return EINVAL_AND_RESET;
    }
    if (count > destMax) {
        memset(dest, 0, destMax);
        return ERANGE_AND_RESET;
    }
    memmove(dest, src, count);
    return EOK;
}

static inline errno_t memmove_s(void* dest, size_t destMax, const void* src, size_t count)
{
    return memcpy_s(dest, destMax, src, count);
}

static inline errno_t strncpy_s(char* dest, size_t destMax, const char* src, size_t count)
{
    size_t length;
    if (dest == NULL || destMax == 0) {
        return 22;
    }
    if (src == NULL) {
        dest[0] = '\0';
        return EINVAL_AND_RESET;
    }
    length = strnlen(src, count);
    if (length >= destMax) {
        dest[0] = '\0';
        return ERANGE_AND_RESET;
    }
    memcpy(dest, src, length);
    dest[length] = '\0';
    return EOK;
}

static inline errno_t strcpy_s(char* dest, size_t destMax, const char* src)
{
    return strncpy_s(dest, destMax, src, src == NULL ? 0 : strlen(src));
}

static inline errno_t strcat_s(char* dest, size_t destMax, const char* src)
{
    size_t length;
    if (dest == NULL || destMax == 0) {
        return 22;
    }
    length = strnlen(dest, destMax);
    if (length == destMax) {
        dest[0] = '\0';
        return EINVAL_AND_RESET;
    }
    return strcpy_s(dest + length, destMax - length, src);
}

/* Characters written, or -1 where they do not fit. */
static inline int vsnprintf_s(char* dest, size_t destMax, size_t count, const char* format, va_list arguments)
{
    int written;
    size_t limit = count < destMax ? count + 1 : destMax;
    if (dest == NULL || destMax == 0 || format == NULL) {
        return -1;
    }
    written = vsnprintf(dest, limit, format, arguments);
    if (written < 0 || (size_t)written >= destMax) {
        if (written < 0 || count >= destMax) {
            dest[0] = '\0';
        }
        return -1;
    }
    return (size_t)written >= limit ? -1 : written;
}

#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
static inline int
sprintf_s(char* dest, size_t destMax, const char* format, ...)
{
    int written;
    va_list arguments;
    va_start(arguments, format);
    written = vsnprintf_s(dest, destMax, destMax, format, arguments);
    va_end(arguments);
    return written;
}

#ifdef __GNUC__
__attribute__((format(printf, 4, 5)))
#endif
static inline int
snprintf_s(char* dest, size_t destMax, size_t count, const char* format, ...)
{
    int written;
    va_list arguments;
    va_start(arguments, format);
    written = vsnprintf_s(dest, destMax, count, format, arguments);
    va_end(arguments);
    return written;
}

#endif
