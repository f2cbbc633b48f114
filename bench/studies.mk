# Figures and tables of papers: studies of the tool and the library on sets that are not in the
# repository. The Makefile includes this file.

STUDIES := study-odvgp study-odvgp-gap study-recipes study-odvgp-2c study-solve \
           study-solve-whitened study-deep study-classification study-arms
.PHONY: $(STUDIES) study-images study-start odvgp2018-fig2a study-odvgp-2b solvegp2020-fig2 \
        kobe2021-figs

# Figures of the papers, on sets that are not in the repository: NAME.csv or NAME.csv.gz out of
# DATA, or what was taken from there before. $(call fetch,NAME,TO,WHAT IT IS)
comma := ,
fetch = @mkdir -p $(dir $(2)); test -z "$(DATA)" || \
        gzip -dc "$(DATA)/$(1).csv.gz" >$(2) 2>/dev/null || \
        cp "$(DATA)/$(1).csv" $(2) 2>/dev/null || rm -f $(2); test -s $(2) || \
        { echo "make $@ needs DATA=dir, a folder that holds $(1).csv or $(1).csv.gz: $(3)"; \
        exit 1; }
3DROAD  := longitude$(comma) latitude and altitude of the first 5000 rows of \
           UCI's 3D Road Network, from archive.ics.uci.edu
NAVAL   := UCI's Condition Based Maintenance of Naval Propulsion Plants$(comma) 16 inputs and \
           the compressor's decay
SNELSON := E. Snelson's one-dimensional set, a row for each input and target, from the \
           repository thjashin/solvegp at github.com
RINGNORM := Breiman's ringnorm$(comma) 20 inputs and a class 0 or 1$(comma) from the \
           repository EpistasisLab/pmlb at github.com
FIG2A   := $(B)/odvgp2018-fig2a
FIG2B   := $(B)/odvgp2018-fig2b
KOBE    := $(B)/kobe2021-figs
PAPERS  := $(addprefix $(B)/,odvgp2018_fig2a solvegp2020_fig2 kobe2021_figs)
# Two processes share the members. $(call fig2,FOLDER,OPTIONS)
fig2_run = $(B)/odvgp2018_fig2a run --data $(1)/data.csv --out $(1) $(2) \
           $(if $(STEPS),--steps $(STEPS)) $(if $(ROWS),--rows $(ROWS))
define fig2
	@$(B)/odvgp2018_fig2a prepare --data $(1)/data.csv --out $(1) $(2) $(if $(ROWS),--rows $(ROWS))
	@$(fig2_run) DECOUPLED COUPLED HYBRIDNAT & other=$$!; \
	$(fig2_run) COUPLEDNAT ORTHNAT-EXACT HYBRIDNAT-EXACT ORTHNAT ORTH HYBRID || \
	    { kill $$other; exit 1; }; wait $$other
	$(call kept,$(B)/odvgp2018_fig2a report --out $(1) $(2),$(1)/$(notdir $(1)).txt)
endef
$(PAPERS): $(B)/%: bench/papers/%.c
	$(call compile,)

## odvgp2018-fig2a: ODVGP figure 2a, how fast each member finds the best q: DATA=dir, STEPS=20000;
##   about 40 minutes, goes on when run again
odvgp2018-fig2a: $(B)/odvgp2018_fig2a
	$(call fetch,3droad_first5000,$(FIG2A)/data.csv,$(3DROAD))
	$(call fig2,$(FIG2A),)

## study-odvgp-2b: ODVGP figure 2b, the same for two classes (ringnorm): DATA=dir, STEPS=20000
study-odvgp-2b: $(B)/odvgp2018_fig2a
	$(call fetch,ringnorm,$(FIG2B)/data.csv,$(RINGNORM))
	$(call fig2,$(FIG2B),--classes)

## solvegp2020-fig2: SOLVE-GP figure 2, inducing points in one dimension: DATA=dir; half a minute
solvegp2020-fig2: $(B)/solvegp2020_fig2
	$(call fetch,snelson,$(B)/snelson.csv,$(SNELSON))
	$(call kept,$(B)/solvegp2020_fig2 --data $(B)/snelson.csv --out $(B),$(B)/solvegp2020-fig2.txt)

## kobe2021-figs: Kobe's figures 4.1 to 4.9, natural gradients and O(M): DATA=dir; twenty minutes,
##   goes on when run again
kobe2021-figs: $(B)/kobe2021_figs
	$(call fetch,naval,$(KOBE)/naval.csv,$(NAVAL))
	@$(B)/kobe2021_figs run --data $(KOBE)/naval.csv --out $(KOBE)
	$(call kept,$(B)/kobe2021_figs report --out $(KOBE),$(KOBE)/kobe2021-figs.txt)

# Tables of many runs of the tool: bench/studies/NAME.txt says of which, bench/study.sh what can be
# chosen. All need DATA=dir, take hours, write a row as each run ends and go on when run again.
## study-odvgp: ODVGP tables 3 and 4 beside the printed rows: DATA=dir; hours, goes on when run
##   again, as all studies do
study-odvgp:
## study-odvgp-gap: what holds ODVGP's recipe back: one setting changed at a time
study-odvgp-gap:
## study-recipes: the paper's settings and the defaults, on nine sets
study-recipes:
## study-odvgp-2c: ODVGP figure 2c: 1,500 + 3,500 points against 2,000, in seconds
study-odvgp-2c:
## study-solve: SOLVE-GP tables 2, 6 and 7 beside the printed rows
study-solve:
## study-solve-whitened: SOLVE-GP figure 3: whitened or not, natural gradients or Adam
study-solve-whitened:
## study-classification: ODVGP tables 5 and 6 beside the printed rows: STEPS=5000, the paper's
##   20000
study-classification:
## study-arms: joint torques of two robot arms: shared, mixed and independent functions
study-arms:
## study-deep: one layer and two, COUPLED, ORTH and SOLVE-GP, on seven sets
study-deep:
$(B)/images: bench/images.c
	$(call compile,$(THREADS))
## study-images: MNIST, convolutional features against all pixels: DATA=dir, TIME=60 seconds for
##   each model; SET=cifar10; STEPS=N in place of TIME
study-images: $(B)/images
	@mkdir -p $(B)/study-images && $(B)/images --data "$(DATA)" --out $(B)/study-images \
	    $(if $(SET),--set $(SET)) $(if $(TIME),--seconds $(TIME)) $(if $(STEPS),--steps $(STEPS))
$(B)/start: bench/start.c
	$(call compile,)
## study-start: what initial lengthscales and points give on columns as they are; DATA=dir
study-start: $(B)/start
	@bash bench/start.sh "$(DATA)" $(B)/start.txt $(B)/start && cat $(B)/start.txt
$(B)/curves: bench/curves.c
	$(call compile,)
$(STUDIES): study-%: $(B)/odvgp $(B)/curves
	@sh bench/study.sh $* $(B)/odvgp "$(DATA)" $(B)/study-$* $(B)/curves
