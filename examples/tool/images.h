/*  images.h - --image, --patch, --stride and --tick: inputs are the pixels of an image, and
    inducing inputs are patches of it. */
#ifndef TOOL_IMAGES_H
#define TOOL_IMAGES_H

#include "options.h"

/*  height 0: inputs are not images. */
typedef struct images {
	ptrdiff_t height, width, channels;
	ptrdiff_t patch_height, patch_width, stride;
	int tick;
} images;

/*  Reads whole numbers above 0 with x between them, at least `least`; the others stay. */
static void images_sizes(const options *o, int id, ptrdiff_t **size, int most, int least)
{
	const char *p = o->value[id];
	int count = 0, bad = 0;
	for (; count < most && !bad; count++) {
		*size[count] = parse_index(&p);
		bad = *size[count] < 1;
		if (*p != 'x') {
			count++;
			break;
		}
		p++;
	}
	if (bad || *p || count < least)
		die(BAD_INPUT, "--%s %s: must be %s, whole numbers above 0", option_list[id].name,
				o->value[id], option_list[id].argument);
}

static images images_of(const options *o)
{
	images m = {0, 0, 1, 0, 0, 1, 0};
	ptrdiff_t *image[] = {&m.height, &m.width, &m.channels},
			  *patch[] = {&m.patch_height, &m.patch_width}, *stride[] = {&m.stride};
	static const int needs[] = {OPT_PATCH, OPT_STRIDE, OPT_TICK};
	for (size_t i = 0; i < sizeof needs / sizeof *needs && !o->value[OPT_IMAGE]; i++)
		if (o->value[needs[i]])
			die(BAD_INPUT, "--%s: needs --image",
					o->value[OPT_LAYERS] && needs[i] == OPT_PATCH ? "layers: its first patch"
																  : option_list[needs[i]].name);
	if (!o->value[OPT_IMAGE]) return m;
	if (!o->value[OPT_PATCH])
		die(BAD_INPUT, "--image %s: needs --patch%s", o->value[OPT_IMAGE],
				o->value[OPT_LAYERS] ? ", or a patch in the first item of --layers" : "");
	images_sizes(o, OPT_IMAGE, image, 3, 2);
	images_sizes(o, OPT_PATCH, patch, 2, 2);
	if (o->value[OPT_STRIDE]) images_sizes(o, OPT_STRIDE, stride, 1, 1);
	if (m.patch_height > m.height || m.patch_width > m.width)
		die(BAD_INPUT, "--patch %s: does not fit into the images, %td x %td", o->value[OPT_PATCH],
				m.height, m.width);
	m.tick = o->value[OPT_TICK] != NULL;
	return m;
}

static int is_image(const options *o) { return images_of(o).height > 0; }

/*  Pixels of the image, or ends the program if the data have other columns. */
static void images_check(const options *o, ptrdiff_t D)
{
	images m = images_of(o);
	double pixels = (double)m.height * (double)m.width * (double)m.channels;
	if (is_image(o) && pixels != (double)D)
		die(BAD_INPUT, "--image %s: has %.0f pixels, but the data have %td input columns%s",
				o->value[OPT_IMAGE], pixels, D,
				pixels + 1 == (double)D
						? "; --target names the target, --ignore leaves a column out"
						: "");
}

/*  All pixels of a channel get the mean and the scale of them all, from the rows X [n,D]. */
static void images_scales(
		const options *o, const double *X, ptrdiff_t n, ptrdiff_t D, double *mean, double *scale)
{
	images m = images_of(o);
	double count = (double)n * (double)(m.height * m.width);
	for (ptrdiff_t c = 0; c < m.channels && m.height; c++) {
		double sum = 0, squares = 0;
		for (ptrdiff_t i = c; i < n * D; i += m.channels) sum += X[i] / count;
		for (ptrdiff_t i = c; i < n * D; i += m.channels)
			squares += (X[i] - sum) * (X[i] - sum) / count;
		for (ptrdiff_t i = c; i < D; i += m.channels) {
			mean[i] = sum;
			scale[i] = squares > 0 ? sqrt(squares) : 1;
		}
	}
}

/*  The default kernel: of d pixels, and with locations times one of them. The text is good until
    the next call with locations. */
static const char *images_kernel(ptrdiff_t d, int located)
{
	static char text[120];
	if (!located) return "rbf";
	snprintf(text, sizeof text, "rbf(dims=0:%td) * matern32(dims=%td:%td)", d, d, d + 2);
	return text;
}

static void images_kernel_settle(options *o)
{
	images m = images_of(o);
	if (!m.height || o->given[OPT_KERNEL]) return;
	option_store(o, OPT_KERNEL,
			copy_text(images_kernel(m.patch_height * m.patch_width * m.channels, m.tick)));
}

static void images_config(const options *o, odvgp_config *c)
{
	images m = images_of(o);
	if (!m.height) return;
	c->layer[0].patches.image_height = m.height;
	c->layer[0].patches.image_width = m.width;
	c->layer[0].patches.channels = m.channels;
	c->layer[0].patches.height = m.patch_height;
	c->layer[0].patches.width = m.patch_width;
	c->layer[0].patches.stride = m.stride;
	c->layer[0].patches.locations = m.tick;
}

/*  Patches of an image of layer l; 1: its inputs are rows. */
static ptrdiff_t patch_count(const odvgp_config *c, ptrdiff_t l)
{
	ptrdiff_t stride = larger(1, c->layer[l].patches.stride),
			  down = (c->layer[l].patches.image_height - c->layer[l].patches.height) / stride + 1,
			  across = (c->layer[l].patches.image_width - c->layer[l].patches.width) / stride + 1;
	return c->layer[l].patches.image_height ? down * across : 1;
}

/*  Columns of what the kernel of layer l sees: a patch, or a row. */
static ptrdiff_t patch_columns(const odvgp_config *c, ptrdiff_t l)
{
	if (!c->layer[l].patches.image_height) return c->layer[l].D;
	return c->layer[l].patches.height * c->layer[l].patches.width *
				   larger(1, c->layer[l].patches.channels) +
		   2 * c->layer[l].patches.locations;
}

/*  A line about the patches of each layer of a model. */
static void images_text(bytes *b, const odvgp_model *model)
{
	const odvgp_config *c = odvgp_model_config(model);
	for (ptrdiff_t l = 0; l < c->layers; l++) {
		ptrdiff_t count = patch_count(c, l);
		if (!c->layer[l].patches.image_height) continue;
		bytes_print(b, "images   ");
		if (c->layers > 1) bytes_print(b, "of layer %td: ", l);
		bytes_print(b, "%td x %td x %td, %td patch%s %td x %td, stride %td%s\n",
				c->layer[l].patches.image_height, c->layer[l].patches.image_width,
				larger(1, c->layer[l].patches.channels), count, count == 1 ? "" : "es",
				c->layer[l].patches.height, c->layer[l].patches.width,
				larger(1, c->layer[l].patches.stride),
				c->layer[l].patches.locations ? ", with locations" : "");
	}
}

/*  "the last row", "the last 5 rows"; nothing for none. */
static void images_last(bytes *b, ptrdiff_t count, const char *what)
{
	if (count == 1) bytes_print(b, "the last %s", what);
	if (count > 1) bytes_print(b, "the last %td %ss", count, what);
}

/*  Says which pixels no patch of a layer covers. */
static void images_note_layer(const odvgp_config *c, ptrdiff_t l, bytes *notes)
{
	ptrdiff_t stride = larger(1, c->layer[l].patches.stride), h = c->layer[l].patches.height,
			  w = c->layer[l].patches.width, down = c->layer[l].patches.image_height - h,
			  across = c->layer[l].patches.image_width - w, rows = down % stride,
			  columns = across % stride;
	char name[60];
	if (c->layers > 1) snprintf(name, sizeof name, "note: layer %td, stride %td:", l, stride);
	else snprintf(name, sizeof name, "note: --stride %td:", stride);
	if ((stride > h && down >= stride) || (stride > w && across >= stride))
		bytes_print(notes, "%s no patch covers the pixels between patches\n", name);
	if (!rows && !columns) return;
	bytes_print(notes, "%s %s ", name,
			patch_count(c, l) > 1 ? "no patch covers" : "the only patch does not cover");
	images_last(notes, rows, "row");
	if (rows && columns) bytes_print(notes, " and ");
	images_last(notes, columns, "column");
	bytes_print(notes, " of pixels\n");
}

/*  The same of each layer, unless a note says so already: compare makes several models. */
static void images_note(const odvgp_config *c, bytes *notes)
{
	bytes own = {NULL, 0, 0};
	bytes_add(&own, "", 0);
	for (ptrdiff_t l = 0; l < c->layers; l++)
		if (c->layer[l].patches.image_height) images_note_layer(c, l, &own);
	if (!notes->used || !strstr(notes->at, own.at)) bytes_add(notes, own.at, own.used);
	free(own.at);
}

#endif
