/*  Images that a layer sees, and their patches. */
#ifndef IMAGES_H
#define IMAGES_H

/*  An image of H x W pixels with C channels, patches of h x w, and the layer's outputs. */
typedef struct shape {
	ptrdiff_t H, W, C, h, w, stride;
	int locations;
	ptrdiff_t P;
} shape;

TEST_UNUSED static ptrdiff_t pixels_of(const shape *s) { return s->H * s->W * s->C; }
TEST_UNUSED static ptrdiff_t patch_width(const shape *s)
{
	return s->h * s->w * s->C + 2 * s->locations;
}
TEST_UNUSED static ptrdiff_t patch_count(const shape *s)
{
	return ((s->H - s->h) / s->stride + 1) * ((s->W - s->w) / s->stride + 1);
}
/*  Column d of patch t of the image x, written out. */
TEST_UNUSED static odvgp_real patch_column(
		const shape *s, const odvgp_real *x, ptrdiff_t t, ptrdiff_t d)
{
	ptrdiff_t across = (s->W - s->w) / s->stride + 1, pixels = s->h * s->w * s->C;
	ptrdiff_t down = t / across, right = t % across, row = down * s->stride,
			  col = right * s->stride;
	if (d == pixels) return (odvgp_real)down;
	if (d == pixels + 1) return (odvgp_real)right;
	row += d / (s->w * s->C);
	col += d / s->C % s->w;
	return x[(row * s->W + col) * s->C + d % s->C];
}
/*  Copies the patches of an image, [patches,width]. */
TEST_UNUSED static void take_patches(const shape *s, const odvgp_real *x, odvgp_real *to)
{
	for (ptrdiff_t t = 0; t < patch_count(s); t++)
		for (ptrdiff_t d = 0; d < patch_width(s); d++) *to++ = patch_column(s, x, t, d);
}

/*  The images of layer l; the first one's inputs are their pixels. */
TEST_UNUSED static void set_shape(odvgp_config *c, int l, const shape *s)
{
	/* Sizes that are refused would overflow. */
	c->layer[l].D = l ? 0 : s->H < 1000 ? pixels_of(s) : 1;
	c->layer[l].patches.image_height = s->H;
	c->layer[l].patches.image_width = s->W;
	c->layer[l].patches.channels = s->C;
	c->layer[l].patches.height = s->h;
	c->layer[l].patches.width = s->w;
	c->layer[l].patches.stride = s->stride;
	c->layer[l].patches.locations = s->locations;
}

#endif
