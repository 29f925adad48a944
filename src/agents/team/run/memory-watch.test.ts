// Tests the memory watch with real processes, which it finds by a variable in their environment.
import { expect, test } from "bun:test";
import { startMemoryWatch } from "./memory-watch.ts";

test("a member that uses too much memory is stopped with a reason, and no other member is", async () => {
  const id = `agent_test_1_${crypto.randomUUID().slice(0, 8)}`;
  const env = { PATH: process.env["PATH"] ?? "", SKEIN_AGENT_ID: id };
  const allocateMemory =
    "const all = []; for (let at = 0; at < 60; at += 1) all.push(Buffer.alloc(1 << 20, 1)); setTimeout(() => {}, 60_000)";
  const child = Bun.spawn([process.execPath, "-e", allocateMemory], { env, stdio: ["ignore", "ignore", "ignore"] });
  const memoryWatch = startMemoryWatch(20);
  try {
    const otherStops: string[] = [];
    const stopped = Promise.withResolvers<string>();
    memoryWatch.watch({ id: "agent_other_1", maxMemoryMb: 1, stop: (reason) => void otherStops.push(reason) });
    memoryWatch.watch({ id: `${id}0`, maxMemoryMb: 1, stop: (reason) => void otherStops.push(reason) });
    const unwatch = memoryWatch.watch({ id, maxMemoryMb: 40, stop: stopped.resolve });
    expect(await stopped.promise).toMatch(/^it used \d+ MB of memory; its role may use 40$/);
    unwatch();
    expect(otherStops).toEqual([]);
  } finally {
    memoryWatch.close();
    child.kill("SIGKILL");
    await child.exited;
  }
});

test("a process that takes the name of another member is counted for its own", async () => {
  const [id, other] = ["a", "b"].map((name) => `agent_${name}_1_${crypto.randomUUID().slice(0, 8)}`) as [string, string];
  const allocate =
    "const all = (globalThis.all = []); for (let at = 0; at < 60; at += 1) all.push(Buffer.alloc(1 << 20, 1)); setTimeout(() => {}, 60_000)";
  const start = `Bun.spawn([process.execPath, "-e", ${JSON.stringify(allocate)}], { env: { ...process.env, SKEIN_AGENT_ID: "${other}" } }); setTimeout(() => {}, 60_000)`;
  const env = { PATH: process.env["PATH"] ?? "", SKEIN_AGENT_ID: id };
  const child = Bun.spawn([process.execPath, "-e", start], { env, stdio: ["ignore", "ignore", "ignore"], detached: true });
  const memoryWatch = startMemoryWatch(20);
  try {
    const stopped = Promise.withResolvers<string>();
    memoryWatch.watch({ id: other, maxMemoryMb: 1, stop: () => stopped.resolve("the other") });
    memoryWatch.watch({ id, maxMemoryMb: 70, stop: () => stopped.resolve("its own") });
    expect(await stopped.promise).toBe("its own");
  } finally {
    memoryWatch.close();
    process.kill(-child.pid, "SIGKILL");
    await child.exited;
  }
});
