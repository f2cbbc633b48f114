/*  models.h - models from options and data, and models from files. */
#ifndef TOOL_MODELS_H
#define TOOL_MODELS_H

#include "cost.h"

/* ---- step sizes ---- */

/*  R, or FROM-TO: from one to the other in equal ratios over this many steps. */
static odvgp_schedule option_step_size(const options *o, int id, double most, ptrdiff_t iters)
{
	const char *text = o->value[id];
	double from, to;
	if (!parse_range(text, &from, &to) || !(from > 0 && from <= most && to > 0 && to <= most))
		die(BAD_INPUT, "--%s %s: must be a number above 0, at most %.6g, or two, FROM-TO",
				option_list[id].name, text, most);
	return from < to || from > to ? odvgp_falling(from, to, larger(1, iters))
								  : odvgp_constant(from);
}

static odvgp_schedule natgrad_schedule(const options *o, ptrdiff_t iters)
{
	odvgp_schedule s = option_step_size(o, OPT_NATGRAD_STEP, 1, iters);
	const char *text = o->value[OPT_NATGRAD_WARMUP], *p = text;
	if (!text) return s;
	double start = NAN, begin = s.start;
	ptrdiff_t steps = parse_index(&p);
	const char *end = steps > 0 && *p == ':' ? table__number(p + 1, &start) : NULL;
	int linear = end && strcmp(end, ":linear") == 0,
		loglinear = end && (!*end || strcmp(end, ":loglinear") == 0);
	if (!(linear || loglinear) || !(start > 0 && start <= 1))
		die(BAD_INPUT,
				"--natgrad-warmup %s: must be STEPS:START[:linear|loglinear], "
				"with a START above 0, at most 1",
				text);
	/* Up to FROM, then down to TO. */
	if (s.kind != ODVGP_SCHEDULE_CONSTANT) {
		s.final = s.end;
		s.decay_from = steps;
		s.decay_steps = larger(1, s.steps - steps);
	}
	s.start = start;
	s.end = begin;
	s.steps = steps;
	s.kind = linear ? ODVGP_SCHEDULE_LINEAR : ODVGP_SCHEDULE_LOGLINEAR;
	return s;
}

/*  The --schedule of `what` (NULL: of anything) after `last` (NULL: the first one), up to a line
    end; or NULL. */
static const char *schedule_next(const options *o, const char *what, const char *last)
{
	size_t length = what ? strlen(what) : 0;
	const char *t = last ? next_line(last) : o->value[OPT_SCHEDULE];
	for (; t && *t; t = next_line(t))
		if (!what || (strncmp(t, what, length) == 0 && t[length] == ':')) return t;
	return NULL;
}

/*  Reads one --schedule, WHAT:KIND:START:END:STEPS up to a line end. */
static void schedule_parse(const char *text, odvgp_schedule *s, double most)
{
	int length = (int)strcspn(text, "\n");
	char copy[120];
	snprintf(copy, sizeof copy, "%.*s", length, text);
	const char *p = strchr(copy, ':') + 1, *rest = strchr(p, ':');
	size_t n = strcspn(p, ":");
	double start = NAN, end = NAN;
	ptrdiff_t steps = 0;
	s->kind = is_word(p, n, "linear") ? ODVGP_SCHEDULE_LINEAR : ODVGP_SCHEDULE_LOGLINEAR;
	if (s->kind != ODVGP_SCHEDULE_LINEAR && !is_word(p, n, "loglinear")) rest = NULL;
	if (rest) rest = table__number(rest + 1, &start);
	if (rest && *rest == ':') rest = table__number(rest + 1, &end);
	else rest = NULL;
	if (rest && *rest == ':') {
		rest++;
		steps = parse_index(&rest);
	}
	if (!rest || *rest || steps < 1)
		die(BAD_INPUT, "--schedule %.*s: must be lr or natgrad:linear|loglinear:START:END:STEPS",
				length, text);
	int start_ok = start > 0 || (start >= 0 && s->kind == ODVGP_SCHEDULE_LINEAR);
	if (!(start_ok && start <= most && end > 0 && end <= most))
		die(BAD_INPUT, "--schedule %.*s: START and END must be above 0%s, at most %.0f", length,
				text, s->kind == ODVGP_SCHEDULE_LINEAR ? " (START may be 0)" : "", most);
	s->start = start;
	s->end = end;
	s->steps = steps;
}

/*  Applies the --schedule of `what`, if there is one. The other options that set the same step size
    contradict it. */
static void schedule_apply(const options *o, const char *what, odvgp_schedule *s, double most,
		const int *others, int count)
{
	int found = 0;
	for (const char *t = NULL; (t = schedule_next(o, what, t)) != NULL;) {
		if (found++) die(BAD_INPUT, "--schedule %s: is given twice", what);
		schedule_parse(t, s, most);
	}
	for (int i = 0; i < count && found; i++)
		if (o->given[others[i]])
			die(BAD_INPUT, "--schedule %s and --%s exclude each other", what,
					option_list[others[i]].name);
}

/*  Both step sizes of a training of this length. A schedule of anything else is an error. */
static void schedules_of(
		const options *o, ptrdiff_t iters, odvgp_schedule *lr, odvgp_schedule *natgrad)
{
	static const int lr_options[] = {OPT_LR},
					 natgrad_options[] = {OPT_NATGRAD_STEP, OPT_NATGRAD_WARMUP};
	for (const char *t = NULL; (t = schedule_next(o, NULL, t)) != NULL;)
		if (strncmp(t, "lr:", 3) != 0 && strncmp(t, "natgrad:", 8) != 0)
			die(BAD_INPUT,
					"--schedule %.*s: must begin with lr: or natgrad:", (int)strcspn(t, "\n"), t);
	*lr = option_step_size(o, OPT_LR, 1e6, iters);
	*natgrad = natgrad_schedule(o, iters);
	schedule_apply(o, "lr", lr, 1e6, lr_options, 1);
	schedule_apply(o, "natgrad", natgrad, 1, natgrad_options, 2);
}

/* ---- methods, and defaults that depend on other options ---- */

static int is_lbfgs(const options *o) { return option_choice(o, OPT_OPTIMIZER) == 1; }

/*  Does training use natural gradients? It does where the basis has them, unless they are off. */
static int natgrad_of(const options *o, const basis *b)
{
	int on = option_choice(o, OPT_NATGRAD) == 0;
	if (on && !b->natgrad && o->given[OPT_NATGRAD])
		die(BAD_INPUT, "--natgrad on: the basis %s has no natural step", b->name);
	if (on && o->given[OPT_NATGRAD] && is_lbfgs(o))
		die(BAD_INPUT, "--natgrad on: --optimizer lbfgs has no natural step");
	return on && b->natgrad && !is_lbfgs(o);
}

static const basis *basis_of(const options *o)
{
	return basis_named(OPT_BASIS, o->value[OPT_BASIS], strlen(o->value[OPT_BASIS]));
}

/*  Does --calibrate scale an exact model's variances? Once the basis is settled. */
static int scales_exact(const options *o)
{
	return is_exact(basis_of(o)) && strcmp(o->value[OPT_CALIBRATE], "on") == 0;
}

/*  With --minutes and without --iters the clock decides how many steps there are. */
static int by_clock(const options *o)
{
	return o->value[OPT_MINUTES] && !o->given[OPT_ITERS] && !o->value[OPT_RESUME];
}

/*  Does each step use all rows? */
static int all_rows(const options *o) { return without_q(basis_of(o)) || is_lbfgs(o); }

/*  The number of steps for n training rows. n = 0: not known yet, and epochs count as steps. */
static ptrdiff_t iters_of(const options *o, ptrdiff_t n)
{
	char *text = copy_text(o->value[OPT_ITERS]), *epochs = strstr(text, "epochs");
	double count = -1;
	if (epochs && !epochs[6]) *epochs = 0;
	const char *end = table__number(text, &count);
	if (!end || *end || !(count >= 0 && count <= INT_MAX) || count > floor(count))
		die(BAD_INPUT, "--iters %s: must be a number of steps, or of epochs: 20000, 100epochs",
				o->value[OPT_ITERS]);
	free(text);
	double batch = all_rows(o) ? (double)n
							   : fmin((double)n, (double)option_integer(o, OPT_BATCH, 1, INT_MAX));
	/* The library's epoch: whole minibatches; the rows that are left over wait for the next one. */
	double steps = epochs && n ? count * floor((double)n / batch) : count;
	if (steps > INT_MAX)
		die(BAD_INPUT, "--iters %s: %.3g steps are too many", o->value[OPT_ITERS], steps);
	return (ptrdiff_t)steps;
}

/*  Replaces defaults by the recipe's values. A test part that was given replaces the recipe's. */
static void recipe_settle(options *o)
{
	int recipe = option_choice(o, OPT_RECIPE),
		tests = o->given[OPT_TEST] || o->given[OPT_TEST_MASK];
	for (size_t i = 0; i < sizeof recipe_list / sizeof *recipe_list; i++) {
		int id = recipe_list[i].id,
			replaced = id == OPT_TEST_FRACTION ? tests : id == OPT_PARAM && o->given[OPT_WHITEN];
		if (id == OPT_LR) replaced = schedule_next(o, "lr", NULL) != NULL;
		if (id == OPT_NATGRAD_STEP || id == OPT_NATGRAD_WARMUP)
			replaced = schedule_next(o, "natgrad", NULL) != NULL;
		if (recipe_list[i].recipe != recipe || o->given[id] || replaced) continue;
		option_store(o, id, copy_text(recipe_list[i].value));
	}
	if (recipe != RECIPE_DEFAULT) option_default(o, OPT_WARM, "off");
}

/*  Fills in $x of a recipe's kernel, for D inputs. */
static void kernel_settle(options *o, ptrdiff_t D)
{
	bytes text = {NULL, 0, 0};
	if (o->given[OPT_KERNEL] || !strchr(o->value[OPT_KERNEL], '$')) return;
	for (const char *s = o->value[OPT_KERNEL]; *s;) {
		if (*s == '$') bytes_print(&text, "%.6g", strtod(s + 1, (char **)&s) * sqrt((double)D));
		else bytes_add(&text, s++, 1);
	}
	bytes_add(&text, "", 1);
	option_store(o, OPT_KERNEL, text.at);
}

/*  The kind of natural step that an option chooses, if the basis has it (`there`); otherwise the
    first kind. Asking for another is then an error. */
static int natgrad_way(const options *o, int id, int there)
{
	int way = option_choice(o, id);
	const basis *b = basis_of(o);
	if (way && o->given[id] && !there)
		die(BAD_INPUT, "--%s %s: the basis %s has no such natural step", option_list[id].name,
				o->value[id], b->name);
	if (way && o->given[id] && !natgrad_of(o, b))
		die(BAD_INPUT, "--%s %s: needs --natgrad on", option_list[id].name, o->value[id]);
	return there && natgrad_of(o, b) ? way : 0;
}

static odvgp_gamma_step gamma_way(const options *o, const basis *b)
{
	return (odvgp_gamma_step)natgrad_way(o, OPT_NATGRAD_GAMMA,
			b->mean_part == ODVGP_MEAN_PART_ORTH || b->mean_part == ODVGP_MEAN_PART_HYBRID);
}

/*  Sets the defaults that depend on other options: with all rows gradients have no noise, and
    eq. 15a needs a kernel that moves slowly. */
static void options_settle(options *o)
{
	int whole = without_q(basis_of(o));
	option_default(o, OPT_OPTIMIZER, whole ? "lbfgs" : "adam");
	int exact = gamma_way(o, basis_of(o)) == ODVGP_GAMMA_STEP_EXACT;
	option_default(o, OPT_ITERS,
			by_clock(o)   ? "20000"
			: is_lbfgs(o) ? "200"
			: whole       ? "1000"
						  : "20000");
	option_default(o, OPT_LR, whole || is_lbfgs(o) ? "0.01" : exact ? "0.001" : "0.01-0.001");
	option_default(o, OPT_NATGRAD_STEP, whole || is_lbfgs(o) ? "0.01" : "0.1-0.01");
}

static void natgrad_ways(odvgp_config *c, const options *o)
{
	int elbo = !without_q(basis_of(o));
	c->optim.gamma_step = gamma_way(o, basis_of(o));
	c->reproduce.blocks_step = (odvgp_blocks_step)natgrad_way(
			o, OPT_NATGRAD_BLOCKS, elbo && c->layer[0].cov_part == ODVGP_COV_PART_BLOCKS);
	c->reproduce.diag_step = (odvgp_diag_step)natgrad_way(
			o, OPT_NATGRAD_DIAG, elbo && c->layer[0].cov_part == ODVGP_COV_PART_DIAGONAL);
}

/*  --whiten on is --param whitened, off is primal. */
static void merge_whiten(options *o)
{
	if (!o->value[OPT_WHITEN]) return;
	int off = option_choice(o, OPT_WHITEN);
	int agrees = off ? strcmp(o->value[OPT_PARAM], "whitened") != 0
					 : strcmp(o->value[OPT_PARAM], "whitened") == 0;
	if (o->given[OPT_PARAM] && !agrees)
		die(BAD_INPUT, "--whiten %s: contradicts --param %s", o->value[OPT_WHITEN],
				o->value[OPT_PARAM]);
	if (!o->given[OPT_PARAM]) option_set(o, OPT_PARAM, off ? "primal" : "whitened");
}

/* ---- --layers ---- */

enum { MOST_LAYERS = ODVGP_MAX_LAYERS, HIDDEN_MOST = 30 };

/*  An item of --layers; -1: a size that is not given. */
typedef struct layer_item {
	const basis *basis;
	ptrdiff_t beta, gamma, dim, stride, patch_height, patch_width;
} layer_item;

/*  Reads NAME[:KEY=VALUE,...]. */
static layer_item layer_parse(char *text)
{
	layer_item item = {NULL, -1, -1, -1, -1, -1, -1};
	size_t length = strcspn(text, ": ");
	item.basis = basis_named(OPT_LAYERS, text, length);
	if (without_q(item.basis))
		die(BAD_INPUT, "--layers: the basis %s has no q, which a layer needs", item.basis->name);
	char *rest = text + length + strspn(text + length, " "), *pair;
	if (*rest == ':') rest++;
	else if (*rest) die(BAD_INPUT, "--layers %s: must be BASIS or BASIS:KEY=VALUE,...", text);
	if (!*rest) rest = NULL;
	while ((pair = next_item(&rest, ',')) != NULL) {
		const char *keys = "beta|gamma|dim|stride|patch", *end = strchr(pair, '=');
		ptrdiff_t *sizes[] = {&item.beta, &item.gamma, &item.dim, &item.stride, &item.patch_height};
		char key[16];
		pair = trim(pair);
		snprintf(key, sizeof key, "%.*s", (int)strcspn(pair, "= "), pair);
		int k = position_in(keys, key);
		if (k < 0 || !end)
			die(BAD_INPUT, "--layers: '%s' must be KEY=VALUE with a KEY of %s", pair,
					"beta, gamma, dim, patch, stride");
		if (*sizes[k] >= 0) die(BAD_INPUT, "--layers: '%s': %s is given twice", pair, key);
		const char *value = end + 1;
		int patch = sizes[k] == &item.patch_height;
		*sizes[k] = parse_index(&value);
		if (patch) item.patch_width = *value == 'x' ? (value++, parse_index(&value)) : 0;
		if (*value || *sizes[k] < (k != 1) || (patch && item.patch_width < 1))
			die(BAD_INPUT, "--layers: '%s' must be %s above 0", pair,
					patch ? "hxw, whole numbers" : "a whole number");
	}
	if (item.stride >= 0 && item.patch_height < 0)
		die(BAD_INPUT, "--layers: stride=%td needs a patch", item.stride);
	return item;
}

/*  The items of --layers; returns their number, 0 without the option. */
static int layers_parse(const options *o, layer_item *list)
{
	int count = 0;
	if (!o->value[OPT_LAYERS]) return 0;
	char *text = copy_text(o->value[OPT_LAYERS]), *rest = text, *item;
	while ((item = next_item(&rest, ';')) != NULL) {
		item = trim(item);
		if (!*item)
			die(BAD_INPUT, "--layers '%s': item %d is empty", o->value[OPT_LAYERS], count + 1);
		if (count == MOST_LAYERS)
			die(BAD_INPUT, "--layers: there are more than %d layers", MOST_LAYERS);
		list[count++] = layer_parse(item);
	}
	if (list[count - 1].dim >= 0)
		die(BAD_INPUT, "--layers: the last layer has a dimension for each target, so no dim");
	free(text);
	return count;
}

/*  Gives an option the value of an item, which must not contradict it. */
static void layer_option(options *o, int id, const char *what, const char *value)
{
	if (o->given[id] && !same_value(o->value[id], value))
		die(BAD_INPUT, "--%s %s: contradicts --layers, whose %s is %s", option_list[id].name,
				o->value[id], what, value);
	option_set(o, id, value);
}

/*  The last layer's basis and sizes become those of the options, and the first one's patch. */
static void layers_settle(options *o)
{
	layer_item list[MOST_LAYERS], *last;
	int count = layers_parse(o, list);
	char size[24];
	if (!count) return;
	last = &list[count - 1];
	layer_option(o, OPT_BASIS, "last layer", last->basis->name);
	if (count > 1 && option_choice(o, OPT_FIT_Q))
		die(BAD_INPUT, "--fit-q %s: a deep model has no closed optimum of q; leave it out",
				o->value[OPT_FIT_Q]);
	for (int k = 0; k < 2; k++) {
		ptrdiff_t v = k ? last->gamma : last->beta;
		snprintf(size, sizeof size, "%td", v);
		if (v >= 0) layer_option(o, k ? OPT_GAMMA : OPT_BETA, k ? "last gamma" : "last beta", size);
	}
	if (list[0].patch_height < 0) return;
	snprintf(size, sizeof size, "%dx%d", (int)list[0].patch_height, (int)list[0].patch_width);
	layer_option(o, OPT_PATCH, "first patch", size);
	snprintf(size, sizeof size, "%td", larger(1, list[0].stride));
	layer_option(o, OPT_STRIDE, "first stride", size);
}

/*  Patches of layer l > 0: of the image that the layer below gives. */
static void layer_patches(odvgp_config *c, int l, const layer_item *item)
{
	ptrdiff_t H = c->layer[l - 1].patches.image_height - c->layer[l - 1].patches.height,
			  W = c->layer[l - 1].patches.image_width - c->layer[l - 1].patches.width,
			  stride = larger(1, c->layer[l - 1].patches.stride);
	memset(&c->layer[l].patches, 0, sizeof c->layer[l].patches);
	if (item->patch_height < 0) return;
	H = larger(0, H) / stride + 1;
	W = larger(0, W) / stride + 1;
	if (item->patch_height > H || item->patch_width > W)
		die(BAD_INPUT,
				"--layers: patch=%tdx%td does not fit into the images of layer %d, %td x %td",
				item->patch_height, item->patch_width, l, H, W);
	c->layer[l].patches.image_height = H;
	c->layer[l].patches.image_width = W;
	c->layer[l].patches.channels = c->layer[l - 1].P;
	c->layer[l].patches.height = item->patch_height;
	c->layer[l].patches.width = item->patch_width;
	c->layer[l].patches.stride = larger(1, item->stride);
}

/*  Puts hidden layers below the one in c, without sizes. They have the dimension of their inputs, or
    of a patch of images, at most 30, unless another is given. Above a layer with `patch` whose next
    layer has it, too, are images; --tick is for the layer that sums patches. */
static void layers_apply(odvgp_config *c, const options *o)
{
	layer_item list[MOST_LAYERS];
	int count = layers_parse(o, list), located = c->layer[0].patches.locations;
	const odvgp_config one = *c;
	if (count < 2) return;
	c->layers = count;
	for (int l = 0; l < count; l++) {
		int hidden = l + 1 < count, image = hidden && list[l + 1].patch_height >= 0;
		c->layer[l] = one.layer[0];
		if (l) {
			c->layer[l].D = 0; /* the outputs of the layer below */
			layer_patches(c, l, &list[l]);
		}
		ptrdiff_t pixels = c->layer[l].patches.height * c->layer[l].patches.width *
						   larger(1, c->layer[l].patches.channels);
		if (image && !pixels)
			die(BAD_INPUT, "--layers: patch=%tdx%td needs a patch in the layer below it",
					list[l + 1].patch_height, list[l + 1].patch_width);
		c->layer[l].patches.image_output = image;
		c->layer[l].patches.locations = located && pixels && !image;
		if (is_image(o) && !o->given[OPT_KERNEL])
			c->layer[l].kernel = images_kernel(pixels, c->layer[l].patches.locations);
		if (!hidden) return;
		ptrdiff_t D = image ? pixels : l ? c->layer[l - 1].P : c->layer[0].D;
		c->layer[l].P = list[l].dim >= 0 ? list[l].dim : smaller(D, HIDDEN_MOST);
		c->layer[l].mean_part = list[l].basis->mean_part;
		c->layer[l].cov_part = list[l].basis->cov_part;
		c->layer[l].mean_function =
				c->layer[l].P == D ? ODVGP_MEAN_FUNCTION_IDENTITY : ODVGP_MEAN_FUNCTION_PROJECTION;
		c->optim.natgrad &= list[l].basis->natgrad;
	}
}

/* ---- --outputs ---- */

static int is_shared(const options *o) { return strcmp(o->value[OPT_OUTPUTS], "shared") == 0; }
static int is_independent(const options *o)
{
	return strcmp(o->value[OPT_OUTPUTS], "independent") == 0;
}

/*  P of lmc:P; 0: each target has its own function. */
static ptrdiff_t mixed_of(const options *o)
{
	const char *text = o->value[OPT_OUTPUTS], *p = text + 4;
	if (is_shared(o) || is_independent(o)) return 0;
	ptrdiff_t P = strncmp(text, "lmc:", 4) == 0 ? parse_index(&p) : -1;
	if (P < 1 || *p)
		die(BAD_INPUT, "--outputs %s: must be shared, independent, or lmc:P with P above 0", text);
	return P;
}

/*  Ends the program if mixtures or own kernels were asked for and there are none. */
static void check_outputs(const options *o, const schema *s)
{
	ptrdiff_t P = mixed_of(o);
	const char *text = o->value[OPT_OUTPUTS];
	if (is_shared(o)) return;
	if (P && (functions_of(s) != s->target_count || s->likelihood == ODVGP_LIKELIHOOD_ORDINAL))
		die(BAD_INPUT, "--outputs %s: the likelihood %s takes no mixtures", text,
				likelihood_text(s->likelihood));
	if (P > s->target_count)
		die(BAD_INPUT, "--outputs %s: P must be at most the number of targets, %d", text,
				s->target_count);
	if (without_q(basis_of(o)))
		die(BAD_INPUT, "--outputs %s: --basis %s has no q; coupled, orth and solve have one", text,
				basis_of(o)->name);
	if (option_choice(o, OPT_FIT_Q))
		die(BAD_INPUT, "--outputs %s: has no closed optimum of q; leave out --fit-q", text);
}

/* ---- the config ---- */

/*  Ends the program if what was asked for needs the Gaussian likelihood. */
static void check_likelihood(const options *o, odvgp_likelihood kind)
{
	const basis *b = basis_of(o);
	const char *name = likelihood_text(kind);
	if (kind == ODVGP_LIKELIHOOD_GAUSSIAN) return;
	if (without_q(b))
		die(BAD_INPUT,
				"--basis %s: has no bound for the likelihood %s; --basis coupled, orth and solve "
				"have one%s",
				b->name, name, has_classes(kind) ? "" : ", or take --likelihood gaussian");
	if (o->given[OPT_NOISE])
		die(BAD_INPUT, "--noise: only for the gaussian likelihood; this one is %s", name);
	if (option_choice(o, OPT_FIT_Q))
		die(BAD_INPUT, "--fit-q %s: the likelihood %s has no closed optimum of q; leave it out",
				o->value[OPT_FIT_Q], name);
}

/*  Defaults for other likelihoods than the Gaussian: natural steps rise from 1e-5, as in the
    papers, over 100 steps or a fifth of a short training; not in deep models of images, where Adam may
    meanwhile shrink the last kernel (bench/images.md). ODVGP's kernels have amplitude 5. */
static void likelihood_settle(options *o, const dataset *d)
{
	layer_item list[MOST_LAYERS];
	option_default(o, OPT_LIKELIHOOD, likelihood_text(d->s.likelihood));
	check_likelihood(o, d->s.likelihood);
	if (option_choice(o, OPT_RECIPE) == RECIPE_ODVGP && has_classes(d->s.likelihood) &&
			!o->given[OPT_KERNEL])
		option_store(o, OPT_KERNEL, copy_text("matern52($0.1, variance=5) + rbf($1, variance=5)"));
	check_outputs(o, &d->s);
	/* bench/images.md: with natural steps MNIST was not learned. */
	if (is_image(o) && has_classes(d->s.likelihood) && functions_of(&d->s) > 1 &&
			!o->given[OPT_NATGRAD])
		option_store(o, OPT_NATGRAD, copy_text("off"));
	if (d->s.likelihood == ODVGP_LIKELIHOOD_GAUSSIAN || !natgrad_of(o, basis_of(o)) ||
			o->given[OPT_NATGRAD_STEP] || schedule_next(o, "natgrad", NULL) ||
			(is_image(o) && layers_parse(o, list) > 1))
		return;
	char text[40];
	snprintf(text, sizeof text, "%td:1e-5", larger(1, smaller(100, iters_of(o, d->train.n) / 5)));
	option_default(o, OPT_NATGRAD_WARMUP, text);
}

/*  The least noise of an exact model, in units of y's variance: see EXACT_VARIANCE. */
static const double EXACT_NOISE = 1e-7;

/*  The config of the options, without sizes. */
static odvgp_config config_of(const options *o, const dataset *d)
{
	const basis *b = basis_of(o);
	odvgp_config c = odvgp_config_defaults(d->train.n, d->s.D, functions_of(&d->s), 1, 0);
	c.lik.kind = d->s.likelihood;
	if (mixed_of(o)) {
		c.functions = functions_of(&d->s);
		c.layer[0].P = mixed_of(o);
	}
	c.independent = is_independent(o);
	c.lik.noise_per_output = c.lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN && d->s.target_count > 1 &&
							 b->objective == ODVGP_OBJECTIVE_ELBO;
	/* As in the code of ODVGP's authors. */
	if (option_choice(o, OPT_RECIPE) == RECIPE_ODVGP) {
		if (c.lik.kind == ODVGP_LIKELIHOOD_BERNOULLI) c.lik.link_jitter = 1e-3;
		if (c.lik.kind == ODVGP_LIKELIHOOD_ROBUSTMAX) c.lik.link_jitter = 1e-4;
	}
	/* Four functions have three differences: 10^3 nodes are enough, and the default has 20^3. */
	if (c.lik.kind == ODVGP_LIKELIHOOD_SOFTMAX && functions_of(&d->s) == 4) c.lik.nodes = 10;
	c.lik.weights = d->class_weight != NULL;
	if (c.lik.kind == ODVGP_LIKELIHOOD_ORDINAL) c.lik.classes = d->s.targets[0].level_count;
	images_config(o, &c);
	c.layer[0].mean_part = b->mean_part;
	c.layer[0].cov_part = b->cov_part;
	c.objective = b->objective;
	c.layer[0].kernel = o->value[OPT_KERNEL];
	/* A recipe's noise is for the Gaussian. */
	if (o->value[OPT_NOISE] && (c.lik.kind == ODVGP_LIKELIHOOD_GAUSSIAN || o->given[OPT_NOISE]))
		c.lik.noise_variance = option_positive(o, OPT_NOISE);
	c.layer[0].mean_function = (odvgp_mean_function)option_choice(o, OPT_MEAN);
	c.reproduce.parametrisation = (odvgp_parametrisation)option_choice(o, OPT_PARAM);
	c.reproduce.gamma_coords = (odvgp_gamma_coords)option_choice(o, OPT_GAMMA_COORDS);
	c.positive_transform = (odvgp_positive_transform)option_choice(o, OPT_POSITIVE);
	c.reproduce.q_init = (odvgp_q_init)option_choice(o, OPT_Q_INIT);
	c.reproduce.update = (odvgp_update)option_choice(o, OPT_UPDATE);
	c.init.beta = (odvgp_init_beta)option_choice(o, OPT_INIT);
	c.init.gamma = (odvgp_init_gamma)option_choice(o, OPT_INIT_GAMMA);
	c.init.hyperparams = (odvgp_init_hyper)option_choice(o, OPT_INIT_HYPER);
	/* The cheapest choice: exact regression does not use them. */
	if (is_exact(b)) {
		c.init.beta = ODVGP_INIT_BETA_RANDOM;
		c.lik.noise_floor = EXACT_NOISE;
	}
	c.optim.natgrad = natgrad_of(o, b);
	c.optim.kind = is_lbfgs(o) ? ODVGP_OPTIMIZER_LBFGS : ODVGP_OPTIMIZER_ADAM;
	natgrad_ways(&c, o);
	schedules_of(o, iters_of(o, d->train.n), &c.optim.lr, &c.optim.natgrad_step);
	c.jitter.absolute = option_real(o, OPT_JITTER, 0, DBL_MAX, "not below 0");
	c.jitter.relative = option_real(o, OPT_JITTER_REL, 0, DBL_MAX, "not below 0");
	c.seed = (uint64_t)option_integer(o, OPT_SEED, 0, LLONG_MAX);
	return c;
}

/*  Keeps a size that was not given as one of the model's settings. */
static void size_settle(options *o, int id, ptrdiff_t v)
{
	char text[24];
	snprintf(text, sizeof text, "%td", v);
	option_default(o, id, text);
}

/*  Ends the program if `what` asks for v inducing points of a layer, and its inputs are fewer: so
    many distinct rows, and so many patches of each. */
static void check_points(const char *what, ptrdiff_t v, ptrdiff_t rows, ptrdiff_t patches)
{
	if (v <= rows * patches) return;
	if (patches > 1)
		die(BAD_INPUT, "%s: there are only %td patches, %td of each distinct training row", what,
				rows * patches, patches);
	die(BAD_INPUT, "%s: there are only %td distinct training rows", what, rows);
}

/*  A number of inducing points. One that was given must exist; a default, or a recipe's, shrinks to
    the data. */
static ptrdiff_t inducing_size(const options *o, int id, ptrdiff_t least, ptrdiff_t preset,
		ptrdiff_t room, ptrdiff_t rows, ptrdiff_t patches)
{
	char what[40];
	ptrdiff_t v = o->value[id] ? (ptrdiff_t)option_integer(o, id, least, INT_MAX) : preset;
	if (!o->given[id]) return smaller(v, room);
	snprintf(what, sizeof what, "--%s %td", option_list[id].name, v);
	check_points(what, v, rows, patches);
	return v;
}

/*  Gives the layers below the last one its sizes, unless others are given. */
static void layers_sizes(odvgp_config *c, const options *o, ptrdiff_t rows)
{
	layer_item list[MOST_LAYERS];
	ptrdiff_t top = layers_parse(o, list) - 1, M = LAST_LAYER(c).M, M_gamma = LAST_LAYER(c).M_gamma;
	for (ptrdiff_t l = 0; l < top; l++) {
		char what[60];
		int has_gamma = list[l].basis->gamma;
		c->layer[l].M = list[l].beta >= 0 ? list[l].beta : M;
		c->layer[l].M_gamma = !has_gamma ? 0 : list[l].gamma >= 0 ? list[l].gamma : M_gamma;
		snprintf(what, sizeof what, "--layers: beta=%td of layer %td", c->layer[l].M, l);
		check_points(what, c->layer[l].M, rows, patch_count(c, l));
		snprintf(what, sizeof what, "--layers: gamma=%td of layer %td", c->layer[l].M_gamma, l);
		check_points(what, c->layer[l].M_gamma, rows, patch_count(c, l));
	}
}

/*  Exact regression needs several matrices of rows by rows. */
static void refuse_many_rows(odvgp_config c, ptrdiff_t n)
{
	if (n <= EXACT_ROWS) return;
	c.layer[0].M = c.optim.batch = n;
	size_t size = odvgp_model_size(&c, NULL);
	die(BAD_INPUT,
			"--basis exact: %td training rows would take %.3g GB of memory; it is for at most %d",
			n, fmax((double)size, 24.0 * (double)n * (double)n) / 1e9, EXACT_ROWS);
}

/*  Notes the given options that this basis does not use. */
static void note_unused(const options *o, const basis *b, bytes *notes)
{
	const char *text = "note: the basis %s has %s; --%s is not used\n";
	if (!b->gamma && o->given[OPT_GAMMA])
		bytes_print(notes, text, b->name, "no gamma points", "gamma");
	if (!b->gamma && o->given[OPT_INIT_GAMMA])
		bytes_print(notes, text, b->name, "no gamma points", "init-gamma");
	if (is_exact(b) && o->given[OPT_INIT])
		bytes_print(notes, text, b->name, "a beta point at each row", "init");
	if (is_exact(b) && o->given[OPT_BETA])
		bytes_print(notes, text, b->name, "a beta point at each row", "beta");
	if (all_rows(o) && o->given[OPT_BATCH])
		bytes_print(notes, "note: each step uses all rows; --batch is not used\n");
}

/*  One in `each` of the distinct inputs, but of few all: points there cost nothing, and fewer would
    miss levels of a column. */
static ptrdiff_t share_of(ptrdiff_t distinct, ptrdiff_t each)
{
	enum { FEW = 50 };
	return larger(1, larger(smaller(distinct, FEW), distinct / each));
}

/*  Sets the sizes from options and data. Surprises go into the notes. */
static void config_sizes(odvgp_config *c, options *o, const dataset *d, bytes *notes)
{
	ptrdiff_t n = d->train.n, rows = distinct_rows(d), top = c->layers - 1,
			  patches = patch_count(c, top), inputs = rows * patches;
	const basis *b = basis_of(o);
	if (is_exact(b)) refuse_many_rows(*c, n);
	c->layer[top].M =
			is_exact(b) ? n
						: inducing_size(o, OPT_BETA, 1, 300, share_of(inputs, 2), rows, patches);
	ptrdiff_t rest = larger(0, inputs - c->layer[top].M);
	c->layer[top].M_gamma = b->gamma ? inducing_size(o, OPT_GAMMA, 0, 700, rest, rows, patches) : 0;
	layers_sizes(c, o, rows);
	ptrdiff_t batch = (ptrdiff_t)option_integer(o, OPT_BATCH, 1, INT_MAX),
			  gamma_batch = (ptrdiff_t)option_integer(o, OPT_GAMMA_BATCH, 0, INT_MAX);
	c->optim.batch = all_rows(o) ? n : smaller(batch, n);
	c->optim.gamma_batch = smaller(gamma_batch, c->layer[top].M_gamma);
	int shrunk = !is_exact(b) &&
				 ((!o->value[OPT_BETA] && c->layer[top].M < 300) ||
						 (b->gamma && !o->value[OPT_GAMMA] && c->layer[top].M_gamma < 700));
	note_unused(o, b, notes);
	if (shrunk)
		bytes_print(notes, "note: there are %td %s, so beta is %td and gamma %td\n", inputs,
				patches > 1 ? "patches of distinct rows" : "distinct rows", c->layer[top].M,
				c->layer[top].M_gamma);
	if (o->given[OPT_BATCH] && batch > n && !all_rows(o))
		bytes_print(notes, "note: each batch holds all %td rows\n", n);
	if (c->layer[top].mean_part == ODVGP_MEAN_PART_ORTH && !c->layer[top].M_gamma) {
		/* The same model. */
		c->layer[top].mean_part = ODVGP_MEAN_PART_BETA;
		c->optim.gamma_step = ODVGP_GAMMA_STEP_ADAM;
	}
	size_settle(o, OPT_BETA, c->layer[top].M);
	size_settle(o, OPT_GAMMA, c->layer[top].M_gamma);
}

/*  Applies --set to the fields that neither the data nor another option decides. */
static void config_set(odvgp_config *c, const options *o)
{
	static const char names[] =
			"lik.noise_floor|lik.nodes|lik.link_jitter|jitter.max|optim.gamma_step_ratio|optim."
			"lbfgs_memory|optim.adam_beta1|"
			"optim.adam_beta2|optim.adam_eps|reproduce.gamma_kl|reproduce.gamma_eps|"
			"reproduce.adam_eps_inside|tile|kernel_cache_bytes|shards|deep.samples|"
			"deep.predict_samples|deep.fixed_samples|deep.q_init";
	char *list = copy_text(o->value[OPT_SET]), *rest = list, *item, name[40];
	while ((item = next_item(&rest, '\n')) != NULL) {
		odvgp_info info = no_info;
		snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "="), item);
		if (!strchr(item, '=') || position_in(names, name) < 0)
			die(BAD_INPUT, "--set %s: must be NAME=VALUE with a NAME of %s%s", item, names,
					guess_in(names, name).text);
		odvgp_status s = odvgp_config_set(c, item, &info);
		if (s) die_of(s, &info, "--set");
	}
	free(list);
}

/* ---- models ---- */

static void freeze_slots(odvgp_model *model, const char *names)
{
	char *list = copy_text(names), *rest = list, *item;
	while ((item = next_item(&rest, ',')) != NULL) {
		if (!odvgp_set_trainable(model, item, 0, NULL)) continue;
		bytes all = {NULL, 0, 0};
		guess meant = guess_of(item, strlen(item));
		for (int i = 0; i < odvgp_slot_count(model); i++) {
			const char *slot = odvgp_slot_at(model, i)->name;
			bytes_print(&all, " %s", slot);
			guess_try(&meant, slot);
		}
		die(BAD_INPUT, "--freeze: there is no parameter '%s'%s; this model has%s", item,
				guess_text(&meant).text, all.at);
	}
	free(list);
}

/*  An exact model of n rows factors K + noise without jitter. Targets without noise drive the two so far
    apart that factors, and so predictions, are rounding: so the variance of its kernel is bounded, too,
    by EXACT_VARIANCE and so that n times it is at most EXACT_RATIO times the noise. (naval: with 7,000
    rows 1e3 and 1e-7 had log-likelihood 2.4, 30 and 1e-7 5.45.) */
static const double EXACT_VARIANCE = 1e3, EXACT_RATIO = 1e13;

/*  A column that tells groups of rows apart may get a lengthscale of 1e-29, below which training and
    prediction, which do not round alike, put the same group at two places (parkinsons: RMSE .49, with
    this bound of standardised inputs 1e-4). */
static const double EXACT_LENGTHSCALE = 1e-6;

/*  The variance of Student's y is finite only for df > 2. */
static const double LEAST_DF = 2.1;

/*  The most variance of a kernel of an exact model of n rows. */
static double exact_variance(ptrdiff_t n)
{
	return fmin(EXACT_VARIANCE, EXACT_RATIO * EXACT_NOISE / (double)n);
}

/*  Is a slot one of the kernel's, of this name? */
static int is_kernel_slot(const odvgp_slot *slot, const char *name)
{
	const char *end = strrchr(slot->name, '.');
	return strncmp(slot->name, "kernel.", 7) == 0 && strcmp(end + 1, name) == 0;
}

static odvgp_status exact_bounds(odvgp_model *model, ptrdiff_t n, odvgp_info *info)
{
	odvgp_status s = ODVGP_OK;
	for (int i = 0; i < odvgp_slot_count(model) && !s; i++) {
		const odvgp_slot *slot = odvgp_slot_at(model, i);
		if (is_kernel_slot(slot, "lengthscale"))
			s = odvgp_set_bounds(model, slot->name, EXACT_LENGTHSCALE, HUGE_VAL, info);
		if (is_kernel_slot(slot, "variance"))
			s = odvgp_set_bounds(model, slot->name, 0, exact_variance(n), info);
	}
	return s;
}

/*  Sets the bounds that every trained model has; an exact one may go on with so many rows. */
static odvgp_status model_bounds(odvgp_model *model, ptrdiff_t rows, odvgp_info *info)
{
	const odvgp_config *c = odvgp_model_config(model);
	odvgp_status s = ODVGP_OK;
	if (c->lik.kind == ODVGP_LIKELIHOOD_STUDENTT)
		s = odvgp_set_bounds(model, "df", LEAST_DF, HUGE_VAL, info);
	return s || c->objective != ODVGP_OBJECTIVE_EXACT ? s : exact_bounds(model, rows, info);
}

/*  The memory that holds a model. */
typedef struct model_block {
	void *at;
	size_t size;
} model_block;

/*  A copy of a model of the same size. */
typedef struct snapshot {
	void *at; /* NULL: not taken yet */
	odvgp_model *model;
} snapshot;

static void snapshot_take(snapshot *s, const odvgp_model *model, const model_block *block)
{
	odvgp_info info = no_info;
	if (!s->at) s->at = take(block->size, 1);
	odvgp_status status = odvgp_model_copy(&s->model, model, s->at, block->size, &info);
	if (status) die_of(status, &info, NULL);
}

/*  The model, at the same address, is what it was. */
static void snapshot_restore(const snapshot *s, const model_block *block)
{
	odvgp_info info = no_info;
	odvgp_model *model;
	odvgp_status status = odvgp_model_copy(&model, s->model, block->at, block->size, &info);
	if (status) die_of(status, &info, NULL);
}

/*  Ends the program: at this place of the expression stands a name that no kernel has. */
static void unknown_kernel(const char *kernel, ptrdiff_t place)
{
	const char *at = kernel + place, *end = at;
	while (isalnum((unsigned char)*end) || *end == '_') end++;
	char *name = copy_text(at);
	name[end - at] = 0;
	bytes names = {NULL, 0, 0};
	for (int i = 0; odvgp_kernel_about(i).name; i++)
		bytes_print(&names, "%s%s", i ? "|" : "", odvgp_kernel_about(i).name);
	die(BAD_INPUT, "--kernel: no kernel '%s'%s; kernels: %s", name, guess_in(names.at, name).text,
			names.at);
}

/*  The kernel with groups of lengthscales; a text that o owns, which stays while it is the same. */
static const char *kernel_of(options *o, const dataset *d)
{
	char *text = levels_kernel(o->value[OPT_KERNEL], &d->s, d->levels);
	if (o->kernel && strcmp(o->kernel, text) == 0) free(text);
	else {
		free(o->kernel);
		o->kernel = text;
	}
	return o->kernel;
}

/*  The config of a new model. */
static odvgp_config model_config(
		options *o, const dataset *d, const workers *w, odvgp_isa isa, bytes *notes)
{
	images_kernel_settle(o);
	kernel_settle(o, d->s.D);
	odvgp_config c = config_of(o, d);
	int natural = c.optim.natgrad;
	layers_apply(&c, o);
	if (!is_image(o)) c.layer[0].kernel = kernel_of(o, d);
	config_sizes(&c, o, d, notes);
	images_note(&c, notes);
	if (natural && !c.optim.natgrad)
		bytes_print(notes, "note: a layer's basis has no natural gradients, so none is taken\n");
	config_set(&c, o);
	if (c.layer[0].M_gamma && c.optim.gamma_step == ODVGP_GAMMA_STEP_EXACT &&
			fmax((double)c.optim.lr.start, (double)c.optim.lr.end) > 0.001 * (1 + 1e-6))
		bytes_print(notes, "note: exact natural steps of gamma need a learning rate of 0.001 at "
						   "most; with a larger one the bound may fall\n");
	c.threads = w->threads;
	c.isa = isa;
	return c;
}

/*  Ends: there is no memory for this model. Names a number of points that fits with what training and
    predictions take besides. */
NO_RETURN static void model_too_large(odvgp_config c, const options *o, size_t size)
{
	int exact = is_exact(basis_of(o));
	ptrdiff_t top = c.layers - 1, given = c.layer[top].M,
			  most = exact ? smaller(given, 1000) : given / 2;
	char less[80] = "";
	if (exact) {
		c.objective = ODVGP_OBJECTIVE_COLLAPSED;
		c.layer[top].mean_part = ODVGP_MEAN_PART_BETA;
		c.layer[top].cov_part = ODVGP_COV_PART_DENSE;
	}
	for (ptrdiff_t M = most; M > 0 && !*less; M /= 2) {
		c.layer[top].M = M;
		c.layer[top].M_gamma /= 2;
		if (has_memory(4 * (double)odvgp_model_size(&c, NULL)))
			snprintf(less, sizeof less, "; %s--beta %td%s may fit", exact ? "--basis sgpr " : "", M,
					c.layer[top].M_gamma ? " with fewer gamma points" : "");
	}
	die(FAILED, "out of memory: a model of --basis %s with %td points takes %.3g MB%s",
			basis_of(o)->name, given, (double)size / 1e6, less);
}

/*  A new model. Checks all its options; model_start follows. */
static odvgp_model *model_make(options *o, const dataset *d, const workers *w, odvgp_isa isa,
		model_block *block, bytes *notes)
{
	odvgp_info info = no_info;
	odvgp_model *model;
	odvgp_config c = model_config(o, d, w, isa, notes);
	block->size = odvgp_model_size(&c, &info);
	char with[40];
	snprintf(with, sizeof with, "--basis %.20s", basis_of(o)->name);
	if (!block->size) {
		if (info.status == ODVGP_E_NAME) unknown_kernel(c.layer[0].kernel, info.row);
		die_of(info.status, &info, info.status == ODVGP_E_UNSUPPORTED ? with : NULL);
	}
	minutes_check(o, &c, w);
	if (!has_memory((double)block->size)) model_too_large(c, o, block->size);
	memory_advice = is_exact(basis_of(o)) ? "; --basis sgpr takes less"
										   : "; fewer points (--beta) take less";
	block->at = take(block->size, 1);
	odvgp_status s = odvgp_model_init(&model, &c, block->at, block->size, &info);
	if (s) die_of(s, &info, NULL);
	if (model_bounds(model, c.N, &info)) die_of(info.status, &info, NULL);
	if (o->value[OPT_FREEZE]) freeze_slots(model, o->value[OPT_FREEZE]);
	if (d->disk) large_set_reader(d->disk, model, large_for_library);
	return model;
}

/*  Ends. A target that the library refuses is named by its line in the file. */
static void start_failed(odvgp_status s, const odvgp_info *info, const odvgp_model *m,
		const options *o, const dataset *d)
{
	const char *must = odvgp_likelihood_about(odvgp_model_config(m)->lik.kind).target_must;
	if (s != ODVGP_E_ARG || info->row < 0 || info->row >= d->train.n) die_of(s, info, NULL);
	const double *y = d->disk ? d->disk->y : d->train.Y + info->row * d->s.target_count;
	int k = 0;
	if (d->disk) large_need(d->disk, info->row, 1, d->disk->x, NULL);
	while (k < d->s.target_count - 1 && (y[k] < info->value || y[k] > info->value)) k++;
	if (y[k] < info->value || y[k] > info->value) die_of(s, info, NULL); /* a weight, an exposure */
	const field *f = &d->s.targets[k];
	die(BAD_INPUT, "%s: line %ld, %s: %.10g: %s, for --likelihood %s",
			path_text(o->value[OPT_DATA]), train_line(d, info->row),
			COLUMN_TEXT(f->column, f->name), info->value, must, o->value[OPT_LIKELIHOOD]);
}

/*  Initial values from the data. */
static odvgp_status model_init(
		odvgp_model *model, const dataset *d, const workers *w, odvgp_info *info)
{
	watch_begin(w->watch, "initial values");
	odvgp_watch watch = library_watch(w->watch);
	odvgp_status s = odvgp_init_data(model, d->train.X, d->Y, &watch, info);
	watch_end(w->watch);
	return s;
}

/*  The same. The library checks the targets. Returns 0 if it had to end before. */
static int model_start(
		odvgp_model *model, const options *o, const dataset *d, const workers *w)
{
	odvgp_info info = no_info;
	odvgp_status s = model_init(model, d, w, &info);
	if (s && s != ODVGP_E_STOPPED) start_failed(s, &info, model, o, d);
	return !s;
}

/* ---- model files ---- */

static int file_exists(const char *path)
{
	struct stat s;
	return stat(path, &s) == 0;
}

/*  The checkpoint of a model file. */
static char *part_of(const char *path)
{
	bytes part = {NULL, 0, 0};
	bytes_print(&part, "%s.part", path);
	return part.at;
}

/*  A model file, and what the tool itself wrote into it. */
typedef struct model_file {
	const char *path;
	void *content;
	size_t size;
	/* Inside `content`, or in `kept`: the file's without `results`. */
	const void *user;
	size_t user_size, predictor_size;
	schema s;
	/* What the training ended with; NULL: the file does not say. */
	char *results;
	bytes kept;
} model_file;

static void model_file_read(model_file *f, const char *path)
{
	odvgp_info info = no_info;
	memset(f, 0, sizeof *f);
	f->path = path;
	f->content = read_file(path, &f->size);
	f->predictor_size = odvgp_server_size(f->content, f->size, &info);
	if (!f->predictor_size) die_of(info.status, &info, path);
	odvgp_status s = odvgp_load_user(f->content, f->size, &f->user, &f->user_size, &info);
	if (s) die_of(s, &info, path);
	schema_read(&f->s, path, f->user, f->user_size);
	f->results = settings_take(&f->s, "results");
	if (f->results) {
		clean_text(f->results, 0);
		f->kept = schema_write(&f->s);
		f->user = f->kept.at;
		f->user_size = f->kept.used;
	}
	const char *name = settings_find(f->s.settings, "likelihood");
	int kind = name ? position_in(likelihood_words(), name) : 0;
	if (kind < 0) die(BAD_INPUT, "%s: damaged: there is no likelihood '%s'", path, name);
	f->s.likelihood = (odvgp_likelihood)kind;
	if (f->s.target_count < 1 || has_classes(f->s.likelihood) != (f->s.targets[0].level_count > 1))
		die(BAD_INPUT, "%s: damaged: its classes are not those of its likelihood", path);
}

static void model_file_free(model_file *f)
{
	free(f->content);
	free(f->results);
	free(f->kept.at);
	schema_free(&f->s);
}

static odvgp_model *model_load(
		const model_file *f, const workers *w, odvgp_isa isa, model_block *block)
{
	odvgp_info info = no_info;
	odvgp_model *model;
	block->size = odvgp_load_size(f->content, f->size, &w->threads, isa, &info);
	if (!block->size) die_of(info.status, &info, f->path);
	block->at = take(block->size, 1);
	odvgp_status s = odvgp_load_memory(
			&model, f->content, f->size, &w->threads, isa, block->at, block->size, &info);
	if (s) die_of(s, &info, f->path);
	return model;
}

/*  The steps that the model has done. */
static ptrdiff_t model_file_steps(const model_file *f)
{
	workers none;
	model_block block;
	memset(&none, 0, sizeof none);
	ptrdiff_t steps = odvgp_steps_done(model_load(f, &none, ODVGP_ISA_AUTO, &block));
	free(block.at);
	return steps;
}

/*  Do both come from trainings of the same data with the same options that models keep? */
static int same_training(const model_file *a, const model_file *b)
{
	return a->user_size == b->user_size && memcmp(a->user, b->user, a->user_size) == 0;
}

/*  Reads what --resume PATH continues: the model, or its checkpoint `part` where this has more steps
    or the model is not there. Notes which. */
static void resume_read(model_file *f, const char *path, const char *part, bytes *notes)
{
	int there = file_exists(path), part_there = file_exists(part);
	model_file other;
	memset(&other, 0, sizeof other);
	model_file_read(f, there || !part_there ? path : part);
	ptrdiff_t steps = model_file_steps(f), other_steps = 0;
	if (there && part_there) {
		model_file_read(&other, part);
		other_steps = model_file_steps(&other);
		if (!same_training(f, &other))
			die(BAD_INPUT,
					"--resume %s: beside it is the checkpoint of another training, at step %td: "
					"--resume %s continues that one, and after rm %s this continues %s",
					path, other_steps, part, part, path);
	}
	if (other_steps > steps) {
		model_file older = *f;
		ptrdiff_t fewer = steps;
		*f = other;
		other = older;
		steps = other_steps;
		other_steps = fewer;
	}
	if (setting_count(&f->s, "updates"))
		die(BAD_INPUT,
				"--resume %s: was updated with %td rows, which more training would forget: train a "
				"new model on all rows",
				f->path, setting_count(&f->s, "updated"));
	if (settings_find(f->s.settings, "mode"))
		die(BAD_INPUT, "--resume %s: its mean is the posterior's mode (--mode %s), which steps would lose",
				f->path, settings_find(f->s.settings, "mode"));
	bytes_print(notes, "note: resumes %s at step %td", f->path, steps);
	if (other.path) bytes_print(notes, "; %s is at step %td", other.path, other_steps);
	bytes_print(notes, "\n");
	model_file_free(&other);
}

/*  Refuses to lose a checkpoint that stands where this training writes its own, unless a model of the
    same training has come as far: the one that is resumed (`before`, its path NULL: none), or that at
    `path`. */
static void check_part(const char *path, const char *part, const model_file *before)
{
	model_file checkpoint, model;
	struct stat a, b;
	if (!file_exists(part)) return;
	if (before->path && stat(part, &a) == 0 && stat(before->path, &b) == 0 &&
			a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return;
	model_file_read(&checkpoint, part);
	memset(&model, 0, sizeof model);
	if (!before->path && file_exists(path)) model_file_read(&model, path);
	const model_file *reached = before->path ? before : &model;
	ptrdiff_t steps = model_file_steps(&checkpoint);
	int behind = reached->path && same_training(reached, &checkpoint) &&
				 steps <= model_file_steps(reached);
	if (!behind)
		die(BAD_INPUT,
				"%s: is there already, a checkpoint at step %td: --resume %s continues it, and "
				"after rm %s this training begins",
				part, steps, part, part);
	model_file_free(&checkpoint);
	model_file_free(&model);
}

/*  Refuses to resume on other data: that would be another model. */
static void check_same_data(const model_file *f, const dataset *d)
{
	const schema *a = &f->s, *b = &d->s;
	if (a->n_train != b->n_train || a->D != b->D || a->target_count != b->target_count)
		die(BAD_INPUT,
				"--resume %s: trained on %td rows of %td inputs and %d target(s); "
				"the data have %td, %td and %d",
				f->path, a->n_train, a->D, a->target_count, b->n_train, b->D, b->target_count);
	if (a->checksum != b->checksum)
		die(BAD_INPUT, "--resume %s: the training rows are not those of the model", f->path);
}

#endif
