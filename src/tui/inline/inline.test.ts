// Tests of inline mode in a small terminal: printed rows stay, in order and once.
import { expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { toolBlock, type Block } from "../model/blocks.ts";
import type { Row } from "../layout/wrap.ts";
import { randomOf } from "../fixtures/random.ts";
import { TestScreen } from "../fixtures/test-screen.ts";
import { firstState, type State } from "../model/state.ts";
import { noBlocks, withBlocks, withDelta, withOutput } from "../model/transcript.ts";
import { renderFrame } from "../views/screen.ts";
import { rowText } from "./paint.ts";
import { renderFooter, noPrintedBlocks, rowsToPrint, type PrintedBlocks } from "./frame.ts";
import { inlineSurface } from "./surface.ts";

const size = { columns: 60, rows: 16 };
const session = { id: "0000-first", name: "first" } as Session;
const fresh: State = { ...firstState({ bindings: viKeys, size, net: "off", sandbox: "on" }), session };
const note = (id: string): Block => ({ id, kind: "text", text: `block ${id}` });

test("a block is printed once, and a call only with its result", () => {
  const state = { ...fresh, activity: "bash", transcript: withBlocks(noBlocks, note("1"), toolBlock("call", "bash", {}), note("2")) };
  const first = rowsToPrint(state, noPrintedBlocks);
  expect(first.rows.map(textOf)).toEqual(["", "── first", "  block 1"]);
  expect(rowsToPrint(state, first.printed).rows).toEqual([]);
  const ended = rowsToPrint({ ...state, activity: null }, first.printed);
  expect(ended.rows.map(textOf).filter((text) => text !== "")).toEqual(["  > bash …", "  block 2"]);
});

test("for an opened session its name and the last screenful are printed", () => {
  const longState = { ...fresh, transcript: withBlocks(noBlocks, ...Array.from({ length: 200 }, (_, index) => note(String(index)))) };
  const texts = rowsToPrint(longState, { session: "0000-other", blocks: 3, last: "2" }).rows.map(textOf);
  expect(texts.slice(0, 3)).toEqual(["", "── first", "── 191 earlier blocks; press Esc, then k, to scroll back"]);
  expect(texts.at(-1)).toBe("  block 199");
});

test("before the first message the first screen stands above the prompt, and the first block replaces it", () => {
  const about = { ...fresh.about, version: "1.2.3", directory: "/work/shop" };
  const empty = { ...fresh, session: null, about };
  const shown = renderFooter(empty, noPrintedBlocks).rows.map(textOf).join("\n");
  expect(shown).toMatch(/skein 1\.2\.3\n[^]*\/work\/shop\n[^]*Try\n/);
  const started = { ...empty, transcript: withBlocks(noBlocks, note("1")) };
  const { printed } = rowsToPrint(started, noPrintedBlocks);
  expect(renderFooter(started, printed).rows.map(textOf).join("\n")).not.toContain("Try");
});

test("after any changes the terminal shows all printed rows with the footer below them", async () => {
  for (const seed of [1, 2, 3])
    await checkRandomChanges(seed).catch((error: unknown) => Promise.reject(new Error(`seed ${seed}`, { cause: error })));
});

async function checkRandomChanges(seed: number): Promise<void> {
  const random = randomOf(seed);
  const screen = new TestScreen(size);
  let state = fresh;
  let printed: PrintedBlocks = noPrintedBlocks;
  let expected: string[] = [];
  const surface = inlineSurface(
    { state: () => state, color: true, onMouse: () => {}, onImages: () => {} },
    (bytes) => screen.write(bytes),
    0,
  );
  for (let round = 0; round < 60; round += 1) {
    for (let count = Math.ceil(random() * 3); count > 0; count -= 1) state = randomChange(state, random, `${seed}-${round}-${count}`);
    surface.draw();
    await Bun.sleep(1);
    await screen.flush();
    if (screen.isAlternate) {
      expect(screen.rows()).toEqual(renderFrame(state).rows.map(textOf));
      continue;
    }
    const next = rowsToPrint(state, printed);
    printed = next.printed;
    expected = [...expected, ...next.rows.map(textOf)];
    const { rows, cursor } = renderFooter(state, printed);
    const footer = rows.map(textOf);
    const terminalRows = [...screen.scrollback(), ...screen.rows()];
    expect(terminalRows.slice(0, expected.length + footer.length)).toEqual([...expected, ...footer]);
    expect(terminalRows.slice(expected.length + footer.length).filter((row) => row !== "")).toEqual([]);
    expect(screen.isCursorVisible).toBe(cursor !== null);
    const top = expected.length - screen.scrollback().length;
    if (cursor !== null) expect(screen.cursor).toEqual({ row: top + cursor.row, column: cursor.column });
  }
  surface.close();
  await screen.flush();
  expect([screen.isAlternate, screen.isCursorVisible]).toEqual([false, true]);
  expect([...screen.scrollback(), ...screen.rows()].slice(0, expected.length)).toEqual(expected);
}

function randomChange(state: State, random: () => number, id: string): State {
  const { transcript } = state;
  const wide = "日本語 👩‍👩‍👧 é ".repeat(Math.floor(random() * 12));
  const changes: (() => State)[] = [
    () => ({ ...state, transcript: withBlocks(transcript, { id, kind: "text", text: `${id} ${wide}` }) }),
    () => ({ ...state, transcript: withDelta(transcript, "text", `${wide}\n`) }),
    () => ({ ...state, transcript: { ...transcript, writing: [] } }),
    () => ({
      ...state,
      activity: "bash",
      transcript: withOutput(withBlocks(transcript, toolBlock(id, "bash", {})), id, "line\n".repeat(30)),
    }),
    () => ({ ...state, activity: null, transcript: { ...transcript, running: new Map() } }),
    () => ({ ...state, unsent: { text: wide, cursor: wide.length } }),
    () => ({ ...state, overlay: { kind: "text", topic: "help", lines: [], top: 0 } }),
    () => ({ ...state, overlay: null, top: "end" }),
    () => ({ ...state, top: { block: 0, strip: 0, row: 0 } }),
    () => ({ ...state, mode: state.mode === "normal" ? "insert" : "normal" }),
    () => ({ ...state, session: { ...session, id, name: id }, transcript: withBlocks(noBlocks, note(id)) }),
  ];
  return changes[Math.floor(random() * changes.length)]!();
}

function textOf(row: Row): string {
  return Bun.stripANSI(rowText(row, true)).trimEnd();
}
