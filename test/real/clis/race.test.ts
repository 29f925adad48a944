// Races of the native agent, a real Claude Code and a real Codex on one node of a real repository.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { field, type JsonValue } from "../../../src/scripted-model/json.ts";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { agentHome } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { hasFile, raceOf, raceRepository, showRace } from "../../support/race-journey.ts";
import { git } from "../../support/team-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";
import { commitAll } from "../../support/worktree-journey.ts";

let server: ModelServer;
beforeAll(async () => {
  await installPeers(["claude", "codex"]);
  server = startModelServer({ steps: [], final: "" });
}, 300_000);
afterAll(() => server.stop());

const native = "native:gemini/gemini-3-pro-preview";
const agents = ["-a", `${native},claude,codex`];

/** A request of Gemini's wire has no model in its body. */
function agentOf(body: JsonValue): "native" | "claude" | "codex" {
  const model = field(body, "model");
  return typeof model !== "string" ? "native" : model.startsWith("gpt") ? "codex" : "claude";
}

/** Each agent writes another number of lines. */
const lines = { native: 3, claude: 2, codex: 1 };

function write({ body }: { body: JsonValue }): Script {
  const name = agentOf(body);
  const command = `for i in $(seq ${lines[name]}); do echo ${name} $i; done > result.txt`;
  return { steps: [{ calls: [{ input: { command } }] }], final: `${name} wrote ${lines[name]} lines` };
}

/** The project's own setup command, which the user trusts, needs the ignored `.env` and adds the port of the worktree to it. */
async function trustedRepository({ project, run }: TemporaryHome): Promise<void> {
  raceRepository(project);
  mkdirSync(join(project, ".skein"));
  const setup = { worktree_setup: "test -f .env && echo PORT=$SKEIN_PORT >> .env" };
  writeFileSync(join(project, ".skein", "config.jsonc"), JSON.stringify(setup));
  commitAll(project, "setup");
  expect((await run(["trust"])).code).toBe(0);
  expect((await run(["config", "set", "worktree_ignored", "true"])).code).toBe(0);
}

/** Each worktree has a copy of `.env` in which the setup command ran once, with another port. */
function expectPrepared(project: string, directories: (string | null)[]): void {
  const copies = directories.map((directory) => readFileSync(join(directory!, ".env"), "utf8"));
  for (const copy of copies) expect(copy).toMatch(/^NAME=value\nPORT=\d+\n$/);
  expect(new Set(copies).size).toBe(copies.length);
  expect(readFileSync(join(project, ".env"), "utf8")).toBe("NAME=value\n");
}

test("native, claude and codex race from one node in worktrees, and one is adopted with the conclusions of the others", async () => {
  server.setScript({ steps: [], final: "looked around" });
  using skein = agentHome(server);
  await trustedRepository(skein);
  expect((await skein.run(["run", "look around", "--session", "main", "-a", "claude"])).code).toBe(0);
  server.setScript(write);
  const ran = await skein.run([
    "race",
    "write result.txt",
    ...agents,
    "--session",
    "main",
    "--check",
    "grep -q PORT .env && grep -q 1 result.txt",
  ]);
  expect([ran.code, /skein: [^]*/.exec(ran.err)?.[0]]).toEqual([0, undefined]);
  for (const name of ["native", "claude", "codex"]) expect(ran.out).toMatch(new RegExp(`^${name}.* ok +passed `, "m"));
  const race = await showRace(skein);
  expect(race).toMatchObject({ state: "ended", proposed: "codex" });
  expect(race.racers.map(({ directory }) => hasFile(directory, "result.txt"))).toEqual([true, true, true]);
  expectPrepared(
    skein.project,
    race.racers.map(({ directory }) => directory),
  );
  expect(git(skein.project, "status", "--porcelain")).toBe("");

  const adopted = (await skein.run(["race", "adopt", "codex", "--json"])).json();
  expect(adopted).toMatchObject({ adopted: true, conflicts: [], problems: [] });
  expect((adopted["grafted"] as string[]).length).toBe(2);
  expect(readFileSync(join(skein.project, "result.txt"), "utf8")).toBe("codex 1\n");
  server.clear();
  server.setScript({ steps: [], final: "I know" });
  expect((await skein.run(["run", "what did the others do?", "-c", "-a", "claude"])).code).toBe(0);
  const asked = server
    .main()
    .map(({ text }) => text)
    .join("\n");
  expect([asked.includes("native wrote 3 lines"), asked.includes("claude wrote 2 lines")]).toEqual([true, true]);
  expect((await skein.run(["verify"])).code).toBe(0);
  expect(await waitForNoProcesses(skein.root, 20_000)).toEqual([]);
}, 300_000);

test("after kill -9 in the middle of a race of three agents no worktree is lost, and the race continues", async () => {
  const slow = ({ body }: { body: JsonValue }): Script => {
    const name = agentOf(body);
    const begin = { calls: [{ input: { command: `echo ${name} > begun.txt` } }] };
    return name === "native" ? { steps: [begin], final: "native is done" } : { steps: [begin, { delayMs: 600_000 }], final: "too late" };
  };
  server.setScript(slow);
  using skein = agentHome(server);
  await trustedRepository(skein);
  const started = skein.start(["race", "begin", ...agents, "--check", "test -s begun.txt"]);
  const drained = Promise.all([new Response(started.stdout).text(), new Response(started.stderr).text()]);
  const isInTheMiddle = async (): Promise<boolean> => {
    const shown = await skein.run(["race", "show", "--json"]);
    if (shown.code !== 0) return false;
    const { racers } = raceOf(shown.json());
    return racers[0]?.state === "ended" && racers.every(({ directory }) => hasFile(directory, "begun.txt"));
  };
  while (!(await isInTheMiddle())) await Bun.sleep(200);
  started.kill("SIGKILL");
  await Promise.all([started.exited, drained]);
  expect(await waitForNoProcesses(skein.root, 20_000)).toEqual([]);
  const interrupted = await showRace(skein);
  expect(interrupted.racers.map(({ state }) => state)).toEqual(["ended", "interrupted", "interrupted"]);
  server.setScript({ steps: [], final: "continued" });
  const resumed = await skein.run(["race", "resume", "--json"]);
  const race = raceOf(resumed.json());
  expect([resumed.code, race.racers.map(({ status, check }) => [status, check?.passed])]).toEqual([
    0,
    [
      ["ok", true],
      ["ok", true],
      ["ok", true],
    ],
  ]);
  expect(race.racers.map(({ directory }) => readFileSync(join(directory!, "begun.txt"), "utf8").trim())).toEqual([
    "native",
    "claude",
    "codex",
  ]);
  expectPrepared(
    skein.project,
    race.racers.map(({ directory }) => directory),
  );
  expect(race.racers.map(({ directory }) => directory)).toEqual(interrupted.racers.map(({ directory }) => directory));
}, 300_000);
