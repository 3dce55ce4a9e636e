/* A disk that fails, for fits that `disk.py` watches: preloaded, it counts the calls that change files or folders.
 *
 * DISK_FAILS_AT=n, and DISK_FAULT, which says what happens then:
 *   full    the n-th write takes half of its bytes, if it has two, and from then on nothing more can be written or created: ENOSPC
 *   broken  the n-th call fails, whatever it is, and the others do not: EIO
 *
 * Standard streams, pipes and what is only read are left alone. DISK_COUNT names a file for the number of calls that there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;
static long fails_at;
static int full;

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("DISK_FAILS_AT"), *fault = getenv("DISK_FAULT");
    fails_at = at ? atol(at) : 0;
    full = fault && strcmp(fault, "full") == 0;
}

__attribute__((destructor)) static void end(void) {
    const char *path = getenv("DISK_COUNT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", atomic_load(&calls));
        fclose(file);
    }
}

/* Whether the call that begins is to fail: 1 if it is the n-th, 2 if it comes later. `grows` if it would take room on the disk. */
static int failing(int grows) {
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (fails_at == 0 || number < fails_at) return 0;
    if (full) return grows ? (number == fails_at ? 1 : 2) : 0;
    return number == fails_at;
}

static int is_disk(int descriptor) {
    struct stat about;
    return descriptor > 2 && fstat(descriptor, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode));
}

static int fail(void) {
    errno = full ? ENOSPC : EIO;
    return -1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int descriptor, const void *bytes, size_t count) {
    if (is_disk(descriptor)) {
        int how = failing(1);
        if (how == 1 && full && count > 1) return NEXT(write)(descriptor, bytes, count / 2);
        if (how) return fail();
    }
    return NEXT(write)(descriptor, bytes, count);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    if (is_disk(descriptor) && failing(1)) return fail();
    return NEXT(writev)(descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t at) {
    if (is_disk(descriptor) && failing(1)) return fail();
    return NEXT(pwrite)(descriptor, bytes, count, at);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off64_t at) {
    if (is_disk(descriptor) && failing(1)) return fail();
    return NEXT(pwrite64)(descriptor, bytes, count, at);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t count, unsigned flags) {
    if (is_disk(to) && failing(1)) return fail();
    return NEXT(copy_file_range)(from, from_at, to, to_at, count, flags);
}

int ftruncate(int descriptor, off_t length) { return is_disk(descriptor) && failing(1) ? fail() : NEXT(ftruncate)(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) { return is_disk(descriptor) && failing(1) ? fail() : NEXT(ftruncate64)(descriptor, length); }
int fsync(int descriptor) { return is_disk(descriptor) && failing(1) ? fail() : NEXT(fsync)(descriptor); }
int fdatasync(int descriptor) { return is_disk(descriptor) && failing(1) ? fail() : NEXT(fdatasync)(descriptor); }
int rename(const char *from, const char *to) { return failing(0) ? fail() : NEXT(rename)(from, to); }
int link(const char *from, const char *to) { return failing(1) ? fail() : NEXT(link)(from, to); }
int mkdir(const char *path, mode_t mode) { return failing(1) ? fail() : NEXT(mkdir)(path, mode); }

/* Only what may create a file. */
#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...) {                               \
        va_list more;                                                          \
        va_start(more, flags);                                                 \
        mode_t mode = va_arg(more, mode_t);                                    \
        va_end(more);                                                          \
        if ((flags & O_CREAT) && failing(1)) return fail();                    \
        return NEXT(name)(path, flags, mode);                                  \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                           \
    int name(int folder, const char *path, int flags, ...) {                   \
        va_list more;                                                          \
        va_start(more, flags);                                                 \
        mode_t mode = va_arg(more, mode_t);                                    \
        va_end(more);                                                          \
        if ((flags & O_CREAT) && failing(1)) return fail();                    \
        return NEXT(name)(folder, path, flags, mode);                          \
    }
OPENAT(openat)
OPENAT(openat64)
