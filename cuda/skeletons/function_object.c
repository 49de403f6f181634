// SPDX-License-Identifier: Apache-2.0
#include "cuda/skeletons/function_object.h"

#include "pipeline/skeletons/user_text.h"

void function_object_write(FILE *out, const char *name, const struct user_op *op, int depth) {
    const char *pixel = user_text_pixel(op, depth);
    const char *result = scalar_type_name(user_text_result(op, depth));
    const char *pass = user_text_pass(op);
    char function[USER_TEXT_NAME_MAX];
    user_text_function(op, depth, function);
    fprintf(out, "\nstruct %s {\n    %s burin_p;\n", name,
            op->parameters ? op->parameters->name : "burin_nothing");
    if (op->skeleton == SKELETON_PIXEL) fprintf(out, "    typedef %s burin_pixel;\n", pixel);
    fputs("    __device__ __forceinline__ ", out);
    switch (op->skeleton) {
    case SKELETON_P2P:
        fprintf(out,
                "unsigned operator()(unsigned burin_s, const burin_place &burin_at) const {\n"
                "        return %s((%s)burin_s",
                function, pixel);
        user_text_given(out, op);
        fprintf(out, "%s);\n", pass);
        break;
    case SKELETON_PIXEL:
        fprintf(out,
                "burin_pixel operator()(burin_pixel burin_s, const burin_place &burin_at) const {\n"
                "        return %s(burin_s",
                function);
        user_text_given(out, op);
        fprintf(out, "%s);\n", pass);
        break;
    case SKELETON_N2P:
        fprintf(out,
                "unsigned operator()(%s (&burin_w)[%d][%d],\n"
                "                                        const burin_place &burin_at) const {\n"
                "        return %s(burin_w",
                pixel, op->window, op->window, function);
        user_text_given(out, op);
        fprintf(out, "%s);\n", pass);
        break;
    case SKELETON_R2S:
        fprintf(out,
                "%s operator()(%s burin_l, %s burin_r) const {\n"
                "        return %s(burin_l, burin_r%s);\n    }\n"
                "    __device__ __forceinline__ %s burin_map(unsigned burin_s) const {\n"
                "        return ",
                result, result, result, function, pass, result);
        user_text_map(out, op, depth);
        fputs(";\n", out);
        break;
    case SKELETON_R2V:
        fprintf(out,
                "void operator()(unsigned burin_s, int *burin_o, int burin_n) const {\n"
                "        %s((%s)burin_s, (%s *)burin_o, burin_n%s);\n",
                function, pixel, result, pass);
        break;
    }
    fputs("    }\n};\n", out);
}
