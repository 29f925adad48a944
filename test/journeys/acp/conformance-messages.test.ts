// Requirements of the Agent Client Protocol for each message: its JSON-RPC envelope, its schema and its encoding.
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { acpHome } from "../../support/acp-home.ts";
import { rawAcp, type AcpMessage } from "../../support/acp-lines.ts";

const text = (words: string) => [{ type: "text", text: words }];

/** Checks messages of an agent with the schema that the SDK ships, of the stable version 1. */
async function schemaOfAgent() {
  const path = fileURLToPath(import.meta.resolve("@agentclientprotocol/sdk/package.json"));
  const schema = JSON.parse(await readFile(join(path, "..", "schema", "v1", "schema.json"), "utf8")) as {
    $defs: Record<string, { "x-method"?: string }>;
  };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  ajv.addSchema(schema, "acp");
  const nameOf = (method: string, suffix: RegExp) =>
    Object.entries(schema.$defs).find(([name, { "x-method": named }]) => named === method && suffix.test(name))?.[0];
  return {
    /** The errors of params or of a result; null if it is valid. */
    errors(method: string, suffix: RegExp, value: unknown): string | null {
      const name = nameOf(method, suffix);
      if (name === undefined) return `the schema has no ${method}`;
      const validate = ajv.getSchema(`acp#/$defs/${name}`)!;
      return validate(value) === true ? null : `${name}: ${ajv.errorsText(validate.errors)}`;
    },
  };
}

test("schema: each answer, update and request of an agent is valid, in a session with every kind of update", async () => {
  const schema = await schemaOfAgent();
  const steps = [
    { thinking: "think", text: "I look.", calls: [{ input: { command: "echo hi" } }] },
    { calls: [{ name: "edit", input: { path: "a.txt", old_text: "one", new_text: "1" } }] },
    { calls: [{ name: "read", input: { path: "missing.txt" } }] },
    { calls: [{ name: "ask_user", input: { question: "Which?", options: ["red", "blue"] } }] },
  ];
  await using skein = await acpHome(({ position: { prompt } }) => ({ steps: prompt === "go" ? steps : [], final: "done" }));
  writeFileSync(join(skein.project, "a.txt"), "one\ntwo\n");
  await using raw = await rawAcp(skein, { capabilities: { elicitation: { form: {} }, session: { notices: {} } } });
  const methods = new Map<unknown, string>([[1, "initialize"]]);
  const request = (method: string, params: unknown) => {
    methods.set(methods.size + 1, method);
    return raw.request(method, params);
  };
  const place = { cwd: skein.project, mcpServers: [] };
  await request("authenticate", { methodId: "local-credentials" });
  const sessionId = (await request("session/new", place)).result!["sessionId"];
  const answer = request("session/prompt", { sessionId, prompt: text("go") });
  const asked = await raw.until(({ method, id }) => method !== undefined && id !== undefined);
  await raw.line(JSON.stringify({ jsonrpc: "2.0", id: asked.id, result: { action: "accept", content: { choice: "red" } } }));
  expect(await answer).toMatchObject({ result: { stopReason: "end_turn" } });
  await request("session/set_config_option", { sessionId, configId: "policy", value: "plan" });
  await request("session/set_mode", { sessionId, modeId: "workspace" });
  await request("session/prompt", { sessionId, prompt: text("/undo") });
  await request("session/prompt", { sessionId, prompt: text("again") });
  await request("session/load", { ...place, sessionId });
  await request("session/resume", { ...place, sessionId });
  await request("session/list", {});
  await request("session/close", { sessionId });
  await request("session/delete", { sessionId });
  const problems = raw.messages.flatMap(({ id, method, params, result }) => {
    if (method !== undefined) return schema.errors(method, id === undefined ? /Notification$/ : /Request$/, params) ?? [];
    return schema.errors(methods.get(id)!, /Response$/, result) ?? [];
  });
  expect(problems).toEqual([]);
  const kinds = raw.messages.flatMap(({ params }) => (params?.["update"] as { sessionUpdate?: string })?.sessionUpdate ?? []);
  expect([...new Set(kinds)].toSorted()).toEqual([
    "agent_message_chunk",
    "agent_thought_chunk",
    "available_commands_update",
    "config_option_update",
    "current_mode_update",
    "session_info_update",
    "tool_call",
    "tool_call_update",
    "usage_update",
    "user_message_chunk",
  ]);
});

test("JSON-RPC: an answer has the id of its request, whether a number or a text, and either a result or an error", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  for (const id of [0, 7, -3, "seven", "", "7"]) {
    for (const method of ["session/list", "session/none"]) {
      const count = raw.messages.length;
      await raw.line(JSON.stringify({ jsonrpc: "2.0", id, method, params: {} }));
      const answer = await raw.until((message) => raw.messages.indexOf(message) >= count && message.id === id);
      expect([answer["jsonrpc"], "result" in answer, "error" in answer]).toEqual([
        "2.0",
        method === "session/list",
        method !== "session/list",
      ]);
    }
  }
});

test("JSON-RPC: a notification gets no answer, also an unknown one or one with wrong params", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  await raw.notify("session/cancel", { sessionId: result!["sessionId"] });
  await raw.notify("session/cancel", { sessionId: "unknown" });
  await raw.notify("session/cancel", { sessionId: 7 });
  await raw.notify("session/cancel");
  await raw.notify("$/cancel_request", { requestId: 99 });
  await raw.notify("_other/notice", {});
  await raw.notify("session/prompt", { sessionId: result!["sessionId"], prompt: "no list" });
  const last = await raw.request("session/list", {});
  expect(last.error).toBeUndefined();
  const answers = raw.messages.filter(({ method }) => method === undefined).map(({ id }) => id);
  expect(answers).toEqual([1, 2, last.id]);
});

test("errors: each has a number as its code and one line as its message", async () => {
  await using skein = await acpHome(shellScript([]));
  skein.server.setFault({ type: "status", status: 401, message: "no such key\nin two lines" });
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  const sessionId = result!["sessionId"];
  const refused: AcpMessage[] = [
    await raw.request("session/prompt", { sessionId, prompt: text("go") }),
    await raw.request("session/prompt", { sessionId, prompt: text("/graft nothing") }),
    await raw.request("session/set_config_option", { sessionId, configId: "agent", value: "clode" }),
    await raw.request("session/set_config_option", { sessionId, configId: "model", value: "nobody/nothing" }),
    await raw.request("session/new", { cwd: "/no\nplace", mcpServers: [] }),
    await raw.request("session/load", { sessionId: "two\nlines", cwd: skein.project, mcpServers: [] }),
    await raw.request("session/new", {}),
    await raw.request("_other/method", {}),
    await raw.request("_skein/graft", { sessionId, fromSessionId: 7 }),
  ];
  for (const { error } of refused) expect(error).toMatchObject({ code: expect.any(Number), message: expect.stringMatching(/^[^\r\n]+$/) });
});

test("transport: stdout is UTF-8, also if a chunk of the model ends within a character", async () => {
  const words = "Grüße, 世界, 👩‍👩‍👧, ".repeat(400);
  await using skein = await acpHome(shellScript([`printf '${"ü".repeat(3000)}'`], words));
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  await raw.request("session/prompt", { sessionId: result!["sessionId"], prompt: text("go") });
  expect(raw.process.stdoutText()).not.toContain("\uFFFD");
  const said = raw.messages
    .map(({ params }) => params?.["update"] as { sessionUpdate: string; content: { text: string } } | undefined)
    .flatMap((update) => (update?.sessionUpdate === "agent_message_chunk" ? [update.content.text] : []));
  expect(said.join("")).toBe(words);
});
