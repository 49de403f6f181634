// SPDX-License-Identifier: Apache-2.0
/* Which workers there are to be: `devices` of the configuration, against what the machine has. */
#include "config/config.h"
#include "server/jobs/process.h"
#include "server/jobs/seat.h"

#include <stdio.h>
#include <string.h>

struct row {
    struct seat *seats;
    int count;
};

static void add_seat(struct row *row, const char *device) {
    if (row->count < SEATS_MAX) seat_init(&row->seats[row->count++], device);
}

/* One name of the list: "cpu" adds nothing, since the CPU has its seat anyway. */
static enum status seat_named(struct row *row, const char *name, int gpus,
                              struct failure *failure) {
    if (!*name || strcmp(name, "cpu") == 0) return STATUS_OK;
    for (int i = 0; i < gpus; i++) {
        char device[DEVICE_WANT_MAX];
        snprintf(device, sizeof device, "cuda:%d", i);
        if (strcmp(name, device) == 0) return add_seat(row, device), STATUS_OK;
    }
    return fail(
        failure, STATUS_BAD_PARAM,
        "devices names \"%.40s\", but there are %d GPUs here; name them cuda:0 and so on, or "
        "say all or cpu",
        name, gpus);
}

/* "all": every GPU; else the list. The CPU always has a seat: at work or standing by. */
enum status seats_make(struct seat *seats, int *count, const char *devices,
                       struct failure *failure) {
    struct row row = { seats, 0 };
    char list[CONFIG_TEXT_MAX];
    const int gpus = strcmp(devices, "cpu") == 0 ? 0 : process_count_gpus();
    list[0] = 0;
    strncat(list, devices, sizeof list - 1);
    enum status status = STATUS_OK;
    if (strcmp(devices, "all") == 0) {
        for (int i = 0; i < gpus && i < SEATS_MAX - 1; i++) {
            snprintf(list, sizeof list, "cuda:%d", i);
            add_seat(&row, list);
        }
        list[0] = 0;
    }
    char *rest = list;
    for (char *name; !status && (name = strsep(&rest, ", "));)
        status = seat_named(&row, name, gpus, failure);
    add_seat(&row, "cpu");
    *count = row.count;
    return status;
}
