import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync } from "node:fs";
import { loadLibc, rlimitTags } from "./libc.ts";

test.if(process.platform === "linux")(
  "a process that is started with an rlimit tag inherits it, and this process does not keep it",
  async () => {
    const libc = await loadLibc();
    const before = limitOf(readFileSync("/proc/self/limits", "utf8"));
    const start = () => Bun.spawnSync(["env", "-i", "setsid", "cat", "/proc/self/limits"]).stdout.toString();
    const first = libc?.withRlimitTag(1, start);
    const second = libc?.withRlimitTag(2, start);
    expect(first?.tag).toBe(rlimitTags.end - 2);
    expect(limitOf(first?.result ?? "")).toBe(String(first?.tag));
    expect(limitOf(second?.result ?? "")).toBe(String(rlimitTags.end - 3));
    expect(() => libc?.withRlimitTag(3, () => JSON.parse("no"))).toThrow();
    expect(limitOf(readFileSync("/proc/self/limits", "utf8"))).toBe(before);
  },
);

function limitOf(limits: string): string | undefined {
  return /^Max msgqueue size\s+(\S+)/m.exec(limits)?.[1];
}

test("a locked file can't be locked again until it is closed", async () => {
  const libc = await loadLibc();
  const [first, second] = [openSync(import.meta.path, "r"), openSync(import.meta.path, "r")];
  expect([libc?.lock(first), libc?.lock(second)]).toEqual([true, false]);
  closeSync(first);
  expect(libc?.lock(second)).toBe(true);
  closeSync(second);
});
