// The screen as a door: keys and events go to `update`, the state goes to the picture, effects to the Api. It owns the
// terminal while it runs, and gives it back however it ends. Loaded only by `skein tui`.
import { decodePasteBytes, type CliRenderer } from "@opentui/core";
import type { Settings } from "../protocol/api/api.ts";
import { createSuspender } from "./terminal/suspend.ts";
import { titleOf } from "./model/attention.ts";
import { checkBindings, type Bindings } from "./keys/bindings.ts";
import { keyOf } from "./terminal/canvas.ts";
import { createDraftSaver, type UnsentStore } from "./composer/unsent.ts";
import type { EffectContext } from "./effects/effect-context.ts";
import { runEffect } from "./effects/index.ts";
import { stopFollowing } from "./effects/follow.ts";
import { enterSession } from "./effects/turns.ts";
import { firstState, type UpdateMessage } from "./model/state.ts";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal/terminal.ts";
import { update } from "./model/update.ts";

/** What the screen itself brings is not asked for. */
export type ScreenOptions = Omit<
  EffectContext,
  "pastedImages" | "files" | "following" | "isHubLost" | "send" | "redraw" | "quit" | "lendTerminal"
> & {
  color: boolean;
  home: string;
  bindings: Bindings;
  onStop: (stop: () => void) => void;
} & Pick<Terminal, "surface" | "setTitle">;

export type OpenScreenOptions = Omit<ScreenOptions, "bindings" | "surface" | "notify" | "setTitle" | "copy"> &
  Pick<TerminalOptions, "env" | "isInline"> & { settings: Settings };

/** Signals besides those that end every command; the terminal that went away is one of them. */
export type ExitSignal = "SIGHUP" | "SIGQUIT";

/** Runs until the person leaves, or a signal comes; of those it sees itself it tells which. */
export async function openScreen({ settings, env, isInline, ...rest }: OpenScreenOptions): Promise<ExitSignal | null> {
  const bindings = checkBindings(settings.keys);
  const terminal = await openTerminal({ notify: settings.notify, env, isInline });
  let signal: ExitSignal | null = null;
  let stop = () => {};
  const stopBy = (by: ExitSignal) => {
    signal = by;
    stop();
  };
  const onStop = (end: () => void) => rest.onStop((stop = end));
  const hungUp = () => stopBy("SIGHUP");
  const quit = () => stopBy("SIGQUIT");
  // For good: a shell that goes away tells more than once, and the turn's end must still be recorded.
  process.on("SIGHUP", hungUp).on("SIGQUIT", quit);
  process.stdin.on("end", hungUp).on("error", hungUp);
  process.stdout.on("error", hungUp);
  try {
    await runScreen({ ...rest, ...terminal, bindings, onStop }, terminal.renderer);
  } finally {
    await terminal.restore({ isGone: signal === "SIGHUP" });
  }
  return signal;
}

/** The same on any renderer: tests bring one without a terminal. */
export async function runScreen(options: ScreenOptions, renderer: CliRenderer): Promise<void> {
  const over = Promise.withResolvers<void>();
  const size = () => ({ columns: renderer.width, rows: renderer.height });
  let state = firstState({
    size: size(),
    pathPrefixes: { project: options.project, home: options.home },
    bindings: options.bindings,
    isPlanning: options.turn.policy.name === "plan",
    net: options.turn.policy.net,
    sandbox: options.turn.policy.sandbox === "off" ? "off" : "on",
  });
  const surface = options.surface({
    state: () => state,
    color: options.color,
    onWheel: (by) => send({ type: "wheel", rows: by }),
    onImages: send,
  });
  const kept = createDraftSaver(options.local.unsent, (text) => send({ type: "notice", text, isError: true }));
  const stop = () => (kept.finish(), options.suspend()); // no timer runs while it stands still
  const aside = createSuspender({ renderer, surface, stop, onFault: over.reject });
  const doing: EffectContext = {
    ...options,
    pastedImages: new Map(),
    files: { isSearching: false, nextQuery: null },
    following: null,
    isHubLost: false,
    send,
    quit: over.resolve,
    ...aside,
    redraw: surface.redraw,
  };
  let title = "";

  function send(message: UpdateMessage): void {
    try {
      const next = update(state, message);
      state = next.state;
      kept.onState(state);
      surface.draw();
      if (titleOf(state) !== title) options.setTitle((title = titleOf(state)));
      for (const effect of next.effects) void runEffect(doing, effect);
    } catch (error) {
      over.reject(error);
    }
  }

  renderer.keyInput.on("keypress", (event) => {
    const key = keyOf(event);
    if (key !== null) send({ type: "key", key, now: performance.now() });
  });
  renderer.keyInput.on("paste", ({ bytes }) => send({ type: "paste", text: decodePasteBytes(bytes).replace(/\r\n?/g, "\n") }));
  renderer.on("focus", () => send({ type: "in front", isInFront: true }));
  renderer.on("blur", () => send({ type: "in front", isInFront: false }));
  renderer.on("render:error", ({ error }: { error: unknown }) => over.reject(error));
  renderer.on("handler:error", ({ error }: { error: unknown }) => over.reject(error));
  renderer.on("resize", () => send({ type: "resized", size: size() }));
  process.on("uncaughtException", over.reject);
  process.on("unhandledRejection", over.reject);
  options.onStop(over.resolve);
  try {
    send({ type: "history", entries: options.local.history.entries });
    restoreUnsent(options.local.unsent, send);
    await enterSession(doing, options.session);
    await over.promise;
  } finally {
    kept.finish();
    stopFollowing(doing);
    doing.isHubLost = false; // nobody looks for the hub any more
    surface.close();
    aside.close();
    process.off("uncaughtException", over.reject);
    process.off("unhandledRejection", over.reject);
  }
}

function restoreUnsent(place: UnsentStore, send: (message: UpdateMessage) => void): void {
  const found = place.claim();
  const problem = place.problem();
  if (found !== null) send({ type: "unsent", ...found });
  if (problem !== null) send({ type: "notice", text: `what was typed last can't be brought back: ${problem}`, isError: true });
}
