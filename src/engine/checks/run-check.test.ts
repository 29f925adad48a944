import { expect, test } from "bun:test";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { CommandOptions, ToolOutcome } from "../../protocol/api/ports.ts";
import { createTestEngine, ok } from "../fixtures/engine-with.ts";
import { checkNode, runCheck } from "./run-check.ts";

async function check(outcome: ToolOutcome, output: string) {
  const { store, session, root } = await createTestEngine(async function* () {
    yield ok;
  });
  const lease = await store.acquire(session.id);
  const seen: CommandOptions[] = [];
  const turn = { session: session.id, root: session.id, project: root, directory: root, policy: defaultPolicy, nesting: false };
  const runCommand = async (_turn: unknown, options: CommandOptions) => {
    seen.push(options);
    await options.onOutput(Buffer.from(output), "stdout");
    return outcome;
  };
  const signal = new AbortController().signal;
  const result = await runCheck({ runCommand, store, lease }, { command: "npm test", timeoutMs: 5000, turn, signal });
  const stored = await new Response(await store.readOutput(result.handle.identifier)).text();
  await store.release(lease);
  return { result, stored, seen };
}

test("a check with exit code 0 has passed, and its whole output is a handle", async () => {
  const { result, stored, seen } = await check({ text: "all good", isError: false, exitCode: 0, durationMs: 12 }, "all good\n");
  expect(result).toMatchObject({ passed: true, exitCode: 0, durationMs: 12, excerpt: "all good", command: "npm test" });
  expect(result.handle.metadata).toMatchObject({ command: "npm test", exitCode: 0, durationMs: 12, bytes: 9 });
  expect(stored).toBe("all good\n");
  expect(seen[0]).toMatchObject({ command: "npm test", timeoutMs: 5000 });
});

test("a check with another exit code, a signal or a time limit has failed", async () => {
  expect((await check({ text: "x\nexit code 3", isError: true, exitCode: 3 }, "x")).result).toMatchObject({ passed: false, exitCode: 3 });
  expect((await check({ text: "timed out", isError: true, exitCode: null }, "")).result).toMatchObject({ passed: false, exitCode: null });
});

test("a check that can't be started has failed, and the excerpt says why", async () => {
  const { result } = await check({ text: "bash: refused", isError: true }, "");
  expect(result).toMatchObject({ passed: false, exitCode: null, excerpt: "bash: refused" });
});

test("an excerpt is bounded, and the stored output is whole", async () => {
  const output = "line of the output\n".repeat(10_000);
  const { result, stored } = await check({ text: output, isError: true, exitCode: 1 }, output);
  expect(Buffer.byteLength(result.excerpt)).toBeLessThanOrEqual(32 * 1024);
  expect(stored).toBe(output);
});

test("the digest is the same for the same failure and differs by exit code", async () => {
  const digest = async (text: string, exitCode: number) => (await check({ text, isError: true, exitCode }, text)).result.digest;
  expect(await digest("fail a [3ms]\n", 1)).toBe(await digest("fail a [77ms]\n", 1));
  expect(await digest("fail a\n", 1)).not.toBe(await digest("fail a\n", 2));
});

test("the node of a check is a note with the outcome and the handle", async () => {
  const { result } = await check({ text: "x\nexit code 1", isError: true, exitCode: 1, durationMs: 1 }, "x");
  const { note, parts } = checkNode(result);
  expect(note).toEqual({
    about: "check",
    check: { command: "npm test", passed: false, exitCode: 1, durationMs: 1, digest: result.digest },
  });
  expect(parts).toEqual([{ kind: "handle", handle: result.handle, excerpt: "$ npm test\nx\nexit code 1" }]);
});
