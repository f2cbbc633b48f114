/*  on_windows.h - what the tool and the demo use of POSIX and Windows lacks, under the same names,
    so that the other files need no second way: signals, sysconf for processors and memory,
    readlink, and a stat that tells files apart. Does nothing elsewhere. Include it after the
    headers of the system. */
#ifndef TOOL_ON_WINDOWS_H
#define TOOL_ON_WINDOWS_H
#ifdef _WIN32

#include <io.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
/* Words that windows.h takes: a type, and macros. */
#define POINTS windows_points
#include <windows.h>
#undef POINTS
#undef near
#undef far
#undef small
#undef hyper
#undef ERROR
#undef IN
#undef OUT

/* ---- signals: a handler serves once, which is what SA_RESETHAND asks for elsewhere ---- */

#define SA_RESETHAND     0
#define SA_RESTART       0
#define sigemptyset(set) ((void)(set))
struct sigaction {
	void (*sa_handler)(int);
	int sa_flags, sa_mask;
};

/*  What was before is taken to be the default. */
static inline int sigaction(int number, const struct sigaction *now, struct sigaction *before)
{
	if (before) memset(before, 0, sizeof *before);
	return now && signal(number, now->sa_handler) == SIG_ERR ? -1 : 0;
}

/* A closed console ends a program by SIGBREAK. The other two do not exist: they cannot come. */
#define SIGHUP               SIGBREAK
#define SIGPIPE              (-1)
#define SIGXFSZ              (-1)
#define signal(number, what) windows_signal(number, what)
static inline void windows_signal(int number, void (*handler)(int))
{
	if (number >= 0) (signal)(number, handler);
}

/* ---- processors ---- */

enum { _SC_NPROCESSORS_ONLN, _SC_PAGESIZE, _SC_PHYS_PAGES };
#define _SC_PHYS_PAGES _SC_PHYS_PAGES
#define sysconf(what)  windows_sysconf(what)
static inline long windows_sysconf(int what)
{
	SYSTEM_INFO info;
	MEMORYSTATUSEX memory;
	GetSystemInfo(&info);
	memory.dwLength = sizeof memory;
	if (what == _SC_NPROCESSORS_ONLN) return (long)info.dwNumberOfProcessors;
	if (what == _SC_PAGESIZE) return (long)info.dwPageSize;
	return GlobalMemoryStatusEx(&memory) ? (long)(memory.ullTotalPhys / info.dwPageSize) : -1;
}

/* ---- files: stat of the C library leaves device and inode 0 ---- */

struct windows_stat {
	unsigned short st_mode;
	unsigned long st_dev;
	unsigned long long st_ino;
	long long st_size;
	long long st_mtime;
};

static inline void windows_identify(HANDLE file, struct windows_stat *s)
{
	BY_HANDLE_FILE_INFORMATION info;
	if (!GetFileInformationByHandle(file, &info)) return;
	s->st_dev = info.dwVolumeSerialNumber;
	s->st_ino = (unsigned long long)info.nFileIndexHigh << 32 | info.nFileIndexLow;
}

static inline int windows_copied(int failed, const struct _stat64 *from, struct windows_stat *s)
{
	if (failed) return -1;
	memset(s, 0, sizeof *s);
	s->st_mode = from->st_mode;
	s->st_size = from->st_size;
	s->st_mtime = from->st_mtime;
	return 0;
}

static inline int windows_stat(const char *path, struct windows_stat *s)
{
	struct _stat64 from;
	if (windows_copied(_stat64(path, &from), &from, s)) return -1;
	/* Without FILE_FLAG_BACKUP_SEMANTICS folders cannot be opened. */
	HANDLE file = CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
			OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
	if (file == INVALID_HANDLE_VALUE) return 0;
	windows_identify(file, s);
	CloseHandle(file);
	return 0;
}

static inline int windows_fstat(int number, struct windows_stat *s)
{
	struct _stat64 from;
	if (windows_copied(_fstat64(number, &from), &from, s)) return -1;
	windows_identify((HANDLE)_get_osfhandle(number), s);
	return 0;
}

/*  Links are followed by whatever opens them. */
static inline int windows_readlink(const char *path, char *to, size_t room)
{
	(void)path, (void)to, (void)room;
	return -1;
}

/*  Standard streams that are closed need no care here. */
#define F_GETFD            1
#define fcntl(number, ...) 0

#undef stat
#undef fstat
/* The function and the tag of the struct. */
#define stat     windows_stat
#define fstat    windows_fstat
#define readlink windows_readlink

#endif
#endif
