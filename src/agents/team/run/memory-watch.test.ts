// Health by real processes: who uses more than its role may is found by the name that its processes carry.
import { expect, test } from "bun:test";
import { startMemoryWatch } from "./memory-watch.ts";

test("a member that uses too much memory is stopped and told why; others and those who left are not", async () => {
  const id = `agent_test_1_${crypto.randomUUID().slice(0, 8)}`;
  const env = { PATH: process.env["PATH"] ?? "", SKEIN_AGENT_ID: id };
  const hungry = "const all = []; for (let at = 0; at < 60; at += 1) all.push(Buffer.alloc(1 << 20, 1)); setTimeout(() => {}, 60_000)";
  const child = Bun.spawn([process.execPath, "-e", hungry], { env, stdio: ["ignore", "ignore", "ignore"] });
  const health = startMemoryWatch(20);
  try {
    const told: string[] = [];
    const stopped = Promise.withResolvers<string>();
    health.watch({ id: "agent_other_1", maxMemoryMb: 1, stop: (why) => void told.push(why) });
    health.watch({ id: `${id}0`, maxMemoryMb: 1, stop: (why) => void told.push(why) });
    const leave = health.watch({ id, maxMemoryMb: 40, stop: stopped.resolve });
    expect(await stopped.promise).toMatch(/^it used \d+ MB of memory; its role may use 40$/);
    leave();
    expect(told).toEqual([]);
  } finally {
    health.close();
    child.kill("SIGKILL");
    await child.exited;
  }
});
