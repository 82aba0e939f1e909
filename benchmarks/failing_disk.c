/* A disk that fails on demand: preloaded, it counts the calls that change files under one folder, and
 * lets the n-th of them fail or be the process's last. See disk_drill.py, which builds and loads it.
 *
 *   cc -shared -fPIC -o failing_disk.so failing_disk.c -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { CREATES = 1, WRITES = 2, SYNCS = 4, REMOVES = 8 };

static char folder[4096];
static long at, seen;
static int error, kinds, forever, hit;

/* The call number `n` (from 1) of the given kinds under `path` gets `err`; with 0 the process dies there.
 * `lasting`: so do all later ones. n = 0 disarms. */
void failing_disk(const char *path, long n, int err, int of_kinds, int lasting) {
    snprintf(folder, sizeof folder, "%s", path);
    at = n, seen = 0, hit = 0, error = err, kinds = of_kinds, forever = lasting;
}

/* Whether a call failed since the disk was armed. */
int failing_disk_hit(void) { return hit; }

static int fails(const char *path, enum kind kind) {
    if (!at || !(kinds & kind) || !path || strncmp(path, folder, strlen(folder))) return 0;
    ++seen;
    if (seen != at && !(forever && seen > at)) return 0;
    if (!error) _exit(9);
    hit = 1;
    errno = error;
    return 1;
}

static int fd_fails(int fd, enum kind kind) {
    char link[64], path[4096];
    if (!at) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return fails(path, kind);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...) {                               \
        mode_t mode = 0;                                                       \
        if (flags & O_CREAT) {                                                 \
            va_list rest;                                                      \
            va_start(rest, flags);                                             \
            mode = va_arg(rest, mode_t);                                       \
            va_end(rest);                                                      \
            if (fails(path, CREATES)) return -1;                               \
        }                                                                      \
        return REAL(name)(path, flags, mode);                                  \
    }
OPEN(open)
OPEN(open64)

#define ON_FD(type, name, kind, parameters, arguments)                         \
    type name parameters { return fd_fails(fd, kind) ? -1 : REAL(name) arguments; }
ON_FD(ssize_t, write, WRITES, (int fd, const void *data, size_t size), (fd, data, size))
ON_FD(ssize_t, pwrite, WRITES, (int fd, const void *data, size_t size, off_t where), (fd, data, size, where))
ON_FD(ssize_t, pwrite64, WRITES, (int fd, const void *data, size_t size, off64_t where), (fd, data, size, where))
ON_FD(int, ftruncate, WRITES, (int fd, off_t size), (fd, size))
ON_FD(int, ftruncate64, WRITES, (int fd, off64_t size), (fd, size))
ON_FD(int, fsync, SYNCS, (int fd), (fd))
ON_FD(int, fdatasync, SYNCS, (int fd), (fd))

size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
    return fd_fails(fileno(file), WRITES) ? 0 : REAL(fwrite)(data, size, count, file);
}

#define ON_PATH(name, kind, parameters, arguments)                             \
    int name parameters { return fails(path, kind) ? -1 : REAL(name) arguments; }
ON_PATH(mkdir, CREATES, (const char *path, mode_t mode), (path, mode))
ON_PATH(rename, CREATES, (const char *path, const char *target), (path, target))
ON_PATH(unlink, REMOVES, (const char *path), (path))
ON_PATH(rmdir, REMOVES, (const char *path), (path))

/* shutil.rmtree works with paths below a folder's descriptor. */
int unlinkat(int fd, const char *path, int flags) {
    int fail = path[0] == '/' ? fails(path, REMOVES) : fd_fails(fd, REMOVES);
    return fail ? -1 : REAL(unlinkat)(fd, path, flags);
}
