/*  files.h - the files that a command reads and writes: no output may be one of its inputs, another
    output, or a folder. All are compared before anything is written.

    Two paths name the same file if device and inode agree, through links; for files that are not
    there yet, if their folders agree so and their names are equal. */
#ifndef TOOL_FILES_H
#define TOOL_FILES_H

#include "options.h"

typedef struct file_role {
	/* "--data x.csv", and what it is: "the data file". */
	char *text, *what;
	/* Its option; -1: standard output or error. */
	int id;
	/* The file; or its folder and its name there. */
	struct stat is;
	char *name;
} file_role;

typedef struct file_roles {
	file_role role[14];
	int count;
	/* --out may be the file of --model. */
	int updates;
} file_roles;

static void file_role_free(file_role *r)
{
	free(r->text);
	free(r->what);
	free(r->name);
}

static void files_free(file_roles *f)
{
	for (int i = 0; i < f->count; i++) file_role_free(&f->role[i]);
}

/*  Finds the file, or its folder. Returns 0 if there is neither. */
static int file_identify(file_role *r, const char *path)
{
	char *target = resolve_path(path), *slash = strrchr(target, '/');
	int found = stat(target, &r->is) == 0;
	if (!found) {
		r->name = copy_text(slash ? slash + 1 : target);
		if (slash) slash[1] = 0;
		found = stat(slash ? target : ".", &r->is) == 0;
	}
	free(target);
	return found;
}

static int same_file(const file_role *a, const file_role *b)
{
	if (a->is.st_dev != b->is.st_dev || a->is.st_ino != b->is.st_ino) return 0;
	if (a->name || b->name) return a->name && b->name && strcmp(a->name, b->name) == 0;
	return S_ISREG(a->is.st_mode);
}

/*  Adds a file to the list. An output that is in the list already ends the program. */
static void files_add(file_roles *f, file_role r, int is_output)
{
	for (int i = 0; i < f->count && is_output; i++) {
		const file_role *other = &f->role[i];
		/* A model may be continued or updated in its own file; both streams may go to one log. */
		int updated = r.id == OPT_OUT_MODEL || (r.id == OPT_OUT && f->updates),
			allowed = (other->id == OPT_RESUME && r.id == OPT_MODEL) ||
					  (other->id == OPT_MODEL && updated) || (other->id < 0 && r.id < 0);
		if (!allowed && same_file(other, &r))
			die(BAD_INPUT, "%s: is %s (%s)", r.text, other->what, other->text);
	}
	f->role[f->count++] = r;
}

static file_role file_role_of(int id, const char *path, const char *what)
{
	file_role r;
	bytes text = {NULL, 0, 0};
	memset(&r, 0, sizeof r);
	bytes_print(&text, "--%s %s", option_list[id].name, path);
	r.text = text.at;
	r.what = copy_text(what);
	r.id = id;
	return r;
}

static void files_input(file_roles *f, int id, const char *path, const char *what)
{
	if (!path) return;
	file_role r = file_role_of(id, path, what);
	int found = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &r.is) == 0 : file_identify(&r, path);
	/* Reading says what is wrong with a file that is not there. */
	if (found && !r.name) files_add(f, r, 0);
	else file_role_free(&r);
}

/*  An output that will be written. Ends the program if it cannot be: before an hour of training,
    not after it. */
static void files_output(file_roles *f, int id, const char *path)
{
	if (!path) return;
	bytes what = {NULL, 0, 0};
	bytes_print(&what, "the file of --%s", option_list[id].name);
	file_role r = file_role_of(id, path, what.at);
	int found = file_identify(&r, path);
	free(what.at);
	if (found && !r.name && S_ISDIR(r.is.st_mode)) die(BAD_INPUT, "%s: is a directory", r.text);
	files_add(f, r, 1);
	if (is_device(path)) return;
	bytes beside = {NULL, 0, 0};
	char *target = resolve_path(path);
	bytes_print(&beside, "%s.XXXXXX", target);
	int file = mkstemp(beside.at);
	if (file < 0) die(BAD_INPUT, "%s: cannot be written: %s", r.text, strerror(errno));
	close(file);
	remove(beside.at);
	free(beside.at);
	free(target);
}

/*  Standard output or error, if a file. */
static void files_stream(file_roles *f, int number, const char *name)
{
	file_role r;
	memset(&r, 0, sizeof r);
	if (fstat(number, &r.is) || !S_ISREG(r.is.st_mode)) return;
	r.text = copy_text(name);
	r.what = copy_text("where this goes");
	r.id = -1;
	files_add(f, r, 1);
}

/*  Checks all files of a command. model_path is the output of train; NULL: none. */
static void files_check(const options *o, const char *model_path)
{
	file_roles f = {.count = 0, .updates = o->updates};
	const char *mask = o->value[OPT_TEST_MASK], *colon = mask ? strrchr(mask, ':') : NULL;
	char *mask_file = copy_text(mask);
	if (colon) mask_file[colon - mask] = 0;
	files_input(&f, OPT_DATA, o->value[OPT_DATA], "the data file");
	files_input(&f, OPT_TEST, o->value[OPT_TEST], "the test file");
	files_input(&f, OPT_TEST_MASK, mask_file, "the mask file");
	files_input(&f, OPT_RESUME, o->value[OPT_RESUME], "the model to resume");
	if (!model_path) files_input(&f, OPT_MODEL, o->value[OPT_MODEL], "the model file");
	files_output(&f, OPT_MODEL, model_path);
	/* Checkpoints. */
	bytes part = {NULL, 0, 0};
	if (model_path) bytes_print(&part, "%s.part", model_path);
	files_output(&f, OPT_MODEL, part.at);
	files_output(&f, OPT_TRACE, o->value[OPT_TRACE]);
	files_output(&f, OPT_PLOT, o->value[OPT_PLOT]);
	files_output(&f, OPT_OUT_MODEL, o->value[OPT_OUT_MODEL]);
	if (o->value[OPT_OUT] && strcmp(o->value[OPT_OUT], "-") != 0)
		files_output(&f, OPT_OUT, o->value[OPT_OUT]);
	files_stream(&f, STDOUT_FILENO, "standard output");
	files_stream(&f, STDERR_FILENO, "standard error");
	if (o->value[OPT_PLOT] && is_device(o->value[OPT_PLOT]))
		die(BAD_INPUT, "--plot %s: is not a file", o->value[OPT_PLOT]);
	files_free(&f);
	free(part.at);
	free(mask_file);
}

#endif
