// A loop and a check with the real Claude Code and Codex, which bench/peers.ts installs, against a scripted model server.
import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { loopRecord } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, agentModels } from "../../support/agent-journey.ts";

beforeAll(() => installPeers(["claude", "codex"]), 300_000);

const addOne = "echo $(( $(cat count.txt 2>/dev/null || echo 0) + 1 )) > count.txt";
const until = 'n=$(cat count.txt 2>/dev/null || echo 0); echo "counted $n of 2"; test "$n" -ge 2';

for (const agent of ["claude", "codex"]) {
  test(`${agent} repeats its work until the check passes, and gets the output of each check`, { timeout: 120_000 }, async () => {
    const server = startModelServer(shellScript([addOne], "added one"));
    using skein = agentHome(server);
    try {
      const ran = await skein.run(["loop", "count to two", "--until", until, "-a", agent, "-m", agentModels[agent]!, "--json"]);
      const record = loopRecord.parse(ran.json());
      expect({ code: ran.code, reason: record.reason, checks: record.passes.map(({ check }) => check?.exit_code) }).toEqual({
        code: 0,
        reason: "passed",
        checks: [1, 1, 0],
      });
      expect(record.passes.map((pass) => pass.agent)).toEqual(["shell", agent, agent]);
      expect(readFileSync(join(skein.project, "count.txt"), "utf8")).toBe("2\n");
      const last = server.main().at(-1)?.text ?? "";
      for (const words of ["counted 0 of 2", "counted 1 of 2", "added one"]) expect(last).toContain(words);
    } finally {
      await server.stop();
    }
  });
}

test("codex takes over with the whole conversation when claude makes no progress", { timeout: 120_000 }, async () => {
  const server = startModelServer(({ body }) =>
    JSON.stringify(body).includes("claude-sonnet")
      ? shellScript(["true"], "nothing more to do, says claude")
      : shellScript([addOne, addOne], "added"),
  );
  using skein = agentHome(server);
  try {
    const ran = await skein.run(["loop", "count to two", "--until", until, "-a", "claude,codex", "-m", agentModels["claude"]!, "--json"]);
    const record = loopRecord.parse(ran.json());
    expect({ code: ran.code, agents: record.passes.map(({ agent }) => agent) }).toEqual({
      code: 0,
      agents: ["shell", "claude", "claude", "codex"],
    });
    expect(server.main().at(-1)?.text).toContain("nothing more to do, says claude");
  } finally {
    await server.stop();
  }
});
