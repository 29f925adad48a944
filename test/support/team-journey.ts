// A team on a small real repository, played by scripts: who is asked is read from the prompt, what happened from the team's
// own log.
import { expect } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import type { Script } from "../../src/scripted-model/script.ts";
import type { TeamEvent } from "../../src/protocol/team/team.ts";
import { fromJsonCase } from "../../src/protocol/json/json-case.ts";
import { waitForNoProcesses } from "./processes.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "./temporary-home.ts";

export const model = ["-m", "anthropic/claude-sonnet-4-5"];

/** What a member does, by its role, its instance and how often it was asked before. */
export type Player = (who: {
  role: string;
  instance: number;
  prompt: string;
  tries: number;
}) => string | { run: string; say?: string } | Script;

export function scriptFromPlayer(player: Player) {
  const tries = new Map<string, number>();
  return ({ position: { prompt } }: { position: { prompt: string } }): Script => {
    const role = /You are the (.+?) in a team/.exec(prompt)?.[1] ?? (prompt.startsWith("Plan the next") ? "planner" : "again");
    const instance = Number(/, instance (\d+)/.exec(prompt)?.[1] ?? 0);
    const key = `${role} ${instance} ${prompt.length}`;
    tries.set(key, (tries.get(key) ?? 0) + 1);
    const act = player({ role, instance, prompt, tries: tries.get(key) ?? 1 });
    if (typeof act === "string") return { steps: [], final: act };
    if ("steps" in act) return act;
    return { steps: [{ calls: [{ input: { command: act.run } }] }], final: act.say ?? "done" };
  };
}

export async function runTeamJourney(
  player: Player,
  walk: (at: { skein: TemporaryHome; server: ModelServer }) => Promise<void>,
): Promise<void> {
  const server = startModelServer(scriptFromPlayer(player));
  using skein = temporaryHome(vendorEnv(server.url));
  repositoryIn(skein.project);
  try {
    await walk({ skein, server });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    await server.stop();
  }
}

/** A module with a test that fails until sum and product are there. */
export function repositoryIn(project: string): void {
  rmSync(join(project, ".git"), { recursive: true });
  writeFileSync(join(project, "package.json"), '{"type":"module"}\n');
  writeFileSync(join(project, "index.js"), "// what others use\n");
  writeFileSync(join(project, "check.sh"), 'set -e\ngrep -q "sum" sum.js\ngrep -q "product" product.js\necho tests pass\n');
  git(project, "init", "-q", "-b", "main");
  git(project, "add", "-A");
  git(project, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first");
}

export function git(directory: string, ...args: string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(["git", ...args], { cwd: directory });
  if (exitCode !== 0) throw new Error(stderr.toString());
  return stdout.toString().trim();
}

/** How many files of these names have something in them: one that was only just made has nothing yet. */
export function filled(names: string, directory: string): number {
  const found = [...new Bun.Glob(names).scanSync({ cwd: directory, dot: true, absolute: true })];
  return found.filter((path) => Bun.file(path).size > 0).length;
}

export function teamIn(skein: TemporaryHome): { id: string; root: string; log: TeamEvent[] } {
  const folder = join(skein.project, ".skein", "teams");
  const id = readdirSync(folder).find((name) => !name.startsWith(".")) ?? "";
  const lines = readFileSync(join(folder, id, "session.log"), "utf8")
    .trim()
    .split("\n");
  const log = lines.map((line) => {
    const { event, data } = JSON.parse(line) as { event: string; data: object };
    return { event, ...(fromJsonCase(data) as object) } as TeamEvent;
  });
  return { id, root: join(folder, id), log };
}

export const events = (log: TeamEvent[]) => log.map(({ event }) => event);
export const the = <E extends TeamEvent["event"]>(log: TeamEvent[], event: E) =>
  log.filter((happened): happened is Extract<TeamEvent, { event: E }> => happened.event === event);
