// Tests that each row takes as many cells as the layout counts, with any characters.
import { expect, test } from "bun:test";
import { createTestRenderer } from "@opentui/core/testing";
import { cellsOf, printableText, type Row } from "../layout/wrap.ts";
import { Canvas } from "./canvas.ts";

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

test("every row ends in the cell that the frame has for it, and none continues below", async () => {
  const rows = texts.map((text): Row => [
    { text: printableText(text), style: {} },
    { text: "|", style: { bold: true } },
    { text: "x".repeat(columns), style: { strike: true } },
  ]);
  await using setup = await createTestRenderer({ width: columns, height: texts.length + 1 });
  const { renderer } = setup;
  renderer.root.add(
    new Canvas(renderer, { color: true, renderFrame: () => ({ rows, images: [], cursor: null }), drawImages: () => {}, onMouse: () => {} }),
  );
  await setup.renderOnce();
  const bar = "|".codePointAt(0);
  const barColumns = renderer.currentRenderBuffer.withBuffers(({ char }) =>
    texts.map((_, y) => char.subarray(y * columns, (y + 1) * columns).findIndex((code) => code === bar)),
  );
  expect(barColumns).toEqual(texts.map((text) => cellsOf(printableText(text))));
  expect(setup.captureCharFrame().split("\n")[texts.length]?.trim()).toBe("");
});
