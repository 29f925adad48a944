import { describe, expect, test } from "bun:test";
import { PauseGate } from "../../../kit/flow/pause-gate.ts";
import type { ModelEvent, ModelRequest } from "../../../models/model.ts";
import type { Author, NewNode, Node, Note, Part } from "../../../protocol/tree/node.ts";
import type { AgentEvent, TurnContext } from "../../../protocol/api/ports.ts";
import { zeroSpent, zeroUsage } from "../../../protocol/tree/usage.ts";
import { compact, cutPoint } from "./compact.ts";
import { needsCompaction } from "./request-size.ts";
import { renderMessages, visibleNodes } from "./messages.ts";
import { estimateRequestTokens } from "./request-size.ts";
import type { LoopState } from "../turn-state.ts";

let nodeCount = 0;
function node(author: Author, parts: Part[], more: Partial<Node> = {}): Node {
  nodeCount += 1;
  return { id: `n${nodeCount}`, author, parts, parent: null, tree: "t", session: "s", turn: null, at: nodeCount, ...more };
}
const textNode = (author: Author, text: string, more: Partial<Node> = {}): Node => node(author, [{ kind: "text", text }], more);
const callNode = (id: string, more: Partial<Node> = {}): Node =>
  node("agent", [{ kind: "call", id, name: "bash", input: { command: id } }], more);
const resultNode = (call: string, bytes: number): Node =>
  node("tool", [{ kind: "result", call, name: "bash", text: `${call} ${"x".repeat(bytes)}`, isError: false }]);
/** One call of about 1,000 tokens. */
const round = (id: string): Node[] => [callNode(id), resultNode(id, 3000)];
const compaction = (keptFrom: string | null): Node =>
  textNode("note", "earlier summary", { note: { about: "compaction", keptFrom } satisfies Note });

describe("the size of the next request", () => {
  test("the size of the next request is the vendor's last count plus an estimate of newer nodes", () => {
    const counted = callNode("a", { usage: { input: 1000, cacheRead: 500, cacheWrite: 200, output: 50 } });
    expect(estimateRequestTokens([textNode("user", "x"), counted])).toBe(1750);
    expect(estimateRequestTokens([textNode("user", "x"), counted, resultNode("a", 3000)])).toBeGreaterThan(2700);
    expect(estimateRequestTokens([textNode("user", "x"), counted, resultNode("a", 3000)])).toBeLessThan(2900);
  });

  test("after a compaction the size is estimated again, because the vendor's count is obsolete", () => {
    const counted = callNode("a", { usage: { ...zeroUsage, input: 90_000 } });
    expect(estimateRequestTokens([textNode("user", "x"), counted, resultNode("a", 10), compaction(null)])).toBeLessThan(100);
  });

  test("pictures and text count as a vendor counts them, not as they are stored", () => {
    const picture = { mime: "image/png", base64: "A".repeat(2_000_000) };
    const imageResult = node("tool", [
      { kind: "result", call: "a", name: "read", text: "", isError: false, images: [picture], display: "d".repeat(90_000) },
    ]);
    expect(estimateRequestTokens([textNode("user", "x"), imageResult])).toBeLessThan(3000);
    expect(estimateRequestTokens([textNode("user", "漢".repeat(3000))])).toBe(3000);
  });
});

describe("the cut", () => {
  const cut = (path: Node[], keep: number, max = 100_000) => {
    const id = cutPoint(path, { keep, max });
    return path.find((candidate) => candidate.id === id) ?? null;
  };

  test("the cut never separates a result from its call", () => {
    const path = [textNode("user", "task"), ...Array.from({ length: 10 }, (_, index) => round(`c${index}`)).flat()];
    for (let keep = 0; keep < 12_000; keep += 250) expect(["agent", "user"]).toContain(cut(path, keep)?.author ?? "none");
  });

  test("the cut retains the newest round even if it is larger than `keep`", () => {
    const path = [textNode("user", "task"), ...round("c1"), ...round("c2")];
    expect(cut(path, 10)).toBe(path[3] as Node);
  });

  test("the cut retains nothing if the newest round alone exceeds `max`", () => {
    expect(cut([textNode("user", "task"), ...round("c1"), ...round("c2")], 10, 500)).toBeNull();
  });

  test("the cut is never before an earlier compaction, so that no summarised node is sent again", () => {
    const old = [textNode("user", "task"), ...round("c1"), textNode("user", "more"), ...round("c2")];
    const retained = round("c3");
    const path = [...old, ...retained, compaction(retained[0]?.id ?? ""), ...round("c4")];
    expect(cut(path, 50_000)).toBe(retained[0] as Node);
  });
});

describe("compaction", () => {
  const path = [textNode("user", "first task"), ...round("c1"), textNode("user", "second task"), ...round("c2"), ...round("c3")];

  test("compaction sends the same tools and system prompt, and retains user messages and the newest round", async () => {
    const { state, requests } = stateOf(path, { window: 5000, answer: "what was done" });
    expect(await needsCompaction(state)).toBe(false);
    state.model.window = async () => 3000;
    expect(await needsCompaction(state)).toBe(true);
    await run(state);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatchObject({ system: "the system", tools: [], cacheKey: "s" });
    expect(visibleNodes(state.path).map(textIn)).toEqual([
      "first task",
      "second task",
      "[Earlier work, summarised]\nwhat was done",
      "c3",
      expect.stringContaining("c3 xxx"),
    ]);
    expect(state.steps).toBe(1);
    expect(await needsCompaction(state)).toBe(false);
  });

  test("compaction is refused if the budget does not cover it", async () => {
    const { state, requests } = stateOf(path, { window: 3000, answer: "x", reserve: async () => ({ kind: "budget", message: "no" }) });
    const next = await compact(state).next();
    expect(next).toEqual({ done: true, value: { kind: "budget", message: "no" } });
    expect([requests.length, state.path.length]).toEqual([0, path.length]);
  });

  test("compaction lists the calls if the model fails or its answer is empty", async () => {
    for (const answer of [null, "  "]) {
      const { state } = stateOf(path, { window: 3000, answer });
      await run(state);
      const note = state.path.at(-1) as Node;
      expect(textIn(note)).toContain('- called bash {"command":"c1"}');
    }
  });

  test("at the user's request a short conversation is summarised as a whole", async () => {
    const short = [textNode("user", "hello"), textNode("agent", "hi"), textNode("user", "summarise")];
    const { state, requests } = stateOf(short, { window: 200_000, answer: "they greeted" });
    for await (const event of compact(state, "request") as AsyncIterable<AgentEvent>)
      if (event.type === "node") event.recorded(node(event.node.author, event.node.parts, event.node));
    expect(requests).toHaveLength(1);
    expect(state.path.at(-1)).toMatchObject({ author: "note", note: { about: "compaction", keptFrom: null } });
  });

  test("compaction fails if there are only user messages", async () => {
    const { state } = stateOf([textNode("user", "long ".repeat(5000))], { window: 3000, answer: "x" });
    expect(run(state)).rejects.toThrow("nothing of it can be shortened");
  });

  test("long arguments and results are shortened for the summary, and stay in pairs", async () => {
    const long = node("agent", [{ kind: "call", id: "w", name: "write", input: { path: "a", content: "y".repeat(60_000) } }]);
    const { state, requests } = stateOf([textNode("user", "task"), long, resultNode("w", 60_000), ...round("c2")], {
      window: 6000,
      answer: "short",
    });
    await run(state);
    expect(JSON.stringify(requests[0]?.messages).length).toBeLessThan(6000 * 3);
    expect(requests[0]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  test("a skill that was read is retained once through all later compactions", async () => {
    const skill = "/p/.skein/skills/web/SKILL.md";
    const reads = (id: string, skillPath: string): Node[] => [
      node("agent", [{ kind: "call", id, name: "read", input: { path: skillPath } }]),
      node("tool", [{ kind: "result", call: id, name: "read", text: "how to search", isError: false }]),
    ];
    const { state } = stateOf([textNode("user", "task"), ...reads("s1", "./.skein/skills/web/SKILL.md"), ...round("c1"), ...round("c2")], {
      window: 3000,
      answer: "one",
      skills: [skill],
    });
    await run(state);
    state.path.push(...round("c3"), ...reads("s2", skill), ...round("c4"));
    await run(state);
    const texts = renderMessages(state.path).flatMap(({ parts }) => parts.map((part) => (part.kind === "text" ? part.text : "")));
    expect(texts.filter((text) => text.startsWith("[Skill "))).toEqual([`[Skill ${skill}]\nhow to search`]);
  });
});

function textIn({ parts }: NewNode): string {
  const [part] = parts;
  return part?.kind === "text" || part?.kind === "result" ? part.text : part?.kind === "call" ? part.id : "";
}

/** Runs compaction as the agent does: stores the nodes that it yields. */
async function run(state: LoopState): Promise<void> {
  for await (const event of compact(state) as AsyncIterable<AgentEvent>) {
    if (event.type === "node") event.recorded(node(event.node.author, event.node.parts, event.node));
  }
}

type Request = Omit<ModelRequest, "model" | "effort">;

function stateOf(
  path: Node[],
  options: { window: number; answer: string | null; skills?: string[]; reserve?: TurnContext["reserve"] },
): { state: LoopState; requests: Request[] } {
  const requests: Request[] = [];
  async function* stream(request: Request): AsyncGenerator<ModelEvent> {
    requests.push(request);
    const parts: Part[] = options.answer === null ? [] : [{ kind: "text", text: options.answer }];
    if (options.answer === null) yield { type: "failed", error: { kind: "network", message: "gone" }, parts, usage: zeroUsage };
    else yield { type: "done", parts, usage: zeroUsage, stop: "end" };
  }
  const model: LoopState["model"] = {
    name: "test/one",
    stream,
    body: async () => "",
    price: async () => 0,
    window: async () => options.window,
  };
  const state = {
    input: { session: "s", limits: { maxBudgetUsd: null } } as LoopState["input"],
    context: {
      signal: new AbortController().signal,
      reserve: options.reserve ?? (async () => () => {}),
    } as unknown as LoopState["context"],
    pauseGate: new PauseGate(),
    deps: {} as LoopState["deps"],
    model,
    system: "the system",
    tools: [],
    servers: null,
    skillPaths: options.skills ?? [],
    path: [...path],
    renderMessages,
    kept: { items: null },
    steps: 0,
    unrecorded: zeroSpent,
  };
  return { state, requests };
}
