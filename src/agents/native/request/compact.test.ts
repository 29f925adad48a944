import { describe, expect, test } from "bun:test";
import { PauseGate } from "../../../kit/flow/pause-gate.ts";
import type { ModelEvent, ModelRequest } from "../../../models/model.ts";
import type { Author, NewNode, Node, Note, Part } from "../../../protocol/tree/node.ts";
import type { AgentEvent, TurnContext } from "../../../protocol/api/ports.ts";
import { zeroSpent, zeroUsage } from "../../../protocol/tree/usage.ts";
import { compact, cutPoint, needsCompaction } from "./compact.ts";
import { renderMessages, visibleNodes } from "./messages.ts";
import { requestTokens } from "./request-size.ts";
import type { LoopState } from "../turn-state.ts";

let made = 0;
function node(author: Author, parts: Part[], more: Partial<Node> = {}): Node {
  made += 1;
  return { id: `n${made}`, author, parts, parent: null, tree: "t", session: "s", turn: null, at: made, ...more };
}
const says = (author: Author, text: string, more: Partial<Node> = {}): Node => node(author, [{ kind: "text", text }], more);
const calls = (id: string, more: Partial<Node> = {}): Node =>
  node("agent", [{ kind: "call", id, name: "bash", input: { command: id } }], more);
const answers = (call: string, bytes: number): Node =>
  node("tool", [{ kind: "result", call, name: "bash", text: `${call} ${"x".repeat(bytes)}`, isError: false }]);
/** One call of about 1,000 tokens. */
const round = (id: string): Node[] => [calls(id), answers(id, 3000)];
const compaction = (keptFrom: string | null): Node =>
  says("note", "earlier summary", { note: { about: "compaction", keptFrom } satisfies Note });

describe("the size of the next request", () => {
  test("is what the vendor counted last, and an estimate of what came after", () => {
    const counted = calls("a", { usage: { input: 1000, cacheRead: 500, cacheWrite: 200, output: 50 } });
    expect(requestTokens([says("user", "x"), counted])).toBe(1750);
    expect(requestTokens([says("user", "x"), counted, answers("a", 3000)])).toBeGreaterThan(2700);
    expect(requestTokens([says("user", "x"), counted, answers("a", 3000)])).toBeLessThan(2900);
  });

  test("is estimated anew after a compaction, which made the vendor's count obsolete", () => {
    const counted = calls("a", { usage: { ...zeroUsage, input: 90_000 } });
    expect(requestTokens([says("user", "x"), counted, answers("a", 10), compaction(null)])).toBeLessThan(100);
  });

  test("counts pictures and bytes as a vendor would, not as they are stored", () => {
    const picture = { mime: "image/png", base64: "A".repeat(2_000_000) };
    const shown = node("tool", [
      { kind: "result", call: "a", name: "read", text: "", isError: false, images: [picture], display: "d".repeat(90_000) },
    ]);
    expect(requestTokens([says("user", "x"), shown])).toBeLessThan(3000);
    expect(requestTokens([says("user", "漢".repeat(3000))])).toBe(3000);
  });
});

describe("the cut", () => {
  const cut = (path: Node[], keep: number, max = 100_000) => {
    const id = cutPoint(path, { keep, max });
    return path.find((each) => each.id === id) ?? null;
  };

  test("never parts a result from its call, wherever it would fall", () => {
    const path = [says("user", "task"), ...Array.from({ length: 10 }, (_, at) => round(`c${at}`)).flat()];
    for (let keep = 0; keep < 12_000; keep += 250) expect(["agent", "user"]).toContain(cut(path, keep)?.author ?? "none");
  });

  test("keeps the newest round although it is larger than what should be kept", () => {
    const path = [says("user", "task"), ...round("c1"), ...round("c2")];
    expect(cut(path, 10)).toBe(path[3] as Node);
  });

  test("keeps nothing when the newest round alone is more than may be kept", () => {
    expect(cut([says("user", "task"), ...round("c1"), ...round("c2")], 10, 500)).toBeNull();
  });

  test("never reaches behind an earlier compaction, so that nothing summarised comes back", () => {
    const old = [says("user", "task"), ...round("c1"), says("user", "more"), ...round("c2")];
    const kept = round("c3");
    const path = [...old, ...kept, compaction(kept[0]?.id ?? ""), ...round("c4")];
    expect(cut(path, 50_000)).toBe(kept[0] as Node);
  });
});

describe("compaction", () => {
  const path = [says("user", "first task"), ...round("c1"), says("user", "second task"), ...round("c2"), ...round("c3")];

  test("asks with the tools and system of every request, and keeps users' words, the summary and the newest round", async () => {
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

  test("is not done when the budget has no room for it", async () => {
    const { state, requests } = stateOf(path, { window: 3000, answer: "x", reserve: async () => ({ kind: "budget", message: "no" }) });
    const next = await compact(state).next();
    expect(next).toEqual({ done: true, value: { kind: "budget", message: "no" } });
    expect([requests.length, state.path.length]).toEqual([0, path.length]);
  });

  test("lists what was done when the model fails or says nothing", async () => {
    for (const answer of [null, "  "]) {
      const { state } = stateOf(path, { window: 3000, answer });
      await run(state);
      const note = state.path.at(-1) as Node;
      expect(textIn(note)).toContain('- called bash {"command":"c1"}');
    }
  });

  test("refuses when there is nothing but the user's words", async () => {
    const { state } = stateOf([says("user", "long ".repeat(5000))], { window: 3000, answer: "x" });
    expect(run(state)).rejects.toThrow("nothing of it can be shortened");
  });

  test("shortens long arguments and results for the summary, and keeps their pairs", async () => {
    const long = node("agent", [{ kind: "call", id: "w", name: "write", input: { path: "a", content: "y".repeat(60_000) } }]);
    const { state, requests } = stateOf([says("user", "task"), long, answers("w", 60_000), ...round("c2")], {
      window: 6000,
      answer: "short",
    });
    await run(state);
    expect(JSON.stringify(requests[0]?.messages).length).toBeLessThan(6000 * 3);
    expect(requests[0]?.messages.map((message) => message.role)).toEqual(["user", "assistant", "tool", "user"]);
  });

  test("keeps a skill that was read, once, through every later compaction", async () => {
    const skill = "/p/.skein/skills/web/SKILL.md";
    const reads = (id: string, wanted: string): Node[] => [
      node("agent", [{ kind: "call", id, name: "read", input: { path: wanted } }]),
      node("tool", [{ kind: "result", call: id, name: "read", text: "how to search", isError: false }]),
    ];
    const { state } = stateOf([says("user", "task"), ...reads("s1", "./.skein/skills/web/SKILL.md"), ...round("c1"), ...round("c2")], {
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

function textIn(each: NewNode): string {
  const [part] = each.parts;
  return part?.kind === "text" || part?.kind === "result" ? part.text : part?.kind === "call" ? part.id : "";
}

/** Drives compaction as the loop does: what it yields is stored and goes onto the path. */
async function run(state: LoopState): Promise<void> {
  for await (const event of compact(state) as AsyncIterable<AgentEvent>) {
    if (event.type === "node") event.recorded(node(event.node.author, event.node.parts, event.node));
  }
}

type Asked = Omit<ModelRequest, "model" | "effort">;

function stateOf(
  path: Node[],
  given: { window: number; answer: string | null; skills?: string[]; reserve?: TurnContext["reserve"] },
): { state: LoopState; requests: Asked[] } {
  const requests: Asked[] = [];
  async function* stream(request: Asked): AsyncGenerator<ModelEvent> {
    requests.push(request);
    const parts: Part[] = given.answer === null ? [] : [{ kind: "text", text: given.answer }];
    if (given.answer === null) yield { type: "failed", error: { kind: "network", message: "gone" }, parts, usage: zeroUsage };
    else yield { type: "done", parts, usage: zeroUsage, stop: "end" };
  }
  const model: LoopState["model"] = {
    name: "test/one",
    stream,
    body: async () => "",
    price: async () => 0,
    window: async () => given.window,
  };
  const state = {
    input: { session: "s", limits: { maxBudgetUsd: null } } as LoopState["input"],
    context: { signal: new AbortController().signal, reserve: given.reserve ?? (async () => () => {}) } as unknown as LoopState["context"],
    pauseGate: new PauseGate(),
    deps: {} as LoopState["deps"],
    model,
    system: "the system",
    tools: [],
    skillPaths: given.skills ?? [],
    path: [...path],
    steps: 0,
    unrecorded: zeroSpent,
  };
  return { state, requests };
}
