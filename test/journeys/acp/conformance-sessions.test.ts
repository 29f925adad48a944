// Requirements of the Agent Client Protocol for the methods of sessions, as its compatibility kit lists them.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { acpHome } from "../../support/acp-home.ts";
import { rawAcp, type AcpMessage, type RawAcp } from "../../support/acp-lines.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const text = (words: string) => [{ type: "text", text: words }];

async function openSession(raw: RawAcp, skein: TemporaryHome): Promise<string> {
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  const sessionId = result!["sessionId"] as string;
  await raw.until((message) => kindOf(message) === "available_commands_update" && message.params?.["sessionId"] === sessionId);
  return sessionId;
}

function kindOf({ params }: AcpMessage): string | undefined {
  return (params?.["update"] as { sessionUpdate?: string } | undefined)?.sessionUpdate;
}

/** The kinds of updates after a message, up to the answer of another request: an update on its way would arrive before it. */
async function kindsAfter(raw: RawAcp, message: AcpMessage): Promise<string[]> {
  const next = await raw.request("session/list", {});
  return raw.messages.slice(raw.messages.indexOf(message) + 1, raw.messages.indexOf(next)).flatMap((later) => kindOf(later) ?? []);
}

const untilFile = async (path: string) => {
  while (!existsSync(path)) await Bun.sleep(10);
};

test("session/new: two sessions of a connection have different ids", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  expect(await openSession(raw, skein)).not.toBe(await openSession(raw, skein));
});

test("session/prompt: each update of a prompt names the session of the prompt", async () => {
  await using skein = await acpHome(shellScript(["echo hi"], "done"));
  await using raw = await rawAcp(skein);
  const [one, other] = [await openSession(raw, skein), await openSession(raw, skein)];
  const count = raw.messages.length;
  expect(await raw.request("session/prompt", { sessionId: one, prompt: text("go") })).toMatchObject({ result: { stopReason: "end_turn" } });
  const named = raw.messages.slice(count).flatMap(({ method, params }) => (method === "session/update" ? [params!["sessionId"]] : []));
  expect([...new Set(named)]).toEqual([one]);
  expect(named).not.toContain(other);
});

test("session/cancel: all updates of the prompt arrive before its answer, and none after it", async () => {
  await using skein = await acpHome({
    steps: [{ text: "I begin.", calls: [{ input: { command: "touch begun; sleep 60" } }] }],
    final: "never",
  });
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein);
  const answer = raw.request("session/prompt", { sessionId, prompt: text("go") });
  await untilFile(join(skein.project, "begun"));
  await raw.notify("session/cancel", { sessionId });
  const answered = await answer;
  expect(answered).toMatchObject({ result: { stopReason: "cancelled" } });
  expect(await kindsAfter(raw, answered)).toEqual([]);
  const before = raw.messages.slice(0, raw.messages.indexOf(answered));
  const ended = before.filter((message) => kindOf(message) === "tool_call_update").at(-1);
  expect(ended?.params?.["update"]).toMatchObject({ status: "failed" });
});

test("session/load: all updates arrive before the answer, and none after it", async () => {
  await using skein = await acpHome(shellScript(["echo hi"], "done"));
  await using first = await rawAcp(skein);
  const sessionId = await openSession(first, skein);
  await first.request("session/prompt", { sessionId, prompt: text("go") });
  await using raw = await rawAcp(skein);
  for (const reader of [first, raw]) {
    const count = reader.messages.length;
    const loaded = await reader.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
    expect(loaded.error).toBeUndefined();
    expect(await kindsAfter(reader, loaded)).toEqual([]);
    const kinds = reader.messages.slice(count, reader.messages.indexOf(loaded)).flatMap((message) => kindOf(message) ?? []);
    expect(kinds).toEqual([
      "user_message_chunk",
      "tool_call",
      "tool_call_update",
      "agent_message_chunk",
      "available_commands_update",
      "session_info_update",
      "usage_update",
    ]);
  }
});

test("session/load: a prompt of the same connection that is not answered yet is answered when its turn ends", async () => {
  await using skein = await acpHome(shellScript(["touch begun; until [ -e go ]; do sleep 0.02; done"], "done"));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein);
  const answer = raw.request("session/prompt", { sessionId, prompt: text("go") });
  await untilFile(join(skein.project, "begun"));
  expect((await raw.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] })).error).toBeUndefined();
  writeFileSync(join(skein.project, "go"), "");
  expect(await answer).toMatchObject({ result: { stopReason: "end_turn" } });
});

test("session/load: two requests at once are both answered, and a later prompt is shown once", async () => {
  await using skein = await acpHome(({ position: { prompt } }) => shellScript([], `answer to ${prompt}`));
  await skein.run(["run", "first"]);
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/list", {});
  const [{ sessionId }] = result!["sessions"] as [{ sessionId: string }];
  const load = () => raw.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  for (const { error } of await Promise.all([load(), load()])) expect(error).toBeUndefined();
  const count = raw.messages.length;
  const answer = await raw.request("session/prompt", { sessionId, prompt: text("second") });
  expect(answer).toMatchObject({ result: { stopReason: "end_turn" } });
  await kindsAfter(raw, answer);
  const said = raw.messages.slice(count).filter((message) => kindOf(message) === "agent_message_chunk");
  const texts = said.map(({ params }) => (params!["update"] as { content: { text: string } }).content.text);
  expect(texts.join("")).toBe("answer to second");
});

test("session/resume: a request without mcpServers is accepted", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein);
  expect(await raw.request("session/resume", { sessionId, cwd: skein.project })).toMatchObject({ result: { modes: {} } });
});

test("session/list: a directory that no session uses has an empty list", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  await openSession(raw, skein);
  const other = join(skein.root, "unused");
  mkdirSync(other);
  expect((await raw.request("session/list", { cwd: other })).result).toEqual({ sessions: [] });
  expect((await raw.request("session/list", {})).result).toMatchObject({ sessions: [{ cwd: skein.project }] });
});

test("session/delete: a session that is deleted already, or that never was, gets an empty result", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein);
  for (const id of [sessionId, sessionId, "01a1ef7b-0000-7000-8000-000000000000", "never-created"])
    expect((await raw.request("session/delete", { sessionId: id })).result).toEqual({});
});

test("session/close: a running prompt is answered as cancelled, and nothing of its turn is left running", async () => {
  await using skein = await acpHome(shellScript(["touch begun; sleep 60"], "never"));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein);
  const answer = raw.request("session/prompt", { sessionId, prompt: text("go") });
  await untilFile(join(skein.project, "begun"));
  expect((await raw.request("session/close", { sessionId })).result).toEqual({});
  expect(await answer).toMatchObject({ result: { stopReason: "cancelled" } });
  expect(JSON.parse((await skein.run(["ps", "--json"])).out)).toEqual([]);
});

test("session/delete: a running prompt is answered as cancelled, and the session leaves the list", async () => {
  await using skein = await acpHome(shellScript(["touch begun; sleep 60"], "never"));
  await using raw = await rawAcp(skein);
  const sessionId = await openSession(raw, skein);
  const answer = raw.request("session/prompt", { sessionId, prompt: text("go") });
  await untilFile(join(skein.project, "begun"));
  expect((await raw.request("session/delete", { sessionId })).result).toEqual({});
  expect(await answer).toMatchObject({ result: { stopReason: "cancelled" } });
  expect((await raw.request("session/list", {})).result).toEqual({ sessions: [] });
});

test("modes and config options: each current value is one of its choices, and a change answers with all options", async () => {
  await using skein = await acpHome(shellScript([]));
  await using raw = await rawAcp(skein);
  const { result } = await raw.request("session/new", { cwd: skein.project, mcpServers: [] });
  const sessionId = result!["sessionId"];
  const modes = result!["modes"] as { currentModeId: string; availableModes: { id: string }[] };
  expect(modes.availableModes.map(({ id }) => id)).toContain(modes.currentModeId);
  type Option = { id: string; type: string; currentValue: string; options: { value: string }[] };
  const options = result!["configOptions"] as Option[];
  for (const { type, currentValue, options: values } of options) {
    expect(type).toBe("select"); // a boolean needs a capability of the client
    expect(values.map(({ value }) => value)).toContain(currentValue);
  }
  const changed = await raw.request("session/set_config_option", { sessionId, configId: "policy", value: "readonly" });
  const after = changed.result!["configOptions"] as Option[];
  expect(after.map(({ id }) => id)).toEqual(options.map(({ id }) => id));
  expect(after.find(({ id }) => id === "policy")!.currentValue).toBe("readonly");
  expect((await raw.request("session/set_mode", { sessionId, modeId: "plan" })).result).toEqual({});
  const updates = raw.messages.filter((message) => kindOf(message) === "current_mode_update");
  for (const { params } of updates) expect(Object.keys(params!["update"] as object)).toContain("currentModeId");
});
