// Images on the real renderer: what a terminal of the kitty protocol is left with, and that no other is sent anything.
import { expect, test } from "bun:test";
import { createCliRenderer } from "@opentui/core";
import { canvasSurface } from "./canvas.ts";
import { blocksOf, nodeOf, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { drawsImages, pngOf, waitUntilPainted, createTestTerminal } from "../fixtures/terminal.ts";
import { firstState, type UpdateMessage, type State } from "../model/state.ts";
import { update } from "../model/update.ts";

const size = { columns: 80, rows: 24 };
const png = await pngOf(300, 200);

test("an image is drawn below its line, clipped to its visible part", async () => {
  await onTerminal(drawsImages, async ({ send, press, placed, uploads, redraw }) => {
    await send(shown(png));
    const whole = [{ row: 4, rows: 10, cut: 0 }];
    expect(await placed(whole)).toEqual(whole);
    expect(uploads()).toBe(1);
    await redraw();
    expect([await placed(whole), uploads()]).toEqual([whole, 1]);
    await press("escape", "?");
    expect(await placed([])).toEqual([]);
    await press("escape");
    expect(await placed(whole)).toEqual(whole);
    await press("]", "]", "enter");
    expect(await placed([])).toEqual([]);
    await press("enter");
    expect(await placed(whole)).toEqual(whole);
    await send({ type: "resized", size: { columns: 80, rows: 18 } });
    const smaller = [{ row: 4, rows: 9, cut: 0 }];
    expect(await placed(smaller)).toEqual(smaller);
    await press("i", ...Array.from({ length: 5 }, () => "newline"));
    const cut = [{ row: 1, rows: 8, cut: 22 }];
    expect(await placed(cut)).toEqual(cut);
  });
});

test("an image that is no longer visible is deleted from the terminal", async () => {
  const left = await onTerminal(drawsImages, async ({ send, press, placed }) => {
    await send(shown(png, "a line\n".repeat(30)));
    expect(await placed([])).toEqual([]);
    await press("escape", "g", "g");
    const whole = [{ row: 4, rows: 10, cut: 0 }];
    expect(await placed(whole)).toEqual(whole);
    await send({ type: "wheel", rows: 6 });
    const cut = [{ row: 1, rows: 7, cut: 60 }];
    expect(await placed(cut)).toEqual(cut);
    await press("G");
    expect(await placed([])).toEqual([]);
    await press("g", "g");
    expect(await placed(whole)).toEqual(whole);
  });
  expect(left).toEqual([]);
});

test("an image that can't be decoded stays a line, with a notice", async () => {
  await onTerminal(drawsImages, async ({ send, text, uploads }) => {
    await send(shown(png.slice(0, 60)));
    while (!text().includes("the terminal can't draw an image: ")) await Bun.sleep(1);
    expect(text()).toMatch(/^ {2}▣ image .*\n\n {2}after it/m);
    expect(uploads()).toBe(0);
  });
});

test.each([
  ["one that does not answer", "", {}],
  ["one that answers only the other question", "\x1b[?62c", {}],
  ["tmux", drawsImages, { TMUX: "/run/tmux,1,0", TERM: "tmux-256color" }],
])("no other terminal is sent an image: %s", async (_, answer, environment) => {
  await onTerminal(
    answer,
    async ({ send, text, uploads }) => {
      await send(shown(png));
      await Bun.sleep(20);
      expect(text()).toMatch(/^ {2}▣ image .*\n\n {2}after it/m);
      expect(uploads()).toBe(0);
    },
    environment,
  );
});

function shown(base64: string, after = "after it"): UpdateMessage {
  const image = nodeOf("n-1", null, "user", [
    { kind: "text", text: "style" },
    { kind: "image", mime: "image/png", base64 },
  ]);
  return { type: "opened", session: sampleSession("s-1"), blocks: blocksOf([image, nodeOf("n-2", "n-1", "agent", after)]), turns: [] };
}

type Placed = { row: number; rows: number; cut: number };
type Walk = {
  send: (message: UpdateMessage) => Promise<void>;
  press: (...names: string[]) => Promise<void>;
  redraw: () => Promise<void>;
  /** What the terminal shows, when it is the wanted, or after some time. */
  placed: (wanted: Placed[]) => Promise<Placed[]>;
  uploads: () => number;
  text: () => string;
};

/** Returns what is left on the terminal after the screen. */
async function onTerminal(answer: string, walk: (parts: Walk) => Promise<void>, environment?: Record<string, string>): Promise<Placed[]> {
  let written = "";
  const write = (bytes: string) => {
    written += bytes;
    return bytes.includes("\x1b[c") ? answer : "";
  };
  const renderer = await createCliRenderer(createTestTerminal(size, write, environment));
  let state: State = firstState({ size, net: "off", sandbox: "on" });
  const take = (message: UpdateMessage) => {
    state = update(state, message).state;
    surface.draw();
  };
  const surface = canvasSurface(renderer, { state: () => state, color: true, onWheel: () => {}, onImages: take });
  const send = async (message: UpdateMessage) => {
    if (message.type === "resized") renderer.resize(message.size.columns, message.size.rows);
    take(message);
    await waitUntilPainted(renderer);
  };
  try {
    await walk({
      send,
      async press(...names) {
        for (const name of names)
          await send({ type: "key", key: { name, text: name === "newline" ? "\n" : name.length === 1 ? name : "" }, now: 0 });
      },
      async redraw() {
        surface.redraw();
        await waitUntilPainted(renderer);
      },
      async placed(wanted) {
        for (let tries = 0; tries < 500 && !Bun.deepEquals(placedBy(written), wanted); tries += 1) await Bun.sleep(2);
        return placedBy(written);
      },
      uploads: () => written.split("\x1b_Ga=t,").length - 1,
      text: () => textOf(state),
    });
  } finally {
    surface.close();
    renderer.destroy();
    await renderer.closed;
  }
  return placedBy(written);
}

/** Places an image by `a=p` where the cursor is, until `a=d` deletes the place (`d=i`) or the image with all its places (`d=I`). */
function placedBy(written: string): Placed[] {
  const places = new Map<string, Placed>();
  // oxlint-disable-next-line no-control-regex
  for (const [, row, command = ""] of written.matchAll(/(?:\x1b\[(\d+);\d+H)?\x1b_G([^;\x1b]*)/g)) {
    const { a, d, i = "", p = "", r, y } = Object.fromEntries(command.split(",").map((pair) => pair.split("=")));
    if (a === "p") places.set(`${i} ${p}`, { row: Number(row), rows: Number(r), cut: Number(y) });
    if (a === "d")
      for (const place of places.keys()) if (place === `${i} ${p}` || (d === "I" && place.startsWith(`${i} `))) places.delete(place);
  }
  return [...places.values()];
}
