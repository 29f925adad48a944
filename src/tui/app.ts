// The screen as a door: keys and events go to `update`, the state goes to the picture, effects to the Api. It owns the
// terminal while it runs, and gives it back however it ends. Loaded only by `skein tui`.
import { createCliRenderer, decodePasteBytes, type CliRenderer } from "@opentui/core";
import type { Api, SessionOpen, Settings, TurnStart } from "../protocol/api.ts";
import { Fault, messageOf } from "../protocol/error.ts";
import type { Session } from "../protocol/turn.ts";
import { bindingsOf, type Bindings } from "./bindings.ts";
import { Canvas, keyOf } from "./canvas.ts";
import type { Doing, OwnThings } from "./effects/doing.ts";
import { doEffect } from "./effects/index.ts";
import { enter } from "./effects/turns.ts";
import { firstState, type Message } from "./state.ts";
import { update } from "./update.ts";
import { pictureOf } from "./views/screen.ts";

export type ScreenParts = {
  api: Api;
  directory: string;
  project: string;
  turn: Omit<TurnStart, "session" | "prompt">;
  open: SessionOpen;
  session: Session | null;
  color: boolean;
  bindings: Bindings;
  own: OwnThings;
  /** Told of each session that is shown. */
  onSession: (session: Session) => void;
  onStop: (stop: () => void) => void;
};

/** Runs until the person leaves, or a signal comes. */
export async function openScreen({ settings, ...rest }: Omit<ScreenParts, "bindings"> & { settings: Settings }): Promise<void> {
  const parts = { ...rest, bindings: bindingsOf(settings.keys) };
  const renderer = await ownTerminal();
  const giveBack = () => renderer.destroy();
  process.once("exit", giveBack);
  try {
    await runScreen(parts, renderer);
  } finally {
    giveBack();
    await renderer.closed;
    process.off("exit", giveBack);
  }
}

/** The same on any renderer: tests bring one without a terminal. */
export async function runScreen(parts: ScreenParts, renderer: CliRenderer): Promise<void> {
  const over = Promise.withResolvers<void>();
  const size = () => ({ columns: renderer.width, rows: renderer.height });
  let state = firstState({
    size: size(),
    bindings: parts.bindings,
    net: parts.turn.policy.net,
    sandbox: parts.turn.policy.sandbox === "off" ? "off" : "on",
  });
  const picture = () => pictureOf(state);
  const canvas = new Canvas(renderer, { color: parts.color, picture, onWheel: (by) => send({ type: "wheel", by }) });
  const copy = (text: string) => renderer.copyToClipboardOSC52(text);
  const doing: Doing = { ...parts, pasted: new Map(), files: { isAsking: false, query: null }, send, copy, quit: over.resolve };

  function send(message: Message): void {
    try {
      const next = update(state, message);
      state = next.state;
      if (!renderer.isDestroyed) canvas.requestRender();
      for (const effect of next.effects) void doEffect(doing, effect);
    } catch (error) {
      over.reject(error);
    }
  }

  renderer.root.add(canvas);
  renderer.keyInput.on("keypress", (event) => {
    const key = keyOf(event);
    if (key !== null) send({ type: "key", key, at: performance.now() });
  });
  renderer.keyInput.on("paste", ({ bytes }) => send({ type: "paste", text: decodePasteBytes(bytes).replace(/\r\n?/g, "\n") }));
  renderer.on("resize", () => send({ type: "resized", size: size() }));
  process.on("uncaughtException", over.reject);
  process.on("unhandledRejection", over.reject);
  parts.onStop(over.resolve);
  try {
    send({ type: "history", entries: parts.own.history.entries });
    await enter(doing, parts.session);
    await over.promise;
  } finally {
    process.off("uncaughtException", over.reject);
    process.off("unhandledRejection", over.reject);
  }
}

async function ownTerminal(): Promise<CliRenderer> {
  try {
    // Its own console and its own way out would hide what went wrong from us.
    return await createCliRenderer({ exitOnCtrlC: false, exitSignals: [], consoleMode: "disabled", openConsoleOnError: false });
  } catch (error) {
    throw new Fault("not-installed", `the screen can't be opened: ${messageOf(error)}`, {
      hint: "`skein chat` talks without it",
      cause: error,
    });
  }
}
