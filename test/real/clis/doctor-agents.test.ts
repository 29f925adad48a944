// Runs `doctor --agents` with the real programs, and with broken wrappers around them. Installs missing agents from the
// registry, so it is not part of npm test.
import { beforeAll, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { installPeers, peerNames, peersBin } from "../../../bench/peers.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { trialCheckNames } from "../../../src/protocol/api/agents.ts";
import { agent, agentsReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { agentModels, takeTurn } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { type TemporaryHome, temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

beforeAll(() => installPeers(peerNames), 300_000);

function homeWith(wrappers: Record<string, string>, env: Record<string, string> = {}): TemporaryHome {
  const skein = temporaryHome(env);
  const [bin, temp] = [join(skein.root, "bin"), join(skein.root, "temp")];
  for (const folder of [bin, temp]) mkdirSync(folder);
  for (const [name, script] of Object.entries(wrappers)) {
    writeFileSync(join(bin, name), `#!/bin/bash\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  Object.assign(skein.env, { PATH: [bin, peersBin, skein.env["PATH"]].join(delimiter), TMPDIR: temp });
  return skein;
}

/** Other files may exist there: `node --version` of a CLI writes a cache. */
const trialsIn = (skein: TemporaryHome) => readdirSync(join(skein.root, "temp")).filter((name) => name.startsWith("skein-"));

test("all five agents pass every check of doctor --agents, and no file or process of the checks is left", async () => {
  using skein = homeWith({});
  const ran = await skein.run(["doctor", "--agents", "--json"]);
  const report = agentsReport.parse(ran.json());
  const failed = report.agents.flatMap((each) =>
    each.checks.filter(({ outcome }) => outcome === "failed").map((check) => [each.agent, check]),
  );
  expect({ failed, code: ran.code, err: ran.err, ok: report.ok }).toEqual({ failed: [], code: 0, err: "", ok: true });
  expect(report.agents.map((each) => [each.agent, each.checks.map(({ name }) => name)])).toEqual(
    peerNames.map((name) => [name, [...trialCheckNames]]),
  );
  const unsupported = report.agents.flatMap((each) =>
    each.checks.filter(({ outcome }) => outcome === "none").map(({ name }) => [each.agent, name]),
  );
  expect(unsupported).toEqual([["gemini", "fork"]]);
  expect({ survivors: await waitForNoProcesses(skein.root), trials: trialsIn(skein) }).toEqual({ survivors: [], trials: [] });
  const listed = await skein.run(["agents"]);
  for (const name of peerNames) expect(listed.out).toMatch(new RegExp(`${name} +\\d+\\.\\d+\\.\\d+ .* works, 20`));
}, 300_000);

test("doctor tells apart agents that print garbage, hang, can't fork or use another model, and turns use its result", async () => {
  const real = (name: string) => `exec "${join(peersBin, name)}"`;
  using skein = homeWith({
    claude: "echo '%PDF-1.7 garbage'; exit 0",
    codex: 'case "$1" in --version) exit 1;; esac\nsleep 900',
    // Starts a new session instead of a fork.
    pi: `args=()\nwhile [ $# -gt 0 ]; do if [ "$1" = --fork ]; then shift; else args+=("$1"); fi; shift; done\n${real("pi")} "\${args[@]}"`,
    gemini: `args=()\nfor arg in "$@"; do args+=("\${arg/gemini-3-pro-preview/gemini-2.5-flash}"); done\n${real("gemini")} "\${args[@]}"`,
    opencode: 'echo "{\\"type\\":\\"text\\"}"; exec sleep 0',
  });
  const ran = await skein.run(["doctor", "--agents", "--json"]);
  const report = agentsReport.parse(ran.json());
  expect(ran.code).toBe(1);
  expect(Object.fromEntries(report.agents.map((each) => [each.agent, each.reason]))).toEqual({
    claude: "claude printed nothing that skein can read",
    codex: "the turn took longer than 60 s",
    gemini: expect.stringMatching(/^it used model gemini-\S+ instead of gemini-3-pro-preview/),
    opencode: "opencode ended before its turn was over",
    pi: null,
  });
  const pi = report.agents.find((each) => each.agent === "pi");
  expect(pi?.checks.filter(({ outcome }) => outcome !== "ok")).toMatchObject([{ name: "fork", outcome: "failed" }]);
  expect(await waitForNoProcesses(skein.root)).toEqual([]);

  const rows = (JSON.parse((await skein.run(["agents", "--json"])).out) as unknown[]).map((row) => agent.parse(row));
  expect(rows.find((row) => row.name === "pi")).toMatchObject({ can: { resume: true, fork: false }, tried: { works: true } });
  expect(rows.find((row) => row.name === "claude")).toMatchObject({ tried: { works: false }, missing: expect.stringMatching(/^broken: /) });

  // skein does not fork then. The first of two sessions at one node resumes, the other starts new with a brief.
  const server = startModelServer({ steps: [], final: "well" });
  try {
    Object.assign(skein.env, vendorEnv(server.url));
    const args = ["-a", "pi", "-m", agentModels["pi"] as string];
    const first = await takeTurn(skein, server, [...args, "--session", "trunk", "the first words"]);
    const fork = await takeTurn(skein, server, [...args, "--session", "trunk", "--fork", "the second words"]);
    const next = await takeTurn(skein, server, [...args, "--session", "trunk", "the third words"]);
    expect([first, fork, next].map(({ turn }) => turn.cli?.started)).toEqual(["new", "resume", "new"]);
    for (const { requests } of [fork, next]) expect(requests.at(-1)?.text).toContain("the first words");
    expect(next.requests.at(-1)?.text).not.toContain("the second words");
  } finally {
    await server.stop();
  }
}, 300_000);
