/*  watch.h - what may take longer than a second: signals and time limits that end it, and its
    progress on stderr.

    Work is divided into phases, such as a warm start. A phase that lasts longer than a second says
    how far it is: on a terminal by a bar, elsewhere by a line after 1, 2, 4, ... seconds. */
#ifndef TOOL_WATCH_H
#define TOOL_WATCH_H

#include "options.h"
#include <signal.h>

/* ---- signals ---- */

/*  The only global variables. The signal that ends the program, 0: none has come; does it end the
    program at once, or standard input, for which the program may be waiting? */
static volatile sig_atomic_t stop_signal, stop_at_once, stop_input;

/*  The exit code of a program that a signal ended, as shells have it: 130 after Ctrl-C. */
static int signal_code(void) { return 128 + (int)stop_signal; }

static void on_signal(int number)
{
	static const char text[] = "\nodvgp: stopped by a signal; the model is saved, its bound is not "
							   "computed\n";
	stop_signal = number;
	if (stop_input) close(STDIN_FILENO);
	if (stop_at_once) _exit(write(STDERR_FILENO, text, sizeof text - 1) ? signal_code() : FAILED);
}

/*  The first Ctrl-C, SIGTERM or hang-up of the terminal ends the training in good order, the second
    one ends the program. */
static void catch_signals(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action, before;
	memset(&action, 0, sizeof action);
	action.sa_handler = on_signal;
	action.sa_flags = (int)SA_RESETHAND;
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		sigaction(ends[i], NULL, &before);
		/* Shells start background jobs without SIGINT; only nohup means it. */
		if (ends[i] != SIGHUP || before.sa_handler != SIG_IGN) sigaction(ends[i], &action, NULL);
	}
}

/* ---- phases ---- */

typedef struct watch {
	/* The current phase: its name, when it began, when its bar was last drawn (0: it has none), and
	   after how many seconds the next line is due. */
	char phase[60];
	double begin, drawn, wait;
	/* When the time of --minutes began; 0: sizes are known to fit. */
	double start;
	/* The largest share of it that was done: a call of the library may begin a second count. */
	double share;
	/* The clock at which work has to end; HUGE_VAL: never. */
	double until;
	/* For how many seconds work goes on after a signal; when the first look after it was. */
	double grace, noticed;
	int quiet, terminal;
} watch;

static watch *watch_make(const options *o)
{
	watch *w = take(1, sizeof *w);
	w->start = now();
	w->until = HUGE_VAL;
	w->quiet = o->given[OPT_QUIET];
	w->terminal = isatty(STDERR_FILENO);
	return w;
}

/*  From now on work ends at this time, and so many seconds after a signal. */
static void watch_allow(watch *w, double until, double grace)
{
	w->until = until;
	w->grace = grace;
	w->noticed = 0;
}

/*  The seconds that the phase takes from now on at its rate so far; 0: nothing is known of it. */
static double watch_rest(const watch *w)
{
	double seconds = now() - w->begin;
	return w->share > 0 ? seconds / w->share - seconds : 0;
}

/*  Has work to end? If so, it stays so until watch_allow. After a signal it ends at once if it would
    not end by itself within its grace. */
static int watch_over(watch *w)
{
	if (now() >= w->until) return 1;
	if (!stop_signal) return 0;
	if (watch_rest(w) > w->grace) w->grace = 0;
	if (!(w->noticed > 0)) w->noticed = now();
	return now() >= w->noticed + w->grace;
}

PRINTF_LIKE(2, 3) static void watch_begin(watch *w, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	vsnprintf(w->phase, sizeof w->phase, format, list);
	va_end(list);
	clean_text(w->phase, 0);
	w->begin = now();
	w->drawn = w->share = 0;
	w->wait = 1;
}

static const char *duration(double seconds, char *text, size_t size)
{
	if (seconds < 99.5) snprintf(text, size, "%.0f s", seconds);
	else if (seconds < 5400) snprintf(text, size, "%.0f min", seconds / 60);
	else snprintf(text, size, "%.1f h", seconds / 3600);
	return text;
}

static void watch_draw(watch *w)
{
	char bar[21], left[32];
	double seconds = now() - w->begin, share = w->share;
	if (seconds < w->wait || w->quiet || now() - w->drawn < 0.1) return;
	for (int i = 0; i < 20; i++) bar[i] = i < (int)(20 * share) ? '#' : '.';
	bar[20] = 0;
	if (w->terminal) {
		fprintf(stderr, "\r%s  [%s]  ETA %s\033[K", w->phase, bar,
				share > 0 ? duration(watch_rest(w), left, sizeof left) : "?");
		w->drawn = now();
	} else {
		fprintf(stderr, "%s: %.0f %% after %.1f s\n", w->phase, 100 * share, seconds);
		w->wait *= 2;
	}
	fflush(stderr);
}

/*  Shows that `done` of `total` parts of the phase are done. Returns 1 if it has to end. */
static int watch_look(watch *w, double done, double total)
{
	if (total > 0) w->share = fmax(w->share, fmin(1, done / total));
	watch_draw(w);
	return watch_over(w);
}

static void watch_end(watch *w)
{
	if (w->drawn > 0) fputs("\r\033[K", stderr);
	w->drawn = 0;
}

/*  The same for calls of the library: begins a phase with watch_begin before, ends it after. */
static int watch_library(void *user, const odvgp_progress *p)
{
	return watch_look(user, (double)p->done, (double)p->total);
}

static odvgp_watch library_watch(watch *w)
{
	odvgp_watch library = {watch_library, w};
	return library;
}

#endif
