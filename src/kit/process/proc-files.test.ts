// A process whose first thread has ended looks like a zombie. It must be found, measured, paused and ended like any other.
import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freeze, thaw } from "./freeze.ts";
import { residentBytes } from "./memory-use.ts";
import { endFamily, familyMembers, isStopped, processStartTime } from "./processes.ts";

const directory = mkdtempSync(join(tmpdir(), "skein-threads-"));
const envTag = `SKEIN_TEST_THREADS=${crypto.randomUUID()}`;
afterEach(async () => {
  await endFamily({ root: null, envTag }, 0);
  rmSync(directory, { recursive: true, force: true });
});

test.skipIf(process.platform !== "linux")(
  "a process whose first thread has ended is found, measured, paused and ended",
  async () => {
    const [beat, ready] = [join(directory, "beat"), join(directory, "ready")];
    const [name = "", value = ""] = envTag.split("=");
    const program = join(import.meta.dir, "fixtures", "without-first-thread.ts");
    const child = Bun.spawn(["setsid", process.execPath, program, beat, ready], { env: { ...process.env, [name]: value } });
    const beats = () => statSync(beat, { throwIfNoEntry: false })?.size ?? 0;
    const hasGrown = async (size: number) => {
      while (beats() <= size) await Bun.sleep(20);
    };
    while (!existsSync(ready)) await Bun.sleep(20);
    await hasGrown(0);
    const stat = await Bun.file(`/proc/${child.pid}/stat`).text();
    expect(stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3)).toBe("Z");

    const family = { root: null, envTag };
    expect(familyMembers(family)).toEqual([child.pid]);
    expect(processStartTime(child.pid)).not.toBeNull();
    expect(residentBytes(child.pid)).toBeGreaterThan(1 << 20);

    const frozen = freeze(() => familyMembers(family));
    expect(frozen).toEqual({ pids: [child.pid], isComplete: true });
    expect(isStopped(child.pid)).toBe(true);
    const paused = beats();
    await Bun.sleep(300);
    expect(beats()).toBe(paused);
    thaw(frozen.pids);
    await hasGrown(paused);

    expect(await endFamily(family, 0)).toEqual([]);
    expect(processStartTime(child.pid)).toBeNull();
  },
  60_000,
);
