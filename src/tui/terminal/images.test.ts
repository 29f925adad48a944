// Tests of images on the real renderer: the placements in a terminal with the kitty protocol, and no bytes for others.
import { expect, test } from "bun:test";
import { createCliRenderer } from "@opentui/core";
import { canvasSurface } from "./canvas.ts";
import { viKeys, blocksOf, nodeOf, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { drawsImages, pngOf, waitUntilPainted, createTestTerminal } from "../fixtures/terminal.ts";
import { firstState, type UpdateMessage, type State } from "../model/state.ts";
import { update } from "../model/update.ts";

const size = { columns: 80, rows: 24 };
const png = await pngOf(300, 200);

test("an image is drawn below its line, clipped to its visible part", async () => {
  await onTerminal(drawsImages, async ({ send, press, placed, uploads, redraw }) => {
    await send(openedWithImage(png));
    const unclipped = [{ row: 4, rows: 10, cut: 0 }];
    expect(await placed(unclipped)).toEqual(unclipped);
    expect(uploads()).toBe(1);
    await redraw();
    expect([await placed(unclipped), uploads()]).toEqual([unclipped, 1]);
    await press("escape", "?");
    expect(await placed([])).toEqual([]);
    await press("escape");
    expect(await placed(unclipped)).toEqual(unclipped);
    await press("]", "]", "enter");
    expect(await placed([])).toEqual([]);
    await press("enter");
    expect(await placed(unclipped)).toEqual(unclipped);
    await send({ type: "set", fields: { size: { columns: 80, rows: 18 } } });
    const smaller = [{ row: 4, rows: 9, cut: 0 }];
    expect(await placed(smaller)).toEqual(smaller);
    await press("i", ...Array.from({ length: 5 }, () => "newline"));
    const cut = [{ row: 1, rows: 7, cut: 44 }];
    expect(await placed(cut)).toEqual(cut);
  });
});

test("an image that is no longer visible is deleted from the terminal", async () => {
  const remaining = await onTerminal(drawsImages, async ({ send, press, placed }) => {
    await send(openedWithImage(png, "a line\n".repeat(30)));
    expect(await placed([])).toEqual([]);
    await press("escape", "g", "g");
    const unclipped = [{ row: 4, rows: 10, cut: 0 }];
    expect(await placed(unclipped)).toEqual(unclipped);
    await send({ type: "wheel", rows: 6 });
    const cut = [{ row: 1, rows: 7, cut: 60 }];
    expect(await placed(cut)).toEqual(cut);
    await press("G");
    expect(await placed([])).toEqual([]);
    await press("g", "g");
    expect(await placed(unclipped)).toEqual(unclipped);
  });
  expect(remaining).toEqual([]);
});

test("an image that can't be decoded stays a line, with a notice", async () => {
  await onTerminal(drawsImages, async ({ send, text, uploads }) => {
    await send(openedWithImage(png.slice(0, 60)));
    while (!text().includes("the terminal can't draw an image: ")) await Bun.sleep(1);
    expect(text()).toMatch(/^ {2}▣ image .*\n\n {2}after it/m);
    expect(uploads()).toBe(0);
  });
});

test.each([
  ["no answer", "", {}],
  ["an answer without the kitty protocol", "\x1b[?62c", {}],
  ["tmux", drawsImages, { TMUX: "/run/tmux,1,0", TERM: "tmux-256color" }],
])("a terminal that can't draw images gets none: %s", async (_, answer, environment) => {
  await onTerminal(
    answer,
    async ({ send, text, uploads }) => {
      await send(openedWithImage(png));
      await Bun.sleep(20);
      expect(text()).toMatch(/^ {2}▣ image .*\n\n {2}after it/m);
      expect(uploads()).toBe(0);
    },
    environment,
  );
});

function openedWithImage(base64: string, after = "after it"): UpdateMessage {
  const image = nodeOf("n-1", null, "user", [
    { kind: "text", text: "look" },
    { kind: "image", mime: "image/png", base64 },
  ]);
  return { type: "opened", session: sampleSession("s-1"), blocks: blocksOf([image, nodeOf("n-2", "n-1", "agent", after)]), turns: [] };
}

type Placement = { row: number; rows: number; cut: number };
type Controls = {
  send: (message: UpdateMessage) => Promise<void>;
  press: (...names: string[]) => Promise<void>;
  redraw: () => Promise<void>;
  /** The placements in the terminal, as soon as they are the expected ones, at the latest after a second. */
  placed: (expected: Placement[]) => Promise<Placement[]>;
  uploads: () => number;
  text: () => string;
};

/** Returns the placements that remain in the terminal after the screen has closed. */
async function onTerminal(
  answer: string,
  check: (controls: Controls) => Promise<void>,
  environment?: Record<string, string>,
): Promise<Placement[]> {
  let written = "";
  const write = (bytes: string) => {
    written += bytes;
    return bytes.includes("\x1b[c") ? answer : "";
  };
  const renderer = await createCliRenderer(createTestTerminal(size, write, environment));
  let state: State = firstState({ bindings: viKeys, size, net: "off", sandbox: "on" });
  const handle = (message: UpdateMessage) => {
    state = update(state, message).state;
    surface.draw();
  };
  const surface = canvasSurface(renderer, { state: () => state, color: true, onMouse: () => {}, onImages: handle });
  const send = async (message: UpdateMessage) => {
    if (message.type === "set" && message.fields.size !== undefined) renderer.resize(message.fields.size.columns, message.fields.size.rows);
    handle(message);
    await waitUntilPainted(renderer);
  };
  try {
    await check({
      send,
      async press(...names) {
        for (const name of names)
          await send({ type: "key", key: { name, text: name === "newline" ? "\n" : name.length === 1 ? name : "" }, now: 0 });
      },
      async redraw() {
        surface.redraw();
        await waitUntilPainted(renderer);
      },
      async placed(expected) {
        for (let tries = 0; tries < 500 && !Bun.deepEquals(placementsIn(written), expected); tries += 1) await Bun.sleep(2);
        return placementsIn(written);
      },
      uploads: () => written.split("\x1b_Ga=t,").length - 1,
      text: () => textOf(state),
    });
  } finally {
    surface.close();
    renderer.destroy();
    await renderer.closed;
  }
  return placementsIn(written);
}

/** `a=p` places an image at the cursor. `a=d` deletes the placement (`d=i`), or the image with all its placements (`d=I`). */
function placementsIn(written: string): Placement[] {
  const placements = new Map<string, Placement>();
  // oxlint-disable-next-line no-control-regex
  for (const [, row, command = ""] of written.matchAll(/(?:\x1b\[(\d+);\d+H)?\x1b_G([^;\x1b]*)/g)) {
    const { a, d, i = "", p = "", r, y } = Object.fromEntries(command.split(",").map((pair) => pair.split("=")));
    if (a === "p") placements.set(`${i} ${p}`, { row: Number(row), rows: Number(r), cut: Number(y) });
    if (a === "d")
      for (const placement of placements.keys())
        if (placement === `${i} ${p}` || (d === "I" && placement.startsWith(`${i} `))) placements.delete(placement);
  }
  return [...placements.values()];
}
