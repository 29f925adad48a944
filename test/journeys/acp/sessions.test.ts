// The SDK's client drives the real `skein acp`: prompts with tool calls and diffs, questions, loading, options, forks.
import type { ClientApp, SessionUpdate } from "@agentclientprotocol/sdk";
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { acpClient, startAcp, textOfUpdates, type AcpTestClient } from "../../support/acp-clients.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { serverWith, stoppingHub } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

function ofKind<Kind extends SessionUpdate["sessionUpdate"]>(updates: readonly SessionUpdate[], kind: Kind) {
  return updates.filter((update): update is Extract<SessionUpdate, { sessionUpdate: Kind }> => update.sessionUpdate === kind);
}

/** The final state of each tool call, from all its updates. */
function toolCalls(updates: readonly SessionUpdate[]) {
  const calls = new Map<string, Record<string, unknown>>();
  for (const update of updates) {
    if (update.sessionUpdate !== "tool_call" && update.sessionUpdate !== "tool_call_update") continue;
    const { sessionUpdate: _, ...fields } = update;
    calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...fields });
  }
  return [...calls.values()];
}

test("a prompt streams thoughts, text, a command, and an edit with its diff and location, and then title and usage", async () => {
  await using server = serverWith({
    steps: [
      { thinking: "think first", text: "I look.", calls: [{ input: { command: "echo from-the-shell" } }] },
      { calls: [{ name: "edit", input: { path: "a.txt", old_text: "two", new_text: "2" } }] },
    ],
    final: "All done.",
  });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  writeFileSync(join(skein.project, "a.txt"), "one\ntwo\nthree\n");
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  expect(await acp.prompt(sessionId, "change it")).toMatchObject({ stopReason: "end_turn" });
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toBe("I look.All done.");
  expect(textOfUpdates(acp.updates, "agent_thought_chunk")).toBe("think first");
  expect(textOfUpdates(acp.updates, "user_message_chunk")).toBe("");
  const path = join(skein.project, "a.txt");
  expect(toolCalls(acp.updates)).toMatchObject([
    {
      name: "bash",
      kind: "execute",
      title: "echo from-the-shell",
      status: "completed",
      content: [{ type: "content", content: { text: "```\nfrom-the-shell\n```" } }],
    },
    {
      name: "edit",
      kind: "edit",
      title: "edit a.txt",
      status: "completed",
      content: [{ type: "diff", path, oldText: "one\ntwo\nthree", newText: "one\n2\nthree" }],
      locations: [{ path, line: 2 }],
    },
  ]);
  expect(ofKind(acp.updates, "session_info_update")).toMatchObject([{ title: "change it" }]);
  const usage = ofKind(acp.updates, "usage_update").at(-1)!;
  expect(usage).toMatchObject({ size: 1_000_000, cost: { currency: "USD" } });
  expect(usage.used).toBeGreaterThan(100);
  // It is an ordinary session: the terminal shows it.
  expect((await skein.run(["show", sessionId])).out).toContain("All done.");
});

test("images, linked files and embedded resources of a prompt reach the model", async () => {
  await using server = serverWith(shellScript([], "seen"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  const uri = pathToFileURL(join(skein.project, "src", "main.ts")).href;
  await acp.agent.request("session/prompt", {
    sessionId,
    prompt: [
      { type: "text", text: "Compare " },
      { type: "resource_link", name: "main.ts", uri },
      { type: "text", text: " with this:" },
      { type: "resource", resource: { uri: `${uri}#L3`, text: "const unsaved = 1;\n" } },
      { type: "image", mimeType: "image/png", data: pixel },
    ],
  });
  const sent = server.main().at(-1)!.text;
  for (const words of ["Compare @src/main.ts with this:", "src/main.ts#L3", "const unsaved = 1;", pixel]) expect(sent).toContain(words);
});

const question = { calls: [{ name: "ask_user", input: { question: "Which color?", options: ["red", "blue"] } }] };

test("a question is shown as a form to a client with elicitation, and its answer reaches the agent in the same turn", async () => {
  await using server = serverWith({ steps: [question], final: "painted" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const forms: unknown[] = [];
  const prepare = (app: ClientApp) =>
    app.onRequest("elicitation/create", ({ params }) => {
      forms.push(params);
      return { action: "accept", content: { answer: "green" } };
    });
  await using acp = await acpClient(skein, { capabilities: { elicitation: { form: {} } }, prepare });
  const { sessionId } = await acp.open();
  expect(await acp.prompt(sessionId, "paint it")).toMatchObject({ stopReason: "end_turn" });
  expect(forms).toMatchObject([{ mode: "form", message: "Which color?", sessionId }]);
  expect(server.main().at(-1)?.text).toContain("green");
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toBe("painted");
});

test("a question that the terminal answers first is withdrawn from the client", async () => {
  await using server = serverWith({ steps: [question], final: "painted" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const shown = Promise.withResolvers<void>();
  const withdrawn = Promise.withResolvers<void>();
  const prepare = (app: ClientApp) =>
    app.onRequest("elicitation/create", async ({ signal }) => {
      shown.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      withdrawn.resolve();
      return { action: "cancel" };
    });
  await using acp = await acpClient(skein, { capabilities: { elicitation: { form: {} } }, prepare });
  const { sessionId } = await acp.open();
  const answer = acp.prompt(sessionId, "paint it");
  await shown.promise;
  const [open] = JSON.parse((await skein.run(["asks", "--json"])).out) as { id: string }[];
  expect((await skein.run(["answer", open!.id, "red"])).code).toBe(0);
  await withdrawn.promise;
  expect(await answer).toMatchObject({ stopReason: "end_turn" });
  expect(server.main().at(-1)?.text).toContain("red");
});

test("without elicitation, a question that the user answers in the chat ends the prompt, and the next prompt answers it", async () => {
  await using server = serverWith(({ position: { prompt } }) =>
    prompt.includes("green") ? { steps: [], final: "painted" } : { steps: [question], final: "" },
  );
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  const prepare = (app: ClientApp) => app.onRequest("session/request_permission", () => ({ outcome: { outcome: "cancelled" } }));
  await using acp = await acpClient(skein, { prepare });
  const { sessionId } = await acp.open();
  expect(await acp.prompt(sessionId, "paint it")).toMatchObject({ stopReason: "end_turn" });
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toBe("Which color?\n- red\n- blue\n\n");
  await acp.prompt(sessionId, "green");
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toEndWith("painted");
});

test("a session that was begun in the terminal is listed, loaded and continued, and the terminal continues it in turn", async () => {
  await using server = serverWith(({ position: { prompt } }) => shellScript([], `answer to ${prompt}`));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await skein.run(["run", "first", "--session", "begun"]);
  const below = join(skein.project, "src");
  mkdirSync(below);
  await using acp = await acpClient(skein);
  const { sessions } = await acp.agent.request("session/list", { cwd: below });
  expect(sessions).toMatchObject([{ title: "begun", cwd: skein.project }]);
  const { sessionId } = sessions[0]!;
  await acp.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  expect(textOfUpdates(acp.updates, "user_message_chunk")).toBe("first");
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toBe("answer to first");
  await acp.prompt(sessionId, "second");
  expect(server.main().at(-1)?.text).toContain("answer to first");
  // The client sees the turn of the terminal live.
  await skein.run(["run", "third", "--session", "begun"]);
  while (!textOfUpdates(acp.updates, "agent_message_chunk").endsWith("answer to third")) await Bun.sleep(10);
  expect(textOfUpdates(acp.updates, "user_message_chunk")).toBe("firstthird");
});

test("one thread passes from claude to codex to native, and each gets the conversation so far", async () => {
  await using server = serverWith(shellScript([], "native is here"));
  await using skein = stoppingHub(homeWithFakeClis(["claude", "codex"], vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  const use = (agent: string) => acp.agent.request("session/set_config_option", { sessionId, configId: "agent", value: agent });
  const { configOptions } = await use("claude");
  expect(configOptions.find(({ id }) => id === "agent")).toMatchObject({ currentValue: "claude" });
  expect(configOptions.find(({ id }) => id === "model")).toMatchObject({ currentValue: "default" });
  await acp.prompt(sessionId, "one for claude");
  await use("codex");
  await acp.prompt(sessionId, "two for codex");
  await use("native");
  await acp.prompt(sessionId, "three for native");
  expect(skein.started().map(({ name }) => name)).toEqual(["claude", "codex"]);
  expect(skein.started()[1]!.input).toContain("one for claude");
  const request = server.main().at(-1)!.text;
  for (const words of ["one for claude", "two for codex", "three for native"]) expect(request).toContain(words);
  expect(textOfUpdates(acp.updates, "agent_message_chunk")).toEndWith("native is here");
  const { turns } = (await skein.run(["show", sessionId, "--json"])).json() as { turns: { agent: string }[] };
  expect(turns.map(({ agent }) => agent)).toEqual(["claude", "codex", "native"]);
});

test("model, effort and policy are options, and the policy is also the mode", async () => {
  await using server = serverWith({ steps: [{ calls: [{ name: "write", input: { path: "b.txt", content: "b" } }] }], final: "done" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  const set = (configId: string, value: string) => acp.agent.request("session/set_config_option", { sessionId, configId, value });
  await set("model", "openai/gpt-5.2");
  await set("effort", "high");
  await set("policy", "readonly");
  expect(ofKind(acp.updates, "current_mode_update")).toMatchObject([{ currentModeId: "readonly" }]);
  await acp.prompt(sessionId, "write it");
  expect(server.main().at(-1)!.text).toContain('"effort":"high"');
  expect(toolCalls(acp.updates)).toMatchObject([{ name: "write", status: "failed" }]);
  await acp.agent.request("session/set_mode", { sessionId, modeId: "workspace" });
  const options = ofKind(acp.updates, "config_option_update").at(-1)!.configOptions;
  expect(options.map(({ id, currentValue }) => [id, currentValue])).toEqual([
    ["agent", "native"],
    ["model", "openai/gpt-5.2"],
    ["effort", "high"],
    ["policy", "workspace"],
  ]);
  await acp.prompt(sessionId, "write it now");
  expect(toolCalls(acp.updates).at(-1)).toMatchObject({ name: "write", status: "completed", content: [{ type: "diff", oldText: null }] });
});

test("a fork at a message leaves later messages out, a fork of the tip has all, and a graft adds a conclusion", async () => {
  await using server = serverWith(({ position: { prompt } }) => shellScript([], `answer to ${prompt}`));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  await acp.prompt(sessionId, "first");
  const { messageId } = ofKind(acp.updates, "agent_message_chunk").at(-1)!;
  await acp.prompt(sessionId, "second");
  const early = await acp.agent.request<{ sessionId: string }>("_skein/fork", { sessionId, messageId });
  await acp.prompt(early.sessionId, "other");
  const request = server.main().at(-1)!.text;
  expect({ first: request.includes("answer to first"), second: request.includes("answer to second") }).toEqual({
    first: true,
    second: false,
  });
  const late = await acp.agent.request<{ sessionId: string }>("session/fork", { sessionId, cwd: skein.project, mcpServers: [] });
  await acp.prompt(late.sessionId, "more");
  expect(server.main().at(-1)!.text).toContain("answer to second");
  await acp.agent.request("_skein/graft", { sessionId, fromSessionId: early.sessionId });
  while (
    !ofKind(acp.updates, "agent_message_chunk").some(
      (update) => update.content.type === "text" && update.content.text.includes("answer to other"),
    )
  )
    await Bun.sleep(10);
  await acp.prompt(sessionId, "third");
  expect(server.main().at(-1)!.text).toContain("answer to other");
});

test("slash commands take back a turn, put it back, fork and summarise", async () => {
  await using server = serverWith({ steps: [{ calls: [{ name: "write", input: { path: "c.txt", content: "c" } }] }], final: "written" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using acp = await acpClient(skein);
  const { sessionId } = await acp.open();
  const said = async (text: string) => {
    const before = acp.updates.length;
    expect(await acp.prompt(sessionId, text)).toMatchObject({ stopReason: "end_turn" });
    return textOfUpdates(acp.updates.slice(before), "agent_message_chunk");
  };
  await said("write c");
  expect(await said("/undo")).toBe('Took back "write c".\n- c.txt\n\n');
  expect(await Bun.file(join(skein.project, "c.txt")).exists()).toBe(false);
  expect(await said("/redo")).toStartWith('Put back "write c".');
  expect(await said("/fork aside")).toStartWith("Forked as aside");
  expect(await said("/not-a-command")).toBe("written");
  await expect(acp.prompt(sessionId, "/graft")).rejects.toMatchObject({ code: -32602 });
});

/** Waits until the client has seen this text of the agent. */
async function untilText(acp: AcpTestClient, text: string): Promise<void> {
  while (!textOfUpdates(acp.updates, "agent_message_chunk").includes(text)) await Bun.sleep(10);
}

test("two clients and a terminal watch one turn; the one that began it is killed, and nothing is lost", async () => {
  await using server = serverWith({
    steps: [{ text: "working", calls: [{ input: { command: "until [ -e go ]; do sleep 0.02; done; echo went on" } }] }],
    final: "all of it",
  });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using first = await acpClient(skein);
  const { sessionId } = await first.open();
  await using second = await acpClient(skein);
  await second.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  const answer = first.prompt(sessionId, "begin");
  answer.catch(() => {}); // this client is killed before the answer
  await Promise.all([untilText(first, "working"), untilText(second, "working")]);
  const terminal = skein.start(["logs", "-f", sessionId]);
  const printed = new Response(terminal.stdout).text();
  await first[Symbol.asyncDispose]();
  // A third client joins in the middle and gets what was said before.
  await using third = await acpClient(skein);
  await third.agent.request("session/load", { sessionId, cwd: skein.project, mcpServers: [] });
  writeFileSync(join(skein.project, "go"), "");
  await Promise.all([untilText(second, "all of it"), untilText(third, "all of it")]);
  for (const acp of [second, third]) {
    expect(textOfUpdates(acp.updates, "agent_message_chunk")).toBe("workingall of it");
    expect(textOfUpdates(acp.updates, "user_message_chunk")).toBe("begin");
    expect(toolCalls(acp.updates)).toMatchObject([{ status: "completed", content: [{ content: { text: "```\nwent on\n```" } }] }]);
  }
  const out = await printed;
  for (const words of ["working", "went on", "all of it"]) expect(out).toContain(words);
});

test("a client that stops reading gets everything when it reads again, and slows nobody else down", async () => {
  const words = "word ".repeat(20_000);
  await using server = serverWith(({ position: { prompt } }) => shellScript([], prompt === "much" ? words : "short"));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  await using reader = await acpClient(skein);
  const { sessionId } = await reader.open();
  await using stuck = startAcp(skein);
  const send = (id: number, method: string, params: unknown) => stuck.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  await send(1, "initialize", { protocolVersion: 1 });
  const lines = stuck.stdout.getReader();
  let read = "";
  const readUntil = async (isRead: () => boolean) => {
    while (!isRead()) read += new TextDecoder().decode((await lines.read()).value);
  };
  /** The text of all complete lines. */
  const textSoFar = () =>
    read
      .split("\n")
      .slice(0, -1)
      .filter((line) => line.includes('"agent_message_chunk"'))
      .map((line) => (JSON.parse(line) as { params: { update: { content: { text: string } } } }).params.update.content.text)
      .join("");
  await readUntil(() => read.includes("protocolVersion"));
  await send(2, "session/resume", { sessionId, cwd: skein.project, mcpServers: [] });
  await readUntil(() => read.includes("available_commands_update"));
  expect(await reader.prompt(sessionId, "much")).toMatchObject({ stopReason: "end_turn" });
  expect(textOfUpdates(reader.updates, "agent_message_chunk")).toBe(words);
  expect(await reader.prompt(sessionId, "next")).toMatchObject({ stopReason: "end_turn" });
  await readUntil(() => textSoFar().endsWith("short"));
  expect(textSoFar()).toBe(`${words}short`);
});
