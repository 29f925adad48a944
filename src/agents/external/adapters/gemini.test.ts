import { describe, expect, test } from "bun:test";
import { eventsOf, lineOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { CliLaunch } from "./adapter.ts";
import { gemini } from "./gemini.ts";
import { matchFailure } from "./failure-patterns.ts";

const launch: CliLaunch = {
  prompt: "do it",
  model: "gemini-3-pro-preview",
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

const session = "session 00000000-0000-4000-8000-000000000001 gemini-3-pro-preview";
const shell = (step: string, command: string): string =>
  `run_shell_command__call_t1${step}=run_shell_command({"command":"${command}","is_background":false})`;
const result = (step: string, text: string): string => `result run_shell_command__call_t1${step} run_shell_command: ${text}`;

/** What the recorded runs say, deltas included. */
const expectedEvents: Record<string, string[]> = {
  new: [
    session,
    `answer ${shell("s0n0", "echo one-11")}`,
    result("s0n0", "one-11"),
    `answer ${shell("s1n0", "echo two-12")}`,
    result("s1n0", "two-12"),
    `answer ${shell("s2n0", "echo three-13; exit 3")}`,
    result("s2n0", "three-13"),
    "~ All three were said.",
    "answer All three were said.",
    "usage 38929+44+0+0",
    "done",
  ],
  resume: [session, "~ Only this.", "answer Only this.", "usage 9604+3+0+0", "done"],
  thinking: [
    session,
    "~ I look.",
    `answer I look. ${shell("s0n0", "echo seen")}`,
    result("s0n0", "seen"),
    "~ It was seen.",
    "answer It was seen.",
    "usage 19259+21+0+0",
    "done",
  ],
  parallel: [
    session,
    `answer ${shell("s0n0", "echo left")} ${shell("s0n1", "echo right")}`,
    result("s0n0", "left"),
    result("s0n1", "right"),
    "~ Both.",
    "answer Both.",
    "usage 19332+25+0+0",
    "done",
  ],
  "status-400": [session, "usage 0+0+0+0", "failed too-long: prompt is too long: 210000 tokens > 200000 maximum"],
  "status-401": [session, "usage 0+0+0+0", "failed auth: invalid x-api-key"],
  "status-404": [session, "usage 0+0+0+0", "failed unknown: model: no-such-model"],
  "status-429": [session, "usage 0+0+0+0", "failed rate-limited: Too many requests"],
  "status-500": [session, "usage 0+0+0+0", "failed overloaded: Internal server error"],
  "status-529": [session, "usage 0+0+0+0", "failed overloaded: Overloaded"],
  refused: [session, "usage 0+0+0+0", "failed network: exception TypeError: fetch failed sending request"],
  dropped: [session, "~ Only this.", "answer Only this.", "usage 0+0+0+0", "failed network: terminated"],
  "unknown-resume": [],
  killed: [session, `answer ${shell("s0n0", "echo begun; sleep 600")}`],
  empty: [
    session,
    "usage 9579+0+0+0",
    "failed broken: The model returned an empty response with no text or thoughts. This may be a transient API issue; please try again.",
  ],
};

describe("recorded output of Gemini CLI", () => {
  test.each(Object.keys(expectedEvents))("the recording %s gives the expected events", (scenario) => {
    expect(eventsOf(gemini, recordingOf("gemini", scenario).stdout).map(lineOf)).toEqual(expectedEvents[scenario]!);
  });

  test("no failed request is retried, because a second attempt repeats the text", () => {
    for (const scenario of ["status-429", "status-500", "dropped"]) expect(recordingOf("gemini", scenario).requests).toBe(1);
  });

  test("a killed run exits with 0 and prints no result", () => {
    const { stdout, exitCode } = recordingOf("gemini", "killed");
    expect(exitCode).toBe(0);
    expect(eventsOf(gemini, stdout).some((event) => event.type === "done")).toBeFalse();
  });

  test("an unknown session and an unknown model are reported on stderr", () => {
    const kindOf = (scenario: string) => matchFailure(recordingOf("gemini", scenario).stderr, gemini.failures);
    expect([kindOf("unknown-resume"), kindOf("status-404")]).toEqual(["broken", "broken"]);
    expect(matchFailure("Error authenticating: FatalAuthenticationError: Manual authorization is required", gemini.failures)).toBe("auth");
    expect(recordingOf("gemini", "unknown-resume").exitCode).toBe(42);
    expect(gemini.sessionLost.test(recordingOf("gemini", "unknown-resume").stderr)).toBeTrue();
    expect(gemini.sessionLost.test(recordingOf("gemini", "status-404").stderr)).toBeFalse();
  });
});

test("cached tokens do not count as input, and thinking counts as output", () => {
  const stats = { total_tokens: 160, input_tokens: 100, output_tokens: 20, cached: 70 };
  const events = eventsOf(gemini, JSON.stringify({ type: "result", status: "success", stats }));
  expect(events.map(lineOf)).toEqual(["usage 30+60+70+0", "done"]);
});

test("a warning is not a failure, and a failed tool does not fail the turn", () => {
  const stream = [
    { type: "tool_use", tool_name: "read_file", tool_id: "t-1", parameters: { path: "x" } },
    { type: "tool_result", tool_id: "t-1", status: "error", error: { type: "x", message: "no such file" } },
    { type: "error", severity: "warning", message: "Loop detected" },
    { type: "message", role: "assistant", content: "It is gone.", delta: true },
    { type: "result", status: "success" },
  ];
  const lines = eventsOf(gemini, stream.map((event) => JSON.stringify(event)).join("\n")).map(lineOf);
  expect(lines).toEqual([
    'answer t-1=read_file({"path":"x"})',
    "result t-1 read_file failed: no such file",
    "~ It is gone.",
    "answer It is gone.",
    "done",
  ]);
});

test("an unknown or shortened line is garbage and changes nothing else", () => {
  const { stdout } = recordingOf("gemini", "new");
  const withGarbage = ["Loaded cached credentials.", "null", '{"kind":"x"}', stdout.slice(0, 50), stdout].join("\n");
  const events = eventsOf(gemini, withGarbage).map(lineOf);
  expect(events.filter((line) => line.startsWith("garbage"))).toHaveLength(4);
  expect(events.filter((line) => !line.startsWith("garbage"))).toEqual(expectedEvents["new"]!);
  for (let cut = 0; cut < stdout.length; cut += 29) expect(() => eventsOf(gemini, stdout.slice(0, cut))).not.toThrow();
});

describe("the launch of Gemini CLI", () => {
  type Settings = {
    security: { auth?: { selectedType: string } };
    general: { maxAttempts: number };
    modelConfigs: { modelIdResolutions: unknown; customOverrides: { modelConfig: unknown }[] };
  };
  const settings = (changes: Partial<CliLaunch>) =>
    JSON.parse(gemini.files({ ...launch, ...changes })[".gemini/settings.json"]!) as Settings;
  const thinking = (model: string, effort: string) =>
    settings({ model, effort }).modelConfigs.customOverrides.map((override) => override.modelConfig);

  test("a new or resumed session is passed by its id", () => {
    expect(gemini.args(launch).slice(-2)).toEqual(["--session-id", "id-1"]);
    expect(gemini.args({ ...launch, start: { how: "resume", id: "id-1" } }).slice(-2)).toEqual(["--resume", "id-1"]);
  });

  test("the prompt goes to stdin", () => {
    expect(gemini.args(launch).join()).not.toContain("do it");
    expect(gemini.stdin?.(launch)).toBe("do it");
  });

  test("the named model is mapped to itself", () => {
    expect(gemini.args(launch)).toContain("gemini-3-pro-preview");
    expect(settings({}).modelConfigs.modelIdResolutions).toEqual({
      "gemini-3-pro-preview": { default: "gemini-3-pro-preview", contexts: [] },
    });
  });

  test("the effort is a level, or a budget for older models", () => {
    const config = (thinkingConfig: object) => [
      { generateContentConfig: { thinkingConfig: { includeThoughts: true, ...thinkingConfig } } },
    ];
    expect(thinking("gemini-3-pro-preview", "low")).toEqual(config({ thinkingLevel: "LOW" }));
    expect(thinking("gemini-3-pro-preview", "medium")).toEqual(config({ thinkingLevel: "HIGH" }));
    expect(thinking("gemini-3.8-flash", "medium")).toEqual(config({ thinkingLevel: "MEDIUM" }));
    expect(thinking("gemini-2.5-pro", "high")).toEqual(config({ thinkingBudget: 24_576 }));
    expect(settings({}).modelConfigs.customOverrides).toEqual([]);
  });

  test("the role is written to GEMINI.md and replaces an earlier role", () => {
    expect(gemini.files({ ...launch, role: "Be brief." })[".gemini/GEMINI.md"]).toBe("Be brief.");
    expect(gemini.files(launch)[".gemini/GEMINI.md"]).toBe("");
  });

  test("directories are passed on, and servers and extensions are disabled", () => {
    const args = gemini.args({ ...launch, addDirs: ["/a", "/b"] });
    expect(args.join(" ")).toContain("--include-directories /a --include-directories /b");
    expect(args.join(" ")).toContain("--allowed-mcp-server-names none --extensions none");
    expect(gemini.files(launch)[".gemini/policies/skein.toml"]).toContain("invoke_agent");
  });

  test("an endpoint selects the key, its absence the user's sign-in, and only one variable holds the token", () => {
    expect(settings({}).security.auth?.selectedType).toBe("gemini-api-key");
    expect(settings({ endpoint: null }).security.auth?.selectedType).toBe("oauth-personal");
    expect(Object.entries(gemini.env(launch)).filter(([, value]) => value === "token-1")).toEqual([["GEMINI_API_KEY", "token-1"]]);
    expect(Object.values(gemini.files(launch)).join("")).not.toContain("token-1");
    expect(gemini.env({ ...launch, endpoint: null })["GOOGLE_GEMINI_BASE_URL"]).toBeUndefined();
  });
});
