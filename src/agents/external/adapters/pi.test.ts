import { describe, expect, test } from "bun:test";
import { eventsOf, lineOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { CliLaunch } from "./adapter.ts";
import { instructionsFile } from "./multi-vendor.ts";
import { pi } from "./pi.ts";
import { matchFailure } from "./failure-patterns.ts";

const launch: CliLaunch = {
  prompt: "do it",
  model: "claude-sonnet-4-5",
  effort: null,
  role: null,
  directory: "/project",
  addDirs: [],
  configDir: "/own",
  start: { how: "new", id: "id-1" },
  endpoint: { url: "http://127.0.0.1:1", token: "token-1" },
  isSandboxed: true,
  isRoot: false,
  isOffline: true,
  servers: { list: [], values: {} },
  extraArgs: [],
};

const session = "session 00000000-0000-4000-8000-000000000001";

/** What the recorded runs say, deltas included. */
const expectedEvents: Record<string, string[]> = {
  new: [
    session,
    'answer call_t1s0n0=bash({"command":"echo one-11"}) 1371+7+0+0',
    "result call_t1s0n0 bash: one-11",
    'answer call_t1s1n0=bash({"command":"echo two-12"}) 1418+7+0+0',
    "result call_t1s1n0 bash: two-12",
    'answer call_t1s2n0=bash({"command":"echo three-13; exit 3"}) 1466+9+0+0',
    "result call_t1s2n0 bash failed: three-13\n\n\nCommand exited with code 3",
    "~ All three were said.",
    "answer All three were said. 1524+5+0+0",
    "usage 5779+28+0+0 $0.0178",
    "done",
  ],
  resume: [session, "~ Only this.", "answer Only this. 1393+3+0+0", "usage 1393+3+0+0 $0.0042", "done"],
  fork: [session, "~ Only this.", "answer Only this. 1393+3+0+0", "usage 1393+3+0+0 $0.0042", "done"],
  thinking: [
    session,
    "~ <I weigh it first.>",
    "~ I look.",
    'answer <I weigh it first.> I look. call_t1s0n0=bash({"command":"echo seen"}) 1371+12+0+0',
    "result call_t1s0n0 bash: seen",
    "~ It was seen.",
    "answer It was seen. 1450+3+0+0",
    "usage 2821+15+0+0 $0.0087",
    "done",
  ],
  parallel: [
    session,
    'answer call_t1s0n0=bash({"command":"echo left"}) call_t1s0n1=bash({"command":"echo right"}) 1371+12+0+0',
    "result call_t1s0n0 bash: left",
    "result call_t1s0n1 bash: right",
    "~ Both.",
    "answer Both. 1465+2+0+0",
    "usage 2836+14+0+0 $0.0087",
    "done",
  ],
  "status-400": [session, "failed too-long: 400: prompt is too long: 210000 tokens > 200000 maximum", "usage 0+0+0+0"],
  "status-401": [session, "failed auth: 401: invalid x-api-key", "usage 0+0+0+0"],
  "status-404": [session, "failed broken: 404: model: no-such-model", "usage 0+0+0+0"],
  "status-429": [
    session,
    "retry 429: Too many requests",
    "retry 429: Too many requests",
    "failed rate-limited: 429: Too many requests",
    "usage 0+0+0+0",
  ],
  "status-500": [
    session,
    "retry 500: Internal server error",
    "retry 500: Internal server error",
    "failed overloaded: 500: Internal server error",
    "usage 0+0+0+0",
  ],
  "status-529": [session, "retry 529: Overloaded", "retry 529: Overloaded", "failed overloaded: 529: Overloaded", "usage 0+0+0+0"],
  refused: [session, "retry Connection error.", "retry Connection error.", "failed network: Connection error.", "usage 0+0+0+0"],
  dropped: [
    session,
    "~ Only this.",
    "retry terminated",
    "~ Only this.",
    "retry terminated",
    "~ Only this.",
    "answer Only this.",
    "failed network: terminated",
    "usage 4113+3+0+0 $0.0124",
  ],
  "unknown-resume": [],
  killed: [session, 'answer call_t1s0n0=bash({"command":"echo begun; sleep 600"}) 1371+9+0+0'],
  empty: [session, "usage 1371+0+0+0 $0.0041", "done"],
};

describe("recorded output of pi", () => {
  test.each(Object.keys(expectedEvents))("the recording %s gives the expected events", (scenario) => {
    expect(eventsOf(pi, recordingOf("pi", scenario).stdout).map(lineOf)).toEqual(expectedEvents[scenario]!);
  });

  test("pi exits with 0 after every failure of the model", () => {
    for (const scenario of ["status-401", "status-429", "status-500", "refused"]) expect(recordingOf("pi", scenario).exitCode).toBe(0);
  });

  test("an unknown session is only reported on stderr", () => {
    const { exitCode, stderr } = recordingOf("pi", "unknown-resume");
    expect([exitCode, matchFailure(stderr, pi.failures), pi.sessionLost.test(stderr)]).toEqual([1, "broken", true]);
  });
});

test("an older version that repeats the message with each delta and has no last event gives the same events", () => {
  const message = {
    role: "assistant",
    content: [{ type: "text", text: "Hello" }],
    model: "m",
    usage: { input: 5, output: 2 },
    stopReason: "stop",
  };
  const update = (delta: string) => ({
    type: "message_update",
    message,
    assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta, partial: message },
  });
  const stream = [
    { type: "session", version: 3, id: "s-1", cwd: "/project" },
    { type: "agent_start" },
    update("Hel"),
    update("lo"),
    { type: "message_end", message },
    { type: "agent_end", messages: [message] },
  ];
  const stdout = stream.map((event) => JSON.stringify(event)).join("\n");
  expect(eventsOf(pi, stdout).map(lineOf)).toEqual(["session s-1", "~ Hel", "~ lo", "answer Hello 5+2+0+0", "usage 5+2+0+0", "done"]);
});

test("an unknown or shortened line is garbage and changes nothing else", () => {
  const { stdout } = recordingOf("pi", "resume");
  const lines = stdout.split("\n");
  const withGarbage = ["Warning: hello", "null", "[1]", '{"type":7}', lines[0]!.slice(0, 40), "", ...lines].join("\n");
  const events = eventsOf(pi, withGarbage).map(lineOf);
  expect(events.filter((line) => line.startsWith("garbage"))).toHaveLength(5);
  expect(events.filter((line) => !line.startsWith("garbage"))).toEqual(expectedEvents["resume"]!);
  for (let cut = 0; cut < stdout.length; cut += 37) expect(() => eventsOf(pi, stdout.slice(0, cut))).not.toThrow();
});

describe("the launch of pi", () => {
  const sessionFlags = ["--session", "--session-id", "--fork"];
  const flags = (changes: Partial<CliLaunch>): string[] => pi.args({ ...launch, ...changes });
  const sessionOf = (changes: Partial<CliLaunch>): string[] =>
    flags(changes).flatMap((word, at, all) => (sessionFlags.includes(word) ? [word, all[at + 1]!] : []));

  test("a new session has the id that skein chose, a resumed session its own id, and a fork both", () => {
    expect(sessionOf({})).toEqual(["--session-id", "id-1"]);
    expect(sessionOf({ start: { how: "resume", id: "id-1" } })).toEqual(["--session", "id-1"]);
    expect(sessionOf({ start: { how: "fork", id: "id-1", forkId: "id-2" } })).toEqual(["--fork", "id-1", "--session-id", "id-2"]);
  });

  test("no extension, skill or template is loaded, and each endpoint has its own settings directory", () => {
    expect(flags({})).toContain("--no-extensions");
    expect(flags({})).toContain("--no-skills");
    expect(flags({})).toContain("--no-approve");
    expect(pi.env(launch)).toMatchObject({ PI_CODING_AGENT_SESSION_DIR: "/own/sessions", PI_OFFLINE: "1" });
    const otherSettingsDir = pi.env({ ...launch, endpoint: { url: "http://127.0.0.1:2", token: "t" } })["PI_CODING_AGENT_DIR"];
    expect(otherSettingsDir).toMatch(/^\/own\/settings-/);
    expect(otherSettingsDir).not.toBe(pi.env(launch)["PI_CODING_AGENT_DIR"]);
  });

  test("the prompt goes to stdin", () => {
    expect(flags({ extraArgs: ["--verbose"] }).at(-1)).toBe("--verbose");
    expect(pi.stdin?.({ ...launch, prompt: "@types are wrong" })).toBe("@types are wrong");
  });

  test("the effort, the role and the directories are passed on", () => {
    const changedLaunch = { ...launch, effort: "high", role: "Be brief.", addDirs: ["/more"] };
    const args = pi.args(changedLaunch);
    expect(args[args.indexOf("--thinking") + 1]).toBe("high");
    expect(args[args.indexOf("--append-system-prompt") + 1]).toBe(`/own/${instructionsFile(changedLaunch)}`);
    expect(pi.files(changedLaunch)[instructionsFile(changedLaunch)]).toBe(
      "Be brief.\n\nBesides the working directory you may work in: /more",
    );
    expect(flags({})).not.toContain("--append-system-prompt");
  });

  test.each([
    ["claude-opus-5-5", "anthropic/claude-opus-5-5", "anthropic", "http://127.0.0.1:1", "ANTHROPIC_API_KEY"],
    ["gpt-5.2", "openai/gpt-5.2", "openai", "http://127.0.0.1:1/v1", "OPENAI_API_KEY"],
    ["gemini-3-pro-preview", "google/gemini-3-pro-preview", "google", "http://127.0.0.1:1/v1beta", "GEMINI_API_KEY"],
  ])("requests for %s go to its vendor, with one credential", (model, named, provider, baseUrl, variable) => {
    const changedLaunch = { ...launch, model };
    const args = pi.args(changedLaunch);
    expect(args[args.indexOf("--model") + 1]).toBe(named);
    expect(JSON.parse(modelsIn(changedLaunch))).toEqual({ providers: { [provider]: { baseUrl } } });
    expect(Object.entries(pi.env(changedLaunch)).filter(([, value]) => value === "token-1")).toEqual([[variable, "token-1"]]);
    expect(Object.values(pi.files(changedLaunch)).join("")).not.toContain("token-1");
  });

  test("with pi's own sign-in, models and keys are not changed", () => {
    const changedLaunch = { ...launch, endpoint: null, model: null };
    expect(pi.args(changedLaunch)).not.toContain("--model");
    expect(JSON.parse(modelsIn(changedLaunch))).toEqual({ providers: {} });
    expect(Object.keys(pi.env(changedLaunch)).some((name) => name.endsWith("_API_KEY"))).toBeFalse();
  });

  test("the version is the line that contains only a version", () => {
    expect(pi.version.exec("1.5.0\n")?.[1]).toBe("1.5.0");
    expect(pi.version.exec("Error: needs node 22.19.0 or later\n")).toBeNull();
  });
});

function modelsIn(launch: CliLaunch): string {
  return pi.files(launch)[`${pi.env(launch)["PI_CODING_AGENT_DIR"]!.replace("/own/", "")}/models.json`]!;
}
