// Sub-sessions as a whole program runs them: many at once, watched from their parent, under one budget, and what becomes
// of those that fail, are stopped or take too long.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ModelServer, type ScriptSource, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type Script, shellScript } from "../../../src/scripted-model/script.ts";
import type { ResultRecord, turnRecord } from "../../../src/protocol/json/records.ts";
import { readEvents, type PrintedEvent } from "../../support/read-events.ts";
import { childrenOf } from "../../support/processes.ts";
import { type TemporaryHome, temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
let server: ModelServer;
let skein: TemporaryHome;

beforeAll(() => {
  server = startModelServer({ steps: [], final: "" });
});
afterAll(() => server.stop());
afterEach(() => {
  server.clear();
  skein[Symbol.dispose]();
});

/** A parent that spawns these at once; each task is played its own script. */
function orchestra(tasks: Record<string, Script>, inputs: Record<string, unknown> = {}): ScriptSource {
  const calls = Object.keys(tasks).map((task) => ({ name: "spawn_session", input: { task, ...inputs } as never }));
  return ({ position: { prompt } }) => tasks[prompt] ?? { steps: [{ text: "Delegating.", calls }], final: "all are back" };
}

function begin(script: ScriptSource): void {
  server.setScript(script);
  skein = temporaryHome(vendorEnv(server.url));
}

type TurnLine = ReturnType<typeof turnRecord>;

async function turnsOf(session: string): Promise<TurnLine[]> {
  const ran = await skein.run(["show", session, "--json"]);
  expect([ran.code, ran.err]).toEqual([0, ""]);
  return (ran.json() as { turns: TurnLine[] }).turns;
}

const resultsIn = (printed: PrintedEvent[], session: string) =>
  printed.flatMap(({ node, session_id }) => (session_id === session && node?.author === "tool" ? node.parts : []));

const spawnedIn = (printed: PrintedEvent[]) => printed.flatMap((event) => event.spawned_session_id ?? []);

function transcripts(): Record<string, unknown>[][] {
  const folder = join(skein.project, ".skein", "sessions");
  const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return files.map((name) =>
    readFileSync(join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>),
  );
}

describe("many at once", () => {
  const names = Array.from({ length: 12 }, (_, at) => `part-${at}`);
  // Each waits until it is seen that all have begun: one after the other they would wait for good.
  const together = 'touch "here-$SKEIN_SESSION_ID"; until [ -e all-seen ]; do sleep 0.05; done; echo met';

  test("run side by side in one executor, are shown while they run, and are linked on both sides", async () => {
    const tasks = names.map((name): [string, Script] => [
      name,
      { steps: [{ text: `${name} looks. `, calls: [{ input: { command: together } }] }], final: `${name} is done` },
    ]);
    begin(orchestra(Object.fromEntries(tasks)));
    const { child, printed, ended } = readEvents(skein.start(["run", "everything", ...model, "--output-format", "events"]));
    while (readdirSync(skein.project).filter((name) => name.startsWith("here-")).length < names.length) await Bun.sleep(20);
    const executors = childrenOf(child.pid).filter(({ command }) => /^\S*(bun|skein)\S* .*__executor/.test(command));
    expect(executors).toHaveLength(1);
    await Bun.write(join(skein.project, "all-seen"), "");
    expect(await ended).toMatchObject({ code: 0 });

    const parent = printed[0]!.session_id;
    const spawned = printed.filter(({ type }) => type === "session.spawned");
    expect(spawned).toHaveLength(names.length);
    for (const { call, spawned_session_id: id } of spawned) {
      const at = printed.findIndex(({ node }) => node?.parts.some((part) => part.kind === "result" && part.call === call));
      const shown = printed.slice(0, at).flatMap((event) => (event.type === "tool.output" && event.call === call ? [event.text] : []));
      expect(shown.join("")).toMatch(/part-\d+ looks\.[\s\S]*\nbash touch "here-[\s\S]*part-\d+ is done/);
      expect(resultsIn([printed[at]!], parent)[0]?.text).toContain(`is done\n\n[session ${id}, ok, spent $`);
    }
    const all = transcripts();
    const heads = all.map(([head]) => head!);
    expect(heads.filter((head) => head["parent_session_id"] === parent && head["is_sub_session"] === true)).toHaveLength(names.length);
    const told = all.find(([head]) => head!["session_id"] === parent)!.filter((line) => line["role"] === "tool_result");
    for (const id of spawnedIn(printed)) expect(told.filter((line) => String(line["content"]).includes(id))).toHaveLength(1);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("give their parent no more than fits, whatever they say, and the whole to a file", async () => {
    const long = `begin ${"x".repeat(100_000)} end`;
    begin(orchestra({ long: { steps: [], final: long } }, { output_file: "answer.txt" }));
    expect((await skein.run(["run", "everything", ...model])).code).toBe(0);
    const body = server.main().at(-1)!.text;
    expect(body.length).toBeLessThan(40_000);
    expect(body).toMatch(/begin x+[^x]+x+ end/);
    expect(readFileSync(join(skein.project, "answer.txt"), "utf8")).toBe(long);
  });
});

test("one has its role, its parent's words and no way to spawn", async () => {
  begin(orchestra({ look: shellScript([], "seen") }, { role: "a heron watcher", attachable: true }));
  expect((await skein.run(["run", "everything", ...model, "--append-system", "Be kind."])).code).toBe(0);
  const child = server.main()[1]!.body as { system: { text: string }[]; tools: { name: string }[] };
  expect(child.system.map(({ text }) => text).join("")).toContain("Be kind.\n\nYour role: a heron watcher");
  expect(child.tools.map(({ name }) => name)).not.toContain("spawn_session");
});

describe("the budget of all together", () => {
  const hungry = shellScript(Array.from({ length: 7 }, () => "head -c 6000 /dev/zero | tr '\\0' x"));

  test("of 50,000 tokens stops children that want 200,000 within one request, keeps all, and adds up to the token", async () => {
    begin(orchestra(Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`eat ${at}`, hungry]))));
    const { printed, ended } = readEvents(skein.start(["run", "all", ...model, "--max-tokens", "50000", "--output-format", "events"]));
    expect(await ended).toMatchObject({ code: 7 });
    const result = printed.at(-1) as unknown as ResultRecord & PrintedEvent;
    expect(result).toMatchObject({
      type: "result",
      status: "budget",
      error: { kind: "budget", limit: "tokens" },
      budget: { tokens_left: 0 },
    });

    const counts = server.main().map(({ usage }) => usage!.input + usage!.output);
    const total = counts.reduce((sum, count) => sum + count, 0);
    expect(result.usage.input + result.usage.output).toBe(total);
    expect(total).toBeGreaterThanOrEqual(50_000);
    expect(total).toBeLessThan(50_000 + Math.max(...counts));

    const results = resultsIn(printed, result.session_id);
    expect(results).toHaveLength(10);
    for (const { text } of results) expect(text).toMatch(/the budget is used up[\s\S]*\[session [\w-]+, budget, /);
    const turns = (await Promise.all(spawnedIn(printed).map(turnsOf))).flat();
    expect(turns.map(({ status }) => status)).toEqual(turns.map(() => "budget"));
    const below = turns.reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
    const [own] = (await turnsOf(result.session_id)).map(({ usage }) => usage.input + usage.output);
    expect(below + own!).toBe(total);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("of steps is the tree's when it is asked for, and each turn's own when not", async () => {
    begin(orchestra({ count: shellScript(["true", "true", "true", "true"]) }));
    const bound = await skein.run(["run", "all", ...model, "--max-steps", "3", "--json"]);
    expect([bound.code, bound.json()["status"], server.main().length]).toEqual([7, "budget", 3]);
    server.clear();
    const own = await skein.run(["run", "all", ...model, "--json"], { env: { SKEIN_MAX_STEPS: "3" } });
    expect([own.code, own.json()["result"], server.main().length]).toEqual([0, "all are back", 5]);
    expect(server.main().at(-1)!.text).toMatch(/the budget is used up: 3 steps\\n\[session [\w-]+, budget, /);
  });

  test("of sub-sessions refuses the next one in words for the model, which goes on without it", async () => {
    begin(orchestra({ one: shellScript([], "first"), two: shellScript([], "second"), three: shellScript([], "third") }));
    const ran = await skein.run(["run", "all", ...model, "--max-children", "2", "--json"]);
    expect(ran.json()).toMatchObject({ status: "ok", result: "all are back", budget: { children_left: 0 } });
    expect(server.main().at(-1)!.text).toContain("the budget of 2 sub-sessions is used up");
  });

  test("of money is shared, and each result says what is left", async () => {
    begin(orchestra({ one: shellScript([], "first") }));
    const ran = await skein.run(["run", "all", ...model, "--max-budget-usd", "1", "--json"]);
    const { cost_usd: cost, budget } = ran.json() as unknown as ResultRecord;
    expect(budget?.usd_left).toBeCloseTo(1 - cost!, 10);
    expect(server.main().at(-1)!.text).toMatch(/\[session [\w-]+, ok, spent \$0\.\d{4}, [\d,]+ tokens; left \$0\.99\d\d, transcript /);
  });
});

describe("one that", () => {
  const asleep = shellScript(["sleep 100"]);

  test("fails is told with why, and its parent goes on", async () => {
    begin(orchestra({ bad: shellScript(["true"]) }));
    server.setFault({ type: "status", status: 400, message: "no such luck" }, 3);
    const ran = await skein.run(["run", "all", ...model, "--json"]);
    expect([ran.code, ran.json()["result"]]).toEqual([0, "all are back"]);
    const told = server.main().at(-1)!.text;
    expect(told).toMatch(/no such luck[^"]*\[session [\w-]+, broken, /);
    expect(told).toContain('"is_error":true');
  });

  test("is stopped by a person is cancelled, and its parent goes on", async () => {
    begin(orchestra({ sleep: asleep, work: shellScript(["true"], "worked") }));
    const { printed, until, ended } = readEvents(skein.start(["run", "all", ...model, "--output-format", "events"]));
    await until(({ type, text }) => type === "tool.output" && text?.includes("bash sleep 100") === true);
    const starting = (await Promise.all(spawnedIn(printed).map(async (id) => ({ id, turns: await turnsOf(id) })))).find(
      ({ turns }) => turns[0]?.ended_at === null,
    )!;
    expect(await skein.run(["kill", starting.id])).toMatchObject({ code: 0 });
    expect(await ended).toMatchObject({ code: 0 });
    expect((await turnsOf(starting.id))[0]).toMatchObject({ status: "cancelled" });
    expect(server.main().at(-1)!.text).toContain(`[session ${starting.id}, cancelled, `);
  });

  test("takes longer than its parent may ends with it, for the same reason", async () => {
    begin(orchestra({ sleep: asleep }));
    const { printed, ended } = readEvents(skein.start(["run", "all", ...model, "--timeout", "6s", "--output-format", "events"]));
    expect(await ended).toMatchObject({ code: 124 });
    const [child] = spawnedIn(printed);
    expect((await turnsOf(child!))[0]).toMatchObject({
      status: "timed-out",
      error: { message: expect.stringContaining("the turn above") },
    });
    expect(resultsIn(printed, printed[0]!.session_id)[0]?.text).toContain(`[session ${child}, timed-out, `);
  });
});
