import { expect, test } from "bun:test";
import { join } from "node:path";
import { loadLibc } from "../kit/process/libc.ts";
import { sessionTagVariables, findEnclosingSession } from "./enclosing-session.ts";

const script = `const { findEnclosingSession } = await import(${JSON.stringify(join(import.meta.dir, "enclosing-session.ts"))}); console.log(JSON.stringify(findEnclosingSession(process.env)))`;
const asked = ["env", "-i", process.execPath, "-e", script];

/** What a process sees whose parents have these variables, from the topmost to itself. */
async function seenBelow(...chain: Record<string, string>[]): Promise<unknown> {
  const words = chain.flatMap((env, at) => {
    const own = ["env", "-i", `PATH=${process.env["PATH"]}`, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
    // A shell with another command left to run stays the parent.
    return at === chain.length - 1 ? [...own, process.execPath, "-e", script] : [...own, "sh", "-c", '"$@"; exit $?', "sh"];
  });
  return JSON.parse(await new Response(Bun.spawn(words).stdout).text());
}

const marked = (session: string, nesting = false) => sessionTagVariables({ session, nesting });

test("a process outside of any session has no enclosing session", async () => {
  expect(findEnclosingSession({})).toBe(null);
  expect(await seenBelow({}, {})).toBe(null);
});

test("the enclosing session is found in the variables of the process and of every parent", async () => {
  expect(findEnclosingSession(marked("one"))).toEqual({ session: "one", nesting: false });
  for (const chain of [[marked("one")], [marked("one"), {}], [marked("one"), {}, {}, {}]])
    expect(await seenBelow(...chain)).toEqual({ session: "one", nesting: false });
});

test("nesting is allowed only if every tag allows it", async () => {
  expect(await seenBelow(marked("one", true), {})).toEqual({ session: "one", nesting: true });
  expect(await seenBelow(marked("one"), marked("two", true))).toEqual({ session: "one", nesting: false });
  expect(await seenBelow(marked("one", true), marked("two"), marked("three", true))).toEqual({ session: "two", nesting: false });
  expect(await seenBelow({ SKEIN_NESTING: "allowed" }, marked("one"))).toEqual({ session: "one", nesting: false });
});

test("a variable with a similar name is ignored", async () => {
  expect(await seenBelow({ MY_SKEIN_SESSION_ID: "one" }, {})).toBe(null);
});

test("a command without parents and environment is recognised by its rlimit", async () => {
  if (process.platform !== "linux") return;
  const libc = await loadLibc();
  const { result: started, tag: sign } = libc!.withRlimitTag(7, () => Bun.spawn(asked));
  expect(sign).not.toBe(null);
  expect(JSON.parse(await new Response(started.stdout).text())).toEqual({ session: null, nesting: false });
});
