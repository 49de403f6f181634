// SPDX-License-Identifier: Apache-2.0
#include "pipeline/device.h"

#include <string.h>

enum status device_choose(const char *text, const struct device_driver **driver, int *index,
                          struct failure *failure) {
    char shown[PARAM_SHOWN_MAX];
    long number = 0;
    const bool any = strcmp(text, "auto") == 0;
    *index = 0;
    *driver = &device_cpu;
    if (strcmp(text, "cpu") == 0) return STATUS_OK;
    if (!any && strcmp(text, "cuda") != 0 &&
        (strncmp(text, "cuda:", 5) != 0 || text[5] == '+' || !param_integer(text + 5, &number) ||
         number < 0))
        return fail(failure, STATUS_BAD_PARAM,
                    "device must be auto, cpu, cuda or cuda:N, not \"%s\"",
                    param_shown(text, shown));
    const int gpus = device_cuda.count();
    if (number < gpus) {
        *driver = &device_cuda;
        *index = (int)number;
        return STATUS_OK;
    }
    if (any) return STATUS_OK;
    param_shown(text, shown);
    if (gpus == 0)
        return fail(failure, STATUS_BAD_PARAM,
                    "there is no device \"%s\": this machine has no working GPU", shown);
    return fail(failure, STATUS_BAD_PARAM, "there is no device \"%s\": the last GPU is cuda:%d",
                shown, gpus - 1);
}
