// Sends hundreds of random keys, pastes, sizes and events from a seed to the TUI's model. Its effects are answered in any
// order. Every row must fit the screen.
import { expect, test } from "bun:test";
import type { Event } from "../../src/protocol/tree/event.ts";
import { screenCommands } from "../../src/tui/keys/commands.ts";
import { badRows, nodeOf, sampleSession, turnOf } from "../../src/tui/fixtures/press-keys.ts";
import { randomOf } from "../../src/tui/fixtures/random.ts";
import { firstState, type Effect, type UpdateMessage, type State } from "../../src/tui/model/state.ts";
import { update } from "../../src/tui/model/update.ts";

const session = sampleSession("s-1");
const specialKeys = "enter escape tab up down left right home end backspace delete pageup pagedown newline space ctrl+c ctrl+_".split(" ");
const texts = ["a", "日本", "👩‍👩‍👧", "é", "\t", "@", "/", "!", ":", "x y\nz", "مرحبا", "word ".repeat(30), "row\n".repeat(40), "/tmp/a.png"];

for (const [seed, preset] of [
  [1, "vi"],
  [2, "vi"],
  [3, "plain"],
  [4, "plain"],
] as const)
  test(`every row fits and every key still works after eight hundred random messages of seed ${seed}, ${preset} keys`, () => {
    const random = randomOf(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
    let state: State = firstState({ bindings: { preset, own: {} }, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" });
    const waiting: Effect[] = [];
    for (let index = 0; index < 800; index += 1) {
      const message = random() < 0.2 ? answerTo(waiting.shift(), pick) : nextMessage(pick, index);
      if (message === null) continue;
      const next = update(state, message);
      state = next.state;
      waiting.push(...next.effects);
      const bad = badRows(state);
      if (bad.length > 0)
        throw new Error(`message ${index}, ${JSON.stringify(message)}, at ${JSON.stringify(state.size)}: ${bad.join("|")}`);
      expect(state.unsent.cursor).toBeWithin(0, state.unsent.text.length + 1);
    }
    const afterEscape = ["escape", "escape", "escape"].reduce<State>(press, {
      ...state,
      asks: [],
      leader: null,
      overlay: null,
    });
    // Esc twice may have listed the earlier messages.
    expect(press({ ...afterEscape, overlay: null }, "i").mode).toBe("insert");
  });

type Pick = <T>(list: readonly T[]) => T;

function nextMessage(pick: Pick, index: number): UpdateMessage {
  const keys = [...specialKeys, ...screenCommands.flatMap(({ keys = [] }) => keys.map((key) => key.replace("space ", "")))];
  const key = (name: string): UpdateMessage => ({
    type: "key",
    key: { name, text: name === "space" ? " " : [...new Intl.Segmenter().segment(name)].length === 1 ? name : "" },
    now: index * 50,
  });
  return pick<() => UpdateMessage>([
    () => key(pick(keys)),
    () => key(pick(keys)),
    () => key(pick(texts.slice(0, 9))),
    () => key(pick(Array.from("abcdefghijklmnop:/@!"))),
    () => ({ type: "paste", text: pick(texts) }),
    () => ({ type: "set", fields: { size: { columns: pick([20, 40, 80, 200]), rows: pick([8, 16, 24, 60]) } } }),
    () => ({ type: "wheel", rows: pick([-3, 3]) }),
    () => ({ type: "tick", now: index * 50 }),
    () => ({ type: "event", event: nextEvent(pick, index) }),
    () => ({ type: "event", event: nextEvent(pick, index) }),
  ])();
}

function nextEvent(pick: Pick, index: number): Event {
  const text = pick(texts);
  const body = pick<object>([
    { type: "text.delta", text },
    { type: "thinking.delta", text },
    { type: "node.added", node: nodeOf(`n${index}`, null, pick(["user", "agent", "note"]), text) },
    {
      type: "node.added",
      node: nodeOf(`n${index}`, null, "agent", [{ kind: "call", id: `c${index % 7}`, name: "bash", input: { command: text } }]),
    },
    {
      type: "node.added",
      node: nodeOf(`n${index}`, null, "tool", [{ kind: "result", call: `c${index % 7}`, name: "bash", text, isError: false }]),
    },
    { type: "tool.started", call: `c${index % 9}`, name: "bash", input: { command: text } },
    { type: "tool.output", call: `c${index % 9}`, text },
    { type: "queue.changed", queue: [{ id: `q${index}`, text, queuedAt: 0 }] },
    { type: "turn.started", session, turn: turnOf({ endedAt: null }) },
    { type: "turn.ended", session, turn: turnOf(), answer: "" },
  ]);
  return { seq: index, n: 0, sessionId: "s-1", turnId: "t-1", at: index, ...body } as unknown as Event;
}

/** Returns a possible answer to an effect. */
function answerTo(effect: Effect | undefined, pick: Pick): UpdateMessage | null {
  switch (effect?.type) {
    case "start":
    case "execute":
      return pick<UpdateMessage>([
        { type: "set", fields: { session } },
        { type: "refused", unsent: "prompt" in effect ? (effect.prompt ?? "") : effect.unsent, text: pick(texts), hint: null },
      ]);
    case "attach":
      return { type: "attached", path: pick([null, effect.path]), text: effect.text, problem: null };
    case "find files":
      return { type: "found files", query: effect.query, files: pick([[], ["src/a.ts", "日本 語.ts"]]), problem: null };
    case "list":
      return {
        type: "listed",
        purpose: effect.purpose,
        items: [{ id: "x", label: pick(texts), detail: pick(texts), preview: pick(texts) }],
      };
    case "take back":
      return { type: "taken back", input: effect.input, text: pick([null, ...texts]) };
    case "read costs":
      return { type: "costs", lines: texts };
    case undefined:
      return null;
    default:
      return { type: "notice", text: pick(texts) };
  }
}

function press(state: State, name: string): State {
  return update(state, { type: "key", key: { name, text: "" }, now: 1e9 }).state;
}
