// Sub-sessions in the whole program: many at once, watched from their parent, with one budget, and sub-sessions that
// fail, are stopped or take too long.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
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

/** A parent that spawns all tasks at once. Each task has its own script. */
function delegateTo(tasks: Record<string, Script>, inputs: Record<string, unknown> = {}): ScriptSource {
  const calls = Object.keys(tasks).map((task) => ({ name: "spawn_session", input: { task, ...inputs } as never }));
  return ({ position: { prompt } }) => tasks[prompt] ?? { steps: [{ text: "Delegating.", calls }], final: "all are back" };
}

function useScript(script: ScriptSource): void {
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

describe("many sub-sessions at once", () => {
  const names = Array.from({ length: 12 }, (_, index) => `part-${index}`);
  // Each sub-session waits until all have started. If they ran one after the other, they would wait forever.
  const waitForAll = 'touch "here-$SKEIN_SESSION_ID"; until [ -e all-seen ]; do sleep 0.05; done; echo met';

  test("sub-sessions run in parallel in one executor, are shown while they run, and are linked to their parent in both directions", async () => {
    const tasks = names.map((name): [string, Script] => [
      name,
      { steps: [{ text: `${name} looks. `, calls: [{ input: { command: waitForAll } }] }], final: `${name} is done` },
    ]);
    useScript(delegateTo(Object.fromEntries(tasks)));
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
      const resultIndex = printed.findIndex(({ node }) => node?.parts.some((part) => part.kind === "result" && part.call === call));
      const output = printed
        .slice(0, resultIndex)
        .flatMap((event) => (event.type === "tool.output" && event.call === call ? [event.text] : []));
      expect(output.join("")).toMatch(/part-\d+ looks\.[\s\S]*\nbash touch "here-[\s\S]*part-\d+ is done/);
      expect(resultsIn([printed[resultIndex]!], parent)[0]?.text).toContain(`is done\n\n[session ${id}, ok, spent $`);
    }
    const all = transcripts();
    const heads = all.map(([head]) => head!);
    expect(heads.filter((head) => head["parent_session_id"] === parent && head["is_sub_session"] === true)).toHaveLength(names.length);
    const toolResults = all.find(([head]) => head!["session_id"] === parent)!.filter((line) => line["role"] === "tool_result");
    for (const id of spawnedIn(printed)) expect(toolResults.filter((line) => String(line["content"]).includes(id))).toHaveLength(1);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("a long answer of a sub-session is shortened for its parent and complete in the output file", async () => {
    const long = `begin ${"x".repeat(100_000)} end`;
    useScript(delegateTo({ long: { steps: [], final: long } }, { output_file: "answer.txt" }));
    expect((await skein.run(["run", "everything", ...model])).code).toBe(0);
    const body = server.main().at(-1)!.text;
    expect(body.length).toBeLessThan(40_000);
    expect(body).toMatch(/begin x+[^x]+x+ end/);
    const [head, ...lines] = readFileSync(join(skein.project, "answer.txt"), "utf8").trim().split("\n");
    expect(JSON.parse(head!)).toMatchObject({ is_sub_session: true, task: "long" });
    expect(lines.map((line) => (JSON.parse(line) as { content: string }).content)).toEqual(["long", long]);
  });
});

test("spawn_session names the installed agents and a model of each vendor with a key, and an unknown provider gets the list", async () => {
  useScript(delegateTo({ look: shellScript([], "seen") }, { provider: "nonesuch" }));
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  for (const name of ["claude", "codex"]) writeFileSync(join(bin, name), "#!/bin/sh\n", { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  expect((await skein.run(["run", "everything", ...model], { env })).code).toBe(0);
  const [first, second] = server.main();
  const tools = (first!.body as { tools: { name: string; input_schema: { properties: Record<string, { description?: string }> } }[] })
    .tools;
  const { agent, model: named } = tools.find(({ name }) => name === "spawn_session")!.input_schema.properties;
  expect(agent?.description).toBe("native, claude, codex");
  for (const vendor of ["anthropic", "openai", "gemini"]) expect(named?.description).toContain(`${vendor}/`);
  expect(second!.text).toContain("the agents are: native, claude, codex, gemini, opencode, pi, qwen");
});

test("a sub-session has its role and its parent's appended system prompt, and can't spawn", async () => {
  useScript(delegateTo({ look: shellScript([], "seen") }, { role: "a heron watcher", attachable: true }));
  expect((await skein.run(["run", "everything", ...model, "--append-system", "Be kind."])).code).toBe(0);
  const child = server.main()[1]!.body as { system: { text: string }[]; tools: { name: string }[] };
  expect(child.system.map(({ text }) => text).join("")).toContain("Be kind.\n\nYour role: a heron watcher");
  expect(child.tools.map(({ name }) => name)).not.toContain("spawn_session");
});

describe("the budget that parent and sub-sessions share", () => {
  const hungry = shellScript(Array.from({ length: 7 }, () => "head -c 6000 /dev/zero | tr '\\0' x"));

  test("a budget of 50,000 tokens stops sub-sessions that need 200,000 within one request, and usage adds up to the token", async () => {
    useScript(delegateTo(Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`eat ${index}`, hungry]))));
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
    const subSessionTokens = turns.reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
    const [parentTokens] = (await turnsOf(result.session_id)).map(({ usage }) => usage.input + usage.output);
    expect(subSessionTokens + parentTokens!).toBe(total);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("--max-steps limits all sessions together, SKEIN_MAX_STEPS limits each turn", async () => {
    useScript(delegateTo({ count: shellScript(["true", "true", "true", "true"]) }));
    const shared = await skein.run(["run", "all", ...model, "--max-steps", "3", "--json"]);
    expect([shared.code, shared.json()["status"], server.main().length]).toEqual([7, "budget", 3]);
    server.clear();
    const perTurn = await skein.run(["run", "all", ...model, "--json"], { env: { SKEIN_MAX_STEPS: "3" } });
    expect([perTurn.code, perTurn.json()["result"], server.main().length]).toEqual([0, "all are back", 5]);
    expect(server.main().at(-1)!.text).toMatch(/the budget is used up: 3 steps\\n\[session [\w-]+, budget, /);
  });

  test("--max-children refuses the next sub-session with a message to the model, which continues without it", async () => {
    useScript(delegateTo({ one: shellScript([], "first"), two: shellScript([], "second"), three: shellScript([], "third") }));
    const ran = await skein.run(["run", "all", ...model, "--max-children", "2", "--json"]);
    expect(ran.json()).toMatchObject({ status: "ok", result: "all are back", budget: { children_left: 0 } });
    expect(server.main().at(-1)!.text).toContain("the budget of 2 sub-sessions is used up");
  });

  test("--max-budget-usd is shared, and each result says how much is left", async () => {
    useScript(delegateTo({ one: shellScript([], "first") }));
    const ran = await skein.run(["run", "all", ...model, "--max-budget-usd", "1", "--json"]);
    const { cost_usd: cost, budget } = ran.json() as unknown as ResultRecord;
    expect(budget?.usd_left).toBeCloseTo(1 - cost!, 10);
    expect(server.main().at(-1)!.text).toMatch(/\[session [\w-]+, ok, spent \$0\.\d{4}, [\d,]+ tokens; left \$0\.99\d\d, transcript /);
  });
});

describe("a sub-session that fails or is stopped", () => {
  const asleep = shellScript(["sleep 100"]);

  test("the parent gets the reason why a sub-session failed, and continues", async () => {
    useScript(delegateTo({ bad: shellScript(["true"]) }));
    server.setFault({ type: "status", status: 400, message: "no such luck" }, 3);
    const ran = await skein.run(["run", "all", ...model, "--json"]);
    server.setFault(null, 3);
    expect([ran.code, ran.json()["result"]]).toEqual([0, "all are back"]);
    const requestText = server.main().at(-1)!.text;
    expect(requestText).toMatch(/no such luck[^"]*\[session [\w-]+, broken, /);
    expect(requestText).toContain('"is_error":true');
  });

  test("a sub-session that the user kills is cancelled, and its parent continues", async () => {
    useScript(delegateTo({ sleep: asleep, work: shellScript(["true"], "worked") }));
    const { printed, until, ended } = readEvents(skein.start(["run", "all", ...model, "--output-format", "events"]));
    await until(({ type, text }) => type === "tool.output" && text?.includes("bash sleep 100") === true);
    const sleeping = (await Promise.all(spawnedIn(printed).map(async (id) => ({ id, turns: await turnsOf(id) })))).find(
      ({ turns }) => turns[0]?.ended_at === null,
    )!;
    expect(await skein.run(["kill", sleeping.id])).toMatchObject({ code: 0 });
    expect(await ended).toMatchObject({ code: 0 });
    expect((await turnsOf(sleeping.id))[0]).toMatchObject({ status: "cancelled" });
    expect(server.main().at(-1)!.text).toContain(`[session ${sleeping.id}, cancelled, `);
  });

  test("a sub-session that outlasts its parent's time limit ends with its parent, for the same reason", async () => {
    useScript(delegateTo({ sleep: asleep }));
    const { printed, ended } = readEvents(skein.start(["run", "all", ...model, "--timeout", "6s", "--output-format", "events"]));
    expect(await ended).toMatchObject({ code: 124 });
    const [child] = spawnedIn(printed);
    expect((await turnsOf(child!))[0]).toMatchObject({
      status: "timed-out",
      error: { message: expect.stringContaining("the parent turn") },
    });
    expect(resultsIn(printed, printed[0]!.session_id)[0]?.text).toContain(`[session ${child}, timed-out, `);
  });
});
