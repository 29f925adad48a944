import { describe, expect, test } from "bun:test";
import { eventsOf, lineOf, recordingOf } from "../../../../test/support/cli-recording.ts";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import type { Adapter, CliEvent, CliLaunch } from "./adapter.ts";
import { codexReader } from "./readers/codex-reader.ts";
import { codex } from "./codex.ts";
import { matchFailure } from "./failure-patterns.ts";

const launch: CliLaunch = {
  prompt: "do it",
  model: "gpt-6-sol",
  effort: "high",
  role: 'You "review".\nAlways.',
  directory: "/project",
  addDirs: ["/other"],
  configDir: "/data/agents/t/codex",
  start: { how: "new", id: "unused" },
  endpoint: { url: "http://127.0.0.1:4", token: "throw-away" },
  isSandboxed: true,
  isRoot: true,
  isOffline: true,
  servers: { list: [], values: {} },
  extraArgs: ["--output-schema=x.json"],
};

const resume: CliLaunch["start"] = { how: "resume", id: "t-1" };
const args = (changes: Partial<CliLaunch> = {}): string[] => codex.args({ ...launch, ...changes });
const settings = (changes: Partial<CliLaunch> = {}): string[] =>
  args(changes).flatMap((arg) => (arg.startsWith("--config=") ? [arg.slice("--config=".length)] : []));

describe("the launch of Codex", () => {
  test.each<[CliLaunch["start"], string[]]>([
    [{ how: "new", id: "" }, ["--output-schema=x.json", "--", "-"]],
    [resume, ["--output-schema=x.json", "resume", "t-1", "--", "-"]],
    [{ how: "fork", id: "t-1", forkId: "" }, ["--output-schema=x.json", "fork", "t-1", "--", "-"]],
  ])("the start %o has its own arguments", (start, expected) => {
    const actual = args({ start, role: null });
    expect(actual.slice(0, 3)).toEqual(["exec", "--json", "--skip-git-repo-check"]);
    expect(actual.slice(-expected.length)).toEqual(expected);
  });

  test("model, effort, directories and role are passed, settings as TOML", () => {
    expect(args()).toContain("--model=gpt-6-sol");
    expect(args()).toContain("--add-dir=/other");
    expect(settings()).toContain('model_reasoning_effort="high"');
    expect(settings()).toContain('developer_instructions="You \\"review\\".\\nAlways."');
    expect(Bun.TOML.parse(settings().join("\n"))).toMatchObject({ developer_instructions: launch.role });
  });

  test("missing options add no flag", () => {
    const bare = args({ model: null, effort: null, role: null, addDirs: [], endpoint: null }).join(" ");
    expect(bare).not.toMatch(/--model|reasoning_effort|instructions|add-dir|skein/);
  });

  test("the role of a resumed session goes into the prompt", () => {
    expect(codex.stdin?.({ ...launch, start: resume })).toBe(`${launch.role}\n\ndo it`);
    expect(settings({ start: resume }).join()).not.toContain("developer_instructions");
  });

  test("Codex's own sandbox is off in our sandbox, where it would fail silently, and on without it", () => {
    expect(args()).toContain("--dangerously-bypass-approvals-and-sandbox");
    expect(args({ isSandboxed: false })).not.toContain("--dangerously-bypass-approvals-and-sandbox");
    expect(args({ isSandboxed: false })).toContain("--sandbox=workspace-write");
    expect(settings({ isSandboxed: false })).toContain('approval_policy="never"');
  });

  test("sub-agents, hooks, memories and rules are off, and the user's configuration is ignored", () => {
    const off = ["agents.enabled=false", "features.multi_agent=false", "features.hooks=false", "features.memories=false"];
    for (const setting of off) expect(settings()).toContain(setting);
    expect(args()).toContain("--ignore-user-config");
    expect(args()).toContain("--ignore-rules");
  });

  test("only the environment holds the token, and tools do not get it", () => {
    expect(codex.env(launch)).toEqual({ CODEX_HOME: launch.configDir, SKEIN_GATEWAY_TOKEN: "throw-away" });
    expect(codex.env({ ...launch, endpoint: null })).toEqual({ CODEX_HOME: launch.configDir });
    expect(JSON.stringify([args(), codex.files(launch)])).not.toContain("throw-away");
    expect(settings()).toContain('model_providers.skein.base_url="http://127.0.0.1:4/v1"');
    expect(settings()).toContain('shell_environment_policy.exclude=["SKEIN_GATEWAY_TOKEN"]');
  });

  test("retries are limited", () => {
    expect(settings()).toContain("features.unbounded_connection_retries=false");
    expect(settings()).toContain("model_providers.skein.request_max_retries=2");
  });

  test("the prompt goes to stdin", () => {
    expect([args().at(-1), codex.stdin?.(launch)]).toEqual(["-", "do it"]);
    expect(args().join()).not.toContain("do it");
  });

  test("the search that opens pages is off with the network", () => {
    expect(settings()).toContain('web_search="disabled"');
    expect(settings({ isOffline: false }).join()).not.toContain("web_search");
  });

  test("the version is read from the output of --version", () => {
    expect(codex.version.exec("codex-cli 0.166.0\n")?.[1]).toBe("0.166.0");
    expect(codex.version.exec("")).toBeNull();
  });
});

/** A reader that adds the fixed suffix "m" to the ids of its run. */
const codexWithFixedIds: Adapter = { ...codex, reader: (start) => codexReader(start, "m") };
const session = "session 00000000-0000-4000-8000-000000000001";
const callLine = (item: string, command: string): string =>
  `answer ${item}-m=command_execution(${JSON.stringify({ command: `/bin/bash -lc '${command}'` })})`;
const resultLine = (item: string, text: string): string => `result ${item}-m command_execution${text}`;
const threeCommands = (items: [string, string, string], usage: string): string[] => [
  session,
  callLine(items[0], "echo one-11"),
  resultLine(items[0], ": one-11"),
  callLine(items[1], "echo two-12"),
  resultLine(items[1], ": two-12"),
  callLine(items[2], "echo three-13; exit 3"),
  resultLine(items[2], " failed: three-13\nexit code 3"),
  "~ All three were said.",
  "answer All three were said.",
  usage,
  "done",
];
const failure = (message: string): string[] => [`failed unknown: ${message}`];
const retried = (message: string): string[] => [
  `retry Reconnecting... 1/2 (${message})`,
  `retry Reconnecting... 2/2 (${message})`,
  ...failure(message),
];
const status = (words: string): string => `unexpected status ${words}, url: http://127.0.0.1:1/v1/responses`;

const recordings: [string, string[], TurnStatus | null][] = [
  ["new", threeCommands(["item_1", "item_2", "item_3"], "usage 25341+25+0+0"), null],
  ["newest-model", threeCommands(["item_0", "item_1", "item_2"], "usage 40758+73+0+0"), null],
  ["resume", [session, "~ Only this.", "answer Only this.", "usage 12460+6+0+0", "done"], null],
  ["fork", [session, "~ Only this.", "answer Only this.", "usage 12460+6+0+0", "done"], null],
  [
    "thinking",
    [
      session,
      "~ <I weigh it first.>",
      "~ I look.",
      `answer <I weigh it first.> I look. ${callLine("item_3", "echo seen").slice("answer ".length)}`,
      resultLine("item_3", ": seen"),
      "~ It was seen.",
      "answer It was seen.",
      "usage 12556+14+0+0",
      "done",
    ],
    null,
  ],
  [
    "parallel",
    [
      session,
      callLine("item_1", "echo right"),
      resultLine("item_1", ": right"),
      callLine("item_2", "echo left"),
      resultLine("item_2", ": left"),
      "~ Both.",
      "answer Both.",
      "usage 12573+12+0+0",
      "done",
    ],
    null,
  ],
  ["status-400", [session, ...failure("prompt is too long: 210000 tokens > 200000 maximum")], "too-long"],
  ["status-401", [session, ...retried(status("401 Unauthorized: invalid x-api-key"))], "auth"],
  ["status-404", [session, ...retried(status("404 Not Found: model: no-such-model"))], "broken"],
  ["status-429", [session, ...failure("exceeded retry limit, last status: 429 Too Many Requests")], "rate-limited"],
  ["status-500", [session, ...retried("We’re currently experiencing high demand, which may cause temporary errors.")], "overloaded"],
  ["status-529", [session, ...retried(status("529 <unknown status code>: Overloaded"))], "overloaded"],
  ["refused", [session, ...retried("Connection failed: error sending request")], "network"],
  [
    "dropped",
    [session, ...retried("stream disconnected before completion: Transport error: network error: error decoding response body")],
    "network",
  ],
  ["unknown-resume", [], null],
  ["killed", [session, callLine("item_1", "echo begun; sleep 600")], null],
  ["empty", [session, "usage 6193+0+0+0", "done"], null],
];

describe("recorded output of Codex", () => {
  test.each(recordings)("the recording %s gives the expected events", (scenario, expected, kind) => {
    const events = eventsOf(codexWithFixedIds, recordingOf("codex", scenario).stdout);
    expect(events.map(lineOf)).toEqual(expected);
    const failed = events.find((event) => event.type === "failed");
    expect(failed === undefined ? null : matchFailure(failed.message, codex.failures)).toBe(kind);
  });

  test("the usage is marked as the total of the thread", () => {
    for (const scenario of ["new", "resume", "fork"]) {
      const usage = eventsOf(codex, recordingOf("codex", scenario).stdout).find((event) => event.type === "usage");
      expect(usage?.isThreadTotal).toBe(true);
    }
  });

  test("only a missing session counts as lost", () => {
    expect(codex.sessionLost.test(recordingOf("codex", "unknown-resume").stderr)).toBe(true);
    for (const scenario of ["resume", "status-401"]) expect(codex.sessionLost.test(recordingOf("codex", scenario).stderr)).toBe(false);
  });

  test("calls of two runs of one thread have different ids", () => {
    const ids = [1, 2].flatMap(() =>
      eventsOf(codex, recordingOf("codex", "new").stdout).flatMap((event) => (event.type === "result" ? [event.call] : [])),
    );
    expect(new Set(ids).size).toBe(6);
  });
});

describe("other output of Codex", () => {
  const read = (lines: (object | string)[], start?: CliLaunch["start"]): CliEvent[] => {
    const reader = codexReader(start, "m");
    const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    return [...texts.flatMap((text) => reader.line(text)), ...reader.end()];
  };
  const item = (when: string, fields: object): object => ({ type: `item.${when}`, item: fields });
  const message = (text: string): object => item("completed", { id: "i", type: "agent_message", text });
  const total = {
    type: "turn.completed",
    usage: { input_tokens: 100, cached_input_tokens: 60, cache_write_input_tokens: 10, output_tokens: 5 },
  };

  test("earlier turns that a resumed thread repeats are dropped", () => {
    const earlierTurn = [{ type: "turn.started" }, message("old"), total];
    const events = read(
      [{ type: "thread.started", thread_id: "t" }, ...earlierTurn, ...earlierTurn, { type: "turn.started" }, message("new"), total],
      resume,
    );
    expect(events.map(lineOf)).toEqual(["session t", "~ new", "answer new", "usage 30+5+60+10", "done"]);
  });

  test("after a pause all events belong to the current turn and are passed on at once", () => {
    const reader = codexReader(resume, "m");
    const line = (value: object): string[] => reader.line(JSON.stringify(value)).map(lineOf);
    expect(line({ type: "turn.started" })).toEqual([]);
    expect(line(message("one"))).toEqual([]);
    expect(reader.quiet?.().map(lineOf)).toEqual(["~ one"]);
    expect(line(message("two"))).toEqual(["~ two"]);
  });

  test("calls that start together are one answer, which is complete after a pause", () => {
    const reader = codexReader(undefined, "m");
    const start = (id: string): CliEvent[] =>
      reader.line(JSON.stringify(item("started", { id, type: "command_execution", command: id, status: "in_progress" })));
    expect([...start("a"), ...start("b")]).toEqual([]);
    expect(reader.quiet?.().map(lineOf)).toEqual(['answer a-m=command_execution({"command":"a"}) b-m=command_execution({"command":"b"})']);
    expect(reader.quiet?.()).toEqual([]);
    const done = { id: "b", type: "command_execution", command: "b", aggregated_output: "out", exit_code: 0, status: "completed" };
    expect(reader.line(JSON.stringify(item("completed", done))).map(lineOf)).toEqual(["result b-m command_execution: out"]);
  });

  test("file changes, MCP tools, searches and lists are calls with results", () => {
    const changes = [{ path: "/p/a", kind: "add" }];
    const error = { message: "no table" };
    const events = read([
      item("completed", { id: "1", type: "file_change", changes, status: "completed" }),
      item("completed", { id: "2", type: "mcp_tool_call", server: "db", tool: "query", arguments: { q: 1 }, status: "failed", error }),
      item("started", { id: "3", type: "web_search", query: "" }),
      item("completed", { id: "3", type: "web_search", query: "skein" }),
      item("started", { id: "4", type: "todo_list", items: [{ text: "a", completed: false }] }),
      item("updated", { id: "4", type: "todo_list", items: [{ text: "a", completed: true }] }),
      item("completed", { id: "4", type: "todo_list", items: [{ text: "a", completed: true }] }),
    ]);
    expect(events.map(lineOf)).toEqual([
      `answer 1-m=file_change(${JSON.stringify({ changes })})`,
      "result 1-m file_change: add /p/a",
      'answer 2-m=db.query({"q":1})',
      "result 2-m db.query failed: no table",
      'answer 3-m=web_search({"query":""})',
      "result 3-m web_search: ",
      'answer 4-m-1=todo_list({"items":[{"text":"a","completed":false}]})',
      "result 4-m-1 todo_list: noted",
      'answer 4-m-2=todo_list({"items":[{"text":"a","completed":true}]})',
      "result 4-m-2 todo_list: noted",
    ]);
  });

  test("lines that are not JSON or shortened are garbage, and lines of an unknown type are ignored", () => {
    const cut = recordingOf("codex", "new").stdout.split("\n")[1]!.slice(0, 60);
    const events = read(["Segmentation fault", cut, { type: "later" }, message("yes")]);
    expect(events.map((event) => event.type)).toEqual(["garbage", "garbage", "text.delta", "answer"]);
  });

  test("a message that advises to retry is not a retry", () => {
    const text = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.";
    const events = read([
      { type: "error", message: text },
      { type: "turn.failed", error: { message: text } },
    ]);
    expect(events.map((event) => event.type)).toEqual(["failed"]);
  });

  test("an error that does not end the turn is reported at the end", () => {
    expect(read([{ type: "error", message: "it went wrong" }]).map(lineOf)).toEqual(["failed unknown: it went wrong"]);
  });
});

test.each([
  ["Missing environment variable: `SKEIN_GATEWAY_TOKEN`.", "auth"],
  ["Your access token could not be refreshed. Please log out and sign in again.", "auth"],
  ["You've hit your usage limit. Upgrade to Pro", "rate-limited"],
  ["stream disconnected before completion: Overloaded", "overloaded"],
  ["Your input exceeds the context window of this model. Please adjust your input and try again.", "too-long"],
  ["Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.", "too-long"],
  ["stream disconnected before completion: Incomplete response returned, reason: content_filter", "refused"],
  ["Invalid prompt: we've limited access to this content for safety reasons.", "refused"],
  ["Selected model is at capacity. Please try a different model.", "overloaded"],
  ["Quota exceeded. Check your plan and billing details.", "rate-limited"],
  ["Error: thread/resume failed: no rollout found for thread id x", "broken"],
  ["something else", null],
] as const)("the message '%s' of Codex means %s", (message, kind) => {
  expect(matchFailure(message, codex.failures)).toBe(kind);
});
