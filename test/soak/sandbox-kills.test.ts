// Kills skein with SIGKILL at random moments of a sandboxed run, from before its launcher starts to after its last call.
// Nothing that it started may run afterwards, with each launcher and in each tier.
import { expect, test } from "bun:test";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { ownRlimitTag, waitForNoProcesses } from "../support/processes.ts";
import { temporaryHome, type TemporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

const killsPerSandbox = 50;
const tag = ownRlimitTag();

const sandboxes = (["namespaces", "landlock"] as const).flatMap((tier) =>
  (["native", "javascript"] as const).map((launcher) => ({ tier, launcher })),
);

/** Processes in the background, in a process session of their own, as orphans and without environment. */
const script = shellScript(
  Array.from({ length: 5 }, (_, index) => {
    const daemon = `setsid ${index % 2 === 0 ? "" : "env -i "}sleep ${tag} >/dev/null 2>&1`;
    return `echo call-${index}; sleep ${tag} & ${daemon} & (sleep ${tag} &); sleep 0.02`;
  }),
  "all calls ended",
);

test.each(sandboxes)(
  `nothing runs after any of ${killsPerSandbox} kills in tier $tier with the $launcher launcher`,
  async ({ tier, launcher }) => {
    const server = startModelServer(script);
    const env = {
      ...vendorEnv(server.url),
      ...(tier === "landlock" ? { SKEIN_SANDBOX_BEST: tier } : {}),
      ...(launcher === "javascript" ? { SKEIN_SANDBOX_LAUNCHER: launcher } : {}),
    };
    using skein = temporaryHome(env);
    try {
      const doctor = await skein.run(["doctor"]);
      expect(doctor.out).toContain(`(${tier}), ${launcher === "native" ? "native launcher" : "launcher in JavaScript"}`);
      const wholeMs = await runToEnd(skein);
      for (let kill = 0; kill < killsPerSandbox; kill += 1) {
        const afterMs = Math.random() * wholeMs;
        const child = start(skein);
        await Bun.sleep(afterMs);
        child.kill("SIGKILL");
        await child.exited;
        expect({ afterMs, left: await waitForNoProcesses(skein.root, 20_000, { tag }) }).toEqual({ afterMs, left: [] });
      }
      // No killed run disturbs a later one.
      await runToEnd(skein);
      expect((await skein.run(["verify", "--json"])).json()).toMatchObject({ ok: true, problems: [] });
    } finally {
      await server.stop();
    }
  },
  300_000,
);

function start(skein: TemporaryHome): ReturnType<TemporaryHome["start"]> {
  return skein.start(["run", "make the calls", "-m", wireModels.anthropic, "--json"]);
}

/** Returns the time of the whole run. */
async function runToEnd(skein: TemporaryHome): Promise<number> {
  const startedAt = performance.now();
  const ran = await skein.run(["run", "make the calls", "-m", wireModels.anthropic, "--json"]);
  const wholeMs = performance.now() - startedAt;
  expect({ err: ran.code === 0 ? "" : ran.err, ...ran.json() }).toMatchObject({ err: "", status: "ok", result: script.final });
  expect(await waitForNoProcesses(skein.root, 20_000, { tag })).toEqual([]);
  return wholeMs;
}
