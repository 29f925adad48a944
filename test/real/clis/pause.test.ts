// Pauses the real agents while one of their commands runs. No process may run and no request may be sent. After resume the turn
// must end normally.
import { beforeAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { pauseReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { agentHome, agentModels } from "../../support/agent-journey.ts";
import { readEvents } from "../../support/read-events.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { quietestSecond, until } from "../../support/cpu-time.ts";

const loop = "while [ ! -e end ]; do date +%s%N >> written; sleep 0.05; done; echo whole";

beforeAll(() => installPeers(peerNames), 600_000);

for (const agent of peerNames) {
  test(`${agent} is paused in the middle of a command, and finishes its turn after resume`, async () => {
    const server = startModelServer(shellScript([loop], "went on"));
    using skein = agentHome(server);
    const size = () => statSync(join(skein.project, "written"), { throwIfNoEntry: false })?.size ?? 0;
    const stateAfter = async (verb: string) => pauseReport.parse((await skein.run([verb, "long", "--json"])).json()).state;
    try {
      const args = ["--session", "long", "-a", agent, "-m", agentModels[agent]!, "--output-format", "events"];
      const run = readEvents(skein.start(["run", "do it", ...args]));
      await until(() => size() > 0, "the command runs", 60_000);
      expect(await stateAfter("pause")).toBe("paused");
      const before = [size(), server.requests.length];
      expect(await quietestSecond(run.child.pid)).toBeLessThanOrEqual(1);
      expect([size(), server.requests.length]).toEqual(before);
      expect(await stateAfter("resume")).toBe("running");
      await until(() => size() > before[0]!, "the command continues");
      await Bun.write(join(skein.project, "end"), "");
      expect(await run.ended).toMatchObject({ code: 0 });
      expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "ok", result: "went on" });
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    } finally {
      await server.stop();
    }
  }, 300_000);
}
