// Arguments of a process can be read by every user of the machine. No process that skein starts for a turn may have the
// prompt, the brief of an earlier conversation or the rules of the sandbox among them.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { homeWithFakeClis } from "../support/fake-clis.ts";

const agents = ["claude", "codex", "gemini", "opencode", "pi"] as const;

function argumentsOfAll(): string[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) ? [readFileSync(`/proc/${pid}/cmdline`, "utf8")] : [];
    } catch {
      // The process has ended.
      return [];
    }
  });
}

for (const tier of ["namespaces", "landlock"]) {
  test.each(agents)(`%s: no argument of a process has the prompt or the brief, in the best sandbox up to ${tier}`, async (agent) => {
    using skein = homeWithFakeClis([agent], { SKEIN_SANDBOX_BEST: tier });
    const canary = `CANARY-${crypto.randomUUID()}`;
    const first = await skein.run(["run", "--session", "s", "-a", agent, "-"], { stdin: `${canary} fake:good` });
    expect([first.code, first.err]).toEqual([0, first.err]);
    const log = join(skein.project, "fake.log");
    const turns = () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").length : 0);
    const child = skein.start(["run", "--session", "s", "-a", agent, "-"], { stdin: `${canary} again fake:hangs` });
    const seen: string[] = [];
    const before = turns();
    // The CLI hangs, so it is seen at last, even if a scan of all processes takes long.
    while (turns() === before || !seen.some((text) => text.includes("fake-cli"))) {
      seen.push(...argumentsOfAll());
      await Bun.sleep(1);
    }
    child.kill("SIGTERM");
    await child.exited;
    expect(seen.filter((text) => text.includes(canary))).toEqual([]);
    expect(seen.filter((text) => text.includes(skein.root) && text.includes('"access":"none"'))).toEqual([]);
  });
}
