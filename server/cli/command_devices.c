// SPDX-License-Identifier: Apache-2.0
/* burin devices: prints the devices of this machine that operators can run on. */
#include "pipeline/device.h"
#include "server/cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const struct device_driver *const drivers[] = { &device_cpu, &device_cuda };
enum { DRIVER_COUNT = sizeof drivers / sizeof *drivers };

/* Writes the device's name for --device: "cpu", "cuda:0". */
static void name_device(const struct device_driver *driver, int index, char *text, size_t size) {
    if (driver == &device_cpu)
        snprintf(text, size, "cpu");
    else
        snprintf(text, size, "%s:%d", driver->kind, index);
}

static void fact(const char *name, const char *value) {
    if (*value) printf("  %-16s %s\n", name, value);
}

static void quantity(const char *name, double value, double unit, const char *unit_name) {
    if (value > 0) printf("  %-16s %.*f %s\n", name, value / unit < 100, value / unit, unit_name);
}

static void print_facts(const char *device, bool gpu, const struct device_info *facts) {
    printf("%s\n", device);
    fact("name", facts->name);
    fact("capability", facts->capability);
    fact("vectors", facts->vectors);
    fact("driver", facts->driver);
    fact("pcie", facts->pcie);
    printf("  %-16s %d\n", gpu ? "multiprocessors" : "cores", facts->multiprocessors);
    quantity("memory", facts->memory_bytes, 1 << 20, "MiB");
    quantity("memory free", facts->memory_free_bytes, 1 << 20, "MiB");
    quantity("L2 cache", facts->l2_bytes, 1 << 20, "MiB");
    quantity("clock", facts->clock_mhz, 1, "MHz");
    quantity("memory clock", facts->memory_clock_mhz, 1, "MHz");
    if (gpu) fact("ECC", facts->ecc ? "on" : "off");
    if (gpu) fact("clusters", facts->clusters ? "yes" : "no");
    if (gpu) printf("  %-16s %d\n", "HEVC engines", facts->engines);
    putchar('\n');
}

static void set_text(json_t *json, const char *name, const char *value) {
    if (*value) json_object_set_new(json, name, json_string(value));
}

static void set_number(json_t *json, const char *name, double value) {
    if (value > 0) json_object_set_new(json, name, json_integer((json_int_t)(value + 0.5)));
}

static json_t *facts_json(const char *device, bool gpu, const struct device_info *facts) {
    json_t *json = json_pack("{s:s}", "device", device);
    set_text(json, "name", facts->name);
    set_text(json, "capability", facts->capability);
    set_text(json, "vectors", facts->vectors);
    set_text(json, "driver", facts->driver);
    set_text(json, "pcie", facts->pcie);
    set_number(json, gpu ? "multiprocessors" : "cores", facts->multiprocessors);
    set_number(json, "memory_bytes", facts->memory_bytes);
    set_number(json, "memory_free_bytes", facts->memory_free_bytes);
    set_number(json, "l2_bytes", facts->l2_bytes);
    set_number(json, "clock_mhz", facts->clock_mhz);
    set_number(json, "memory_clock_mhz", facts->memory_clock_mhz);
    if (gpu) json_object_set_new(json, "ecc", json_boolean(facts->ecc));
    if (gpu) json_object_set_new(json, "clusters", json_boolean(facts->clusters));
    if (gpu) json_object_set_new(json, "hevc_engines", json_integer(facts->engines));
    return json;
}

/* Prints the device, or appends it to LIST if that is not NULL; false if the driver cannot describe
 * it. */
static bool report(const struct device_driver *driver, int index, json_t *list) {
    struct device_info facts = { 0 };
    struct failure failure = { 0 };
    char device[24];
    const bool gpu = driver != &device_cpu;
    name_device(driver, index, device, sizeof device);
    if (driver->describe(index, &facts, &failure)) {
        fprintf(stderr, "burin devices: %s: %s\n", device, failure.message);
        return false;
    }
    if (list)
        json_array_append_new(list, facts_json(device, gpu, &facts));
    else
        print_facts(device, gpu, &facts);
    return true;
}

static int usage(FILE *out, int code) {
    fputs("usage: burin devices [--json]\n\n"
          "The CPU and each GPU, under the names that --device takes.\n",
          out);
    return code;
}

int command_devices(int argc, char **argv) {
    const bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout, 0);
    if (argc > 1 && !as_json) return usage(stderr, 2);
    json_t *list = as_json ? json_array() : NULL;
    bool fine = true;
    for (int d = 0; d < DRIVER_COUNT; d++)
        for (int i = 0; i < drivers[d]->count(); i++) fine &= report(drivers[d], i, list);
    if (list) {
        json_dumpf(list, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(list);
    } else if (device_cuda.count() == 0) {
        puts("There is no working GPU: operators run on the CPU.");
    }
    return fine ? 0 : 1;
}
