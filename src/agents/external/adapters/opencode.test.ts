import { describe, expect, test } from "bun:test";
import { eventsOf, lineOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { CliLaunch } from "./adapter.ts";
import { instructionsFile } from "./multi-vendor.ts";
import { opencode } from "./opencode.ts";
import { matchFailure } from "./failure-patterns.ts";

const launch: CliLaunch = {
  prompt: "do it",
  model: "claude-opus-5-5",
  effort: null,
  role: null,
  directory: "/project",
  addDirs: [],
  configDir: "/own",
  start: { how: "new", id: "unused" },
  endpoint: { url: "http://127.0.0.1:1", token: "token-1" },
  isSandboxed: true,
  isRoot: false,
  isOffline: true,
  servers: { list: [], values: {} },
  extraArgs: [],
};

/** What the recorded runs say; a text comes whole when it is finished. */
const expectedEvents: Record<string, string[]> = {
  new: [
    "session ses_1",
    'answer call_t1s0n0=bash({"command":"echo one-11"}) 6625+7+0+0',
    "result call_t1s0n0 bash: one-11",
    'answer call_t1s1n0=bash({"command":"echo two-12"}) 6668+7+0+0',
    "result call_t1s1n0 bash: two-12",
    'answer call_t1s2n0=bash({"command":"echo three-13; exit 3"}) 6712+9+0+0',
    "result call_t1s2n0 bash failed: three-13",
    "~ All three were said.",
    "answer All three were said. 6758+5+0+0",
    "usage 26763+28+0+0 $0.0807",
    "done",
  ],
  resume: ["session ses_1", "~ Only this.", "answer Only this. 6649+3+0+0", "usage 6649+3+0+0 $0.0200", "done"],
  fork: ["session ses_1", "~ Only this.", "answer Only this. 6649+3+0+0", "usage 6649+3+0+0 $0.0200", "done"],
  thinking: [
    "session ses_1",
    "~ <I weigh it first.>",
    "~ I look.",
    'answer <I weigh it first.> I look. call_t1s0n0=bash({"command":"echo seen"}) 6625+12+0+0',
    "result call_t1s0n0 bash: seen",
    "~ It was seen.",
    "answer It was seen. 6700+3+0+0",
    "usage 13325+15+0+0 $0.0402",
    "done",
  ],
  parallel: [
    "session ses_1",
    'answer call_t1s0n0=bash({"command":"echo left"}) call_t1s0n1=bash({"command":"echo right"}) 6625+12+0+0',
    "result call_t1s0n0 bash: left",
    "result call_t1s0n1 bash: right",
    "~ Both.",
    "answer Both. 6710+2+0+0",
    "usage 13335+14+0+0 $0.0402",
    "done",
  ],
  "status-400": ["session ses_1", "failed too-long: prompt is too long: 210000 tokens > 200000 maximum"],
  "status-401": ["session ses_1", "failed auth: 401: invalid x-api-key"],
  "status-404": ["session ses_1", "failed broken: 404: model: no-such-model"],
  "status-429": ["session ses_1", "failed rate-limited: 429: Too many requests"],
  "status-500": ["session ses_1", "failed overloaded: 500: Internal server error"],
  "status-529": ["session ses_1", "failed overloaded: 529: Overloaded"],
  refused: ["session ses_1", "failed network: Cannot connect to API: Unable to connect. Is the computer able to access the url?"],
  dropped: [
    "session ses_1",
    "failed network: Cannot connect to API: The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()",
  ],
  "unknown-resume": [],
  killed: ["session ses_1"],
  empty: ["session ses_1", "usage 6625+0+0+0 $0.0199", "done"],
};

describe("recorded output of opencode", () => {
  test.each(Object.keys(expectedEvents))("the recording %s gives the expected events", (scenario) => {
    expect(eventsOf(opencode, recordingOf("opencode", scenario).stdout).map(lineOf)).toEqual(expectedEvents[scenario]!);
  });

  test("an unknown session is only reported on stderr", () => {
    const { exitCode, stderr } = recordingOf("opencode", "unknown-resume");
    expect([exitCode, matchFailure(stderr, opencode.failures), opencode.sessionLost.test(stderr)]).toEqual([1, "broken", true]);
  });
});

const line = (type: string, rest: object): string => JSON.stringify({ type, sessionID: "ses_1", ...rest });

test("a run that stops within a step keeps its text and reports no success", () => {
  const state = { status: "error", input: { command: "x" }, error: "denied" };
  const stdout = [line("text", { part: { text: "I try." } }), line("tool_use", { part: { tool: "bash", callID: "c-1", state } })].join(
    "\n",
  );
  expect(eventsOf(opencode, stdout).map(lineOf)).toEqual([
    "session ses_1",
    "~ I try.",
    'answer I try. c-1=bash({"command":"x"})',
    "result c-1 bash failed: denied",
  ]);
});

test("thinking counts as output, cached tokens count separately, and a content filter is a refusal", () => {
  const tokens = { input: 10, output: 2, reasoning: 5, cache: { read: 70, write: 8 } };
  const finish = (reason: string): string[] => eventsOf(opencode, line("step_finish", { part: { reason, tokens } })).map(lineOf);
  expect(finish("stop")).toEqual(["session ses_1", "usage 10+7+70+8", "done"]);
  expect(finish("content-filter").slice(1)).toEqual(["usage 10+7+70+8", "failed refused: the vendor refused to answer"]);
});

test("an unknown or shortened line is garbage and changes nothing else", () => {
  const { stdout } = recordingOf("opencode", "thinking");
  const withGarbage = ["Performing one time database migration...", "null", '{"kind":"x"}', stdout.slice(0, 50), stdout].join("\n");
  const events = eventsOf(opencode, withGarbage).map(lineOf);
  expect(events.filter((eventLine) => eventLine.startsWith("garbage"))).toHaveLength(4);
  expect(events.filter((eventLine) => !eventLine.startsWith("garbage"))).toEqual(expectedEvents["thinking"]!);
  for (let cut = 0; cut < stdout.length; cut += 29) expect(() => eventsOf(opencode, stdout.slice(0, cut))).not.toThrow();
});

describe("the launch of opencode", () => {
  type Config = { provider: Record<string, unknown>; permission: Record<string, string>; instructions: string[]; model?: string };
  const config = (changes: Partial<CliLaunch>) =>
    JSON.parse(opencode.env({ ...launch, ...changes })["OPENCODE_CONFIG_CONTENT"]!) as Config & Record<string, unknown>;

  test("a new session is started without an id, and a resumed or forked one with its id", () => {
    const tail = (start: CliLaunch["start"]): string[] => opencode.args({ ...launch, start }).slice(10);
    expect(tail(launch.start)).toEqual([]);
    expect(tail({ how: "resume", id: "ses_1" })).toEqual(["--session", "ses_1"]);
    expect(tail({ how: "fork", id: "ses_1", forkId: "x" })).toEqual(["--session", "ses_1", "--fork"]);
  });

  test("the prompt goes to stdin unchanged", () => {
    const prompt = 'say "this"\nand that';
    expect([opencode.args({ ...launch, prompt }).includes(prompt), opencode.stdin?.({ ...launch, prompt })]).toEqual([false, prompt]);
  });

  test("all files of opencode are in its own directory, and no configuration of the user or the project is loaded", () => {
    const env = opencode.env(launch);
    for (const name of ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "OPENCODE_TEST_HOME"])
      expect(env[name]).toStartWith("/own/");
    expect(env).toMatchObject({
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
      OPENCODE_DISABLE_CLAUDE_CODE: "1",
      OPENCODE_DISABLE_AUTOUPDATE: "1",
    });
    expect(config({}).permission).toEqual({ "*": "allow", task: "deny", question: "deny", skill: "deny" });
  });

  test("the instructions are the project's AGENTS.md, the role and the directories", () => {
    expect(config({}).instructions).toEqual(["/project/AGENTS.md", `/own/${instructionsFile(launch)}`]);
    const withRole = { ...launch, role: "Be brief.", addDirs: ["/more"] };
    const text = opencode.files(withRole)[instructionsFile(withRole)];
    expect(text).toBe("Be brief.\n\nBesides the working directory you may work in: /more");
    expect(opencode.files(launch)[instructionsFile(launch)]).toBe("");
  });

  test.each([
    ["claude-opus-5-5", "anthropic", "http://127.0.0.1:1/v1", "ANTHROPIC_API_KEY"],
    ["gpt-5.2", "openai", "http://127.0.0.1:1/v1", "OPENAI_API_KEY"],
    ["gemini-3-pro-preview", "google", "http://127.0.0.1:1/v1beta", "GEMINI_API_KEY"],
  ])("requests for %s go to its vendor, with one credential", (model, provider, baseURL, variable) => {
    const changedLaunch = { ...launch, model };
    expect(opencode.args(changedLaunch)).toContain(`${provider}/${model}`);
    expect(config(changedLaunch)).toMatchObject({
      model: `${provider}/${model}`,
      small_model: `${provider}/${model}`,
      enabled_providers: [provider],
    });
    expect(config(changedLaunch).provider).toEqual({
      [provider]: { options: { baseURL, apiKey: `{env:${variable}}` }, models: { [model]: {} } },
    });
    expect(Object.entries(opencode.env(changedLaunch)).filter(([, value]) => value.includes("token-1"))).toEqual([[variable, "token-1"]]);
    expect(Object.values(opencode.files(changedLaunch)).join("")).not.toContain("token-1");
  });

  test("the effort is a variant, which skein defines for models with a budget", () => {
    expect(opencode.args({ ...launch, effort: "low" }).join(" ")).toContain("--variant low");
    const models = { "claude-sonnet-4-5": { variants: { low: { thinking: { type: "enabled", budgetTokens: 2048 } } } } };
    expect(config({ model: "claude-sonnet-4-5" }).provider).toMatchObject({ anthropic: { models } });
  });

  test("with opencode's own sign-in, models, providers and keys are not changed", () => {
    const changedLaunch = { ...launch, endpoint: null, model: null };
    expect(opencode.args(changedLaunch)).not.toContain("--model");
    expect(config(changedLaunch).provider).toEqual({ anthropic: {} });
    expect(Object.keys(opencode.env(changedLaunch)).some((name) => name.endsWith("_API_KEY"))).toBeFalse();
  });
});
