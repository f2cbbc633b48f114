/*  The thread pool's protocol, explored: all interleavings of callers and workers, and in each
    one all values that C11's memory order lets a load see, except values read before they are
    written (load buffering; no load of the pool is followed by a store that could overtake it).
    This file restates the protocol, one step for each access to shared memory, in the order of
    gp__pool_run, _work, _wait, _wake, _main and odvgp_pool_stop. The first version of the
    protocol is kept as a check of the check. The memory model is that of Kang et al. (A
    Promising Semantics for Relaxed-Memory Concurrency, 2017) without promises: each location is
    a list of messages in modification order; each thread has for each location the oldest
    message that it may still read; a message of a release store carries its writer's list of
    these, which an acquire load takes over. A store may be inserted anywhere after what its
    thread has seen, but not between a read-modify-write and the message it read. Sequentially
    consistent accesses of one location see at least what earlier ones saw or wrote. */
#define ODVGP_USE_PTHREADS
#define ODVGP_IMPLEMENTATION
#include "odvgp.h"
#include "test.h"

enum { THREADS = 3, JOBS = 2, TASKS = 2, MESSAGES = 12 };
/*  The pool's members. READS is not one: a thread that reads a plain member leaves a message
    there, so that a store to a plain member can see whether all earlier reads happened before
    it. */
enum { TICKET, TASK, COUNT, LEFT, ASLEEP, WAITING, BUSY, STOP, READS, PLACES = READS + THREADS };
enum { RELAXED = 0, ACQUIRE = 1, RELEASE = 2, SC = 4 | ACQUIRE | RELEASE };
/*  A ticket is JOB times the job's number, plus a low part. */
enum { JOB = 16, LOW = 15, CLOSED = 15 };

/*  The state of a thread: the steps of each function. */
enum {
	/* gp__pool_run and odvgp_pool_stop. */
	RUN_BEGIN,
	RUN_TICKET,
	RUN_CLOSE,
	RUN_TASK,
	RUN_COUNT,
	RUN_LEFT,
	RUN_OPEN,
	RUN_RETURN,
	STOP_SET,
	STOP_JOIN,
	ENDED,
	/* gp__pool_wake, for threads on ASLEEP and on WAITING. */
	WAKE,
	WAKE_LOCK,
	WAKE_ALL,
	DONE,
	DONE_LOCK,
	DONE_ALL,
	/* gp__pool_work. */
	WORK,
	WORK_TASK,
	WORK_COUNT,
	WORK_TAKE,
	WORK_CALL,
	WORK_LEFT,
	/* gp__pool_wait. */
	WAIT,
	WAIT_ON,
	WAIT_LOCK,
	WAIT_SAY,
	WAIT_LOOK,
	WAIT_SLEEP,
	WAIT_UNSAY,
	/* gp__pool_main. */
	MAIN,
	MAIN_STOP,
	MAIN_ON,
	MAIN_LOCK,
	MAIN_SAY,
	MAIN_LOOK,
	MAIN_LOOK_STOP,
	MAIN_SLEEP,
	MAIN_UNSAY,
	MAIN_WORK,
	MAIN_JOB
};

typedef unsigned char byte;
typedef struct view {
	byte at[PLACES];
} view;
typedef struct message {
	short value;
	/* 1 if a read-modify-write read the message before this one: no message can come between
       them. */
	byte follows;
	view v;
} message;
typedef struct thread {
	view v;
	/* The current step, the step after work or wake returns, and the condition it sleeps on. */
	byte pc, back, sleeps;
	byte jobs, job, ticket, task, count;
	/* The step that the thread is in the middle of. */
	byte step;
} thread;
typedef struct state {
	message m[PLACES][MESSAGES];
	/* The number of messages, and the newest one that a sequentially consistent access has seen. */
	byte messages[PLACES], sc[PLACES];
	view mutex;
	/* The owner of the mutex, counted from 1. */
	byte owner;
	byte calls[JOBS + 1][TASKS], returned[JOBS + 1];
	thread t[THREADS];
} state;

typedef struct model {
	/* 1 for the first protocol, which reads CLOSED and fields before the exchange. */
	int first;
	/* Threads 0 .. callers - 1 call, the others work. */
	int callers, workers;
	/* The number of jobs of each caller. */
	int jobs[THREADS];
	/* The number of tasks of each job, counted from 1. */
	int tasks[JOBS + 1];
	/* 1 if every load sees the newest store, and stores are seen in their order. */
	int strong;
	/* A step whose accesses are relaxed, or 0. */
	int weak;
	/* The first error, or NULL. */
	const char *wrong;
	long states;
} model;

static void fault(model *x, const char *what)
{
	if (!x->wrong) x->wrong = what;
}

/* ---- memory ---- */

static void join(view *to, const view *from)
{
	int i;
	for (i = 0; i < PLACES; i++)
		if (from->at[i] > to->at[i]) to->at[i] = from->at[i];
}

/*  Moves positions from `at` on by one. */
static void shift(view *v, int place, int at, int by)
{
	if (v->at[place] >= at) v->at[place] = (byte)(v->at[place] + by);
}
static void shift_all(state *s, int place, int at, int by)
{
	int p, i;
	for (p = 0; p < PLACES; p++)
		for (i = 0; i < s->messages[p]; i++) shift(&s->m[p][i].v, place, at, by);
	for (i = 0; i < THREADS; i++) shift(&s->t[i].v, place, at, by);
	shift(&s->mutex, place, at, by);
	if (s->sc[place] >= at) s->sc[place] = (byte)(s->sc[place] + by);
}

/*  Forgets messages that no thread can read any more, so that a thread that looks twice returns
    to the same state. */
static void forget(const model *x, state *s)
{
	int place, i;
	for (place = 0; place < PLACES; place++) {
		int least = s->messages[place] - 1;
		for (i = 0; i < x->callers + x->workers; i++)
			if (s->t[i].pc != ENDED && s->t[i].v.at[place] < least) least = s->t[i].v.at[place];
		for (; least > 0; least--) {
			memmove(&s->m[place][0], &s->m[place][1],
					(size_t)(s->messages[place] - 1) * sizeof(message));
			memset(&s->m[place][--s->messages[place]], 0, sizeof(message));
			s->m[place][0].follows = 0;
			shift_all(s, place, 1, -1);
		}
	}
}

static int order(const model *x, const state *s, int t, int mode)
{
	return x->weak && s->t[t].step == x->weak ? RELAXED : mode;
}

static int oldest(const model *x, const state *s, int t, int place, int mode)
{
	int at = s->t[t].v.at[place];
	if (x->strong) return s->messages[place] - 1;
	return mode == SC && s->sc[place] > at ? s->sc[place] : at;
}

static void seen(state *s, int t, int place, int at, int mode)
{
	s->t[t].v.at[place] = (byte)at;
	if (mode & ACQUIRE) join(&s->t[t].v, &s->m[place][at].v);
	if (mode == SC) s->sc[place] = (byte)at;
}

/*  `choice` numbers the messages that can be read. Returns 0 if there are no more. */
static int load(const model *x, state *s, int t, int place, int mode, int choice, int *value)
{
	int at;
	mode = order(x, s, t, mode);
	at = oldest(x, s, t, place, mode) + choice;
	if (at >= s->messages[place]) return 0;
	*value = s->m[place][at].value;
	seen(s, t, place, at, mode);
	return 1;
}

static void insert(state *s, int t, int place, int mode, int at, int value, const view *sequence)
{
	message *m;
	if (s->messages[place] == MESSAGES) {
		printf("out of messages in the test itself\n");
		exit(3);
	}
	memmove(&s->m[place][at + 1], &s->m[place][at],
			(size_t)(s->messages[place]++ - at) * sizeof *m);
	shift_all(s, place, at, 1);
	m = &s->m[place][at];
	memset(m, 0, sizeof *m);
	m->value = (short)value;
	m->follows = sequence != NULL;
	s->t[t].v.at[place] = (byte)at;
	if (mode == SC) s->sc[place] = (byte)at;
	if (sequence) m->v = *sequence;
	shift(&m->v, place, at, 1);
	if (mode & RELEASE) join(&m->v, &s->t[t].v);
	m->v.at[place] = (byte)at;
}

static int store(const model *x, state *s, int t, int place, int mode, int value, int choice)
{
	int at;
	mode = order(x, s, t, mode);
	at = oldest(x, s, t, place, mode) + 1 + choice;
	if (at > s->messages[place]) return 0;
	if (at < s->messages[place] && s->m[place][at].follows) return -1;
	insert(s, t, place, mode, at, value, NULL);
	return 1;
}

/*  Stores value + add if the value is `expected`, or in any case if `expected` is below 0;
    *value receives what was read. */
static int exchange(const model *x, state *s, int t, int place, int mode, int failed_mode,
		int expected, int add, int choice, int *value)
{
	int at;
	view sequence;
	mode = order(x, s, t, mode);
	at = oldest(x, s, t, place, mode) + choice;
	if (at >= s->messages[place]) return 0;
	*value = s->m[place][at].value;
	if (expected >= 0 && *value != expected) {
		seen(s, t, place, at, failed_mode);
		return 1;
	}
	if (at + 1 < s->messages[place] && s->m[place][at + 1].follows) return -1;
	sequence = s->m[place][at].v;
	seen(s, t, place, at, mode);
	insert(s, t, place, mode, at + 1, *value + add, &sequence);
	return 1;
}

/*  Plain members have a race if an access did not happen after another thread's store, or a
    store did not happen after another thread's read. */
static int read_plain(model *x, state *s, int t, int place)
{
	int last = s->messages[place] - 1;
	if (s->t[t].v.at[place] != last) fault(x, "a plain member is read while it is written");
	insert(s, t, READS + t, RELAXED, s->messages[READS + t], 0, NULL);
	return s->m[place][last].value;
}
static void write_plain(model *x, state *s, int t, int place, int value)
{
	int i;
	if (s->t[t].v.at[place] != s->messages[place] - 1) fault(x, "two threads write a plain member");
	for (i = 0; i < THREADS; i++)
		if (s->t[t].v.at[READS + i] != s->messages[READS + i] - 1)
			fault(x, "a plain member is written while it is read");
	insert(s, t, place, RELAXED, s->messages[place], value, NULL);
}

static int lock(state *s, int t)
{
	if (s->owner) return 0;
	s->owner = (byte)(t + 1);
	join(&s->t[t].v, &s->mutex);
	return 1;
}
static void unlock(state *s, int t)
{
	s->owner = 0;
	join(&s->mutex, &s->t[t].v);
}
static void broadcast(state *s, int condition)
{
	int i;
	for (i = 0; i < THREADS; i++)
		if (s->t[i].sleeps == condition) s->t[i].sleeps = 0;
}

/* ---- the protocol ---- */

static void call(model *x, state *s, int job, int i)
{
	if (job < 1 || job > JOBS || i < 0 || i >= x->tasks[job])
		fault(x, "a task is called that no job has");
	else if (s->returned[job]) fault(x, "a task is called after run has returned");
	else if (s->calls[job][i]++) fault(x, "a task is called twice");
}

static void returned(model *x, state *s, int job)
{
	int i;
	for (i = 0; i < x->tasks[job]; i++)
		if (!s->calls[job][i]) fault(x, "run returns before all tasks were called");
	s->returned[job] = 1;
}

static int step_run(model *x, state *s, int t, int choice)
{
	thread *a = &s->t[t];
	int value = 0, ok = 1, i;
	switch (a->pc) {
	case RUN_BEGIN:
		if (a->jobs == x->jobs[t]) {
			a->pc = t ? ENDED : STOP_SET;
			return !choice;
		}
		ok = exchange(x, s, t, BUSY, ACQUIRE, ACQUIRE, 0, 1, choice, &value);
		if (ok <= 0) return ok;
		a->jobs++;
		/* If the pool is busy, the caller runs its tasks itself. */
		a->pc = value ? RUN_BEGIN : RUN_TICKET;
		return 1;
	case RUN_TICKET:
		if ((ok = load(x, s, t, TICKET, RELAXED, choice, &value)) > 0)
			a->job = (byte)(value / JOB + 1);
		if (ok > 0 && a->job > JOBS) fault(x, "a job has a wrong number");
		a->pc = x->first ? RUN_CLOSE : RUN_TASK;
		return ok;
	case RUN_CLOSE:
		a->pc = RUN_TASK;
		return store(x, s, t, TICKET, SC, a->job * JOB + CLOSED, choice);
	case RUN_TASK:
		a->pc = RUN_COUNT;
		if (x->first) return store(x, s, t, TASK, RELAXED, a->job, choice);
		write_plain(x, s, t, TASK, a->job);
		return !choice;
	case RUN_COUNT:
		a->pc = RUN_LEFT;
		if (x->first) return store(x, s, t, COUNT, RELAXED, x->tasks[a->job], choice);
		write_plain(x, s, t, COUNT, x->tasks[a->job]);
		return !choice;
	case RUN_LEFT: a->pc = RUN_OPEN; return store(x, s, t, LEFT, RELAXED, x->tasks[a->job], choice);
	case RUN_OPEN:
		a->pc = WAKE;
		a->back = WORK;
		return store(x, s, t, TICKET, SC, a->job * JOB + (x->first ? 0 : x->tasks[a->job]), choice);
	case RUN_RETURN:
		returned(x, s, a->job);
		a->pc = RUN_BEGIN;
		return store(x, s, t, BUSY, RELEASE, 0, choice);
	case STOP_SET:
		for (i = 1; i < x->callers; i++) {
			if (s->t[i].pc != ENDED) return 0;
			join(&a->v, &s->t[i].v);
		}
		a->pc = WAKE;
		a->back = STOP_JOIN;
		return store(x, s, t, STOP, SC, 1, choice);
	/* STOP_JOIN: */
	default:
		for (i = x->callers; i < x->callers + x->workers; i++)
			if (s->t[i].pc != ENDED) return 0;
		a->pc = ENDED;
		return !choice;
	}
}

static int step_wake(const model *x, state *s, int t, int choice)
{
	thread *a = &s->t[t];
	int value = 0, ok = 1, done = a->pc >= DONE;
	switch (a->pc) {
	case WAKE:
	case DONE:
		ok = load(x, s, t, done ? WAITING : ASLEEP, SC, choice, &value);
		a->pc = !value ? a->back : done ? DONE_LOCK : WAKE_LOCK;
		return ok;
	case WAKE_LOCK:
	case DONE_LOCK: a->pc = done ? DONE_ALL : WAKE_ALL; return !choice && lock(s, t);
	default:
		broadcast(s, done ? DONE : WAKE);
		unlock(s, t);
		a->pc = a->back;
		return !choice;
	}
}

static int step_work(model *x, state *s, int t, int choice)
{
	thread *a = &s->t[t];
	int value = 0, ok = 1, end = t < x->callers ? WAIT : MAIN;
	switch (a->pc) {
	case WORK:
		ok = load(x, s, t, TICKET, x->first ? ACQUIRE : RELAXED, choice, &value);
		a->ticket = (byte)value;
		a->pc = x->first ? WORK_TASK : value & LOW ? WORK_TAKE : (byte)end;
		return ok;
	case WORK_TASK:
		ok = load(x, s, t, TASK, RELAXED, choice, &value);
		a->task = (byte)value;
		a->pc = WORK_COUNT;
		return ok;
	case WORK_COUNT:
		ok = load(x, s, t, COUNT, RELAXED, choice, &value);
		a->count = (byte)value;
		a->pc = (a->ticket & LOW) >= value ? (byte)end : WORK_TAKE;
		return ok;
	case WORK_TAKE:
		if (x->first)
			ok = exchange(
					x, s, t, TICKET, ACQUIRE | RELEASE, ACQUIRE, a->ticket, 1, choice, &value);
		else ok = exchange(x, s, t, TICKET, ACQUIRE, RELAXED, a->ticket, -1, choice, &value);
		if (ok > 0 && value == a->ticket) a->pc = WORK_CALL;
		else a->pc = x->first ? WORK_TASK : value & LOW ? WORK_TAKE : (byte)end;
		a->ticket = (byte)value;
		return ok;
	case WORK_CALL:
		if (x->first) call(x, s, a->task, a->ticket & LOW);
		else {
			a->task = (byte)read_plain(x, s, t, TASK);
			a->count = (byte)read_plain(x, s, t, COUNT);
			call(x, s, a->task, a->count - (a->ticket & LOW));
		}
		a->pc = WORK_LEFT;
		return !choice;
	/* WORK_LEFT: */
	default:
		ok = exchange(x, s, t, LEFT, x->first ? RELEASE : SC, RELAXED, -1, -1, choice, &value);
		a->pc = value == 1 && !x->first ? DONE : WORK;
		a->back = WORK;
		a->ticket = a->task = a->count = 0;
		return ok;
	}
}

static int step_wait(model *x, state *s, int t, int choice)
{
	thread *a = &s->t[t];
	int value = 0, ok = 1;
	switch (a->pc) {
	case WAIT:
		ok = load(x, s, t, LEFT, x->first ? ACQUIRE : SC, choice, &value);
		a->pc = value <= 0 ? RUN_RETURN : x->first ? WAIT : WAIT_ON;
		return ok;
	/* Look again, or stop looking. */
	case WAIT_ON: a->pc = choice ? WAIT : WAIT_LOCK; return choice < 2;
	case WAIT_LOCK: a->pc = WAIT_SAY; return !choice && lock(s, t);
	case WAIT_SAY: a->pc = WAIT_LOOK; return store(x, s, t, WAITING, SC, 1, choice);
	case WAIT_LOOK:
		ok = load(x, s, t, LEFT, SC, choice, &value);
		a->pc = value > 0 ? WAIT_SLEEP : WAIT_UNSAY;
		if (ok > 0 && value > 0) {
			unlock(s, t);
			a->sleeps = DONE;
		}
		return ok;
	case WAIT_SLEEP: a->pc = WAIT_LOOK; return !choice && !a->sleeps && lock(s, t);
	/* WAIT_UNSAY: */
	default:
		ok = store(x, s, t, WAITING, SC, 0, choice);
		if (ok > 0) unlock(s, t);
		a->pc = RUN_RETURN;
		return ok;
	}
}

static int step_main(model *x, state *s, int t, int choice)
{
	thread *a = &s->t[t];
	int value = 0, ok = 1, idle;
	switch (a->pc) {
	case MAIN:
	case MAIN_LOOK:
		ok = load(x, s, t, TICKET, SC, choice, &value);
		idle = x->first ? value / JOB == a->job || (value & LOW) == CLOSED : !(value & LOW);
		a->pc = a->pc == MAIN ? idle ? MAIN_STOP : MAIN_WORK : idle ? MAIN_LOOK_STOP : MAIN_UNSAY;
		return ok;
	case MAIN_STOP:
		ok = load(x, s, t, STOP, SC, choice, &value);
		a->pc = value ? MAIN_WORK : MAIN_ON;
		return ok;
	case MAIN_ON: a->pc = choice ? MAIN : MAIN_LOCK; return choice < 2;
	case MAIN_LOCK: a->pc = MAIN_SAY; return !choice && lock(s, t);
	case MAIN_SAY:
		a->pc = MAIN_LOOK;
		return exchange(x, s, t, ASLEEP, SC, RELAXED, -1, 1, choice, &value);
	case MAIN_LOOK_STOP:
		ok = load(x, s, t, STOP, SC, choice, &value);
		a->pc = value ? MAIN_UNSAY : MAIN_SLEEP;
		if (ok > 0 && !value) {
			unlock(s, t);
			a->sleeps = WAKE;
		}
		return ok;
	case MAIN_SLEEP: a->pc = MAIN_LOOK; return !choice && !a->sleeps && lock(s, t);
	case MAIN_UNSAY:
		ok = exchange(x, s, t, ASLEEP, SC, RELAXED, -1, -1, choice, &value);
		if (ok > 0) unlock(s, t);
		a->pc = MAIN_WORK;
		return ok;
	case MAIN_WORK:
		ok = load(x, s, t, STOP, SC, choice, &value);
		a->pc = value ? ENDED : x->first ? MAIN_JOB : WORK;
		return ok;
	/* MAIN_JOB: */
	default:
		ok = load(x, s, t, TICKET, ACQUIRE, choice, &value);
		a->job = (byte)(value / JOB);
		a->pc = WORK;
		return ok;
	}
}

static int step(model *x, state *s, int t, int choice)
{
	thread *a = &s->t[t];
	int result = 0;
	if (a->pc == ENDED) return 0;
	a->step = a->pc;
	if (a->pc < ENDED) result = step_run(x, s, t, choice);
	else if (a->pc < WORK) result = step_wake(x, s, t, choice);
	else if (a->pc < WAIT) result = step_work(x, s, t, choice);
	else if (a->pc < MAIN) result = step_wait(x, s, t, choice);
	else result = step_main(x, s, t, choice);
	a->step = 0;
	return result;
}

/* ---- all states ---- */

typedef struct explorer {
	/* 128-bit hashes of the states that were reached; 0, 0 is free. */
	uint64_t (*seen)[2];
	size_t size, used;
	state *stack;
	size_t depth, room;
} explorer;

/*  Returns 1 if a state is new. */
static int add_state(explorer *e, const state *s)
{
	enum { LANES = 4, WORDS = (sizeof *s + 7) / 8, ROUNDS = (WORDS + LANES - 1) / LANES };
	uint64_t a = 1, b = 2, lane[LANES] = {1, 2, 3, 4}, word[ROUNDS * LANES];
	byte *to = (byte *)word;
	size_t i, at, words;
	/* Everything after the messages, among it their numbers, and then those that there are. */
	memcpy(to, s->messages, sizeof *s - offsetof(state, messages));
	to += sizeof *s - offsetof(state, messages);
	for (i = 0; i < PLACES; i++)
		for (at = 0; at < s->messages[i]; at++, to += sizeof(message))
			memcpy(to, &s->m[i][at], sizeof(message));
	words = ((size_t)(to - (byte *)word) + 8 * LANES - 1) / (8 * LANES) * LANES;
	memset(to, 0, (size_t)((byte *)(word + words) - to));
	for (i = 0; i < words; i += LANES) /* lanes do not wait for each other */
		for (at = 0; at < LANES; at++) {
			lane[at] = (lane[at] ^ word[i + at]) * 0x9e3779b97f4a7c15u;
			lane[at] ^= lane[at] >> 29;
		}
	for (i = 0; i < LANES; i++) {
		a = (a ^ lane[i]) * 0x9e3779b97f4a7c15u;
		a ^= a >> 29;
		b = (b + lane[i]) * 0xbf58476d1ce4e5b9u;
		b ^= b >> 31;
	}
	a |= 1;
	if (2 * e->used >= e->size) {
		uint64_t(*old)[2] = e->seen;
		size_t count = e->size;
		e->size = count ? 2 * count : 1 << 16;
		e->seen = (uint64_t(*)[2])test_alloc(e->size * sizeof *e->seen);
		memset(e->seen, 0, e->size * sizeof *e->seen);
		for (i = 0; i < count; i++) {
			if (!old[i][0]) continue;
			for (at = (size_t)old[i][1] & (e->size - 1); e->seen[at][0];
					at = (at + 1) & (e->size - 1)) {}
			memcpy(e->seen[at], old[i], sizeof *old);
		}
		free(old);
	}
	for (at = (size_t)b & (e->size - 1); e->seen[at][0]; at = (at + 1) & (e->size - 1))
		if (e->seen[at][0] == a && e->seen[at][1] == b) return 0;
	e->seen[at][0] = a;
	e->seen[at][1] = b;
	e->used++;
	return 1;
}

static void swap(void *a, void *b, size_t bytes)
{
	message kept[MESSAGES];
	memcpy(kept, a, bytes), memcpy(a, b, bytes), memcpy(b, kept, bytes);
}
/*  Exchanges what two threads have read, of a number for each place. */
static void swap_reads(byte *at, int a, int b) { swap(at + READS + a, at + READS + b, 1); }
/*  Two workers do the same, so that states in which they have changed places count as one: of both
    the one whose first worker is at the earlier step is visited. */
static void order_workers(const model *x, state *s)
{
	int a = x->callers, b = a + 1, p, i;
	if (x->workers < 2 || memcmp(&s->t[a].pc, &s->t[b].pc, sizeof *s->t - offsetof(thread, pc)) <= 0)
		return;
	swap(&s->t[a], &s->t[b], sizeof *s->t);
	if (s->owner > a) s->owner = (byte)(a + b + 2 - s->owner);
	swap(s->m[READS + a], s->m[READS + b], sizeof *s->m);
	swap_reads(s->messages, a, b), swap_reads(s->sc, a, b);
	for (p = 0; p < PLACES; p++)
		for (i = 0; i < s->messages[p]; i++) swap_reads(s->m[p][i].v.at, a, b);
	for (i = 0; i < THREADS; i++) swap_reads(s->t[i].v.at, a, b);
	swap_reads(s->mutex.at, a, b);
}

static void push(explorer *e, const state *s)
{
	if (!add_state(e, s)) return;
	if (e->depth == e->room) {
		e->room = e->room ? 2 * e->room : 64;
		e->stack = (state *)realloc(e->stack, e->room * sizeof *e->stack);
		if (!e->stack) exit(3);
	}
	e->stack[e->depth++] = *s;
}

/*  After its wake a caller works or waits: no worker may sleep then while there are tasks to
    take. */
static void check_awake(model *x, const state *s)
{
	int i, working = 0, asleep = 0, ticket = s->m[TICKET][s->messages[TICKET] - 1].value;
	for (i = 0; i < THREADS; i++) {
		working |= s->t[i].pc >= WORK && s->t[i].pc < MAIN && i < x->callers;
		asleep |= s->t[i].sleeps == WAKE;
	}
	if (!x->first && working && asleep && (ticket & LOW)) fault(x, "a worker sleeps through a job");
}

/*  Visits every state that can follow. A state without a successor is an end or a deadlock. */
static void explore(model *x)
{
	explorer e;
	state from, to;
	int i, t, choice, result, threads = x->callers + x->workers;
	memset(&e, 0, sizeof e);
	memset(&from, 0, sizeof from);
	for (i = 0; i < PLACES; i++) from.messages[i] = 1;
	for (t = 0; t < THREADS; t++)
		from.t[t].pc = t < x->callers ? RUN_BEGIN : t < threads ? MAIN : ENDED;
	x->wrong = NULL;
	push(&e, &from);
	while (e.depth && !x->wrong) {
		int moves = 0, ended = 1;
		from = e.stack[--e.depth];
		for (t = 0; t < threads; t++) {
			ended &= from.t[t].pc == ENDED;
			for (choice = 0;; choice++) {
				to = from;
				if (!(result = step(x, &to, t, choice))) break;
				if (result < 0) continue;
				forget(x, &to);
				check_awake(x, &to);
				moves = moves || memcmp(&to, &from, sizeof to) != 0;
				order_workers(x, &to);
				push(&e, &to);
			}
		}
		if (!moves && !ended) fault(x, "all threads wait for each other");
	}
	x->states = (long)e.used;
	free(e.seen);
	free(e.stack);
}

static model pool_of(
		int callers, int workers, int jobs_of_the_first, int first_tasks, int other_tasks)
{
	model x;
	memset(&x, 0, sizeof x);
	x.callers = callers;
	x.workers = workers;
	x.jobs[0] = jobs_of_the_first;
	x.jobs[1] = 1;
	x.tasks[1] = first_tasks;
	x.tasks[2] = other_tasks;
	return x;
}

TEST(the_pool_is_right_with_a_worker)
{
	model x = pool_of(1, 1, 2, 2, 2);
	explore(&x);
	CHECK_SAY(!x.wrong, "%s", x.wrong);
	test_note("%ld states", x.states);
}
/*  With ODVGP_TEST_ALL=1 there are two jobs, which takes four seconds; otherwise one. */
TEST(the_pool_is_right_with_two_workers)
{
	model x = getenv("ODVGP_TEST_ALL") ? pool_of(1, 2, 2, 1, 1) : pool_of(1, 2, 1, 2, 0);
	explore(&x);
	CHECK_SAY(!x.wrong, "%s", x.wrong);
	test_note("%ld states", x.states);
}
TEST(the_pool_is_right_with_two_callers)
{
	model x = pool_of(2, 1, 1, 2, 2);
	explore(&x);
	CHECK_SAY(!x.wrong, "%s", x.wrong);
	test_note("%ld states", x.states);
}

/*  The first version is correct if stores are seen in their order, and wrong if those of a new
    job overtake the one that closes the last job. */
TEST(the_first_protocol_needed_strong_memory)
{
	model x = pool_of(1, 1, 2, 1, 2);
	x.first = x.strong = 1;
	explore(&x);
	CHECK_SAY(!x.wrong, "%s", x.wrong);
	x.strong = 0;
	explore(&x);
	CHECK(x.wrong);
	test_note("%s", x.wrong ? x.wrong : "nothing");
}

/*  Every memory order is needed: with a relaxed one, the check must find an error. */
TEST(orders_are_needed)
{
	static const int steps[] = {
			WORK_TAKE, WORK_LEFT, RUN_OPEN, WAKE, MAIN_LOOK, MAIN_LOOK_STOP, WAIT_LOOK, DONE};
	size_t i;
	for (i = 0; i < sizeof steps / sizeof *steps; i++) {
		model x = pool_of(1, 1, 2, 2, 2);
		x.weak = steps[i];
		explore(&x);
		CHECK_SAY(x.wrong, "step %d is right with a relaxed access", steps[i]);
	}
}

int main(int argc, char **argv)
{
	test_begin(argc, argv);
	RUN(the_pool_is_right_with_a_worker);
	RUN(the_pool_is_right_with_two_workers);
	RUN(the_pool_is_right_with_two_callers);
	RUN(the_first_protocol_needed_strong_memory);
	RUN(orders_are_needed);
	return test_end();
}
