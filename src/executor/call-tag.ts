// The environment variable that identifies every process of a call, even one that left its process group.

const variable = "SKEIN_CALL";

/** `NAME=value.`, with which the tags of all calls of one executor begin. */
export function newExecutorTag(): string {
  return `${variable}=${crypto.randomUUID()}.`;
}

export function callTag(executorTag: string, call: number): { env: Record<string, string>; entry: string } {
  // Without the dot at the end the tag of call 1 would also match call 10.
  const entry = `${executorTag}${call}.`;
  return { env: { [variable]: entry.slice(variable.length + 1) }, entry };
}
