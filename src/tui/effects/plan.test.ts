// Tests of plan mode and of the network badge: their keys, their state, and their calls of the Api.
import { describe, expect, test } from "bun:test";
import { turnOf, viKeys } from "../fixtures/press-keys.ts";
import type { SessionOpenParams } from "../../protocol/api/api.ts";
import { createFeed } from "../../kit/flow/feed.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node } from "../../protocol/tree/node.ts";
import { defaultPolicy, type EnforcedPolicy, type Policy } from "../../protocol/api/policy.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import type { EffectContext } from "./effect-context.ts";
import { runEffect } from "./index.ts";
import { enterSession } from "./turns.ts";
import { firstState, type Effect, type UpdateMessage, type State } from "../model/state.ts";
import { update } from "../model/update.ts";
import { renderFrame } from "../views/screen.ts";
import { statusText } from "../views/status.ts";

const fresh: State = { ...firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), mode: "normal" };
const session = { id: "s-1", name: null, tip: null, agent: "native", model: "anthropic/one" } as Session;
const executing = { ...session, id: "s-2", plan: "- [ ] count\n- [ ] name\n" };
const planPolicy = { ...defaultPolicy, name: "plan", sandbox: "required" } as const;

describe("plan mode", () => {
  test("Space p starts and ends plan mode, which the status bar shows", () => {
    expect(press(fresh, "space", "p")).toMatchObject({ state: { mode: "insert" }, effects: [{ type: "plan", isOn: true }] });
    const planning = apply(fresh, { type: "set", fields: { isPlanning: true, policy: "plan", net: "off" } });
    expect(statusText(planning)).toStartWith("[NORMAL] [plan] ");
    expect(textOf(planning)).toContain("Describe what to plan. Only .skein/plan.md is written");
    const planned = apply(planning, { type: "opened", session, blocks: [{ id: "b", kind: "user", text: "split it" }], turns: [] });
    expect(textOf({ ...planned, isPlanning: true })).toContain("── s-1 · Space x executes the plan, Space e edits it ─");
    expect(statusText({ ...planning, activity: "read" })).toStartWith("[NORMAL] [plan: read] ");
    expect(press(planning, "space", "p").effects).toEqual([{ type: "plan", isOn: false }]);
  });
  test("Space x executes the plan, but not while a turn runs", () => {
    expect(press(fresh, "space", "x").effects).toEqual([{ type: "execute plan" }]);
    const busy = press({ ...fresh, activity: "writing" }, "space", "x");
    expect([busy.effects, busy.state.notice?.text]).toEqual([[], "a turn is running; Ctrl+C stops it"]);
  });
  test("Ctrl+G and Space e open the plan in an editor, also while typing; Ctrl+Z suspends the screen", () => {
    const insert: State = { ...fresh, mode: "insert" };
    expect(press(press(insert, "h").state, "ctrl+g").effects).toEqual([{ type: "edit plan" }]);
    expect(press(insert, "space", "e").effects).toEqual([{ type: "edit plan" }]);
    expect(press(insert, "ctrl+z").effects).toEqual([{ type: "suspend" }]);
  });
});

describe("a finished plan", () => {
  const planning: State = { ...apply(fresh, { type: "opened", session, blocks: [], turns: [] }), isPlanning: true };
  const ended = (state: State, status: Turn["status"]) => {
    const turn = { ...turnOf({ status, agent: "native" }), endedAt: 1 };
    return update(state, {
      type: "event",
      event: { seq: 1, sessionId: "s-1", turnId: "t-1", at: 0, type: "turn.ended", turn, session } as Event,
    });
  };
  test("the plan is read when a planning turn has ended well, and shown once below it", () => {
    expect(ended(planning, "ok").effects).toEqual([{ type: "read finished plan" }]);
    expect([ended(planning, "cancelled").effects, ended({ ...planning, isPlanning: false }, "ok").effects]).toEqual([[], []]);
    const ready: UpdateMessage = { type: "plan ready", session: "s-1", text: "# Steps\n- [ ] **count**\n" };
    const shown = apply(apply(ended(planning, "ok").state, ready), ready);
    expect(textOf(shown).match(/plan · \.skein\/plan\.md/g)).toHaveLength(1);
    expect(textOf(shown)).toMatch(/── ok[^]*plan · \.skein\/plan\.md\n {2}Steps\n {2}• \[ \] count/);
    expect(apply(planning, { ...ready, session: "s-0" })).toBe(planning);
  });
});

describe("executing a plan", () => {
  const shown = apply(fresh, { type: "opened", session: executing, blocks: [], turns: [] });
  const steps = [
    { text: "count", isDone: true },
    { text: "name", isDone: false },
  ];
  test("the plan is read again after every tool result, and only then", () => {
    const node = { id: "n", author: "tool", turn: "t", parts: [] } as unknown as Node;
    const effectsOf = (state: State, body: object) =>
      update(state, { type: "event", event: { seq: 1, sessionId: state.session?.id, turnId: "t", at: 0, ...body } as Event }).effects;
    expect(effectsOf(shown, { type: "node.added", node })).toEqual([{ type: "read plan" }]);
    expect(effectsOf(shown, { type: "node.added", node: { ...node, author: "agent" } })).toEqual([]);
    expect(effectsOf({ ...shown, session }, { type: "node.added", node })).toEqual([]);
  });
  test("the progress of the plan is shown above the prompt, and the whole plan in an overlay", () => {
    const done = apply(shown, { type: "steps", session: "s-2", steps, plan: "- [x] count\n- [ ] name\n" });
    expect(textOf(done)).toMatch(/── s-2 · plan 1\/2: name ─[^]*\[execute\]/);
    const read = apply(done, { type: "plan shown", text: "- [ ] count\n- [ ] name\n" });
    expect(textOf(apply(read, { type: "steps", session: "s-2", steps, plan: "- [x] count\n" }))).toContain("│ - [x] count ");
    expect(press(press(read, "j").state, "escape").state.overlay).toBeNull();
    const withLongStep = apply(done, { type: "plan shown", text: `- [ ] ${"word ".repeat(20)}` });
    expect(textOf(withLongStep)).toMatch(/│ - \[ \] word word [^]*│ {7}word /);
    expect(apply(done, { type: "steps", session: "s-1", steps: [] }).steps).toEqual(steps);
  });
});

describe("the network badge", () => {
  const started = (requested: "on" | "off", net: EnforcedPolicy["net"]) =>
    apply(
      { ...fresh, session },
      {
        type: "event",
        event: {
          seq: 1,
          sessionId: "s-1",
          turnId: "t",
          at: 0,
          type: "turn.started",
          session,
          turn: { policy: { ...defaultPolicy, net: requested }, enforced: { net, missing: [] as string[] } } as Turn,
        },
      },
    );
  const badge = (state: State) => /\[NET: ([^\]]*)\]/.exec(statusText({ ...state, size: { columns: 200, rows: 24 } }))?.[1];
  test("the network badge shows the network of the running turn, and of the next one if it differs", () => {
    const running = started("off", "off");
    expect(badge(running)).toBe("off");
    const toggled = press(running, "space", "n");
    expect([badge(toggled.state), toggled.effects]).toEqual(["off, next on", [{ type: "net", net: "on" }]]);
    expect(toggled.state.notice?.text).toBe("network on for the tools of the next turn; this turn keeps its network");
    expect(badge({ ...toggled.state, activity: null })).toBe("on");
  });
  test("the network badge does not say off if nothing enforces it", () => {
    expect([badge(started("off", "on")), badge({ ...started("off", "on"), activity: null })]).toEqual(["on", "on"]);
    expect(badge(started("off", "gateway"))).toBe("gateway");
  });
});

describe("plan effects", () => {
  test("planning starts a new session with its own policy and network, and ends in the previous session", async () => {
    const { ctx, sent } = createContext({ session });
    ctx.policies.act = { ...defaultPolicy, net: "on" };
    await runEffect(ctx, { type: "plan", isOn: true });
    expect([ctx.session, ctx.turn.policy, ctx.open.model]).toEqual([null, planPolicy, "anthropic/one"]);
    expect(sent).toMatchObject([
      { type: "set", fields: { isPlanning: true, policy: "plan", net: "off" } },
      { type: "set", fields: { carriesDraft: true } },
      { type: "opened", session: null },
      { type: "steps", steps: [] },
    ]);
    await runEffect(ctx, { type: "net", net: "on" });
    await runEffect(ctx, { type: "plan", isOn: false });
    expect([ctx.session?.id, ctx.turn.policy.name, ctx.policies.plan.net]).toEqual(["s-1", "workspace", "on"]);
  });
  test("planning does not start if its policy can't be enforced", async () => {
    const { ctx, sent } = createContext({ session });
    ctx.policies.plan = { ...planPolicy, net: "on" };
    await runEffect(ctx, { type: "plan", isOn: true });
    expect([sent, ctx.session, ctx.turn.policy.name]).toMatchObject([[{ type: "failed", text: "no sandbox here" }], session, "workspace"]);
  });
  test("a session continues in the mode of its last turn", async () => {
    const { ctx, sent } = createContext({ session: null, policy: planPolicy });
    await enterSession(ctx, session);
    expect([ctx.turn.policy.name, sent.filter(({ type }) => type === "set")]).toEqual([
      "plan",
      [{ type: "set", fields: { isPlanning: true, policy: "plan", net: "off" } }],
    ]);
  });
  test.each([
    ["plan", "fork"],
    ["plan", "clear"],
    ["readonly", "fork"],
    ["readonly", "clear"],
    ["workspace", "fork"],
  ] as const)("policy %s, chosen after the last turn, stays after %s", async (name, type) => {
    const last = name === "plan" ? { ...defaultPolicy } : planPolicy;
    const { ctx } = createContext({ session: null, policy: last });
    await enterSession(ctx, session);
    await runEffect(ctx, { type: "policy", name });
    await runEffect(ctx, type === "fork" ? { type, name: null } : { type });
    expect([ctx.session?.id, ctx.turn.policy.name]).toEqual(["s-3", name]);
  });
  test("undo keeps the policy that was chosen for the next turn", async () => {
    const { ctx } = createContext({ session, policy: { ...defaultPolicy } });
    const readonly = { ...defaultPolicy, name: "readonly" as const };
    ctx.turn.policy = readonly;
    const done = { session, turn: "t-1", prompt: "task", files: "unchanged" as const, changes: [], kept: [] };
    ctx.api = { ...ctx.api, session: { ...ctx.api.session, undo: async () => done } };
    await runEffect(ctx, { type: "undo" });
    expect([ctx.session?.id, ctx.turn.policy]).toEqual([session.id, readonly]);
  });
  test("without a plan nothing is executed", async () => {
    const { ctx, sent, opened } = createContext({ session });
    await runEffect(ctx, { type: "execute plan" });
    expect([sent, opened]).toEqual([[{ type: "notice", text: "there is no plan yet: Space p plans, Space e opens an editor" }], []]);
  });
  test("a plan is executed in a new session with the same agent and model, and its steps are to be ticked", async () => {
    const { ctx, sent, opened, prompts } = createContext({ session, plan: "- [ ] count\n" });
    await runEffect(ctx, { type: "execute plan" });
    const task = "Carry out the plan. As soon as a step is done, mark it with [x] in .skein/plan.md, in place.";
    expect(opened).toMatchObject([{ find: { by: "new" }, agent: "native", model: "anthropic/one", task, plan: { text: "- [ ] count\n" } }]);
    expect([prompts, sent.find(({ type }) => type === "opened")]).toMatchObject([[task], { session: { id: "s-2" } }]);
  });
  test("a missing editor is reported before the screen is suspended, and its exit code after", async () => {
    const { ctx, sent } = createContext({ session, plan: "one\ntwo\n" });
    await runEffect(ctx, { type: "edit plan" });
    expect(sent.at(-1)).toEqual({ type: "notice", text: "ed ended with 3; the plan has 2 lines" });
    ctx.lendTerminal = () => Promise.reject(new Error("must not be suspended"));
    ctx.editor.command = () => {
      throw new Error("no editor");
    };
    await runEffect(ctx, { type: "edit plan" });
    expect(sent.at(-1)).toMatchObject({ type: "failed", text: "no editor" });
  });
  test("policy full keeps its network on", async () => {
    const { ctx, sent } = createContext({ session });
    ctx.turn.policy = { ...defaultPolicy, name: "full", net: "on" };
    await runEffect(ctx, { type: "net", net: "off" });
    expect([ctx.turn.policy.net, sent[0]]).toEqual(["on", { type: "set", fields: { net: "on" } }]);
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

function createContext({ session: shown, plan = "", policy }: { session: Session | null; plan?: string; policy?: Turn["policy"] }) {
  const sent: UpdateMessage[] = [];
  const opened: SessionOpenParams[] = [];
  const prompts: (string | null)[] = [];
  const turns = policy === undefined ? [] : [{ id: "t", endedAt: 1, policy }];
  const read = async () => ({ file: "/p/.skein/plan.md", text: plan });
  const api = {
    session: {
      open: async (params: SessionOpenParams) => (opened.push(params), executing),
      find: async () => session,
      fork: async () => ({ ...session, id: "s-3", tip: "n" }),
      move: async ({ session: id }: { session: string }) => ({ ...session, id, tip: null }),
      use: async () => {},
      show: async ({ session: id }: { session: string }) => ({ session: { ...session, id }, turns, nodes: [], spawned: [], open: null }),
    },
    plan: { read, make: read },
    turn: {
      check: async ({ policy }: { policy: Policy }) => {
        if (policy.net === "on") throw new Fault("sandbox-unavailable", "no sandbox here");
      },
      async *start({ prompt }: { prompt: string | null }): AsyncGenerator<Event> {
        prompts.push(prompt);
        yield* [];
      },
      watch: () => createFeed<Event>(),
    },
  };
  const ctx = {
    api,
    directory: "/p",
    turn: { policy: { ...defaultPolicy }, agent: null, model: null },
    policies: {
      act: { ...defaultPolicy },
      workspace: { ...defaultPolicy },
      plan: planPolicy,
      readonly: { ...defaultPolicy, name: "readonly" },
    },
    bindings: viKeys,
    open: { find: { by: "new" }, agent: "native", model: null },
    session: shown,
    following: null,
    running: new Map(),
    editor: { command: () => "ed", edit: async () => 3 },
    lendTerminal: (act: () => Promise<unknown>) => act(),
    onSession: () => {},
    send: (message: UpdateMessage) => void sent.push(message),
  } as unknown as EffectContext;
  return { ctx, sent, opened, prompts };
}

function apply(state: State, message: UpdateMessage): State {
  return update(state, message).state;
}

function press(state: State, ...names: string[]): { state: State; effects: Effect[] } {
  return names.reduce<{ state: State; effects: Effect[] }>(
    (result, name) =>
      update(result.state, { type: "key", key: { name, text: name === "space" ? " " : name.length === 1 ? name : "" }, now: 0 }),
    { state, effects: [] },
  );
}

function textOf(state: State): string {
  return renderFrame(state)
    .rows.map((row) => row.map((run) => run.text).join(""))
    .join("\n");
}
