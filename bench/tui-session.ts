// One conversation with a given number of blocks, in the format of each program: pi's session file, which skein imports,
// and the format of `opencode import`. A round has four blocks: message, answer in Markdown, call, short answer.

/** Text of the last block only: a screen that shows it shows the end of the conversation. */
export const lastWords = "That was the end.";

type Round = { prompt: string; answer: string; command: string; output: string; closing: string };

const model = "claude-sonnet-4-5";
const startedAt = Date.parse("2026-11-01T00:00:00Z");

function roundsOf(blocks: number): Round[] {
  const count = Math.floor(blocks / 4);
  return Array.from({ length: count }, (_, index) => ({
    prompt: `How long is part ${index}?`,
    answer: `Part **${index}**:\n\n- \`wc\` knows\n- I ask it`,
    command: `wc -l ${index}.txt`,
    output: `${index} ${index}.txt\n`,
    closing: index === count - 1 ? lastWords : `It has ${index} lines.`,
  }));
}

/** The same conversation as nodes of a path, for measurements inside the process. */
export function nodesOf(blocks: number): object[] {
  const nodes: object[] = [];
  const add = (author: string, ...parts: object[]) => void nodes.push({ id: `n${nodes.length}`, author, parts, turn: null, at: startedAt });
  for (const [index, { prompt, answer, command, output, closing }] of roundsOf(blocks).entries()) {
    add("user", { kind: "text", text: prompt });
    add("agent", { kind: "text", text: answer }, { kind: "call", id: `c${index}`, name: "bash", input: { command } });
    add("tool", { kind: "result", call: `c${index}`, name: "bash", text: output, isError: false });
    add("agent", { kind: "text", text: closing });
  }
  return nodes;
}

export function piSession(blocks: number, cwd: string): string {
  const lines: string[] = [];
  let parentId: string | null = null;
  const add = (entry: object) => {
    const id = (lines.length + 0x10000000).toString(16);
    lines.push(JSON.stringify({ id, parentId, timestamp: new Date(startedAt + lines.length).toISOString(), ...entry }));
    parentId = id;
  };
  const message = (role: string, rest: object) => add({ type: "message", message: { role, ...rest, timestamp: startedAt + lines.length } });
  const text = (words: string) => ({ type: "text", text: words });
  const head = { type: "session", version: 3, id: "01a1e242-01e7-756d-9334-64e23ff9bae4", cwd };
  lines.push(JSON.stringify({ ...head, timestamp: new Date(startedAt).toISOString() }));
  add({ type: "model_change", provider: "lab", modelId: model });
  for (const [index, { prompt, answer, command, output, closing }] of roundsOf(blocks).entries()) {
    const call = { type: "toolCall", id: `call_${index}`, name: "bash", arguments: { command } };
    message("user", { content: [text(prompt)] });
    message("assistant", { content: [text(answer), call], ...piAnswer("toolUse") });
    message("toolResult", { toolCallId: call.id, toolName: "bash", content: [text(output)], isError: false });
    message("assistant", { content: [text(closing)], ...piAnswer("stop") });
  }
  return `${lines.join("\n")}\n`;
}

function piAnswer(stopReason: string): object {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 120, cost };
  return { api: "anthropic-messages", provider: "lab", model, usage, stopReason };
}

export const opencodeSessionId = "ses_e1b94209bffeBGuOr0XGborMq3";

/** opencode sorts by id, so later ids must be greater. */
export function opencodeSession(blocks: number, cwd: string): string {
  let count = 0;
  const id = (kind: "msg" | "prt") => `${kind}_1e46${(count += 1).toString(16).padStart(8, "0")}AAAAAAAAAAAAAA`;
  const tokens = { total: 120, input: 100, output: 20, reasoning: 0, cache: { read: 0, write: 0 } };
  const now = () => startedAt + count;
  const messages: object[] = [];
  const add = (info: object, parts: object[]) => {
    const messageID = id("msg");
    const position = { sessionID: opencodeSessionId, messageID };
    messages.push({
      info: { ...info, id: messageID, sessionID: opencodeSessionId },
      parts: parts.map((part) => ({ ...part, id: id("prt"), ...position })),
    });
    return messageID;
  };
  const text = (words: string) => ({ type: "text", text: words, time: { start: now(), end: now() } });
  for (const { prompt, answer, command, output, closing } of roundsOf(blocks)) {
    const parentID = add({ role: "user", time: { created: now() }, agent: "build", model: { providerID: "anthropic", modelID: model } }, [
      text(prompt),
    ]);
    const info = (finish: string) => ({
      parentID,
      role: "assistant",
      mode: "build",
      agent: "build",
      path: { cwd, root: cwd },
      cost: 0,
      tokens,
      finish,
      modelID: model,
      providerID: "anthropic",
      time: { created: now(), completed: now() },
    });
    const state = { status: "completed", input: { command }, output, metadata: { output, exit: 0 }, title: command };
    const call = { type: "tool", tool: "bash", callID: `call_${count}`, state: { ...state, time: { start: now(), end: now() } } };
    add(info("tool-calls"), [{ type: "step-start" }, text(answer), call, { type: "step-finish", reason: "tool-calls", tokens, cost: 0 }]);
    add(info("stop"), [{ type: "step-start" }, text(closing), { type: "step-finish", reason: "stop", tokens, cost: 0 }]);
  }
  const info = {
    id: opencodeSessionId,
    slug: "proud-canyon",
    projectID: "global",
    directory: cwd,
    path: "",
    title: "bench",
    agent: "build",
    model: { id: model, providerID: "anthropic", variant: "default" },
    version: "1.18.33",
    cost: 0,
    tokens,
    summary: { additions: 0, deletions: 0, files: 0 },
    time: { created: startedAt, updated: now() },
  };
  return JSON.stringify({ info, messages });
}
