// SPDX-License-Identifier: Apache-2.0
/* burin run: the pipeline of the daemon on files, without it. */
#include "server/cli/command.h"
#include "server/cli/many_run.h"
#include "server/cli/one_run.h"
#include "server/cli/options.h"
#include "server/cli/run_report.h"

#include <signal.h>
#include <string.h>

int command_run(int argc, char **argv) {
    struct options options = { .input = NULL };
    struct failure failure = { 0 };
    enum status status = options_read(&options, argc, argv, &failure);
    if (status == STATUS_OK && options.help) return options_usage();
    if (status == STATUS_OK && options.out_dir) return many_run(&options);
    const bool standard = options.output && strcmp(options.output, "-") == 0;
    FILE *lines = !options.json ? NULL : standard ? stderr : stdout;
    if (status == STATUS_OK) status = one_run_alone(&options, lines, &failure);
    if (status == STATUS_OK) return 0;
    run_report_failure(lines ? options.input : NULL, status, &failure, lines);
    if (status == STATUS_CANCELLED) fflush(stdout), raise(SIGINT); /* so that scripts end, too */
    return status == STATUS_BAD_PARAM ? 2 : 1;
}
