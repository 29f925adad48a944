// Paints the region on a real terminal emulator and compares what a person would see.
import { expect, test } from "bun:test";
import { Terminal } from "@xterm/headless";
import { LiveRegion, type PaintRows } from "./live-region.ts";

/** A terminal with a region, in which `write` prints like an output of the process. */
function openScreen(columns = 20, rows = 6) {
  const terminal = new Terminal({ cols: columns, rows, allowProposedApi: true });
  let pending = "";
  let tick = (): void => {};
  let isTicking = false;
  const region = new LiveRegion({
    size: () => ({ columns: terminal.cols, rows: terminal.rows }),
    writeRaw: (text) => void (pending += text),
    every: (_ms, act) => {
      isTicking = true;
      tick = act;
      return () => (isTicking = false);
    },
  });
  const write = (text: string): void => {
    region.erase();
    pending += text.replaceAll("\n", "\r\n");
    region.afterWrite(text);
  };
  async function lines(): Promise<string[]> {
    await new Promise<void>((resolve) => terminal.write(pending, resolve));
    pending = "";
    const { active } = terminal.buffer;
    const all = Array.from({ length: active.length }, (_, index) => active.getLine(index)!.translateToString(true));
    return all.slice(0, all.findLastIndex((line) => line !== "") + 1);
  }
  const start = (paintRows: PaintRows) => region.start(paintRows);
  return { terminal, region, write, lines, start, tick: () => tick(), isTicking: () => isTicking };
}

test("rows are painted below the output and replaced in place", async () => {
  const screen = openScreen();
  let rows = ["one", "two", "three"];
  screen.write("output\n");
  screen.start(() => rows);
  screen.tick();
  expect(await screen.lines()).toEqual(["output", "one", "two", "three"]);
  rows = ["uno"];
  screen.tick();
  expect(await screen.lines()).toEqual(["output", "uno"]);
});

test("output goes above the rows, and a line that is not complete goes on where it stopped", async () => {
  const screen = openScreen();
  screen.start(() => ["spin"]);
  screen.write("an ans");
  screen.tick();
  expect(await screen.lines()).toEqual(["an ans", "spin"]);
  screen.write("wer\nmore\n");
  screen.tick();
  expect(await screen.lines()).toEqual(["an answer", "more", "spin"]);
});

test("rows at the bottom scroll the output and leave no trace", async () => {
  const screen = openScreen(20, 4);
  screen.start(() => ["a", "b"]);
  for (let line = 1; line <= 6; line += 1) {
    screen.write(`line ${line}\n`);
    screen.tick();
    await screen.lines();
  }
  screen.write("mid");
  screen.tick();
  await screen.lines();
  screen.region.stop();
  expect(await screen.lines()).toEqual(["line 1", "line 2", "line 3", "line 4", "line 5", "line 6", "mid"]);
});

test("a line that fills its row exactly is not damaged", async () => {
  const screen = openScreen(10);
  screen.start(() => ["spin"]);
  screen.write("0123456789");
  screen.tick();
  screen.write("abc\n");
  screen.tick();
  expect(await screen.lines()).toEqual(["0123456789", "abc", "spin"]);
});

test("a key that the terminal echoes leaves no trace", async () => {
  const screen = openScreen();
  screen.start(() => ["spin"]);
  screen.write("output\n");
  screen.tick();
  await screen.lines();
  await new Promise<void>((resolve) => screen.terminal.write("^C", resolve));
  screen.tick();
  expect(await screen.lines()).toEqual(["output", "spin"]);
  await new Promise<void>((resolve) => screen.terminal.write("^C", resolve));
  screen.write("end\n");
  expect(await screen.lines()).toEqual(["output", "end"]);
});

test("a resize leaves no rows of the old width", async () => {
  const screen = openScreen(20, 8);
  screen.write("output\n");
  screen.start(({ columns }) => ["x".repeat(columns * 2), "second"]);
  screen.tick();
  await screen.lines();
  screen.terminal.resize(12, 8);
  screen.tick();
  expect(await screen.lines()).toEqual(["output", `${"x".repeat(10)}…`, "second"]);
});

test("a sequence that skein never writes does not reach the terminal", async () => {
  const screen = openScreen();
  screen.start(() => ["a\x1b]0;title\x07b\x1bc"]);
  screen.write("kept\n");
  screen.tick();
  expect((await screen.lines())[0]).toBe("kept");
});

test("nothing is painted while a prompt is open or after the stop", async () => {
  const screen = openScreen();
  const stop = screen.start(() => ["spin"]);
  screen.region.hold();
  screen.tick();
  expect(await screen.lines()).toEqual([]);
  screen.region.release();
  screen.tick();
  expect(await screen.lines()).toEqual(["spin"]);
  stop();
  expect(screen.isTicking()).toBe(false);
  expect(await screen.lines()).toEqual([]);
});
