// Tests of the pickers of models, agents and commands, and of the list of costs.
import { describe, expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import { checkBindings } from "../keys/bindings.ts";
import { helpText } from "../keys/help.ts";
import type { Api } from "../../protocol/api/api.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import type { EffectContext } from "../effects/effect-context.ts";
import { runEffect } from "../effects/index.ts";
import { firstState, type Effect, type UpdateMessage, type State } from "../model/state.ts";
import { update } from "../model/update.ts";
import { renderFrame } from "../views/screen.ts";
import { choiceLines, drawBox } from "./box.ts";

const fresh: State = { ...firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), mode: "normal" };
const session = { id: "s-1", name: "main", tip: null, agent: "native", model: "anthropic/claude-sonnet" } as Session;

describe("the model picker", () => {
  test("the model picker lists the current model, then usable ones, then those without a key with its variable", async () => {
    const shown = await opened("space", "m");
    const rows = textOf(shown.state)
      .split("\n")
      .filter((row) => row.includes("/"));
    expect(rows.map((row) => row.slice(2, -2).trimEnd())).toEqual([
      "● anthropic/claude-sonnet   200k   $3.00 in  $15.00 out",
      "  anthropic/claude-haiku    200k   $0.80 in   $4.00 out",
      "  openai/gpt                1.1M   set OPENAI_API_KEY",
    ]);
    const picked = press(shown.state, "h", "a", "i", ":", "h", "i", "g", "h", "enter");
    expect([picked.effects, picked.state.overlay]).toEqual([[{ type: "model", name: "anthropic/claude-haiku:high" }], null]);
    expect(press(shown.state, "h", "a", "i", ":", "h", "enter").state.notice?.text).toBe('no effort "h": low, medium, high, xhigh, max');
    expect(press(shown.state, "enter").effects).toEqual([{ type: "model", name: "anthropic/claude-sonnet" }]);
  });
  test("loaded models are dropped if another overlay is open", async () => {
    const loading = press(fresh, "space", "m").state;
    const other = press(loading, "escape", "?").state;
    expect(apply(other, { type: "listed", purpose: "models", items: [] })).toBe(other);
  });
  test(":model with a name opens no picker", () => {
    expect(press(fresh, ":", ...Array.from("model x/y"), "enter").effects).toEqual([{ type: "model", name: "x/y" }]);
  });
});

test("the agent picker shows versions and what is missing", async () => {
  const { state } = await opened(":", ...Array.from("agent"), "enter");
  expect(textOf(state)).toMatch(/● native +0\.1\.0 +ANTHROPIC_API_KEY[^]* claude +2\.1 +no key and no sign-in/);
  expect(textOf(press(state, "down").state)).toContain("set ANTHROPIC_API_KEY or sign in");
});

test("Tab completes a command after the colon as far as it is unique", () => {
  const complete = (text: string) => press(fresh, ":", ...Array.from(text), "tab").state;
  expect([complete("bud").commandLine.text, complete("p").commandLine.text, complete("zz").notice?.text]).toEqual([
    "budget ",
    "p",
    "no command begins with :zz",
  ]);
  expect(complete("p").notice?.text).toBe("palette, policy, plan");
});

test("a shell command keeps the model that was chosen for the next turn", async () => {
  const turn = { agent: "native", model: "x/y", policy: {}, timeoutMs: null };
  const shell = { bash: { execute: async function* () {} } };
  const ctx = { api: shell, turn, session, running: new Set(), send: () => {} } as unknown as EffectContext;
  await runEffect(ctx, { type: "execute", command: "ls", unsent: "!ls" });
  expect(turn).toMatchObject({ agent: "native", model: "x/y" });
});

describe("costs", () => {
  test("costs are listed per turn with the cached share, sub-sessions and the limit", async () => {
    const { state } = await opened("space", "b");
    const text = textOf(state);
    expect(text).toMatch(/1 {2}claude-sonnet +2\.0k +90 % +100 +\$0\.0123 +1\.5 s/);
    expect(text).toMatch(/2 {2}claude-sonnet \(cancelled\) +0 +- +0 +\$0\.00 +\d+ ms/);
    expect(text).toMatch(/this branch +2\.0k +90 % +100 +\$0\.0123 +1\.5 s/);
    expect(text).toMatch(/◆ {2}native: look around +2\.0k +90 %/);
    expect(text).toContain("cost limit per turn, with its sub-sessions: $0.50; :budget off removes it");
    const narrow = textOf({ ...state, size: { columns: 40, rows: 24 } });
    expect(narrow).toContain("│ turn  model           input     cost │");
    expect(narrow).toContain("│    1  claude-sonnet    2.0k  $0.0123 │");
    expect(narrow).toMatch(/│ sub-sessions: \$0\.50; :budget off +│/);
  });
  test("the cost of a turn can be limited, and an invalid limit is reported", () => {
    expect(press(fresh, ":", ...Array.from("budget 0.25"), "enter").effects).toEqual([{ type: "budget", usd: 0.25 }]);
    expect(press(fresh, ":", ...Array.from("budget off"), "enter").effects).toEqual([{ type: "budget", usd: null }]);
    expect(press(fresh, ":", ...Array.from("budget -1"), "enter").state.notice?.isError).toBe(true);
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

const usage = { input: 150, output: 100, cacheRead: 1800, cacheWrite: 50 };
const done = {
  id: "t1",
  agent: "native",
  model: "anthropic/claude-sonnet",
  usage,
  costUsd: 0.0123,
  startedAt: 0,
  endedAt: 1500,
  status: "ok",
} as Turn;
const stopped: Turn = {
  ...done,
  id: "t2",
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  costUsd: 0,
  endedAt: 0,
  status: "cancelled",
};
const subSession = { ...session, id: "s-2", name: null, task: "look around", parentSession: "s-1" };

const api = {
  models: {
    list: async () => [
      { name: "openai/gpt", vendor: "openai", ready: false, isDefault: false, contextWindow: 1_100_000, inputPrice: 1, outputPrice: 2 },
      {
        name: "anthropic/claude-haiku",
        vendor: "anthropic",
        ready: true,
        isDefault: true,
        contextWindow: 200_000,
        inputPrice: 0.8,
        outputPrice: 4,
      },
      {
        name: "anthropic/claude-sonnet",
        vendor: "anthropic",
        ready: true,
        isDefault: false,
        contextWindow: 200_000,
        inputPrice: 3,
        outputPrice: 15,
      },
    ],
  },
  auth: { status: async () => [{ vendor: "openai", hint: "set OPENAI_API_KEY; get one at https://example.com" }] },
  agents: {
    list: async () => [
      {
        name: "claude",
        version: "2.1",
        installed: true,
        missing: "no key and no sign-in",
        hint: "set ANTHROPIC_API_KEY or sign in",
        credentials: [],
      },
      {
        name: "native",
        version: "0.1.0",
        installed: true,
        missing: null,
        hint: null,
        credentials: [{ kind: "key", source: "ANTHROPIC_API_KEY", note: null }],
      },
    ],
  },
  session: {
    show: async ({ session: id }: { session: string }) =>
      id === "s-1"
        ? { session, turns: [done, stopped], spawned: [{ id: subSession.id }], below: done }
        : { session: subSession, turns: [done], spawned: [], below: { usage: stopped.usage, costUsd: 0 } },
  },
} as unknown as Api;

/** The state after the keys and after the Api's answers to their effects. */
async function opened(...keys: string[]): Promise<{ state: State }> {
  const pressed = press(fresh, ...keys);
  const sent: UpdateMessage[] = [];
  const turn = { agent: null, model: null, limits: { maxBudgetUsd: 0.5 } };
  const ctx = {
    api,
    directory: "/",
    project: "/",
    turn,
    open: {},
    session,
    bindings: viKeys,
    send: (message: UpdateMessage) => sent.push(message),
  } as unknown as EffectContext;
  for (const effect of pressed.effects) if (effect.type !== "wake") await runEffect(ctx, effect);
  return { state: sent.reduce(apply, pressed.state) };
}

function apply(state: State, message: UpdateMessage): State {
  return update(state, message).state;
}

function press(state: State, ...keys: string[]): { state: State; effects: Effect[] } {
  return keys.reduce<{ state: State; effects: Effect[] }>(
    (before, key) => {
      const name = key === " " ? "space" : key;
      const next = update(before.state, {
        type: "key",
        key: { name, text: name === "space" ? " " : name.length === 1 ? name : "" },
        now: 0,
      });
      return { state: next.state, effects: [...before.effects, ...next.effects] };
    },
    { state, effects: [] },
  );
}

function textOf(state: State): string {
  return renderFrame(state)
    .rows.map((row) => row.map((run) => run.text).join(""))
    .join("\n");
}

test("in 40 columns the names of models differ, and the help shows each summary below its keys", () => {
  const choices = ["● anthropic/claude-opus-5-5", "  anthropic/claude-sonnet-4-5"].map((label) => ({
    label,
    detail: "200k   $15.00 in  $75.00 out",
  }));
  const text = drawBox("models", choiceLines(choices, -1, { columns: 36, height: 2 }), 40).map((row) =>
    row.map((run) => run.text).join(""),
  );
  for (const { label } of choices) expect(text.join("\n")).toMatch(new RegExp(`${label} +│`));
  const bindings = checkBindings({ preset: "plain" });
  const help = drawBox("help", helpText(bindings, 40), 40).map((row) =>
    row
      .map((run) => run.text)
      .join("")
      .slice(2, -2)
      .trimEnd(),
  );
  const at = help.indexOf("Ctrl+C");
  expect(help.slice(at, at + 3)).toEqual(["Ctrl+C", "  clear the message; stop the turn;", "  quit"]);
  expect(helpText(bindings, 80)).toContain("Esc Esc                       go back to an earlier message");
});
