// Runs races with scripted models on a small real repository. The model's name says which agent asks.
import { expect } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RaceView } from "../../src/protocol/race/views.ts";
import { fromJsonCase } from "../../src/protocol/json/json-case.ts";
import { raceView } from "../../src/protocol/schema/race/race-views.ts";
import { field, type JsonValue } from "../../src/scripted-model/json.ts";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import type { Script } from "../../src/scripted-model/script.ts";
import { waitForNoProcesses } from "./processes.ts";
import { git } from "./team-journey.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "./temporary-home.ts";

export const claude = "anthropic/claude-sonnet-4-5";
export const gpt = "openai/gpt-5.2";
/** Two native agents with different models. */
export const both = ["-a", `native:${claude},native:${gpt}`];

/** The work of a model: a command and an answer, or a whole script. */
export type RaceScript = Record<"claude" | "gpt", { run: string; say: string; delayMs?: number } | Script>;

export function scriptOf(scripts: RaceScript) {
  return ({ body }: { body: JsonValue }): Script => {
    const work = scripts[modelIn(body).startsWith("gpt") ? "gpt" : "claude"];
    if ("steps" in work) return work;
    const delay = work.delayMs === undefined ? {} : { delayMs: work.delayMs };
    return { steps: [{ calls: [{ input: { command: work.run } }], ...delay }], final: work.say };
  };
}

function modelIn(body: JsonValue): string {
  const model = field(body, "model");
  return typeof model === "string" ? model : "";
}

type Journey = { skein: TemporaryHome; server: ModelServer };

export async function runRaceJourney(scripts: RaceScript, check: (journey: Journey) => Promise<void>): Promise<void> {
  const server = startModelServer(scriptOf(scripts));
  using skein = temporaryHome(vendorEnv(server.url));
  raceRepository(skein.project);
  try {
    await check({ skein, server });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    await server.stop();
  }
}

/** A repository with one commit, an ignored file with a secret, and a check that needs `result.txt`. */
export function raceRepository(project: string): void {
  rmSync(join(project, ".git"), { recursive: true, force: true });
  writeFileSync(join(project, ".gitignore"), ".env\n");
  writeFileSync(join(project, ".env"), "NAME=value\n");
  writeFileSync(join(project, "start.txt"), "start\n");
  git(project, "init", "-q", "-b", "main");
  git(project, "add", "-A");
  git(project, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first");
}

/** The printed document of a race, checked against its schema. */
export function raceOf(printed: unknown): RaceView {
  raceView.parse(printed);
  return fromJsonCase(printed) as RaceView;
}

export async function showRace(skein: TemporaryHome, ...args: string[]): Promise<RaceView> {
  const shown = await skein.run(["race", "show", ...args, "--json"]);
  expect([shown.code, shown.err]).toEqual([0, ""]);
  return raceOf(shown.json());
}

/** Requests of one model. */
export function requestsOf({ main }: ModelServer, model: "claude" | "gpt"): number {
  return main().filter(({ body }) => modelIn(body).startsWith(model)).length;
}

export function hasFile(directory: string | null, name: string): boolean {
  return directory !== null && existsSync(join(directory, name));
}
