// Tests that each row takes as many cells as the layout counts, with any characters.
import { expect, test } from "bun:test";
import { createTestRenderer } from "@opentui/core/testing";
import { cellsOf, printableText, type Row } from "../layout/wrap.ts";
import { Canvas } from "./canvas.ts";
import { joinsEmoji } from "./terminal.ts";

const columns = 40;
const texts = [
  "plain",
  "日本語 ｱ Ａ",
  "👩‍👩‍👧 👍🏽 🇩🇪 🇩 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
  "⚠️ ⚠ ❤️ 1️⃣ ™ ©️ ☑ ㊗️",
  "e\u0301 a\u0308\u0323 \u0301x",
  "שלום \u202eabc\u202c نص \u2067x\u2069",
  "a\u200bb\u00adc\ufeffd\u2060e",
  "क्षि ก็ำ 각 ᄀ ｶﾞ",
  "ﷺ ﷽ 𒐫 \u3164 \u115f\u1160 \u0600 \u20e3",
  "\x1b[31m\x07\x00 \ud800",
  "tab\there",
  "… ─ │ • ▌ ◆ ± ✗ ▣ ╭ ┃",
];

test.each([false, true])(
  "every row ends in the cell that the frame has for it, and none continues below (joined emoji: %p)",
  async (joinsEmoji) => {
    const rows = texts.map((text): Row => [
      { text: printableText(text), style: {} },
      { text: "|", style: { bold: true } },
      { text: "x".repeat(columns), style: { strike: true } },
    ]);
    await using setup = await createTestRenderer({ width: columns, height: texts.length + 1 });
    const { renderer } = setup;
    const renderFrame = () => ({ rows, images: [], cursor: null });
    renderer.root.add(new Canvas(renderer, { color: true, renderFrame, drawImages: () => {}, onMouse: () => {}, joinsEmoji }));
    await setup.renderOnce();
    const bar = "|".codePointAt(0);
    const barColumns = renderer.currentRenderBuffer.withBuffers(({ char }) =>
      texts.map((_, y) => char.subarray(y * columns, (y + 1) * columns).findIndex((code) => code === bar)),
    );
    expect(barColumns).toEqual(texts.map((text) => cellsOf(printableText(text))));
    expect(setup.captureCharFrame().split("\n")[texts.length]?.trim()).toBe("");
  },
);

test("a terminal that joins emoji gets them whole, and only their skin tones are left out", async () => {
  const rows: Row[] = [[{ text: "👩‍💻|👩🏽‍💻|👍🏽|❤️|", style: {} }]];
  await using setup = await createTestRenderer({ width: columns, height: 1 });
  const renderFrame = () => ({ rows, images: [], cursor: null });
  const options = { color: true, renderFrame, drawImages: () => {}, onMouse: () => {}, joinsEmoji: true };
  setup.renderer.root.add(new Canvas(setup.renderer, options));
  await setup.renderOnce();
  expect(setup.captureCharFrame().trim()).toBe("👩‍💻|👩‍💻|👍|❤ |");
});

test.each([
  ["tmux", "3.3a", true],
  ["tmux", "3.2a", false],
  ["tmux", "4.0", true],
  ["tmux", undefined, false],
  ["vscode", "3.4", false],
])("a terminal of %s %p joins emoji: %p", (TERM_PROGRAM, TERM_PROGRAM_VERSION, expected) => {
  expect(joinsEmoji({ TERM_PROGRAM, TERM_PROGRAM_VERSION })).toBe(expected);
});
