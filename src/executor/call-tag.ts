// The mark that every process of a call carries in its environment: whoever left the process group is found by it.

const name = "SKEIN_CALL";

/** `beginning` is shared by all calls of one executor. */
export type ExecutorTag = { beginning: string; id: string };

export function newExecutorTag(): ExecutorTag {
  const id = crypto.randomUUID();
  return { id, beginning: `${name}=${id}.` };
}

export function callTag(mark: ExecutorTag, call: number): { env: Record<string, string>; entry: string } {
  // The dot at the end keeps call 1 apart from call 10.
  const value = `${mark.id}.${call}.`;
  return { env: { [name]: value }, entry: `${name}=${value}` };
}
