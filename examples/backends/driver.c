/* A compiler behind a command, with C's standard library: abs, add or negate of f32, one operation
 * of one or two arguments. Anything else is unsupported. docs/backends.md describes the messages.
 *
 * cc -O1 -o driver examples/backends/driver.c -lm
 * hlo-conformance run --backend 'command:mine=./driver' --op abs
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct program {
    long number;
    char op[16];
    struct program *next;
} program;

static const char *OPS[] = {"abs", "add", "negate"};

static void answer(const char *word, const char *text) {
    printf("%s %zu\n%s", word, strlen(text), text);
}

/* The op of a module that has one function with one operation on f32; NULL for any other. */
static const char *find_op(const char *text) {
    const char *function = strstr(text, "\"func.func\""), *step = strstr(text, "\"stablehlo.");
    if (!function || strstr(function + 1, "\"func.func\"") || !step) return NULL;
    if (strstr(step + 1, "\"stablehlo.")) return NULL;
    for (const char *type = strstr(text, "tensor<"); type; type = strstr(type + 1, "tensor<"))
        if (strncmp(type + strcspn(type, ">") - 3, "f32", 3)) return NULL;
    for (int k = 0; k < 3; k++) {
        size_t length = strlen(OPS[k]);
        if (!strncmp(step + 11, OPS[k], length) && step[11 + length] == '"') return OPS[k];
    }
    return NULL;
}

static char *read_bytes(size_t length) {
    char *data = malloc(length + 1);
    if (!data || fread(data, 1, length, stdin) != length) exit(1);
    data[length] = 0;
    return data;
}

static void execute(const program *found, long count) {
    char type[256] = "", *arrays[2] = {NULL, NULL};
    size_t length = 0;
    for (long k = 0; k < count; k++) {
        if (k == 2 || scanf("%255s %zu", type, &length) != 2 || getchar() != '\n') exit(1);
        arrays[k] = read_bytes(length);
    }
    const float *x = (float *)arrays[0], *y = (float *)arrays[count - 1];
    float *result = malloc(length + 1);
    for (size_t i = 0; i < length / sizeof(float); i++)
        result[i] = !strcmp(found->op, "abs") ? fabsf(x[i])
                    : !strcmp(found->op, "add") ? x[i] + y[i] : -x[i];
    printf("ok 1\n%s %zu\n", type, length);
    fwrite(result, 1, length, stdout);
    free(result);
    free(arrays[0]);
    free(arrays[1]);
}

int main(void) {
    program *programs = NULL;
    char request[16];
    while (scanf("%15s", request) == 1) {
        long number = 0, processes, count;
        size_t length;
        if (!strcmp(request, "describe")) {
            if (scanf("%ld", &number) != 1) return 1;
            getchar();
            answer("ok", "protocol 1\nbatches no\nplatform C\nversion driver 1");
        } else if (!strcmp(request, "compile")) {
            if (scanf("%ld %zu", &number, &length) != 2 || getchar() != '\n') return 1;
            char *text = read_bytes(length);
            const char *op = find_op(text);
            if (op) {
                program *made = malloc(sizeof(program));
                made->number = number;
                made->next = programs;
                snprintf(made->op, sizeof(made->op), "%s", op);
                programs = made;
                printf("ok\n");
            } else {
                answer("unsupported", "only one abs, add or negate of f32");
            }
            free(text);
        } else if (!strcmp(request, "execute")) {
            if (scanf("%ld %ld %ld", &number, &processes, &count) != 3 || getchar() != '\n') return 1;
            program *found = programs;
            while (found && found->number != number) found = found->next;
            if (!found || count < 1) return 1;
            execute(found, count);
        } else if (!strcmp(request, "free")) {
            if (scanf("%ld", &number) != 1) return 1;
            program **place = &programs;
            while (*place && (*place)->number != number) place = &(*place)->next;
            program *gone = *place;
            if (gone) *place = gone->next;
            free(gone);
            printf("ok\n");
        } else {
            char rest[4096];
            if (!fgets(rest, sizeof(rest), stdin)) return 1;
            answer("unsupported", "no such request");
        }
        fflush(stdout);
    }
    return 0;
}
