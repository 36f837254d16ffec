/* A PJRT plugin that is another one (REAL), save for the faults that it was compiled with.

   UNSUPPORTED, ABORTS, WRONG: the name of an operation, such as "sine". Programs
   with it are refused as not implemented, end the process, or have the first element of each result
   moved by 64 in the last place (of f32). VERSION: what the platform says of its version. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pjrt_c_api.h"

static const PJRT_Api *real;
static PJRT_Api ours;
static int is_wrong;
static char refusal[] = "this operation is not implemented";

/* Tell whether a program has an operation, whichever its version: names end with _v1, _v2, ... */
static int has(const PJRT_Program *program, const char *name) {
  char wanted[64] = {0}; /* strings of bytecode follow each other, each with a NUL at its end */
  int length = snprintf(wanted + 1, sizeof wanted - 1, "%s_v", name);
  return *name && memmem(program->code, program->code_size, wanted, length + 1) != NULL;
}

static int is_refusal(const void *error) { return error == (const void *)refusal; }

static void error_destroy(PJRT_Error_Destroy_Args *args) {
  if (!is_refusal(args->error)) real->PJRT_Error_Destroy(args);
}

static void error_message(PJRT_Error_Message_Args *args) {
  if (!is_refusal(args->error)) {
    real->PJRT_Error_Message(args);
    return;
  }
  args->message = refusal;
  args->message_size = strlen(refusal);
}

static PJRT_Error *error_code(PJRT_Error_GetCode_Args *args) {
  if (!is_refusal(args->error)) return real->PJRT_Error_GetCode(args);
  args->code = PJRT_Error_Code_UNIMPLEMENTED;
  return NULL;
}

static PJRT_Error *compile(PJRT_Client_Compile_Args *args) {
  if (has(args->program, UNSUPPORTED)) return (PJRT_Error *)refusal;
  if (has(args->program, ABORTS)) {
    fprintf(stderr, "F0000 device.cc:17] Check failed: registers != nullptr\n");
    abort();
  }
  is_wrong = has(args->program, WRONG);
  return real->PJRT_Client_Compile(args);
}

/* Move the first element of an f32 buffer by 64 in the last place, once it has been computed. */
static void move(PJRT_Buffer *buffer) {
  PJRT_Buffer_ElementType_Args of = {PJRT_Buffer_ElementType_Args_STRUCT_SIZE, NULL, buffer};
  PJRT_Buffer_OnDeviceSizeInBytes_Args size = {
      PJRT_Buffer_OnDeviceSizeInBytes_Args_STRUCT_SIZE, NULL, buffer};
  PJRT_Buffer_ReadyEvent_Args ready = {PJRT_Buffer_ReadyEvent_Args_STRUCT_SIZE, NULL, buffer};
  PJRT_Buffer_UnsafePointer_Args at = {PJRT_Buffer_UnsafePointer_Args_STRUCT_SIZE, NULL, buffer};
  if (real->PJRT_Buffer_ElementType(&of) || of.type != PJRT_Buffer_Type_F32) return;
  if (real->PJRT_Buffer_OnDeviceSizeInBytes(&size) || size.on_device_size_in_bytes < 4) return;
  if (real->PJRT_Buffer_ReadyEvent(&ready)) return;
  PJRT_Event_Await_Args await = {PJRT_Event_Await_Args_STRUCT_SIZE, NULL, ready.event};
  PJRT_Event_Destroy_Args done = {PJRT_Event_Destroy_Args_STRUCT_SIZE, NULL, ready.event};
  if (!real->PJRT_Event_Await(&await) && !real->PJRT_Buffer_UnsafePointer(&at))
    *(int32_t *)at.buffer_pointer += 64;
  real->PJRT_Event_Destroy(&done);
}

static PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args) {
  PJRT_Error *error = real->PJRT_LoadedExecutable_Execute(args);
  PJRT_LoadedExecutable_GetExecutable_Args of = {
      PJRT_LoadedExecutable_GetExecutable_Args_STRUCT_SIZE, NULL, args->executable};
  if (error || !is_wrong || real->PJRT_LoadedExecutable_GetExecutable(&of)) return error;
  PJRT_Executable_NumOutputs_Args results = {
      PJRT_Executable_NumOutputs_Args_STRUCT_SIZE, NULL, of.executable};
  if (!real->PJRT_Executable_NumOutputs(&results))
    for (size_t n = 0; n < results.num_outputs; n++) move(args->output_lists[0][n]);
  PJRT_Executable_Destroy_Args done = {
      PJRT_Executable_Destroy_Args_STRUCT_SIZE, NULL, of.executable};
  real->PJRT_Executable_Destroy(&done);
  return NULL;
}

#ifdef VERSION
static PJRT_Error *version(PJRT_Client_PlatformVersion_Args *args) {
  args->platform_version = VERSION;
  args->platform_version_size = strlen(VERSION);
  return NULL;
}
#endif

const PJRT_Api *GetPjrtApi(void) {
  if (real) return &ours;
  void *library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
  const PJRT_Api *(*get)(void) = library ? dlsym(library, "GetPjrtApi") : NULL;
  if (!get) {
    fprintf(stderr, "%s\n", dlerror());
    return NULL;
  }
  real = get();
  memcpy(&ours, real, real->struct_size < sizeof ours ? real->struct_size : sizeof ours);
  ours.PJRT_Error_Destroy = error_destroy;
  ours.PJRT_Error_Message = error_message;
  ours.PJRT_Error_GetCode = error_code;
  ours.PJRT_Client_Compile = compile;
  ours.PJRT_LoadedExecutable_Execute = execute;
#ifdef VERSION
  ours.PJRT_Client_PlatformVersion = version;
#endif
  return &ours;
}
