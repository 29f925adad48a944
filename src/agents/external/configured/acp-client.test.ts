// A turn over ACP with a scripted peer: the requests that it gets, and the events that its messages become.
import { describe, expect, test } from "bun:test";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import type { Json } from "../../../kit/text/json.ts";
import { AcpDialogue, acpSessionLost } from "./acp-client.ts";
import type { CliEvent, CliLaunch, CliDialogue } from "../adapters/adapter.ts";

const launch: CliLaunch = {
  prompt: "do it",
  model: null,
  effort: null,
  role: null,
  directory: "/project",
  addDirs: [],
  configDir: "/config",
  start: { how: "new", id: "unused" },
  endpoint: null,
  isSandboxed: true,
  isRoot: false,
  isOffline: true,
  servers: { list: [], values: {} },
  extraArgs: [],
};

type Send = (message: Json) => void;
type Answer = (params: Json, send: Send) => Json | Promise<Json>;
type Failing = { error: Json };
type Request = { method: string; params: Json };
type Recorded = { events: CliEvent[]; requests: Request[]; replies: Json[]; isEnded: boolean; dialogue: CliDialogue };

const hello = { protocolVersion: 1, agentInfo: { name: "peer", version: "1.2.3" }, agentCapabilities: { loadSession: true } };
const defaultAnswers: Record<string, Answer> = {
  initialize: () => hello,
  "session/new": () => ({ sessionId: "s-1" }),
  "session/load": () => ({}),
  "session/resume": () => ({}),
  authenticate: () => ({}),
  "session/set_model": () => ({}),
  "session/set_config_option": () => ({}),
  "session/prompt": (_, send) => {
    send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } }));
    return { stopReason: "end_turn" };
  },
};

function update(body: Json): Json {
  return { method: "session/update", params: { sessionId: "s-1", update: body } };
}

function failing(code: number, message: string, data?: unknown): Answer {
  return () => ({ error: { code, message, data } }) satisfies Failing;
}

/** Runs a dialogue until it closes stdin, or until no more messages come. */
async function runDialogue(answers: Record<string, Answer>, changes: Partial<CliLaunch> = {}): Promise<Recorded> {
  const recorded: Omit<Recorded, "dialogue"> = { events: [], requests: [], replies: [], isEnded: false };
  const lines: string[] = [];
  const waiting: Promise<void>[] = [];
  const send: Send = (message) => void lines.push(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const handleLine = (text: string): void => {
    const message = JSON.parse(text) as Json;
    if (typeof message["method"] !== "string") return void recorded.replies.push(message);
    const [method, params] = [message["method"], message["params"] as Json];
    recorded.requests.push({ method, params });
    const answer = { ...defaultAnswers, ...answers }[method];
    if (answer === undefined || message["id"] === undefined) return;
    waiting.push(
      (async () => {
        const result = await answer(params, send);
        send("error" in result ? { id: message["id"], ...result } : { id: message["id"], result });
      })(),
    );
  };
  const dialogue = new AcpDialogue({ ...launch, ...changes }, { write: handleLine, end: () => (recorded.isEnded = true) });
  for (let idle = 0; idle < 20 && !recorded.isEnded; idle += 1) {
    await Promise.all(waiting.splice(0));
    for (const line of lines.splice(0)) {
      recorded.events.push(...dialogue.line(line));
      idle = 0;
    }
    await Bun.sleep(changes.start === undefined ? 0 : 30);
  }
  recorded.events.push(...dialogue.end());
  return { ...recorded, dialogue };
}

const eventsWithoutDeltas = (recorded: Recorded) =>
  recorded.events.filter((event) => event.type !== "text.delta" && event.type !== "thinking.delta");

describe("a turn over ACP", () => {
  test("a turn initializes, opens a session, sends the prompt and closes stdin", async () => {
    const recorded = await runDialogue({});
    expect(recorded.requests.map(({ method }) => method)).toEqual(["initialize", "session/new", "session/prompt"]);
    expect(recorded.requests[0]?.params).toMatchObject({
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
    });
    expect(recorded.requests[1]?.params).toEqual({ cwd: "/project", mcpServers: [] });
    expect(recorded.requests[2]?.params).toEqual({ sessionId: "s-1", prompt: [{ type: "text", text: "do it" }] });
    expect(eventsWithoutDeltas(recorded)).toEqual([
      { type: "session", id: "s-1", version: "1.2.3" },
      { type: "answer", parts: [{ kind: "text", text: "Done." }] },
      { type: "done" },
    ]);
    expect(recorded.isEnded).toBe(true);
  });

  test("text, thinking, calls, results and plans come in order, and calls with the data known by then", async () => {
    const recorded = await runDialogue({
      "session/prompt": (_, send) => {
        send(update({ sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm." } }));
        send(
          update({
            sessionUpdate: "plan",
            entries: [
              { content: "look", status: "completed" },
              { content: "act", status: "pending" },
            ],
          }),
        );
        send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I look." } }));
        send(update({ sessionUpdate: "tool_call", toolCallId: "c1", title: "bash", kind: "execute", status: "pending", rawInput: {} }));
        send(
          update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "in_progress", title: "ls", rawInput: { command: "ls" } }),
        );
        const content = [{ type: "content", content: { type: "text", text: "a b" } }];
        send(update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed", content }));
        send(update({ sessionUpdate: "tool_call", toolCallId: "c2", title: "Edit a file", kind: "edit", status: "pending" }));
        send(update({ sessionUpdate: "tool_call_update", toolCallId: "c2", status: "failed", rawOutput: { error: "no such file" } }));
        send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Do" } }));
        send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "ne." } }));
        return { stopReason: "end_turn" };
      },
    });
    expect(eventsWithoutDeltas(recorded).slice(1)).toEqual([
      {
        type: "answer",
        parts: [
          { kind: "thinking", text: "Hm.Plan:\n[x] look\n[ ] act\n" },
          { kind: "text", text: "I look." },
          { kind: "call", id: "c1", name: "bash", input: { command: "ls" } },
        ],
      },
      { type: "result", call: "c1", name: "bash", text: "a b", isError: false },
      { type: "answer", parts: [{ kind: "call", id: "c2", name: "edit", input: { title: "Edit a file" } }] },
      { type: "result", call: "c2", name: "edit", text: "no such file", isError: true },
      { type: "answer", parts: [{ kind: "text", text: "Done." }] },
      { type: "done" },
    ]);
    expect(recorded.events.flatMap((event) => (event.type === "text.delta" ? [event.text] : []))).toEqual(["I look.", "Do", "ne."]);
  });

  test("log lines and unknown updates are ignored", async () => {
    const recorded = await runDialogue({});
    expect(recorded.dialogue.line("npm warn something")).toEqual([{ type: "garbage" }]);
    const withoutAnswer = await runDialogue({
      "session/prompt": (_, send) => (send(update({ sessionUpdate: "usage_update", used: 1 })), { stopReason: "end_turn" }),
    });
    expect(eventsWithoutDeltas(withoutAnswer).at(-1)).toEqual({ type: "failed", message: "it ended without an answer" });
  });
});

describe("sessions of an ACP agent", () => {
  const resume = { start: { how: "resume", id: "s-9" } } as const;

  test("a loaded session does not repeat its earlier messages", async () => {
    const recorded = await runDialogue(
      {
        "session/load": (_, send) => {
          send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "old words" } }));
          void Bun.sleep(20).then(() =>
            send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "old words" } })),
          );
          return {};
        },
      },
      resume,
    );
    expect(recorded.requests.map(({ method }) => method)).toEqual(["initialize", "session/load", "session/prompt"]);
    expect(JSON.stringify(recorded.events)).not.toContain("old words");
    expect(eventsWithoutDeltas(recorded)[0]).toEqual({ type: "session", id: "s-9", version: "1.2.3" });
  });

  test("a session is resumed instead of loaded if the agent supports it", async () => {
    const can = { loadSession: true, sessionCapabilities: { resume: {} } };
    const recorded = await runDialogue({ initialize: () => ({ ...hello, agentCapabilities: can }) }, resume);
    expect(recorded.requests[1]).toMatchObject({ method: "session/resume", params: { sessionId: "s-9", cwd: "/project" } });
  });

  test("a session that can't be resumed counts as lost, and is not stored if the agent stores none", async () => {
    const lost = await runDialogue({ "session/load": failing(-32602, "Invalid params", { details: "no session s-9" }) }, resume);
    const failed = lost.events.find((event) => event.type === "failed");
    expect(acpSessionLost.test(failed?.message ?? "")).toBe(true);
    expect(failed?.message).toContain("no session s-9");
    expect(lost.requests.map(({ method }) => method)).not.toContain("session/prompt");
    const none = { initialize: () => ({ protocolVersion: 1 }) };
    expect(acpSessionLost.test(JSON.stringify((await runDialogue(none, resume)).events))).toBe(true);
    expect((await runDialogue(none)).events.some((event) => event.type === "session")).toBe(false);
  });
});

describe("the model of an ACP agent", () => {
  const models = { currentModelId: "auto", availableModels: [{ modelId: "auto" }, { modelId: "m-2" }] };
  const option = {
    id: "model",
    category: "model",
    currentValue: "google/a",
    options: [{ value: "google/a" }, { group: "more", options: [{ value: "google/m-2" }] }],
  };

  test("a model is set as an option of the session, also under another name of its vendor", async () => {
    const open = { "session/new": () => ({ sessionId: "s-1", configOptions: [option] }) };
    const recorded = await runDialogue(open, { model: "m-2", vendor: "gemini" });
    expect(recorded.requests[2]).toEqual({
      method: "session/set_config_option",
      params: { sessionId: "s-1", configId: "model", value: "google/m-2" },
    });
    const same = await runDialogue(open, { model: "a", vendor: "gemini" });
    expect(same.requests.map(({ method }) => method)).toEqual(["initialize", "session/new", "session/prompt"]);
  });

  test("a model is set by its id for an agent with a list, even if the list lacks it", async () => {
    const open = { "session/new": () => ({ sessionId: "s-1", models }) };
    const [listed, other] = [
      await runDialogue(open, { model: "m-2", vendor: "x" }),
      await runDialogue(open, { model: "m-3", vendor: "x" }),
    ];
    expect(listed.requests[2]).toEqual({ method: "session/set_model", params: { sessionId: "s-1", modelId: "m-2" } });
    expect(other.requests[2]?.params).toMatchObject({ modelId: "m-3" });
  });

  test("a model that the agent does not accept ends the turn before the prompt", async () => {
    const refused = await runDialogue(
      { "session/new": () => ({ sessionId: "s-1", models }), "session/set_model": failing(-32602, "unknown model") },
      { model: "m-3" },
    );
    expect(refused.events.at(-1)).toMatchObject({ type: "failed", message: "it does not accept the model m-3: unknown model" });
    const withoutOption = await runDialogue({}, { model: "m-3" });
    expect(withoutOption.events.at(-1)).toMatchObject({ type: "failed", message: "it has no option for a model" });
    const unknown = await runDialogue({ "session/new": () => ({ sessionId: "s-1", configOptions: [option] }) }, { model: "m-3" });
    expect(unknown.events.at(-1)).toMatchObject({ type: "failed", message: "it has no model m-3" });
    for (const recorded of [refused, withoutOption, unknown])
      expect(recorded.requests.map(({ method }) => method)).not.toContain("session/prompt");
  });
});

describe("permissions", () => {
  const options = [
    { optionId: "always", kind: "allow_always" },
    { optionId: "once", kind: "allow_once" },
    { optionId: "no", kind: "reject_once" },
  ];
  const requestPermission =
    (kind: string): Answer =>
    async (_, send) => {
      const toolCall = { toolCallId: "c1", title: "rm -rf build", kind, status: "pending" };
      send({ id: 77, method: "session/request_permission", params: { sessionId: "s-1", toolCall, options } });
      await Bun.sleep(5);
      send(update({ sessionUpdate: "tool_call_update", toolCallId: "c1", status: "completed" }));
      send(update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Done." } }));
      return { stopReason: "end_turn" };
    };

  test.each([
    [true, "execute", "once", "allowed"],
    [false, "execute", "no", "not allowed"],
    [false, "read", "once", "allowed"],
  ])(
    "a permission request with sandbox %j and kind %s is answered with %s and recorded with its call",
    async (isSandboxed, kind, optionId, decision) => {
      const recorded = await runDialogue({ "session/prompt": requestPermission(kind) }, { isSandboxed });
      expect(recorded.replies).toEqual([{ jsonrpc: "2.0", id: 77, result: { outcome: { outcome: "selected", optionId } } }]);
      expect(eventsWithoutDeltas(recorded).slice(1, 3)).toMatchObject([
        { type: "answer", parts: [{ kind: "call", id: "c1", name: kind, input: { title: "rm -rf build" } }] },
        {
          type: "sub-agent",
          call: "c1",
          event: { type: "answer", parts: [{ text: expect.stringContaining(`rm -rf build; ${decision}`) }] },
        },
      ]);
      expect(eventsWithoutDeltas(recorded)[3]).toMatchObject({ type: "result", call: "c1" });
    },
  );

  test("requests other than permissions, such as files and terminals, are refused", async () => {
    const recorded = await runDialogue({
      "session/prompt": async (_, send) => {
        send({ id: 1, method: "fs/read_text_file", params: { path: "/etc/shadow" } });
        send({ id: 2, method: "terminal/create", params: { command: "sh" } });
        await Bun.sleep(5);
        return { stopReason: "end_turn" };
      },
    });
    expect(recorded.replies).toMatchObject([
      { id: 1, error: { code: -32601 } },
      { id: 2, error: { code: -32601 } },
    ]);
  });
});

describe("the end of a turn over ACP", () => {
  test.each([
    ["refusal", "refused"],
    ["max_tokens", "too-long"],
    ["max_turn_requests", "budget"],
    ["cancelled", "cancelled"],
  ])("the stop reason %s ends the turn with the kind %s", async (stopReason, kind) => {
    expect((await runDialogue({ "session/prompt": () => ({ stopReason }) })).events.at(-1)).toMatchObject({ type: "failed", kind });
  });

  test.each<[Record<string, Answer>, TurnStatus | null, string]>([
    [{ "session/prompt": failing(-32603, "Internal error", { details: "401 invalid x-api-key" }) }, "auth", "invalid x-api-key"],
    [{ "session/prompt": failing(429, "Rate limit exceeded. Try again later.") }, "rate-limited", "Rate limit"],
    [{ "session/prompt": failing(500, "status 503: service unavailable") }, "overloaded", "503"],
    [{ "session/prompt": failing(-32603, "it broke") }, null, "it broke"],
    [{ initialize: failing(-32601, "what?") }, null, "what?"],
    [{ initialize: () => ({ protocolVersion: 7 }) }, "broken", "version 7 of ACP"],
    [{ "session/new": failing(-32000, "Authentication required") }, "auth", "Authentication required"],
  ])("the failure %# is reported with its kind", async (answers, kind, message) => {
    const recorded = await runDialogue(answers);
    const last = recorded.events.at(-1);
    expect(last).toMatchObject({ type: "failed", message: expect.stringContaining(message) });
    expect(last?.type === "failed" ? last.kind : undefined).toBe(kind);
    expect(recorded.isEnded).toBe(true);
  });
});

test("an agent that requires a sign-in is signed in with a key, never with a browser", async () => {
  const authMethods = [{ id: "oauth-personal" }, { id: "gemini-api-key" }];
  let isSigned = false;
  const recorded = await runDialogue({
    initialize: () => ({ ...hello, authMethods }),
    authenticate: () => ((isSigned = true), {}),
    "session/new": () => (isSigned ? { sessionId: "s-1" } : { error: { code: -32000, message: "Authentication required" } }),
  });
  expect(recorded.requests[2]).toEqual({ method: "authenticate", params: { methodId: "gemini-api-key" } });
  expect(eventsWithoutDeltas(recorded).at(-1)).toEqual({ type: "done" });
});

test("a stop sends session/cancel while the prompt runs, and closes stdin before it", async () => {
  const sent: string[] = [];
  let ends = 0;
  const dialogue = new AcpDialogue(launch, { write: (text) => sent.push(text), end: () => (ends += 1) });
  dialogue.cancel();
  expect(ends).toBe(1);
  for (const [id, result] of [hello, { sessionId: "s-1" }].entries()) {
    dialogue.line(JSON.stringify({ jsonrpc: "2.0", id: id + 1, result }));
    await Bun.sleep(0);
  }
  dialogue.cancel();
  expect(JSON.parse(sent.at(-1) ?? "")).toEqual({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "s-1" } });
  const half = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Half" } };
  dialogue.line(JSON.stringify({ jsonrpc: "2.0", ...update(half) }));
  expect(dialogue.end()).toEqual([{ type: "answer", parts: [{ kind: "text", text: "Half" }] }]);
});
