// Tests of opening and following a session: turns of other processes, interrupted turns and sub-sessions.
import { describe, expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { defaultPolicy, type EnforcedPolicy } from "../../protocol/api/policy.ts";
import type { OpenTurnView } from "../../protocol/tree/views.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { session } from "../fixtures/scripted-api.ts";
import { firstState, type UpdateMessage, type SessionOpened, type State } from "../model/state.ts";
import { allBlocks } from "../model/transcript.ts";
import { update } from "../model/update.ts";
import { renderFrame } from "../views/screen.ts";
import { statusText } from "../views/status.ts";

const fresh = firstState({ bindings: viKeys, size: { columns: 100, rows: 24 }, net: "off", sandbox: "on" });
const used = { input: 100, output: 10, cacheRead: 0, cacheWrite: 0 };
const enforced: EnforcedPolicy = {
  policy: "workspace",
  tier: "landlock",
  fs: true,
  net: "off",
  secrets: true,
  processes: false,
  missing: ["processes"],
};

function turn(fields: Partial<Turn> = {}): Turn {
  const ids = { id: "t-1", session: "s-1", parent: null, tip: null, nativeId: null, agent: "native", model: null, policy: defaultPolicy };
  return { ...ids, enforced: null, usage: used, costUsd: 1, steps: 1, startedAt: 0, endedAt: 1, status: "ok", error: null, ...fields };
}

function opened(fields: Partial<SessionOpened> = {}): UpdateMessage {
  return { type: "opened", session: session("s-1"), blocks: [], turns: [], ...fields };
}

function after(state: State, ...messages: UpdateMessage[]): State {
  return messages.reduce((current, message) => update(current, message).state, state);
}

function event(body: object, sessionId = "s-1"): UpdateMessage {
  return { type: "event", event: { seq: 1, sessionId, turnId: "t-1", at: 0, ...body } as Event };
}

function textOf(state: State): string {
  return renderFrame(state)
    .rows.map((row) => row.map((run) => run.text).join(""))
    .join("\n");
}

const key = (name: string): UpdateMessage => ({ type: "key", key: { name, text: "" }, now: 0 });

describe("opening a session", () => {
  const running: OpenTurnView = { turn: "t-1", state: "running", pid: 7, drafts: [] };
  const open = turn({ endedAt: null, status: null, enforced });

  test("a turn of another process is shown as such, and neither Ctrl+C nor Esc stops it", () => {
    const shown = after(fresh, opened({ open: running, turns: [open], runner: "pid 7" }));
    expect(statusText(shown)).toMatch(/^\[INSERT\] \[working, pid 7\].*\[NET: off\] \[SANDBOX: partly\]$/);
    for (const name of ["ctrl+c", "escape"])
      expect(update({ ...shown, mode: "normal" }, key(name))).toMatchObject({ effects: [], state: { activity: "working" } });
    expect(after(shown, event({ type: "turn.ended", turn: turn(), session: session("s-1") })).runner).toBeNull();
  });

  test("an interrupted turn shows its streamed text; Enter or a message continues it, Esc does not", () => {
    const drafts = [
      { key: "thinking", text: "hm" },
      { key: "text", text: "half an ans" },
    ];
    const shown = after(fresh, opened({ open: { ...running, state: "interrupted", pid: null, drafts }, turns: [open] }));
    expect(textOf(shown)).toMatch(
      /half an ans[^]*The process of this turn ended unexpectedly[^]*interrupted: Enter continues the turn, Esc does not/,
    );
    expect(shown.activity).toBeNull();
    expect(update(shown, key("enter")).effects).toEqual([{ type: "start", prompt: null, images: [] }]);
    expect(update(after(shown, key("escape"), { type: "key", key: { name: "i", text: "i" }, now: 0 }), key("enter")).effects).toEqual([]);
    const recorded = event({ type: "node.added", node: { id: "n", author: "agent", parts: [{ kind: "text", text: "half an ans" }] } });
    expect(allBlocks(after(shown, recorded).transcript)).toMatchObject([{ id: "n.0", text: "half an ans" }]);
  });

  test("an opened session counts the usage of sub-sessions and shows open questions", () => {
    const ask = { id: "a-1", session: "s-1", question: "Which?", options: [], closedAt: null } as never;
    const shown = after(fresh, opened({ turns: [turn(), turn({ id: "t-2", below: { usage: used, costUsd: 0.5 } })], asks: [ask] }));
    expect(statusText(shown)).toContain("[asking] [i:100 o:10 | total i:300 o:30 $2.50]");
    expect(textOf(shown)).toContain("Which?");
  });

  test("a reloaded session keeps its scroll position", () => {
    const up = { ...after(fresh, opened()), focus: "x", top: { block: 0, row: 0 } as never };
    expect(after(up, opened())).toMatchObject({ focus: "x", top: up.top });
    expect(after(up, opened({ session: session("s-2") }))).toMatchObject({ focus: null, top: "end" });
  });
});

describe("following a session", () => {
  const shown = after(fresh, opened());
  const started = event({
    type: "turn.started",
    turn: turn({ endedAt: null, enforced: { ...enforced, net: "gateway" } }),
    session: session("s-1"),
  });

  test("the enforced policy is shown from the start of a turn", () => {
    expect(statusText(after(shown, started))).toMatch(/\[NET: gateway\] \[SANDBOX: partly\]$/);
    expect(statusText(after({ ...shown, net: "on" }, started))).toMatch(/\[NET: gateway, next on\]/);
  });

  test("a draft that is sent again is shown once", () => {
    const draft = event({ n: 1, type: "draft.shown", key: "text", text: "half an " });
    const delta = event({ n: 2, type: "text.delta", text: "answer" });
    expect(allBlocks(after(shown, draft, delta, draft, delta).transcript)).toMatchObject([{ text: "half an answer" }]);
  });

  test("a session is read again when another process moved it", () => {
    const moved = event({ type: "turn.started", turn: turn({ parent: "n-7" }), session: session("s-1") });
    expect([update(shown, started).effects, update(shown, moved).effects]).toEqual([[], [{ type: "reload" }]]);
  });

  test("the line after a turn and the total count the turn's sub-sessions", () => {
    const ended = event({ type: "turn.ended", turn: turn({ below: { usage: used, costUsd: 0.5 } }), session: session("s-1") });
    const state = after(shown, ended);
    expect(allBlocks(state.transcript).at(-1)).toMatchObject({ kind: "turn", text: expect.stringContaining("in 200 out 20 · $1.5000") });
    expect(statusText(state)).toContain("$1.50]");
  });

  test("a total with a part of unknown price is shown with a plus", () => {
    const priced = event({ type: "turn.ended", turn: turn({ costUsd: 0.08 }), session: session("s-1") });
    const unpriced = event({ type: "turn.ended", turn: turn({ id: "t-2", costUsd: null }), session: session("s-1") });
    expect(statusText(after(shown, priced, unpriced))).toContain("$0.08+]");
  });

  test("events of other sessions and their sub-sessions are ignored", () => {
    const ask = { type: "ask.opened", ask: { id: "a-1", session: "s-9", question: "Which?", options: [] } };
    const { event: subSessionEvent } = event({ ...ask }, "s-9") as Extract<UpdateMessage, { type: "event" }>;
    expect(after(shown, event({ n: 1, type: "text.delta", text: "old" }, "s-0"), event(ask, "s-0"))).toBe(shown);
    expect(after(shown, { type: "sub-session event", session: "s-0", event: subSessionEvent })).toBe(shown);
    expect(after(shown, { type: "sub-session event", session: "s-1", event: subSessionEvent }).asks).toHaveLength(1);
  });

  test("a failure in another session is a notice with its id, not part of the transcript", () => {
    const failed = after(shown, { type: "failed", session: "0000-s-0", text: "the disk is full", hint: null });
    expect([failed.notice, failed.transcript]).toEqual([{ text: "session 0000-s-0: the disk is full", isError: true }, shown.transcript]);
  });
});
