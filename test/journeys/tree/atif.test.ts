// Exports branches as ATIF trajectories, imports them in another home, and imports trajectories of other programs.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AtifTrajectory } from "../../../src/protocol/json/atif.ts";
import { importReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { atifRules, brokenRules } from "../../support/atif-rules.ts";
import { type TemporaryHome, temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const model = ["-m", "anthropic/claude-sonnet-4-5"];
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "gone on" }, { cache: true });
});
afterAll(() => server.stop());

const trajectoryOf = (text: string) => JSON.parse(text) as AtifTrajectory;

async function exported(skein: TemporaryHome, session: string, ...more: string[]): Promise<AtifTrajectory> {
  const ran = await skein.run(["export", session, "--format", "atif", ...more]);
  expect([ran.code, ran.err]).toEqual([0, ""]);
  return trajectoryOf(ran.out);
}

/** A session with a picture, thoughts, a failed call, a big output, a sub-session, and a fork with a turn of its own. */
async function recordSessions(skein: TemporaryHome): Promise<void> {
  writeFileSync(join(skein.project, "dot.png"), Buffer.from(dot, "base64"));
  server.setScript(({ position: { prompt } }) =>
    prompt === "count the lines"
      ? { steps: [{ calls: [{ input: { command: "seq 3" } }] }], final: "three lines" }
      : prompt === "and now?"
        ? { steps: [], final: "nothing more" }
        : {
            steps: [
              {
                thinking: "first the files",
                text: "Looking.",
                calls: [{ input: { command: "ls missing" } }, { input: { command: "seq 20000" } }],
              },
              { calls: [{ name: "spawn_session", input: { task: "count the lines" } }] },
            ],
            final: "done",
          },
  );
  const ran = await skein.run(["run", "what is here?", "--image", "dot.png", "--session", "trunk", ...model]);
  expect([ran.code, ran.out]).toEqual([0, expect.stringContaining("done")]);
  expect((await skein.run(["fork", "trunk", "--name", "side"])).code).toBe(0);
  expect((await skein.run(["run", "and now?", "--session", "side", ...model])).code).toBe(0);
}

/** A trajectory whose fields can be damaged. */
type Loose = {
  [field: string]: unknown;
  agent: Record<string, unknown>;
  steps: Record<string, unknown>[];
  final_metrics: Record<string, unknown>;
  subagent_trajectories: Record<string, unknown>[];
};

/** Breaks each rule. The steps of `recordSessions`: a prompt with a picture, two calls, a sub-session, an answer. */
const breaches: Record<keyof typeof atifRules, (trajectory: Loose) => void> = {
  "the version is ATIF-v1.7": (it) => (it["schema_version"] = "ATIF-v1.6"),
  "the root has only known fields": (it) => (it["more"] = 1),
  "the agent has a name and a version": ({ agent }) => (agent["version"] = ""),
  "the agent has only known fields": ({ agent }) => (agent["more"] = 1),
  "there is at least one step": (it) => (it.steps = []),
  "steps have only known fields": ({ steps }) => (steps[0]!["more"] = 1),
  "step ids count from 1": ({ steps }) => steps.reverse(),
  "a timestamp is in ISO 8601": ({ steps }) => (steps[0]!["timestamp"] = "yesterday"),
  "a source is system, user or agent": ({ steps }) => (steps[0]!["source"] = "tool"),
  "a message is a text or a list of parts": ({ steps }) => (steps[0]!["message"] = null),
  "a part is a text or a picture, and not both": ({ steps }) => ((steps[0]!["message"] as Loose[])[1]!["text"] = "x"),
  "a picture has a path and a type that the format allows": ({ steps }) =>
    ((steps[0]!["message"] as { source: Record<string, unknown> }[])[1]!.source["media_type"] = "image/bmp"),
  "only steps of the agent have its fields": ({ steps }) => (steps[0]!["model_name"] = "m"),
  "calls have an id, a name and an object of arguments": ({ steps }) => (callsOf(steps[1]!)[0]!["arguments"] = []),
  "calls, observations and results have only known fields": ({ steps }) => (callsOf(steps[1]!)[0]!["more"] = 1),
  "a result names a call of its step": ({ steps }) => (resultsOf(steps[1]!)[0]!["source_call_id"] = "nobody"),
  "metrics have only known fields": (it) => (it.final_metrics["more"] = 1),
  "token counts are whole numbers": ({ steps }) => ((steps[1]!["metrics"] as Loose)["completion_tokens"] = 1.5),
  "a step without a call of a model has no metrics and no thoughts": ({ steps }) => (steps[1]!["llm_call_count"] = 0),
  "cached tokens are part of the prompt": ({ steps }) => ((steps[1]!["metrics"] as Loose)["cached_tokens"] = 1e9),
  "final metrics are the sums of steps that are not copied": ({ steps }) => (steps[1]!["is_copied_context"] = true),
  "copied steps come first": ({ steps }) => (steps[1]!["is_copied_context"] = true),
  "a reference names an embedded trajectory": (it) => (it.subagent_trajectories = []),
  "embedded trajectories have ids of their own": (it) => it.subagent_trajectories.push(it.subagent_trajectories[0]!),
  "embedded trajectories keep the rules too": (it) => (it.subagent_trajectories[0]!["more"] = 1),
};
const callsOf = (step: Record<string, unknown>) => step["tool_calls"] as Record<string, unknown>[];
const resultsOf = (step: Record<string, unknown>) => (step["observation"] as { results: Record<string, unknown>[] }).results;

describe("export --format atif", () => {
  test("a branch with a sub-session keeps every rule, and export, import and export again are equal", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await recordSessions(skein);
    for (const [session, more] of [
      ["trunk", []],
      ["side", []],
      ["side", ["--whole"]],
    ] as const) {
      const first = await exported(skein, session, ...more);
      expect(brokenRules(first)).toEqual([]);
      using otherHome = temporaryHome(vendorEnv(server.url));
      const report = importReport.parse((await otherHome.run(["import", "-", "--json"], { stdin: JSON.stringify(first) })).json());
      expect(report).toMatchObject({ format: "atif", unreadable: 0, branches: 1 });
      expect(await exported(otherHome, report.session.id, ...more)).toEqual(first);
      const again = importReport.parse((await otherHome.run(["import", "-", "--json"], { stdin: JSON.stringify(first) })).json());
      expect(again).toMatchObject({ nodes: { added: 0, known: report.nodes.added }, session: { id: report.session.id } });
      expect((await otherHome.run(["verify"])).code).toBe(0);
    }
  });

  test("thoughts, calls, failures, pictures, tokens, copied steps and sub-sessions are in their fields", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await recordSessions(skein);
    const { steps, subagent_trajectories: below, final_metrics: metrics } = await exported(skein, "side");
    expect(steps.map(({ source }) => source)).toEqual(["user", "agent", "agent", "agent", "user", "agent"]);
    expect(steps.map((step) => step.is_copied_context ?? false)).toEqual([true, true, true, true, false, false]);
    expect(below).toBeUndefined();
    expect(metrics.total_prompt_tokens).toBe(steps.at(-1)!.metrics!.prompt_tokens);
    expect(steps[0]!.message).toEqual([
      { type: "text", text: "what is here?" },
      { type: "image", source: { media_type: "image/png", path: `data:image/png;base64,${dot}` } },
    ]);
    const [, looking] = steps;
    expect(looking).toMatchObject({
      message: "Looking.",
      reasoning_content: "first the files",
      model_name: "anthropic/claude-sonnet-4-5",
      tool_calls: [{ function_name: "bash", arguments: { command: "ls missing" } }, { arguments: { command: "seq 20000" } }],
    });
    expect(looking!.extra?.failed_calls).toEqual([looking!.tool_calls![0]!.tool_call_id]);
    const trunk = await exported(skein, "trunk");
    const reference = trunk.steps[2]!.observation!.results[0]!.subagent_trajectory_ref!;
    expect(trunk.subagent_trajectories!.map(({ trajectory_id }) => trajectory_id)).toEqual([reference[0]!.trajectory_id]);
    expect(trunk.subagent_trajectories![0]!.steps.at(-1)!.message).toBe("three lines");
    const whole = await exported(skein, "trunk", "--whole");
    expect(whole.steps[1]!.observation!.results[1]!.content).toContain("\n10000\n");
    expect(trunk.steps[1]!.observation!.results[1]!.content).not.toContain("\n10000\n");
  });

  test("--redact removes secrets from every field", async () => {
    using skein = temporaryHome({ ...vendorEnv(server.url), MY_TOKEN: "canary-5f2b7a90" });
    server.setScript({ steps: [{ text: "canary-5f2b7a90", calls: [{ input: { command: "echo canary-5f2b7a90" } }] }], final: "ok" });
    await skein.run(["run", "say canary-5f2b7a90", "--session", "s", ...model]);
    expect((await skein.run(["export", "s", "--format", "atif"])).out).toContain("canary-5f2b7a90");
    expect((await skein.run(["export", "s", "--format", "atif", "--redact"])).out).not.toContain("canary-5f2b7a90");
  });

  test("a trajectory that breaks a rule is found by the check, whichever rule it is", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await recordSessions(skein);
    const good = await exported(skein, "trunk");
    expect(brokenRules(good)).toEqual([]);
    expect(Object.keys(breaches).toSorted()).toEqual(Object.keys(atifRules).toSorted());
    for (const [rule, damage] of Object.entries(breaches)) {
      const broken = structuredClone(good);
      damage(broken as unknown as Loose);
      expect([rule, brokenRules(broken)]).toEqual([rule, expect.arrayContaining([rule])]);
    }
  });

  test("a picture of a type that the format does not have becomes a line of text", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const message = [
      { type: "text", text: "look" },
      { type: "image", source: { media_type: "image/bmp", path: `data:image/bmp;base64,${dot}` } },
    ];
    const odd = { ...foreign, steps: [{ step_id: 1, source: "user", message }] };
    await skein.run(["import", "-", "--name", "odd"], { stdin: JSON.stringify(odd) });
    const first = await exported(skein, "odd");
    expect(first.steps[0]!.message).toBe("look\n\n[picture of the type image/bmp]");
    expect(brokenRules(first)).toEqual([]);
    using otherHome = temporaryHome(vendorEnv(server.url));
    await otherHome.run(["import", "-", "--name", "again"], { stdin: JSON.stringify(first) });
    expect(await exported(otherHome, "again")).toEqual(first);
  });
});

/** In the shape of the format's own documentation: version 1.5, a system prompt, and no trajectory id. */
const foreign = {
  schema_version: "ATIF-v1.5",
  session_id: "025B810F-B3A2-4C67-93C0-FE7A142A947A",
  agent: { name: "harbor-agent", version: "1.0.0", model_name: "gemini-2.5-flash", extra: {} },
  notes: "a note",
  steps: [
    { step_id: 1, source: "system", message: "You are an agent." },
    { step_id: 2, timestamp: "2025-10-11T10:30:00Z", source: "user", message: "What is the price of GOOGL?", extra: {} },
    {
      step_id: 3,
      timestamp: "2025-10-11T10:30:02Z",
      source: "agent",
      model_name: "gemini-2.5-flash",
      message: "I will look it up.",
      reasoning_content: "Two values are needed.",
      tool_calls: [
        { tool_call_id: "call_1", function_name: "financial_search", arguments: { ticker: "GOOGL", metric: "price" } },
        { tool_call_id: "call_2", function_name: "financial_search", arguments: { ticker: "GOOGL", metric: "volume" } },
      ],
      observation: {
        results: [
          { source_call_id: "call_1", content: "185.35" },
          {
            source_call_id: "call_2",
            content: [
              { type: "text", text: "1.5M" },
              { type: "image", source: { media_type: "image/png", path: "/etc/passwd" } },
            ],
          },
        ],
      },
      metrics: { prompt_tokens: 520, completion_tokens: 80, cached_tokens: 200, cost_usd: 0.00045, logprobs: [-0.1] },
    },
    { step_id: 4, timestamp: "2025-10-11T10:30:05Z", source: "agent", message: "It is 185.35 with 1.5M shares." },
  ],
  final_metrics: { total_prompt_tokens: 520, total_completion_tokens: 80, total_steps: 4 },
};

describe("import of ATIF", () => {
  test("a trajectory of another program becomes a session that the native agent continues", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const file = join(skein.root, "trajectory.json");
    writeFileSync(file, JSON.stringify(foreign, null, 2));
    const report = importReport.parse((await skein.run(["import", file, "--name", "stocks", "--json"])).json());
    expect(report).toMatchObject({ format: "atif", nodes: { added: 6, known: 0 }, unreadable: 0 });
    const shown = (await skein.run(["show", "stocks", "--json"])).json() as { turns: { agent: string; model: string }[] };
    expect(shown.turns.at(-1)).toMatchObject({
      agent: "harbor-agent",
      model: "gemini-2.5-flash",
      usage: { input: 320, output: 80, cache_read: 200 },
    });
    server.setScript({ steps: [], final: "gone on" });
    server.clear();
    expect((await skein.run(["run", "and tomorrow?", "--session", "stocks", ...model])).out).toContain("gone on");
    const sent = server.main()[0]!.text;
    for (const words of ["You are an agent.", "price of GOOGL", "185.35", "1.5M", "picture that is not in the file", "and tomorrow?"])
      expect(sent).toContain(words);
    expect(brokenRules(await exported(skein, "stocks"))).toEqual([]);
  });

  test("a grown file adds only its new steps", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const grown = { ...foreign, steps: [...foreign.steps, { step_id: 5, source: "user", message: "Thanks." }] };
    await skein.run(["import", "-"], { stdin: JSON.stringify(foreign) });
    const report = importReport.parse((await skein.run(["import", "-", "--json"], { stdin: JSON.stringify(grown) })).json());
    expect(report.nodes).toEqual({ added: 1, known: 6 });
  });

  test("a hostile, torn or newer file is refused or read in part, with one clear line", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const importText = (text: string) => skein.run(["import", "-"], { stdin: text });
    const newer = await importText(JSON.stringify({ ...foreign, schema_version: "ATIF-v2.0" }));
    expect(newer).toMatchObject({ code: 1, err: expect.stringContaining('"ATIF-v2.0" is not supported') });
    const torn = await importText(JSON.stringify(foreign).slice(0, 700));
    expect(torn.code).toBe(1);
    expect(torn.err.trim().split("\n").length).toBeLessThanOrEqual(2);
    const empty = await importText(JSON.stringify({ ...foreign, steps: [] }));
    expect(empty).toMatchObject({ code: 1, err: expect.stringContaining("there is no message") });
    const odd = {
      ...foreign,
      agent: { name: "\u001b[31mred", version: 7 },
      steps: [
        null,
        7,
        { source: "root", message: "x" },
        { step_id: "x", source: "user", message: { deep: 1 } },
        { source: "user", message: "\u001b]0;title\u0007go", timestamp: "never" },
        { source: "agent", message: "ok", tool_calls: [{}, "x"], observation: { results: [{ source_call_id: "nobody", content: "y" }] } },
      ],
      subagent_trajectories: [{ schema_version: "ATIF-v1.7", steps: [] }, "x"],
    };
    const report = importReport.parse((await skein.run(["import", "-", "--json"], { stdin: JSON.stringify(odd) })).json());
    expect(report).toMatchObject({ unreadable: 3, nodes: { added: 3 } });
    expect((await skein.run(["show", report.session.id])).out).not.toContain("\u001b]0");
    expect((await skein.run(["verify"])).code).toBe(0);
  });
});
