// The requirements of the Agent Client Protocol, version 1, one test for each, against the real program.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { acpClient, textOfUpdates } from "../../support/acp-clients.ts";
import { acpHome } from "../../support/acp-home.ts";
import { rawAcp, type AcpMessage } from "../../support/acp-lines.ts";
import { stoppingHub } from "../../support/mcp-clients.ts";
import { ownRlimitTag, waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome } from "../../support/temporary-home.ts";

const question = { calls: [{ name: "ask_user", input: { question: "Which?", options: ["red", "blue"] } }] };

test("initialize: the agent answers with version 1, its capabilities and its ways to sign in, whichever version is asked for", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein, { initialize: false });
  expect(await raw.request("session/new", { cwd: skein.project, mcpServers: [] })).toMatchObject({ error: { code: -32600 } });
  for (const protocolVersion of [1, 2, 99, 0]) {
    const { result } = await raw.request("initialize", { protocolVersion });
    expect(result).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "skein" },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        sessionCapabilities: { list: {}, delete: {}, resume: {}, close: {}, additionalDirectories: {}, fork: {} },
      },
      authMethods: [{ id: "local-credentials" }],
    });
  }
  expect(await raw.request("initialize", { protocolVersion: "one" })).toMatchObject({ error: { code: -32602 } });
  const withTerminal = await raw.request("initialize", { protocolVersion: 1, clientCapabilities: { auth: { terminal: true } } });
  expect(withTerminal.result).toMatchObject({ authMethods: [{ id: "local-credentials" }, { type: "terminal", args: ["login"] }] });
  const login = await skein.run(["acp", "login", "--json"]);
  expect({ code: login.code, keys: Object.keys(login.json()) }).toEqual({ code: 0, keys: ["vendors", "agents"] });
  // No hub was started for any of this.
  expect(existsSync(join(skein.env["SKEIN_HOME"]!, "state", "hub.json"))).toBe(false);
});

test("authenticate: succeeds with a key, and fails with auth_required without any credential", async () => {
  await using skein = await acpHome(shellScript([]));
  await using ready = await rawAcp(skein);
  expect(await ready.request("authenticate", { methodId: "local-credentials" })).toMatchObject({ result: {} });
  expect(await ready.request("authenticate", { methodId: "other" })).toMatchObject({ error: { code: -32602 } });
  await using bare = stoppingHub(temporaryHome({ PATH: "/usr/bin:/bin" }));
  await using without = await rawAcp(bare);
  expect(await without.request("authenticate", { methodId: "local-credentials" })).toMatchObject({ error: { code: -32000 } });
});

test("lifecycle: a session is created, prompted, closed, resumed, loaded, listed and deleted", async () => {
  await using skein = await acpHome(shellScript([], "hello there"));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  expect((await acp.prompt(sessionId, "say hello")).stopReason).toBe("end_turn");
  await acp.agent.request("session/close", { sessionId });
  await expect(acp.prompt(sessionId, "again")).rejects.toMatchObject({ code: -32002 });
  await acp.agent.request("session/resume", { sessionId, cwd: skein.project, mcpServers: [] });
  expect((await acp.prompt(sessionId, "again")).stopReason).toBe("end_turn");
  const { sessions } = await acp.agent.request("session/list", { cwd: skein.project });
  expect(sessions).toMatchObject([{ sessionId, cwd: skein.project, title: "say hello" }]);
  expect(new Date(sessions[0]!.updatedAt!).toISOString()).toBe(sessions[0]!.updatedAt!);
  await acp.agent.request("session/delete", { sessionId });
  expect((await acp.agent.request("session/list", { cwd: skein.project })).sessions).toEqual([]);
  // Nothing is lost: the terminal restores the session.
  expect((await skein.run(["restore", sessionId])).code).toBe(0);
  expect((await acp.agent.request("session/list", {})).sessions).toMatchObject([{ sessionId }]);
});

test("session/new: the answer has modes and config options, and the commands follow the answer", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  expect(result).toMatchObject({ modes: { currentModeId: "workspace" } });
  const options = result!["configOptions"] as { id: string; category: string; currentValue: string }[];
  expect(options.map(({ id, category }) => `${id} ${category}`)).toEqual([
    "agent _agent",
    "model model",
    "effort thought_level",
    "policy mode",
  ]);
  expect(options[0]!.currentValue).toBe("native");
  await raw.until(({ params }) => (params?.["update"] as { sessionUpdate?: string })?.sessionUpdate === "available_commands_update");
  const order = raw.messages.map(({ id, method }) => method ?? `answer ${String(id)}`);
  expect(order.indexOf("session/update")).toBeGreaterThan(order.indexOf("answer 2"));
});

test("session/load repeats the whole history before it answers, and session/resume repeats nothing", async () => {
  await using skein = await acpHome({ steps: [{ text: "I look.", calls: [{ input: { command: "echo hi" } }] }], final: "done" });
  await skein.run(["run", "say hi", "--session", "terminal"]);
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/list", { cwd: skein.project });
  const [{ sessionId }] = result!["sessions"] as [{ sessionId: string }];
  const kinds = () => raw.messages.flatMap(({ params }) => (params?.["update"] as { sessionUpdate?: string })?.sessionUpdate ?? []);
  await raw.request("session/resume", { sessionId, cwd: skein.project, mcpServers: [] });
  await raw.until(({ params }) => (params?.["update"] as { sessionUpdate?: string })?.sessionUpdate === "session_info_update");
  expect(kinds().filter((kind) => /message|tool/.test(kind))).toEqual([]);
  const loaded = await raw.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  const before = raw.messages.slice(0, raw.messages.indexOf(loaded));
  const history = before.flatMap(({ params }) => (params?.["update"] as { sessionUpdate?: string })?.sessionUpdate ?? []);
  expect(history.filter((kind) => /message|tool/.test(kind))).toEqual([
    "user_message_chunk",
    "agent_message_chunk",
    "tool_call",
    "tool_call_update",
    "agent_message_chunk",
  ]);
  expect(loaded.result).toMatchObject({ modes: {}, configOptions: [{ id: "agent" }, {}, {}, {}] });
});

test("cancel race: at 50 random moments a cancellation gets one answer, and leaves nothing running", async () => {
  const tag = ownRlimitTag();
  // Every second prompt would end soon by itself, so that some cancellations race with the end of their turn.
  await using skein = await acpHome(({ position: { prompt } }) => ({
    steps: [
      {
        text: "one ".repeat(50),
        calls: [{ input: { command: prompt.startsWith("long") ? `sleep ${tag}` : "sleep 0.05; echo x" } }],
        delayMs: 20,
      },
    ],
    final: "two ".repeat(50),
  }));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  const reasons: string[] = [];
  for (let moment = 0; moment < 50; moment += 1) {
    const isLong = moment % 2 === 0;
    const answer = acp.prompt(sessionId, `${isLong ? "long" : "short"} ${moment}`);
    if (moment % 10 !== 0) await Bun.sleep(Math.random() * (isLong ? 100 : 200));
    await acp.cancel(sessionId);
    const { stopReason } = await answer;
    reasons.push(stopReason);
    if (isLong) expect(stopReason).toBe("cancelled");
    const isOfCommand = ({ command }: { command: string }) => command.includes(tag);
    expect(await waitForNoProcesses(skein.root, 5_000, { tag, only: isOfCommand })).toEqual([]);
    if (moment % 10 === 0) expect(JSON.parse((await skein.run(["ps", "--json"])).out)).toEqual([]);
  }
  expect(reasons.filter((reason) => reason !== "cancelled" && reason !== "end_turn")).toEqual([]);
  // The session still works, and each request of this client had one answer.
  expect(await acp.prompt(sessionId, "last")).toMatchObject({ stopReason: "end_turn" });
  const messages = acp.process.stdoutText().trimEnd().split("\n");
  const answered = messages.map((line) => JSON.parse(line) as AcpMessage).flatMap(({ id, method }) => (method === undefined ? [id] : []));
  expect([answered.length, new Set(answered).size]).toEqual([53, 53]);
}, 120_000);

test("$/cancel_request: cancelling the request of a prompt stops its turn, and the request is answered once", async () => {
  await using skein = await acpHome(shellScript(["touch begun; sleep 60"], "never"));
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  const sessionId = result!["sessionId"];
  const prompt = { jsonrpc: "2.0", id: "mine", method: "session/prompt", params: { sessionId, prompt: [{ type: "text", text: "wait" }] } };
  await raw.line(JSON.stringify(prompt));
  while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(10);
  await raw.notify("$/cancel_request", { requestId: "mine" });
  const answer = await raw.until(({ id }) => id === "mine");
  expect([answer.result?.["stopReason"] ?? answer.error?.code]).toEqual(["cancelled"]);
  expect(JSON.parse((await skein.run(["ps", "--json"])).out)).toEqual([]);
  expect(raw.messages.filter(({ id }) => id === "mine")).toHaveLength(1);
});

test("additionalDirectories: a tool can change files there, and nowhere else outside of the project", async () => {
  await using skein = await acpHome({
    steps: [
      { calls: [{ name: "write", input: { path: "../more/a.txt", content: "a" } }] },
      { calls: [{ name: "write", input: { path: "../other.txt", content: "b" } }] },
    ],
    final: "done",
  });
  const more = join(skein.root, "more");
  mkdirSync(more);
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [], additionalDirectories: [more] });
  await raw.request("session/prompt", { sessionId: result!["sessionId"], prompt: [{ type: "text", text: "write" }] });
  expect(readFileSync(join(more, "a.txt"), "utf8")).toBe("a");
  expect(existsSync(join(skein.root, "other.txt"))).toBe(false);
});

test("extensibility: _meta and unknown fields in params are accepted, and answers have no unknown fields beside _meta", async () => {
  await using skein = await acpHome(shellScript([], "hello"));
  await using raw = await rawAcp(skein);
  const more = { _meta: { traceparent: "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01", "x.y/z": [1] }, later: true };
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [], ...more });
  const prompt = [{ type: "text", text: "hi", ...more }];
  const answer = await raw.request("session/prompt", { sessionId: result!["sessionId"], prompt, ...more });
  expect(answer).toMatchObject({ result: { stopReason: "end_turn" } });
  expect(Object.keys(result!).sort()).toEqual(["configOptions", "modes", "sessionId"]);
  expect(Object.keys(answer.result!).sort()).toEqual(["_meta", "stopReason"]);
  const listed = await raw.request("session/list", { ...more });
  const [session] = listed.result!["sessions"] as Record<string, unknown>[];
  expect(Object.keys(session!).sort()).toEqual(["_meta", "cwd", "sessionId", "title", "updatedAt"]);
});

test("session/list: more than a hundred sessions arrive in pages, each session once", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  const created = new Set<string>();
  for (let count = 0; count < 101; count += 1) {
    const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
    created.add(result!["sessionId"] as string);
  }
  const first = (await raw.request("session/list", { cwd: skein.project })).result!;
  const second = (await raw.request("session/list", { cwd: skein.project, cursor: first["nextCursor"] })).result!;
  const listed = [first, second].flatMap(({ sessions }) => sessions as { sessionId: string }[]).map(({ sessionId }) => sessionId);
  expect([listed.length, new Set(listed)]).toEqual([101, created]);
  expect(second).not.toHaveProperty("nextCursor");
});

test("no client method is called that the client did not advertise", async () => {
  await using skein = await acpHome({
    steps: [
      { calls: [{ name: "write", input: { path: "a.txt", content: "a" } }] },
      { calls: [{ input: { command: "cat a.txt" } }] },
      question,
    ],
    final: "painted",
  });
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  const answer = raw.request("session/prompt", { sessionId: result!["sessionId"], prompt: [{ type: "text", text: "paint" }] });
  const permission = await raw.until(({ method, id }) => method !== undefined && id !== undefined);
  expect(permission).toMatchObject({ method: "session/request_permission", params: { options: [{ name: "red" }, { name: "blue" }, {}] } });
  await raw.line(JSON.stringify({ jsonrpc: "2.0", id: permission.id, result: { outcome: { outcome: "selected", optionId: "1" } } }));
  expect((await answer).result).toMatchObject({ stopReason: "end_turn" });
  expect(skein.server.main().at(-1)?.text).toContain("blue");
  expect([...new Set(raw.messages.flatMap(({ method }) => method ?? []))].sort()).toEqual(["session/request_permission", "session/update"]);
  expect(readFileSync(join(skein.project, "a.txt"), "utf8")).toBe("a");
  const kinds = raw.messages.flatMap(({ params }) => (params?.["update"] as { sessionUpdate?: string })?.sessionUpdate ?? []);
  expect(kinds.filter((kind) => kind === "notice" || kind.startsWith("compaction"))).toEqual([]);
});

test("unknown methods: requests are answered with method not found, also those that begin with _, and notifications are ignored", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  for (const method of ["_other/method", "session/unknown", "fs/read_text_file", ""])
    expect(await raw.request(method, {})).toMatchObject({ error: { code: -32601 } });
  await raw.notify("_other/notice", { any: true });
  await raw.notify("session/unknown", {});
  expect(await raw.request("session/list", { cwd: skein.project })).toMatchObject({ result: { sessions: [] } });
});

test("shutdown: the program exits promptly when stdin closes, and a running turn continues without it", async () => {
  await using skein = await acpHome(shellScript(["until [ -e go ]; do sleep 0.05; done; echo late > made.txt"], "made it"));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  const answer = acp.prompt(sessionId, "wait for it");
  answer.catch(() => {}); // the connection closes before the answer
  while (!acp.updates.some((update) => update.sessionUpdate === "tool_call")) await Bun.sleep(10);
  const closedAt = performance.now();
  expect(await acp.close()).toBe(0);
  expect(performance.now() - closedAt).toBeLessThan(2_000);
  writeFileSync(join(skein.project, "go"), "");
  const waited = await skein.run(["logs", "-f", sessionId]);
  expect(waited.out).toContain("made it");
  expect(readFileSync(join(skein.project, "made.txt"), "utf8")).toBe("late\n");
});

test("stdout has nothing but JSON-RPC messages, one per line, also with debug output and failing requests", async () => {
  await using skein = await acpHome({ steps: [{ calls: [{ input: { command: "echo out; echo err >&2; exit 3" } }] }], final: "done" });
  await using acp = await acpClient(skein, { env: { SKEIN_DEBUG: "1" } });
  const { sessionId } = await acp.open();
  await acp.prompt(sessionId, "fail");
  await expect(acp.prompt("no-session", "x")).rejects.toMatchObject({ code: -32002 });
  await expect(acp.agent.request("_no/method", {})).rejects.toMatchObject({ code: -32601 });
  expect(await acp.close()).toBe(0);
  const lines = acp.process.stdoutText().split("\n");
  expect(lines.pop()).toBe("");
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toBe("done");
});
