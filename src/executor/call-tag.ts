// The environment variable that identifies every process of a call, even one that left its process group.

const variable = "SKEIN_CALL";

/** `prefix` is common to the tags of all calls of one executor. */
export type ExecutorTag = { prefix: string; id: string };

export function newExecutorTag(): ExecutorTag {
  const id = crypto.randomUUID();
  return { id, prefix: `${variable}=${id}.` };
}

export function callTag(executor: ExecutorTag, call: number): { env: Record<string, string>; entry: string } {
  // Without the dot at the end the tag of call 1 would also match call 10.
  const value = `${executor.id}.${call}.`;
  return { env: { [variable]: value }, entry: `${variable}=${value}` };
}
