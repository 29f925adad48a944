// Runs a team with a scripted model on a small real repository. The prompt says which member asks; the team's log has the
// events.
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

/** Returns the action of a member by its role, its instance and its number of tries. */
export type Player = (member: {
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
    const action = player({ role, instance, prompt, tries: tries.get(key) ?? 1 });
    if (typeof action === "string") return { steps: [], final: action };
    if ("steps" in action) return action;
    return { steps: [{ calls: [{ input: { command: action.run } }] }], final: action.say ?? "done" };
  };
}

export async function runTeamJourney(
  player: Player,
  check: (journey: { skein: TemporaryHome; server: ModelServer }) => Promise<void>,
): Promise<void> {
  const server = startModelServer(scriptFromPlayer(player));
  using skein = temporaryHome(vendorEnv(server.url));
  repositoryIn(skein.project);
  try {
    await check({ skein, server });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    await server.stop();
  }
}

/** Creates a module whose test fails until sum and product exist. */
export function repositoryIn(project: string): void {
  rmSync(join(project, ".git"), { recursive: true });
  writeFileSync(join(project, "package.json"), '{"type":"module"}\n');
  writeFileSync(join(project, "index.js"), "// public functions\n");
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

/** Counts the files of these names that are not empty. A new file may still be empty. */
export function countNonEmpty(names: string, directory: string): number {
  const paths = [...new Bun.Glob(names).scanSync({ cwd: directory, dot: true, absolute: true })];
  return paths.filter((path) => Bun.file(path).size > 0).length;
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
  log.filter((entry): entry is Extract<TeamEvent, { event: E }> => entry.event === event);
