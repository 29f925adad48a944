import { describe, expect, test } from "bun:test";
import { eventsOf, lineOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { CliEvent, CliLaunch } from "./adapter.ts";
import { claude } from "./claude.ts";
import { matchFailure } from "./failure-patterns.ts";

const launch: CliLaunch = {
  prompt: "do it",
  model: "claude-opus-5-5",
  effort: "high",
  role: "You review.",
  directory: "/project",
  addDirs: ["/other"],
  configDir: "/data/agents/t/claude",
  start: { how: "new", id: "id-1" },
  endpoint: { url: "http://127.0.0.1:4", token: "throw-away" },
  isSandboxed: true,
  isRoot: false,
  isOffline: true,
  servers: { list: [], values: {} },
  extraArgs: ["--max-budget-usd=2"],
};

const args = (changes: Partial<CliLaunch> = {}): string[] => claude.args({ ...launch, ...changes });
const env = (changes: Partial<CliLaunch> = {}): Record<string, string> => claude.env({ ...launch, ...changes });

describe("the launch of Claude Code", () => {
  test("model, effort and directories are flags", () => {
    expect(args()).toContain("--model=claude-opus-5-5");
    expect(args()).toContain("--effort=high");
    expect(args()).toContain("--add-dir=/other");
    expect(args().at(-1)).toBe("--max-budget-usd=2");
  });

  test("missing options add no flag", () => {
    const bare = args({ model: null, effort: null, role: null, addDirs: [], extraArgs: [] }).join(" ");
    expect(bare).not.toMatch(/--model|--effort|system-prompt=|\/other/);
  });

  test.each<[CliLaunch["start"], string[]]>([
    [{ how: "new", id: "a" }, ["--session-id=a"]],
    [{ how: "resume", id: "a" }, ["--resume=a"]],
    [{ how: "fork", id: "a", forkId: "b" }, ["--resume=a", "--fork-session", "--session-id=b"]],
  ])("the start %o has its own flags", (start, expected) => {
    expect(args({ start }).filter((arg) => /session-id|resume|fork/.test(arg))).toEqual(expected);
  });

  test("the prompt goes to stdin and the role to a file, so that no argument contains them", () => {
    expect(claude.stdin?.(launch)).toBe("do it");
    expect(args().join()).not.toMatch(/do it|You review/);
    const [, file] = /--append-system-prompt-file=\/data\/agents\/t\/claude\/(\S+?)(,|$)/.exec(args().join())!;
    expect(claude.files(launch)[file!]).toBe("You review.");
  });

  test("a prompt that begins with a slash is not run as a command", () => {
    expect(claude.stdin?.({ ...launch, prompt: "/compact" })).toBe(" /compact");
  });

  test("our sandbox disables permission requests; without it Claude Code's own sandbox is required", () => {
    expect(args()).toContain("--dangerously-skip-permissions");
    const unsandboxed = args({ isSandboxed: false });
    expect(unsandboxed).not.toContain("--dangerously-skip-permissions");
    expect(unsandboxed).toContain("--permission-prompts=none");
    expect(unsandboxed.find((arg) => arg.startsWith("--settings="))).toContain('"enabled":true,"failIfUnavailable":true');
  });

  test("IS_SANDBOX is set only for root in our sandbox", () => {
    expect(env()["IS_SANDBOX"]).toBeUndefined();
    expect(env({ isRoot: true })["IS_SANDBOX"]).toBe("1");
    expect(env({ isRoot: true, isSandboxed: false })["IS_SANDBOX"]).toBeUndefined();
  });

  test("no tool can start an agent, and no project settings or MCP servers are read", () => {
    const tools = args()
      .find((arg) => arg.startsWith("--tools="))
      ?.split(/[=,]/);
    expect(tools).toContain("Bash");
    for (const name of ["Task", "Agent", "Workflow", "SendMessage", "CronCreate"]) expect(tools).not.toContain(name);
    expect(args()).toContain("--setting-sources=user");
    expect(args()).toContain("--strict-mcp-config");
  });

  test("the only credential is the gateway's token, and without an endpoint there is none", () => {
    expect(env()).toMatchObject({ ANTHROPIC_BASE_URL: "http://127.0.0.1:4", ANTHROPIC_API_KEY: "throw-away" });
    expect(Object.keys(env({ endpoint: null })).filter((name) => name.startsWith("ANTHROPIC"))).toEqual([]);
    expect(JSON.stringify([args(), claude.files(launch)])).not.toContain("throw-away");
  });

  test("a low effort also limits the thinking of models without efforts", () => {
    expect(env({ effort: "low" })["MAX_THINKING_TOKENS"]).toBe("4000");
    expect(env({ effort: "max" })["MAX_THINKING_TOKENS"]).toBeUndefined();
  });

  test("the project's instructions are imported from a directory of their own", () => {
    const [[path, text]] = Object.entries(claude.files({ ...launch, directory: "/my project" })) as [[string, string]];
    expect(text).toBe("@/my\\ project/AGENTS.md\n\n@/my\\ project/CLAUDE.md\n");
    expect(args({ directory: "/my project" })).toContain(`--add-dir=${launch.configDir}/${path.replace("/CLAUDE.md", "")}`);
    expect(Object.keys(claude.files(launch))).not.toEqual([path]);
  });

  test("the version is read from the output of --version", () => {
    expect(claude.version.exec("2.1.325 (Claude Code)\n")?.[1]).toBe("2.1.325");
    expect(claude.version.exec("command not found")).toBeNull();
  });
});

const native = "00000000-0000-4000-8000-000000000001";
const session = `session ${native} claude-sonnet-4-5`;
const bash = (command: string): string => JSON.stringify({ command, description: "run a command" });
const three = [
  session,
  `answer call_t1s0n0=Bash(${bash("echo one-11")}) 12590+14+0+0`,
  "result call_t1s0n0 Bash: one-11",
  `answer call_t1s1n0=Bash(${bash("echo two-12")}) 12668+14+0+0`,
  "result call_t1s1n0 Bash: two-12",
  `answer call_t1s2n0=Bash(${bash("echo three-13; exit 3")}) 12745+17+0+0`,
  "result call_t1s2n0 Bash failed: Exit code 3\nthree-13",
  "~ All three were said.",
  "answer All three were said. 12829+5+0+0",
  "usage 50832+50+0+0 $0.1532",
  "done",
];
const unstreamed = three.filter((line) => !line.startsWith("~")).map((line) => line.replace(/^(answer .*) \d+\+\d+\+0\+0$/, "$1"));
const retries = (word: string): RegExp[] => [1, 2, 3].map((number) => new RegExp(`^retry ${word}: try ${number} of 3 in \\d\\.\\d s$`));
const failed = (kind: string, message: string): string[] => [`failed ${kind}: ${message}`];
const gateway = "This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway";

const recordings: [string, (string | RegExp)[]][] = [
  ["new", three],
  ["resume", [session, "~ Only this.", "answer Only this. 12642+3+0+0", "usage 12642+3+0+0 $0.0380", "done"]],
  ["fork", [session, "~ Only this.", "answer Only this. 12643+3+0+0", "usage 12643+3+0+0 $0.0380", "done"]],
  [
    "thinking",
    [
      session,
      "~ <I weigh it first.>",
      "~ I look.",
      `answer <I weigh it first.> I look. call_t1s0n0=Bash(${bash("echo seen")}) 12589+20+0+0`,
      "result call_t1s0n0 Bash: seen",
      "~ It was seen.",
      "answer It was seen. 12699+3+0+0",
      "usage 25288+23+0+0 $0.0762",
      "done",
    ],
  ],
  [
    "parallel",
    [
      session,
      `answer call_t1s0n0=Bash(${bash("echo left")}) call_t1s0n1=Bash(${bash("echo right")}) 12590+27+0+0`,
      "result call_t1s0n1 Bash: right",
      "result call_t1s0n0 Bash: left",
      "~ Both.",
      "answer Both. 12721+2+0+0",
      "usage 25311+29+0+0 $0.0764",
      "done",
    ],
  ],
  ["status-400", [session, /^failed too-long: Prompt is too long · the request is ~210000 tokens/]],
  ["status-401", [session, ...retries("authentication_failed \\(401\\)"), ...failed("auth", "Invalid API key · Fix external API key")]],
  ["status-404", [session, /^failed broken: There's an issue with the selected model \(claude-sonnet-4-5\)/]],
  [
    "status-429",
    [session, ...retries("rate_limit \\(429\\)"), ...failed("rate-limited", "API Error: Request rejected (429) · Too many requests")],
  ],
  [
    "status-500",
    [
      session,
      ...retries("server_error \\(500\\)"),
      ...failed("overloaded", `API Error: 500 Internal server error. ${gateway} (127.0.0.1:1).`),
    ],
  ],
  [
    "status-529",
    [session, ...retries("overloaded \\(529\\)"), ...failed("overloaded", `API Error: 529 Overloaded. ${gateway} (127.0.0.1:1).`)],
  ],
  [
    "refused",
    [
      session,
      ...retries("unknown"),
      ...failed("network", "API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)"),
    ],
  ],
  ["dropped", [session, ...retries("unknown"), "~ Only this.", "answer Only this. 12590+3+0+0", "usage 37770+5+0+0 $0.1134", "done"]],
  ["unknown-resume", [`session ${native}`, ...failed("unknown", `No conversation found with session ID: ${native}`)]],
  [
    "killed",
    [
      session,
      `answer call_t1s0n0=Bash(${bash("echo begun; sleep 600")}) 12590+17+0+0`,
      "result call_t1s0n0 Bash failed: Exit code 137\nbegun",
    ],
  ],
  ["empty", [session, "usage 25213+0+0+0 $0.0756", "done"]],
  ["one-array", unstreamed],
  ["one-object", [`session ${native}`, "answer All three were said.", "usage 50832+50+0+0 $0.1532", "done"]],
];

describe("recorded output of Claude Code", () => {
  test.each(recordings)("the recording %s gives the expected events", (scenario, expected) => {
    const lines = eventsOf(claude, recordingOf("claude", scenario).stdout).map(lineOf);
    expect(lines.length).toBe(expected.length);
    for (const [index, line] of lines.entries()) expectLine(line, expected[index]!);
  });

  test("events of a sub-agent name its call, and only the total includes its tokens", () => {
    const events = eventsOf(claude, recordingOf("claude", "sub-agent").stdout);
    const below = events.filter((event) => event.type === "sub-agent").map(lineOf);
    expect(below).toEqual([
      `below call_t1s0n0 answer call_t1s0n0=Bash(${bash("echo below")})`,
      "below call_t1s0n0 result call_t1s0n0 Bash: below",
      "below call_t1s0n0 answer The child is done.",
    ]);
    const answers = events.filter((event) => event.type === "answer");
    expect(answers.map((event) => event.usage?.input)).toEqual([18117, 18407]);
    expect(events.find((event) => event.type === "usage")?.usage.input).toBe(61348);
    expect(events.filter((event) => event.type === "result").map((event) => event.name)).toEqual(["Agent"]);
    expect(events.at(-1)).toEqual({ type: "done", answer: "The child was heard." });
  });

  test("the usage of a resumed session excludes earlier turns", () => {
    const { stdout } = recordingOf("claude", "resume");
    const result = JSON.parse(stdout.trim().split("\n").at(-1)!) as { modelUsage: Record<string, { inputTokens: number }> };
    expect(result.modelUsage["claude-sonnet-4-5"]?.inputTokens).toBe(25231);
    expect(eventsOf(claude, stdout).find((event) => event.type === "usage")?.usage.input).toBe(12642);
  });

  test("only a missing session counts as lost", () => {
    const outputOf = (scenario: string): string => recordingOf("claude", scenario).stderr + recordingOf("claude", scenario).stdout;
    expect(claude.sessionLost.test(outputOf("unknown-resume"))).toBe(true);
    for (const scenario of ["new", "status-401", "killed"]) expect(claude.sessionLost.test(outputOf(scenario))).toBe(false);
  });
});

describe("other output of Claude Code", () => {
  const read = (...lines: (object | string)[]): CliEvent[] =>
    eventsOf(claude, lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"));

  test("lines that are not JSON, shortened or without a type are garbage and do not end the turn", () => {
    const cut = recordingOf("claude", "new").stdout.split("\n")[0]!.slice(0, 2500);
    const events = read("Segmentation fault", "42", '{"no":"type"}', cut, { type: "result", is_error: false, result: "yes" });
    expect(events.map((event) => event.type)).toEqual(["garbage", "garbage", "garbage", "garbage", "answer", "done"]);
  });

  test("lines of an unknown type are ignored", () => {
    expect(read({ type: "later", subtype: "thing" }, { type: "system", subtype: "compact_boundary" })).toEqual([]);
  });

  test("a result that comes before the end of its message waits for it", () => {
    const call = { type: "tool_use", id: "c1", name: "Bash", input: { command: "ls" } };
    const events = read(
      { type: "stream_event", event: { type: "message_start", message: { id: "m", model: "x", usage: { input_tokens: 3 } } } },
      { type: "assistant", message: { id: "m", model: "x", content: [call] } },
      { type: "user", message: { content: [{ type: "tool_result", tool_use_id: "c1", content: "file" }] } },
      { type: "stream_event", event: { type: "message_delta", delta: {}, usage: { output_tokens: 2 } } },
      { type: "stream_event", event: { type: "message_stop" } },
    );
    expect(events.map(lineOf)).toEqual(['answer c1=Bash({"command":"ls"}) 3+2+0+0', "result c1 Bash: file"]);
  });

  test("an error without a later result is reported at the end", () => {
    const error = { is_api_error_message: true, api_error_status: 429 };
    const events = read({ type: "assistant", message: { model: "<synthetic>", content: [{ type: "text", text: "limit" }] }, ...error });
    expect(events).toEqual([{ type: "failed", message: "limit", kind: "rate-limited" }]);
  });

  test("a refusal is a failure", () => {
    const events = read({ type: "result", subtype: "success", is_error: false, stop_reason: "refusal", result: "" });
    expect(events.map(lineOf)).toEqual(["failed refused: the model refused"]);
    const printed = read(
      { type: "stream_event", event: { type: "message_delta", delta: { stop_reason: "refusal" } } },
      { type: "result", subtype: "success", is_error: true, stop_reason: "stop_sequence", result: "API Error: It can't help with this." },
    );
    expect(printed.map(lineOf)).toEqual(["failed refused: API Error: It can't help with this."]);
  });

  test("arguments that are not JSON are kept as text", () => {
    const input = { __unparsedToolInput: { raw: '{"comm', len: 6 } };
    const [answer] = read({
      type: "assistant",
      message: { id: "m", model: "x", content: [{ type: "tool_use", id: "c", name: "Bash", input }] },
    });
    expect(answer).toMatchObject({ parts: [{ kind: "call", input: {}, malformed: '{"comm' }] });
  });

  test("images of a result are kept with its text", () => {
    const content = [
      { type: "text", text: "seen" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
    ];
    const [result] = read({ type: "user", message: { content: [{ type: "tool_result", tool_use_id: "c", content }] } });
    expect(result).toMatchObject({ text: "seen", images: [{ mime: "image/png", base64: "AAAA" }] });
  });
});

test.each([
  ["Error: sandbox required but unavailable: bubblewrap (bwrap) not installed", "sandbox-unavailable"],
  ["Not logged in · Please run /login", "auth"],
  ["Credit balance is too low", "rate-limited"],
  ["Claude AI usage limit reached", "rate-limited"],
  ["API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy", "refused"],
  ["API Error: Sonnet 4.5 can't help with this. Start a new session to continue.", "refused"],
  ["API Error: The model has reached its context window limit.", "too-long"],
  ["Error: Session ID 00000000-0000-4000-8000-000000000001 is already in use.", "broken"],
  ["something else", null],
] as const)("the message '%s' of Claude Code means %s", (message, status) => {
  expect(matchFailure(message, claude.failures)).toBe(status);
});

function expectLine(line: string, expected: string | RegExp): void {
  if (typeof expected === "string") expect(line).toBe(expected);
  else expect(line).toMatch(expected);
}
