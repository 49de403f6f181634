# SPDX-License-Identifier: Apache-2.0
# One flat Makefile. `make help` lists every target; variables: CUDA=0 or 1, CUDA_ARCHS="80 90", SAN=address,undefined
# (or thread), OPS_SKIP="carve", HEIC=0, WERROR=1, V=1 (show commands). A variant lives in build/<variant>/; the one
# made last is at build/burin too, unless SAN is set. Without -j, make runs a job on each processor.

PACKAGES       = gcc make pkg-config libmicrohttpd-dev libjpeg-dev libwebp-dev libavif-dev libde265-dev libffmpeg-nvenc-dev liblcms2-dev zlib1g-dev libjansson-dev libisal-dev libssl-dev esbuild
TEST_PACKAGES  = $(PACKAGES) g++ libpng-dev libcmocka-dev mold python3-pytest python3-pytest-xdist python3-pytest-timeout python3-numpy python3-pil python3-jsonschema python3-mpmath libavif-bin libde265-examples libheif-examples x265 python3-opencv python3-skimage libtiff-tools python3-blurhash python3-prometheus-client curl php-cli
PAGE_PACKAGES  = $(TEST_PACKAGES) chromium-headless-shell chromium-driver python3-selenium
CHECK_PACKAGES = clang-format-14 cppcheck
CONTAINER_PACKAGES = buildah debootstrap docker-compose dpkg-dev python3-yaml systemd openssl
FUZZ_PACKAGES  = $(PACKAGES) libpng-dev clang libclang-rt-14-dev

ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc)
endif

# CUDA takes minutes to compile. So it is built where a GPU will run it, for the architectures of that machine's GPUs, and
# for all architectures where the result goes to other machines. CUDA= and CUDA_ARCHS= override both.
ALL_ARCHS = 75 80 86 90
NVCC ?= $(firstword $(wildcard $(addsuffix /nvcc,$(subst :, ,$(PATH))) /usr/local/cuda/bin/nvcc))
GPU := $(firstword $(wildcard /dev/nvidia[0-9]* /dev/dxg))
FOR_OTHERS := $(filter bundle deb gpu kernels,$(MAKECMDGOALS))
ifneq ($(SAN),)
CUDA = 0
endif
CUDA ?= $(if $(NVCC),$(if $(GPU)$(FOR_OTHERS),1,0),0)
ifndef CUDA_ARCHS
CUDA_ARCHS := $(or $(if $(FOR_OTHERS),,$(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | sort -nu)),$(ALL_ARCHS))
endif
CHOICE = $(if $(filter-out 0,$(CUDA)),the CPU and GPUs of architecture $(CUDA_ARCHS),the CPU: $(or \
  $(if $(SAN),sanitizers do not look at CUDA),\
  $(if $(filter-out file undefined,$(origin CUDA)),CUDA=0),\
  $(if $(NVCC),nvcc is here but no GPU; CUDA=1 builds for GPUs),\
  $(if $(GPU),a GPU is here but no nvcc; Burin uses it once the CUDA toolkit is installed),\
  there is no GPU and no nvcc))
empty :=
comma := ,
blank := $(empty) $(empty)
CUDA_VARIANT = cuda$(if $(filter-out $(ALL_ARCHS),$(CUDA_ARCHS))$(filter-out $(CUDA_ARCHS),$(ALL_ARCHS)),-$(subst $(blank),-,$(CUDA_ARCHS)))
VARIANT = $(or $(if $(SAN),san-$(subst $(comma),-,$(SAN))),$(if $(filter 0,$(CUDA)),cpu,$(CUDA_VARIANT)))
B = build/$(VARIANT)
# C is the same with CUDA and without.
OBJ = build/$(if $(SAN),$(VARIANT),cpu)
PROGRAM = $(if $(SAN),$(B)/burin,build/burin)
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

CC = gcc
CXX = g++
Q = $(if $(V),,@)
SAY = @printf '  %-6s %s\n'
INCLUDES = -I. -I$(OBJ) -I$(B)
WARNINGS = -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes \
  -Wformat=2 -Werror=format-security $(if $(WERROR),-Werror)
# Position independent for a shared library too, but without its costs: no function is replaced by another library's.
PIC = -fPIC -fno-semantic-interposition
HARDENING = $(if $(SAN),,-D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
  -fcf-protection=full) $(PIC)
# Functions and lines, for traces; not variables, which cost a sixth of the time to compile. To step through: DEBUG=-g
DEBUG = -g1
CFLAGS = -pipe -std=c17 $(OPTIMIZE) $(DEBUG) $(WARNINGS) $(HARDENING) -ffp-contract=off -fno-math-errno -pthread \
  -D_GNU_SOURCE $(INCLUDES) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
# With sanitizers -O2 takes four times as long to compile, and the speed of such a program does not matter.
OPTIMIZE  = $(if $(SAN),-Og,-O2)
OPS_FLAGS = $(if $(SAN),,-O3)
LDFLAGS = -pie -pthread -Wl,-z,relro,-z,now,-z,noexecstack $(if $(SAN),-fsanitize=$(SAN))
LIBS = -lmicrohttpd -ljpeg -lz -lwebp -llcms2 -ljansson -lisal -lcrypto -lm -ldl
# nvcc on the PATH may be a script or a link: only nvcc itself knows where its libraries lie.
CUDA_LIBRARIES := $(if $(filter 0,$(CUDA)),,$(shell $(NVCC) --dryrun -x cu /dev/null 2>&1 | sed -n 's/^.*LIBRARIES= *//p'))
machine_code = $(foreach a,$1,-gencode arch=compute_$(a),code=sm_$(a))
gencode = $(call machine_code,$1) -gencode arch=compute_$(lastword $1),code=compute_$(lastword $1)
GENCODE = $(call gencode,$(CUDA_ARCHS))
# Kernels for other machines are compressed to a third of their size, which takes a tenth of the build. Toolkits before
# 12.4 cannot compress.
COMPRESS := $(if $(and $(filter-out 0,$(CUDA)),$(or $(FOR_OTHERS),$(word 2,$(CUDA_ARCHS)))),$(shell $(NVCC) --help 2>/dev/null | grep -q compress-mode && echo --compress-mode=size))
NVCCFLAGS = -std=c++17 -O3 -g $(COMPRESS) --threads 0 $(GENCODE) -fmad=false $(INCLUDES) -D_GNU_SOURCE \
  -Xcompiler $(subst $(blank),$(comma),$(PIC)),-fno-exceptions,-fno-rtti,-Wall,-Wextra,-Wno-missing-field-initializers

# Tests and benchmarks of an operator that is left out are left out too.
override OPS_SKIP := $(OPS_SKIP) $(if $(filter resize,$(OPS_SKIP)),blurhash pad thumbhash) $(if $(filter find_trim,$(OPS_SKIP)),trim)
OPS = $(filter-out $(OPS_SKIP),$(basename $(notdir $(wildcard pipeline/ops/*.c))))
# An image format is a file of pipeline/codecs/ with its record, and the folder of the same name with the rest of its codec.
# HEIC=0 leaves that one out: HEVC, which is in it, is patented.
FORMATS_SKIP = $(if $(filter 0,$(HEIC)),heic)
FORMATS = $(sort $(filter-out $(FORMATS_SKIP),$(basename $(notdir $(wildcard pipeline/codecs/*.c)))))
CUDA_OPS = $(filter $(OPS),$(basename $(notdir $(wildcard cuda/ops/*.cu))))
below = $(if $(wildcard $1),$(sort $(shell find $1 -name '$2')))
C_SOURCES := $(filter-out server/main.c pipeline/ops/% $(foreach f,$(FORMATS_SKIP),pipeline/codecs/$f.c pipeline/codecs/$f/%),$(call below,server config pipeline,*.c)) \
  $(filter-out %_none.c,$(wildcard cuda/*.c cuda/skeletons/*.c)) \
  $(foreach o,$(OPS),pipeline/ops/$o.c $(wildcard pipeline/ops/$o/*.c))
ifeq ($(CUDA),0)
C_SOURCES += $(wildcard cuda/*_none.c)
else
CU_SOURCES = $(filter-out cuda/codecs/hevc_decode$(if $(FORMATS_SKIP),,_none).cu,$(wildcard cuda/*.cu cuda/codecs/*.cu cuda/skeletons/*.cu)) $(foreach o,$(CUDA_OPS),cuda/ops/$o.cu $(wildcard cuda/ops/$o/*.cu))
LIBS += $(CUDA_LIBRARIES) -l:libcudart_static.a -lrt -lstdc++
endif
# Tests, benchmarks and ladders share one library: linking each with all objects takes three times as long, and the
# kernels alone are 8 MB. A program is not linked again when only the library changes. The linker does not read the
# libraries of libraries: that would be a quarter of its work.
LIBRARY = $(B)/libburin.so
SHARED_CUDA = $(patsubst -l:libcudart_static.a,-lcudart,$(LIBS)) $(patsubst -L%,-Wl$(comma)-rpath$(comma)%,$(filter-out %/stubs,$(subst ",,$(CUDA_LIBRARIES))))
# There are two hundred small links, and mold takes half the time of ld.
MOLD := $(if $(shell command -v ld.mold),-fuse-ld=mold)
TEST_LIBS = $(MOLD) $(LIBRARY) $(SHARED_CUDA) -lpng16 -Wl,-rpath,$(abspath $(B)),--allow-shlib-undefined
TEST_CFLAGS = $(filter-out -O% -D_FORTIFY_SOURCE% -fstack-% -fcf-%,$(CFLAGS)) -Og -Wno-missing-prototypes
WEB = $(wildcard server/web/*)
OBJECTS = $(C_SOURCES:%.c=$(OBJ)/%.o) $(CU_SOURCES:%.cu=$(B)/%.cu.o)
# Built from the matching files that are not named after an operator left out: its tests, benchmarks, kernels.
kept = $(foreach f,$1,$(if $(filter $(OPS_SKIP) $(OPS_SKIP:%=%_%),$(basename $(notdir $f))),,$(B)/$(basename $f)))
TESTS := $(filter-out $(foreach f,$(FORMATS_SKIP),$(B)/tests/pipeline/codecs/$f/% $(B)/tests/server/jobs/$(f)_choice),$(call kept,$(call below,$(wildcard tests/pipeline tests/server tests/config tests/bench/unit),*.c) tests/cuda/ops/histeq_fixed_point.c tests/cuda/ops/carve_one_block.cpp tests/cuda/ops/carve_weighed_kernel.cpp $(if $(FORMATS_SKIP),,tests/cuda/codecs/hevc_twin.cpp tests/cuda/video_engine.c) $(foreach t,kernel_source kernel_fused kernel_chain kernel_cache kernel_library,tests/cuda/skeletons/$t.c)))
BENCHES = $(call kept,$(wildcard tests/bench/*.c))
# The program burin-bench; other programs of tests/bench use its parts too.
SUITE = tests/bench/burin-bench
SUITE_PARTS = $(patsubst %.c,$(OBJ)/%.o,$(filter-out %/main.c $(if $(filter-out 0,$(CUDA)),%_none.c) $(foreach o,$(OPS_SKIP),$(SUITE)/$o.c $(SUITE)/plain_$o.c),$(wildcard $(SUITE)/*.c))) \
  $(if $(filter-out 0,$(CUDA)),$(patsubst %.cu,$(B)/%.cu.o,$(wildcard $(SUITE)/*.cu)))
BENCH_PROGRAM = $(dir $(PROGRAM))burin-bench
FAULTS = $(patsubst %.c,$(B)/%.so,$(wildcard tests/http/pressure/*.c))
ifneq ($(CUDA),0)
PTX_TESTS = $(foreach t,decode encode copies,$(B)/tests/cuda/codecs/jpeg_$(t)_ptx75) \
  $(addsuffix _ptx75,$(call kept,$(foreach t,resize smooth clahe carve_widths,tests/cuda/ops/$t.c)))
GPU_TESTS = $(call kept,$(call below,tests/cuda,*.c) $(call below,tests/cuda,*.cu)) $(PTX_TESTS) $(if $(filter carve,$(OPS)),$(B)/tests/cuda/ops/carve_checked)
KERNELS = $(call kept,$(wildcard tests/bench/kernels/*.cu))
BENCH_KERNELS = $(call kept,$(wildcard tests/bench/*.cu))
CODEC_LADDERS = $(call kept,$(wildcard tests/bench/kernels/jpeg_*.cu $(foreach l,blur clahe resize,tests/bench/kernels/$l.cu)))
endif
TARGETS = $(filter-out replay_main $(if $(FORMATS_SKIP),heic heic_still hevc_parameters),$(basename $(notdir $(wildcard tests/fuzz/*.c))))
FUZZERS = $(TARGETS:%=build/fuzz/%)
REPLAYS = $(TARGETS:%=$(B)/tests/replay/%)
# The GPU's JPEG codec on the CPU, for tests where there is no GPU.
TWINS = $(patsubst %.c,$(OBJ)/%.o,$(wildcard tests/twins/*.c))
TWIN_TESTS = $(addprefix $(B)/tests/,pipeline/codecs/jpeg/parallel pipeline/codecs/jpeg/tiles pipeline/run_layout server/jobs/codec_choice \
  server/jobs/heic_choice server/worker/self_test replay/jpeg_parallel cuda/codecs/jpeg_copies cuda/codecs/jpeg_copies_ptx75 cuda/codecs/jpeg_decode cuda/codecs/jpeg_decode_ptx75)

.DEFAULT_GOAL = all
.PHONY: help all docs serve test unit http page reference pressure mutants bundle bench tools gpu kernels check tidy fuzz deps clean \
  install deb image containers
.DELETE_ON_ERROR:

help: ## this text
	@echo "make [TARGET] [CUDA=0] [CUDA_ARCHS=\"80 90\"] [SAN=address,undefined] [OPS_SKIP=name] [HEIC=0]"
	@awk -F":.*## " '/^[a-z]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' Makefile

all: $(PROGRAM) ## the program, build/burin
	@echo "$(PROGRAM) is built for $(CHOICE)"

# tests/http/test_bench.py runs them.
export BENCH_PROGRAMS = $(abspath $(B)/tests/bench)
export PRELOADS = $(abspath $(B)/tests/http/pressure)
http: $(BENCHES) $(BENCH_PROGRAM) $(FAULTS)

serve: ## install what is missing, build, start the daemon on 127.0.0.1:8080 and print a curl line
	@$(MAKE) --no-print-directory deps NEED="$(PACKAGES)"
	@$(MAKE) --no-print-directory all
	@exec $(PROGRAM) serve $(ARGS)

test: ## install what is missing, build, run every test that needs neither a GPU nor a browser
	@$(MAKE) --no-print-directory deps NEED="$(TEST_PACKAGES)"
# Without these two, hundreds of comparisons are skipped and nothing fails.
	@/usr/bin/python3 -c 'import cv2, skimage.data, skimage.filters'
# Many tests wait for deadlines, so more of them run at a time than there are cores. Each prints its output when it ends.
	@$(MAKE) --no-print-directory -j$$(($$(nproc) + 3)) --output-sync=target http tidy unit reference

# Each runs on its own, so that `make -j unit` runs several at a time; first those that wait and need no processor. One that
# hangs fails.
UNIT_RUNS = $(addsuffix .run,$(sort $(filter %/deadline_thread %/supervisor,$(TESTS))) $(TESTS) $(REPLAYS))
.PHONY: $(UNIT_RUNS)
unit: $(UNIT_RUNS) ## the unit tests alone

# Tests allocate and free pictures by the thousand: fetching such memory from the system anew would be a tenth of their time.
KEEP_MEMORY = glibc.malloc.trim_threshold=0x40000000:glibc.malloc.mmap_threshold=0x2000000
$(UNIT_RUNS): export GLIBC_TUNABLES = $(KEEP_MEMORY)
$(TESTS:=.run): %.run: % $(PROGRAM)
	@echo "== $<"; timeout --foreground 600 $<
$(REPLAYS:=.run): %.run: %
	@echo "== $<"; $< tests/fuzz/corpus/$(notdir $<)

# pytest's arguments: the whole folder, or the words of PYTEST that begin with tests/.
selected = $(if $(filter tests/%,$(PYTEST)),,$1) $(PYTEST)

# A whole folder runs in several processes, each with a daemon of its own; files that PYTEST names run in one. A test that
# hangs fails under its name, and its processes end.
PYTHON_TESTS = PYTHONDONTWRITEBYTECODE= BURIN=$(abspath $(PROGRAM)) /usr/bin/python3 -m pytest -q
run_pytest = $(PYTHON_TESTS) --timeout 300 --timeout-method signal $(if $(filter tests/%,$(PYTEST)),,-n $2) -rs $(call selected,$1)

# Their bytecode, beside them, is made once and while other things are built: each process would do so for four seconds. Some lists
# of tests come from the program.
COLLECTED = build/tests-of-http
$(COLLECTED): $(wildcard tests/http/*.py) | $(PROGRAM)
	@$(PYTHON_TESTS) --collect-only tests/http > $@ || { cat $@; false; }

# The tests wait more than they work.
http: $(if $(filter tests/%,$(PYTEST)),,$(COLLECTED)) $(PROGRAM) ## the tests of the daemon from outside alone; PYTEST=tests/http/test_life.py or PYTEST="-k name" selects
	$(call run_pytest,tests/http,$$(($$(nproc) + 2)))

# A browser often waits for a frame: three of them use two cores.
page: $(PROGRAM) ## the tests of the page, in a browser that is installed if missing; PYTEST as above
	@$(MAKE) --no-print-directory deps NEED="$(PAGE_PACKAGES)"
	$(call run_pytest,tests/page,3)

# A file stays in one process: fixtures shared by all its tests are made once. Large pages: OpenCV allocates half a gigabyte
# at a time. Niced, as tests with deadlines may run beside it.
reference: export TEST_LIBRARY = $(if $(SAN),,$(abspath $(LIBRARY)))
reference: export GLIBC_TUNABLES = $(KEEP_MEMORY):glibc.malloc.hugetlb=1
reference: $(PROGRAM) $(if $(SAN),,$(LIBRARY)) ## the operators against numpy, OpenCV and scikit-image alone; PYTEST as above
	nice -n 10 env $(call run_pytest,tests/reference,$$(nproc) --dist loadfile)

# One after the other: each measures times, or takes all of the machine. A program that others import is not executable.
pressure: $(PROGRAM) $(BENCHES) $(FAULTS) ## the loads of tests/http/pressure, with their figures; PRESSURE="a.py b.py" selects
	@failed=; for program in $(or $(PRESSURE),$(notdir $(shell find tests/http/pressure -maxdepth 1 -name '*.py' -perm /111 | sort))); do \
	  echo "== $$program"; BURIN=$(abspath $(PROGRAM)) /usr/bin/python3 tests/http/pressure/$$program || failed="$$failed $$program"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

mutants: ## whether the tests notice deliberate mistakes: tests/mutants/run.py; MUTANTS="--only 3", --help
	@tests/mutants/run.py $(MUTANTS)

LADDERS = $(if $(filter kernels,$(MAKECMDGOALS)),$(KERNELS))
bundle: $(PROGRAM) $(BENCH_PROGRAM) $(GPU_TESTS) $(filter $(B)/tests/pipeline/ops/% $(B)/tests/pipeline/rows/%,$(TESTS)) $(BENCHES) $(LADDERS) ## pack what a bare GPU machine needs into build/bundle; `make kernels bundle` adds the ladders
	@tests/bundle.sh $(B) $(PROGRAM) $(LADDERS)

bench: $(PROGRAM) $(BENCH_PROGRAM) ## measure what this machine can do; `make bench ARGS=--json` for machines
	@$(PROGRAM) bench histeq $(ARGS)

tools: $(PROGRAM) $(BENCH_PROGRAM) $(BENCHES) ## build the programs of tests/bench, and burin-bench beside burin

# Without the two tests that each compile carve.cu again, for a minute or longer, and those for the oldest GPU: a bundle has them.
gpu: $(filter-out %/carve_checked %/carve_method $(PTX_TESTS),$(GPU_TESTS)) ## build the tests that only a machine with a GPU can run

kernels: $(KERNELS) $(BENCH_KERNELS) ## build the ladders of tests/bench/kernels, and the programs of tests/bench with kernels of their own

check: tidy $(OBJ)/ops.inc $(OBJ)/formats.inc $(B)/cuda_ops.inc $(OBJ)/web_files.inc $(EMBEDDED) ## clang-format, cppcheck and the rules of tests/tidy.py
	@$(MAKE) --no-print-directory deps NEED="$(CHECK_PACKAGES)"
	@clang-format-14 --dry-run -Werror $$(git ls-files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' ':!tests/operators' ':!tests/reference/*.c')
	@cppcheck --quiet --std=c11 --inline-suppr --error-exitcode=1 --enable=warning,performance,portability \
	  --suppressions-list=tests/cppcheck.txt -D_GNU_SOURCE $(INCLUDES) $(C_SOURCES) server/main.c

docs: $(PROGRAM) ## print the tables of operators and keys into the READMEs
	@tests/docs.py $(PROGRAM)

tidy: ## names, walls and lengths: tests/tidy.py
	@tests/tidy.py

fuzz: $(FUZZERS) ## build and run every fuzzer, SECONDS_EACH=600 each
	@tests/fuzz.sh $(or $(SECONDS_EACH),600) $(FUZZERS)

deps: ## install what is missing to build, test and check; NEED="..." installs these packages
	@tests/deps.sh $(or $(NEED),$(TEST_PACKAGES) $(CHECK_PACKAGES))

clean: ## remove build/
	rm -rf build

# FORCE: build/burin may be a different variant, and newer.
build/burin build/burin-bench: build/%: $(B)/% FORCE
	@[ $@ -ef $< ] || ln -f $< $@

$(B)/burin: $(OBJECTS) $(OBJ)/server/main.o
	$(SAY) link $@
	$(Q)$(CC) $(LDFLAGS) $^ $(LIBS) -o $@

$(B)/burin-bench: $(OBJ)/$(SUITE)/main.o $(SUITE_PARTS) | $(LIBRARY)
	$(SAY) link $@
	$(Q)$(CC) $(LDFLAGS) $^ $(filter-out -lpng16,$(TEST_LIBS)) -o $@

# A line for each built-in operator, each image format and each twin. Rewritten only when the list changes.
$(OBJ)/ops.inc: FORCE
	@mkdir -p $(@D)
	@{ for o in $(OPS); do echo "OP($$o)"; done; } >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(OBJ)/formats.inc: FORCE
	@mkdir -p $(@D)
	@{ for f in $(FORMATS); do echo "FORMAT($$f, $$(echo $$f | tr a-z A-Z))"; done; } >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(B)/cuda_ops.inc: FORCE
	@mkdir -p $(@D)
	@{ for o in $(CUDA_OPS); do echo "CUDA_OP($$o)"; done; } >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(OBJ)/version.inc: FORCE
	@mkdir -p $(@D)
	@echo '"$(VERSION)"' >$@.new; cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

# Sources that the program contains as text (pipeline/skeletons/embedded.c), as numbers and with their own headers inside.
EMBEDDED = $(patsubst %,$(OBJ)/embedded/%.inc,$(wildcard pipeline/skeletons/twin/*.h pipeline/skeletons/convert/*.in) pipeline/skeletons/exact_math.h $(EMBEDDED_KERNELS))
EMBEDDED_KERNELS = $(foreach k,prelude parameters point pixel neighbourhood scalar vector,cuda/skeletons/$k.cuh) $(wildcard cuda/skeletons/*.in)
$(OBJ)/embedded/%.inc: pipeline/skeletons/flatten.awk $(wildcard pipeline/skeletons/*.h pipeline/skeletons/*/*.h pipeline/skeletons/convert/*.in cuda/*.cuh cuda/skeletons/*.cuh cuda/skeletons/*.in)
	@mkdir -p $(@D)
	@{ awk -f $< $* | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'; echo 0; } >$@
$(OBJ)/pipeline/skeletons/embedded.o $(OBJ)/cuda/skeletons/embedded_kernels.o: $(EMBEDDED)

# The page's files, plain and compressed, each with a tag of its content. The records of formats make formats.js.
$(OBJ)/formats.js: server/formats_js.awk $(FORMATS:%=pipeline/codecs/%.c) $(OBJ)/formats.inc
	@mkdir -p $(@D)
	@awk -f $(filter-out %.inc,$^) >$@
# Browsers get the modules as one script for the page and one for its worker, and one style sheet: 8 requests, not 95.
STYLES = tokens page panels viewer steps palette statistics saving queue painting
PAGE = $(addprefix $(OBJ)/web/,index.html icon.svg coffee.webp page.css look.js main.js decoder.js)
$(OBJ)/web_files.inc: server/web_files.sh server/http/handle_document.c server/web $(WEB) $(OBJ)/formats.js
	@rm -rf $(OBJ)/web $(OBJ)/modules && mkdir -p $(OBJ)/web $(OBJ)/modules
	@cp server/web/*.js $(OBJ)/formats.js $(OBJ)/modules
	@cp $(addprefix server/web/,index.html icon.svg coffee.webp) $(OBJ)/web
	@cat $(STYLES:%=server/web/%.css) >$(OBJ)/web/page.css
	@esbuild --bundle --minify --format=esm --log-level=warning --outdir=$(OBJ)/web $(addprefix $(OBJ)/modules/,look.js main.js decoder.js)
	@$< $(PAGE) >$@
$(OBJ)/server/http/handle_document.o: $(OBJ)/web_files.inc

$(OBJ)/pipeline/ops/%.o $(OBJ)/pipeline/rows/%.o: CFLAGS += $(OPS_FLAGS)
# The serial program that vector instructions are compared with.
$(OBJ)/tests/bench/burin-bench/plain_skeletons.o: CFLAGS += -fno-tree-vectorize
$(OBJ)/%.o: %.c | $(OBJ)/ops.inc $(OBJ)/formats.inc $(OBJ)/version.inc
	@mkdir -p $(@D)
	$(SAY) cc $<
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@
$(B)/%.cu.o: %.cu | $(OBJ)/ops.inc $(OBJ)/formats.inc $(B)/cuda_ops.inc
	@mkdir -p $(@D)
	$(SAY) nvcc $<
	$(Q)$(NVCC) $(NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(OBJ)/pipeline/builtin_ops.o: $(OBJ)/ops.inc
$(OBJ)/server/version.o $(OBJ)/cuda/skeletons/kernel_compiler.o: $(OBJ)/version.inc
$(B)/cuda/op_registry.cu.o: $(B)/cuda_ops.inc

$(LIBRARY): $(OBJECTS)
	$(SAY) link $@
	$(Q)$(CC) -shared -Wl,-soname,$(@F) $(filter-out -pie,$(LDFLAGS)) $^ $(SHARED_CUDA) -o $@

# tests/http has deadlines, and lasts longest: it goes first.
NICE = nice -n 5
$(BENCHES): NICE =
define build_test
	@mkdir -p $(@D)
	$(SAY) test $@
	$(Q)$(NICE) $(CC) $(TEST_CFLAGS) -MMD -MP -MF $@.d $(LDFLAGS) $< $(filter %.o,$^) $(TEST_LIBS) -lcmocka -o $@
endef
$(B)/tests/%: tests/%.c | $(LIBRARY)
	$(build_test)
# Kernels on the CPU: in C++, and with headers in place of CUDA's.
$(B)/tests/cuda/%: tests/cuda/%.cpp | $(OBJ)/ops.inc $(OBJ)/formats.inc
	@mkdir -p $(@D)
	$(SAY) test $@
	$(Q)$(NICE) $(CXX) -std=c++17 -O1 -g1 -fno-extern-tls-init -Wall -Wextra -Wno-unknown-pragmas $(if $(WERROR),-Werror) \
	  -pthread -D_GNU_SOURCE -Itests/fake/simt $(INCLUDES) $(if $(findstring thread,$(SAN)),,$(SAN:%=-fsanitize=%)) \
	  -MMD -MP -MF $@.d $< $(CPP_LIBS) -lcmocka -o $@
$(B)/tests/cuda/codecs/hevc_twin: CPP_LIBS = $(TEST_LIBS)
$(B)/tests/cuda/codecs/hevc_twin: | $(LIBRARY)
# Replays give the inputs that fuzzers once found to the same code, without a fuzzer.
$(B)/tests/replay/%: tests/fuzz/%.c | $(LIBRARY)
	$(build_test)
$(REPLAYS): $(OBJ)/tests/fuzz/replay_main.o
$(BENCHES) $(filter $(B)/tests/bench/unit/%,$(TESTS)) $(B)/tests/cuda/jpeg_batches: $(SUITE_PARTS)
$(TWIN_TESTS): $(TWINS)
# A benchmark's own kernels lie beside it and are in no other program.
$(BENCH_KERNELS): %: %.cu.o
# Its own sums take most of the time.
$(B)/tests/pipeline/ops/blur: TEST_CFLAGS += -O2
$(BENCHES): TEST_CFLAGS = $(CFLAGS) -Wno-missing-prototypes
# Floats of 113 bits, against which a benchmark measures errors.
$(B)/tests/bench/exact_math: private LIBS += -lquadmath
# Loaded by a test in place of a library that this machine lacks.
$(B)/tests/fake/%.so: tests/fake/%.c tests/fake/%.h
	@mkdir -p $(@D)
	$(SAY) fake $<
	$(Q)$(CC) $(TEST_CFLAGS) -fPIC -shared $< -o $@
# Replaces system calls and makes them fail, so the calls that it replaces are unchecked.
$(B)/tests/http/pressure/%.so: tests/http/pressure/%.c $(wildcard server/jobs/*.h pipeline/*.h)
	@mkdir -p $(@D)
	$(SAY) faults $<
	$(Q)$(CC) $(filter-out -D_FORTIFY_SOURCE%,$(CFLAGS)) -U_FORTIFY_SOURCE -Wno-missing-prototypes -fPIC -shared $< -ldl -o $@
$(B)/tests/server/worker/gpu_sampler: | $(B)/tests/fake/nvml.so
$(B)/tests/cuda/video_engine: | $(B)/tests/fake/nvcuvid.so
# The tests may be built for fewer GPUs than the program.
TEST_ARCHS = $(CUDA_ARCHS)
$(B)/tests/%.cu.o $(KERNELS): private GENCODE = $(call gencode,$(TEST_ARCHS))
$(B)/tests/cuda/%: $(B)/tests/cuda/%.cu.o | $(LIBRARY)
	$(SAY) test $@
	$(Q)$(CC) $(LDFLAGS) $^ $(TEST_LIBS) -lcmocka -o $@
# Tests as on the oldest GPU: intermediate code for it alone, which a newer GPU's driver compiles at the start.
$(B)/ptx75/%.cu.o: GENCODE = -gencode arch=compute_75,code=compute_75
$(B)/ptx75/%.cu.o: %.cu | $(OBJ)/ops.inc $(OBJ)/formats.inc $(B)/cuda_ops.inc
	@mkdir -p $(@D)
	$(SAY) nvcc "$< for the oldest GPU"
	$(Q)$(NVCC) $(NVCCFLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(B)/tests/cuda/codecs/%_ptx75: $(B)/ptx75/tests/cuda/codecs/%.cu.o $(B)/ptx75/cuda/codecs/jpeg_decode.cu.o $(B)/ptx75/cuda/codecs/jpeg_encode.cu.o | $(LIBRARY)
	@mkdir -p $(@D)
	$(SAY) test $@
	$(Q)$(CC) $(LDFLAGS) $^ $(TEST_LIBS) -lcmocka -o $@
$(B)/tests/cuda/ops/resize_ptx75: $(B)/ptx75/cuda/ops/resize.cu.o
$(B)/tests/cuda/ops/smooth_ptx75: $(B)/ptx75/cuda/smooth.cu.o
$(B)/tests/cuda/ops/clahe_ptx75: $(B)/ptx75/cuda/ops/clahe.cu.o
$(B)/tests/cuda/ops/carve_widths_ptx75: $(B)/ptx75/cuda/ops/carve.cu.o
$(B)/tests/cuda/ops/%_ptx75: tests/cuda/ops/%.c | $(LIBRARY)
	$(build_test)
# The same test in a build of its own, without the code that racecheck misunderstands.
$(B)/cuda/ops/carve.checked.o: GENCODE = $(call machine_code,$(TEST_ARCHS))
$(B)/cuda/ops/carve.checked.o: cuda/ops/carve.cu | $(OBJ)/ops.inc $(OBJ)/formats.inc $(B)/cuda_ops.inc
	@mkdir -p $(@D)
	$(SAY) nvcc "$< checked"
	$(Q)$(NVCC) $(NVCCFLAGS) -lineinfo -DCARVE_RACECHECK -MMD -MP -MF $(@:.o=.d) -c $< -o $@
$(B)/tests/cuda/ops/carve_checked: tests/cuda/ops/carve.c $(B)/cuda/ops/carve.checked.o | $(LIBRARY)
	$(build_test)
$(B)/tests/bench/kernels/%: tests/bench/kernels/%.cu | $(OBJ)/formats.inc
	@mkdir -p $(@D)
	$(SAY) nvcc $<
	$(Q)$(NVCC) $(NVCCFLAGS) -MMD -MP -MF $@.d $< -cudart shared $(subst -Wl$(comma),-Xlinker=,$(filter -Wl%,$(SHARED_CUDA))) -o $@ -ldl

# A ladder that compares with the CPU codec links it.
$(CODEC_LADDERS): %: %.cu.o | $(LIBRARY)
	$(SAY) link $@
	$(Q)$(CC) $(LDFLAGS) $^ $(TEST_LIBS) -o $@

# Fuzzers are built by clang, with objects of their own of all that they touch.
FUZZED = $(filter pipeline/%,$(C_SOURCES)) $(wildcard cuda/*_none.c tests/twins/*.c) server/http/engine/request_check.c server/http/engine/framing.c \
  server/request/multipart_parser.c
FUZZ_CC = clang -g -O1 -fsanitize=address,undefined -std=c17 -pthread -D_GNU_SOURCE $(INCLUDES) -w -MMD -MP
build/fuzz/objects/%.o: %.c | $(OBJ)/ops.inc $(OBJ)/formats.inc $(EMBEDDED)
	@mkdir -p $(@D)
	$(SAY) fuzzed $<
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link -MF $(@:.o=.d) -c $< -o $@
.SECONDARY: $(FUZZED:%.c=build/fuzz/objects/%.o)
build/fuzz/%: tests/fuzz/%.c $(FUZZED:%.c=build/fuzz/objects/%.o)
	$(SAY) fuzzer $<
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer -MF $@.d $< $(filter %.o,$^) $(LIBS) -lpng16 -o $@

-include $(OBJECTS:.o=.d) $(FUZZERS:=.d) $(FUZZED:%.c=build/fuzz/objects/%.d) $(patsubst %.o,%.d,$(SUITE_PARTS) $(TWINS)) $(OBJ)/$(SUITE)/main.d $(OBJ)/server/main.d $(TESTS:=.d) $(REPLAYS:=.d) $(OBJ)/tests/fuzz/replay_main.d $(GPU_TESTS:=.d) $(GPU_TESTS:=.cu.d) $(BENCHES:=.d) $(BENCH_KERNELS:=.cu.d) $(KERNELS:=.d) $(CODEC_LADDERS:=.cu.d) $(wildcard $(B)/ptx75/cuda/*.d $(B)/ptx75/cuda/codecs/*.d $(B)/ptx75/cuda/ops/*.d $(B)/ptx75/tests/cuda/codecs/*.d)

# ---- installing, packages, images. A package gives PREFIX=/usr and DESTDIR; SYSCONFDIR is where the program looks.
PREFIX = /usr/local
SYSCONFDIR = /etc
UNITDIR = $(PREFIX)/lib/systemd/system
# An image is built without docker/systemd: it has no units.
UNITS = $(wildcard docker/systemd/*.service docker/systemd/*.socket)
GPU_UNITS = $(if $(filter-out 0,$(CUDA)),$(wildcard docker/systemd/gpu.conf))

$(B)/burin.1: docker/man.sh $(PROGRAM)
	@mkdir -p $(@D)
	@$< $(PROGRAM) $(VERSION) >$@

COMPLETIONS = bash:bash-completion/completions/burin zsh:zsh/vendor-completions/_burin fish:fish/vendor_completions.d/burin.fish

# Settings that exist already stay: their owner has edited them.
install: $(PROGRAM) $(B)/burin.1 ## program, man page, completion, settings and units to DESTDIR, PREFIX=/usr/local, /etc/burin
	@install -D -m 755 -s $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/burin
	@install -D -m 644 $(B)/burin.1 $(DESTDIR)$(PREFIX)/share/man/man1/burin.1
	@for c in $(COMPLETIONS); do $(PROGRAM) completion $${c%%:*} >$(B)/completion && \
	  install -D -m 644 $(B)/completion $(DESTDIR)$(PREFIX)/share/$${c#*:} || exit; done
	@[ -e $(DESTDIR)$(SYSCONFDIR)/burin/burin.json ] || \
	  install -D -m 644 config/burin.json $(DESTDIR)$(SYSCONFDIR)/burin/burin.json
	@for u in $(UNITS); do install -d $(DESTDIR)$(UNITDIR) && \
	  sed 's|/usr/bin/burin|$(PREFIX)/bin/burin|g' $$u >$(DESTDIR)$(UNITDIR)/$${u##*/} || exit; done
	@for u in $(GPU_UNITS); do install -D -m 644 $$u $(DESTDIR)$(UNITDIR)/burin.service.d/gpu.conf && \
	  install -D -m 644 $${u%/*}/modules-load.conf $(DESTDIR)$(PREFIX)/lib/modules-load.d/burin.conf || exit; done
	$(SAY) install "$(DESTDIR)$(PREFIX)/bin/burin"

deb: ## a Debian package of this build: build/burin_VERSION_ARCH.deb, or burin-cuda_...
	@rm -rf $(B)/deb
	@$(MAKE) --no-print-directory install PREFIX=/usr SYSCONFDIR=/etc DESTDIR=$(abspath $(B)/deb) >/dev/null
	@docker/deb.sh $(if $(filter 0,$(CUDA)),burin,burin-cuda) $(VERSION) $(B)/deb build

# The image builds its own program, whether or not this machine has a compiler for GPUs.
IMAGE_CUDA = $(if $(filter command environment,$(firstword $(origin CUDA))),$(CUDA),1)
IMAGE_ARGUMENTS = BUILD_BASE RUNTIME_BASE CPU_BASE NVRTC TCC AVIF HEIC
image: ## the container image, by docker, podman or buildah; CUDA=0 without CUDA, NVRTC=1 TCC=1 for users' operators, AVIF=1, HEIC=1
	@docker/image.sh $(VERSION) $(if $(filter 0,$(IMAGE_CUDA)),cpu,cuda) $(foreach a,$(IMAGE_ARGUMENTS),$(if $($a),$a=$($a)))

# Tests whose tools cannot be installed say so and are skipped.
containers: $(PROGRAM) ## the tests of docker/: image, package, compose, Kubernetes, nginx in front of two daemons
	-@$(MAKE) --no-print-directory deps NEED="$(TEST_PACKAGES) $(CONTAINER_PACKAGES)"
	BURIN=$(abspath $(PROGRAM)) /usr/bin/python3 -m pytest -q -rs tests/docker $(PYTEST)
