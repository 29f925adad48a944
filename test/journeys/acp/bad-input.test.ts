// Input that no client should send: each gets a JSON-RPC error or a close, and the program goes on or exits, but never crashes.
import { expect, test } from "bun:test";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { rawAcp, type RawAcp } from "../../support/acp-lines.ts";
import { serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const text = (words: string) => [{ type: "text", text: words }];

async function openSession(raw: RawAcp, cwd: string): Promise<string> {
  const { result } = await raw.request("session/new", { cwd, mcpServers: [] });
  return result!["sessionId"] as string;
}

test("malformed lines and messages get an error, and the next request works", async () => {
  await using skein = stoppingHub(temporaryHome(vendorEnv("http://127.0.0.1:9")));
  await using raw = await rawAcp(skein);
  const errorsAfter = async (line: string, code: number) => {
    const count = raw.messages.length;
    await raw.line(line);
    return raw.until((message) => raw.messages.indexOf(message) >= count && message.error?.code === code);
  };
  expect(await errorsAfter("{broken", -32700)).toMatchObject({ id: null });
  expect(await errorsAfter("[]", -32600)).toMatchObject({ id: null });
  expect(await errorsAfter("42", -32600)).toMatchObject({ id: null });
  expect(await errorsAfter('{"jsonrpc":"1.0","id":5,"method":"session/list"}', -32600)).toMatchObject({ id: null });
  await raw.line(""); // an empty line is ignored
  expect(await raw.request("session/list", {})).toMatchObject({ result: { sessions: [] } });
  expect(raw.process.stderrText()).not.toContain("    at ");
});

test("wrong params get invalid params or not found, with a message that says what is wrong", async () => {
  await using skein = stoppingHub(temporaryHome(vendorEnv("http://127.0.0.1:9")));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein.project);
  const unknown = "01a1ef7b-0000-7000-8000-000000000000";
  const place = { cwd: skein.project, mcpServers: [] };
  const wrong: [string, unknown, number, RegExp][] = [
    ["session/new", { cwd: "relative", mcpServers: [] }, -32602, /must be absolute/],
    ["session/new", { cwd: "/no/such/place", mcpServers: [] }, -32602, /no directory/],
    ["session/new", { mcpServers: [] }, -32602, /Invalid params/],
    ["session/new", { ...place, additionalDirectories: ["/no/such/place"] }, -32602, /no directory/],
    ["session/load", { ...place, sessionId: unknown }, -32002, /session/],
    ["session/resume", { ...place, sessionId: "latest" }, -32002, /no session latest/],
    ["session/prompt", { sessionId: unknown, prompt: text("x") }, -32002, /not open/],
    ["session/prompt", { sessionId, prompt: [] }, -32602, /empty/],
    ["session/prompt", { sessionId, prompt: text("  ") }, -32602, /empty/],
    ["session/prompt", { sessionId, prompt: [{ type: "audio", data: "", mimeType: "audio/wav" }] }, -32602, /audio/],
    ["session/prompt", { sessionId, prompt: "text" }, -32602, /Invalid params/],
    ["session/close", { sessionId: unknown }, -32002, /not open/],
    ["session/list", { cwd: "relative" }, -32602, /absolute/],
    ["session/list", { cursor: "x" }, -32602, /cursor/],
    ["session/set_mode", { sessionId, modeId: "yolo" }, -32602, /workspace, readonly, plan, full/],
    ["session/set_config_option", { sessionId, configId: "color", value: "red" }, -32602, /agent, model, effort, policy/],
    ["session/set_config_option", { sessionId, configId: "agent", value: "clode" }, -32602, /clode/],
    ["_skein/fork", { sessionId: 7 }, -32602, /sessionId/],
    ["_skein/fork", { sessionId, messageId: unknown }, -32002, /node/],
    ["_skein/graft", { sessionId }, -32602, /fromSessionId/],
  ];
  for (const [method, params, code, message] of wrong) {
    const { error } = await raw.request(method, params);
    expect({ method, params, code: error?.code }).toEqual({ method, params, code });
    expect(error?.message).toMatch(message);
  }
});

test("of two prompts at once in a session the second is refused, and prompts in two sessions run side by side", async () => {
  await using server = serverWith(shellScript(["until [ -e go ]; do sleep 0.02; done"], "done"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using raw = await rawAcp(skein);
  const [one, two] = [await openSession(raw, skein.project), await openSession(raw, skein.project)];
  const first = raw.request("session/prompt", { sessionId: one, prompt: text("wait") });
  const second = await raw.request("session/prompt", { sessionId: one, prompt: text("me too") });
  expect(second).toMatchObject({ error: { code: -32600 } });
  const other = raw.request("session/prompt", { sessionId: two, prompt: text("wait") });
  await Bun.write(`${skein.project}/go`, "");
  expect((await Promise.all([first, other])).map(({ result }) => result!["stopReason"])).toEqual(["end_turn", "end_turn"]);
});

test("a vendor that refuses the key makes the prompt fail with auth_required", async () => {
  await using server = serverWith(shellScript([]));
  server.setFault({ type: "status", status: 401, message: "no such key" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein.project);
  expect(await raw.request("session/prompt", { sessionId, prompt: text("x") })).toMatchObject({ error: { code: -32000 } });
});

test("a prompt of 20 MB is refused, and one of 50 MB closes the connection", async () => {
  await using server = serverWith(shellScript([], "still here"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein.project);
  const large = await raw.request("session/prompt", { sessionId, prompt: text("x".repeat(20 << 20)) });
  expect(large.error?.code).toBe(-32602);
  expect(await raw.request("session/prompt", { sessionId, prompt: text("small") })).toMatchObject({ result: { stopReason: "end_turn" } });
  await raw
    .line(JSON.stringify({ jsonrpc: "2.0", id: 99, method: "session/prompt", params: { sessionId, prompt: text("x".repeat(50 << 20)) } }))
    .catch(
      () => {}, // the program has closed its stdin
    );
  expect(await raw.process.exited).toBe(0);
  expect(raw.process.stderrText()).toContain("exceeds");
  expect(raw.process.stderrText()).not.toContain("    at ");
});
