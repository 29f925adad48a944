// Sends a thousand random keys, pastes, events and sizes from a seed to the real renderer in a small terminal. The screen
// must look the same as after a complete repaint of the same state.
import { expect, test } from "bun:test";
import { createCliRenderer } from "@opentui/core";
import type { Event } from "../../src/protocol/tree/event.ts";
import type { Session } from "../../src/protocol/tree/turn.ts";
import { clustersOf, type Row } from "../../src/tui/layout/wrap.ts";
import { canvasSurface } from "../../src/tui/terminal/canvas.ts";
import { viKeys, badRows } from "../../src/tui/fixtures/press-keys.ts";
import { randomOf } from "../../src/tui/fixtures/random.ts";
import { drawsImages, pngOf, waitUntilPainted, createTestTerminal } from "../../src/tui/fixtures/terminal.ts";
import { TestScreen } from "../../src/tui/fixtures/test-screen.ts";
import { firstState, type UpdateMessage, type State } from "../../src/tui/model/state.ts";
import { update } from "../../src/tui/model/update.ts";
import { renderFrame } from "../../src/tui/views/screen.ts";

const session = { id: "s-1", name: "fuzz", tip: null, agent: "native", model: null } as Session;
const batches = 10;
const perBatch = 50;
const image = await pngOf(300, 200);

test("a thousand random keys, pastes, events and sizes leave no garbage on the screen", async () => {
  for (const seed of [1, 2]) await fuzzScreen(seed).catch((error: unknown) => Promise.reject(new Error(`seed ${seed}`, { cause: error })));
});

async function fuzzScreen(seed: number): Promise<void> {
  const random = randomOf(seed);
  const size = { columns: 80, rows: 24 };
  const screen = new TestScreen(size);
  const renderer = await createCliRenderer(
    createTestTerminal(size, (bytes) => {
      screen.write(bytes);
      return bytes.includes("\x1b[c") ? drawsImages : "";
    }),
  );
  let state: State = { ...firstState({ bindings: viKeys, size, net: "off", sandbox: "on" }), session };
  const onImages = (message: UpdateMessage) => (state = update(state, message).state);
  const surface = canvasSurface(renderer, { state: () => state, color: true, onMouse: () => {}, onImages }, () => screen.size);
  try {
    await waitUntilPainted(renderer);
    for (let batch = 0; batch < batches; batch += 1) {
      for (let count = 0; count < perBatch; count += 1) {
        const message = messageOf(random, `${batch}-${count}`);
        const size = message.type === "set" ? message.fields.size : undefined;
        if (size !== undefined) {
          await screen.resize(size);
          renderer.resize(size.columns, size.rows);
        }
        state = update(state, message).state;
        surface.draw();
      }
      expect(badRows(state)).toEqual([]);
      await waitUntilPainted(renderer);
      await screen.flush();
      const painted = screen.rows();
      const expected = renderFrame(state).rows.map(cellsOf);
      expect(
        screen.cells().map((row, y) =>
          row
            .map((cell, x) => (expected[y]?.[x] === "?" ? "?" : cell))
            .join("")
            .trimEnd(),
        ),
      ).toEqual(expected.map((row) => row.join("").trimEnd()));
      await screen.fill();
      surface.redraw();
      await waitUntilPainted(renderer);
      await screen.flush();
      expect(painted).toEqual(screen.rows());
    }
  } finally {
    renderer.destroy();
    await renderer.closed;
    await screen.flush();
  }
  expect([screen.isCursorVisible, screen.isAlternate]).toEqual([true, false]);
}

/** Returns the content of each cell. Other than plain characters are "?", because the renderer may replace them. */
function cellsOf(row: Row): string[] {
  return row.flatMap(({ text }) =>
    clustersOf(text).flatMap((cluster) => (isPlain(cluster.text) ? cluster.text : Array(cluster.cells).fill("?"))),
  );
}

function isPlain(text: string): boolean {
  return /^[\x20-\x7e─-╿▌]$/.test(text);
}

const keys = [
  ..."abcdefghijklmnoprstuvwxyz[]:/?GNIA!@".split(""),
  ..."enter escape up down left right home end tab backspace delete pageup pagedown newline".split(" "),
  ..."ctrl+d ctrl+u ctrl+o ctrl+p ctrl+k ctrl+w ctrl+l ctrl+g ctrl+_ alt+b alt+f".split(" "),
];
const texts = [
  "plain",
  "日本語 ",
  "👩‍👩‍👧 family",
  "e\u0301 à",
  "שלום",
  "مرحبا",
  "\x1b[31mred\x07",
  "| a | b |\n|---|---|\n| 1 | 2 |\n",
  "```ts\nconst x = 1;\n```\n",
];

function messageOf(random: () => number, id: string): UpdateMessage {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!;
  const text = () => pick(texts).repeat(1 + Math.floor(random() * 4));
  const event = (body: object): UpdateMessage => ({
    type: "event",
    event: { seq: 1, n: 1, sessionId: session.id, turnId: "t", at: 0, ...body } as unknown as Event,
  });
  const node = (author: string, part: object) => event({ type: "node.added", node: { id, turn: "t", author, parts: [part], at: 0 } });
  const kinds: [weight: number, make: () => UpdateMessage][] = [
    [50, () => ({ type: "key", key: keyNamed(pick(keys)), now: random() * 1e6 })],
    [4, () => ({ type: "key", key: keyNamed("space"), now: 0 })],
    [4, () => ({ type: "tick", now: random() * 2000 })],
    [4, () => ({ type: "paste", text: text() })],
    [3, () => ({ type: "wheel", rows: pick([-3, 3]) })],
    [3, () => ({ type: "set", fields: { size: { columns: 20 + Math.floor(random() * 380), rows: 5 + Math.floor(random() * 95) } } })],
    [12, () => event({ type: "text.delta", text: text() })],
    [4, () => event({ type: "thinking.delta", text: text() })],
    [4, () => node("agent", { kind: "text", text: text() })],
    [4, () => node("agent", { kind: "call", id: `c-${id}`, name: "bash", input: { command: text() } })],
    [4, () => node("user", { kind: "image", mime: "image/png", base64: image })],
    [4, () => event({ type: "tool.output", call: `c-${id}`, text: text() })],
    [2, () => event({ type: "queue.changed", queue: [{ id, text: text() }] })],
    [1, () => event({ type: "ask.opened", ask: { id, question: text(), options: ["red", text()], session: session.id, turn: "t" } })],
    [2, () => event({ type: "ask.closed", ask: { id } })],
    [2, () => ({ type: "notice", text: text() })],
  ];
  let weightLeft = random() * kinds.reduce((sum, [weight]) => sum + weight, 0);
  return (kinds.find(([weight]) => (weightLeft -= weight) < 0) ?? kinds[0]!)[1]();
}

function keyNamed(name: string) {
  return { name, text: name === "space" ? " " : Array.from(name).length === 1 ? name : "" };
}
