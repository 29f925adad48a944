// Runs the screen: sends keys and events to `update`, the state to the surface, and effects to the Api.
// The screen owns the terminal and restores it however it ends. Only `skein tui` and `attach --tui` load this file.
import { decodePasteBytes, type CliRenderer } from "@opentui/core";
import type { Settings } from "../protocol/api/api.ts";
import { createSuspender } from "./terminal/suspend.ts";
import { titleOf } from "./model/attention.ts";
import { switchText } from "./keys/help.ts";
import { checkBindings } from "./keys/bindings.ts";
import { keyOf } from "./terminal/canvas.ts";
import { createFirstFrame } from "./terminal/first-frame.ts";
import { createSpinnerClock } from "./terminal/spinner-clock.ts";
import { createUnsentSaver } from "./composer/unsent.ts";
import type { EffectContext } from "./effects/effect-context.ts";
import { createAboutReader } from "./about.ts";
import { runEffect } from "./effects/index.ts";
import { nextAgent } from "./effects/settings.ts";
import { stopFollowing } from "./effects/follow.ts";
import { setPolicy, slotOf } from "./effects/planning.ts";
import { enterSession } from "./effects/turns.ts";
import { firstState, type Size, type State, type UpdateMessage } from "./model/state.ts";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal/terminal.ts";
import { update } from "./model/update.ts";
import { screenHint } from "./model/screen-hint.ts";

/** The effect context without the parts that the screen creates itself. */
export type ScreenOptions = Omit<
  EffectContext,
  "pastedImages" | "files" | "following" | "isHubLost" | "send" | "redraw" | "quit" | "lendTerminal"
> & {
  color: boolean;
  home: string;
  version: string;
  /** Why the first turn can't start yet, and what to type. */
  problem?: { text: string; hint: string | null } | null;
  /** Opens the list of sessions first. */
  isChoosing?: boolean;
  /** Sent as the first message. */
  task?: string | null;
  /** The user named the policy, so it applies instead of that of the session's last turn. */
  isPolicyNamed?: boolean;
  onStop: (stop: () => void) => void;
} & Pick<Terminal, "surface" | "setTitle"> &
  Partial<Pick<Terminal, "onListening">>;

export type OpenScreenOptions = Omit<ScreenOptions, "bindings" | "surface" | "notify" | "setTitle" | "copy" | "onListening"> &
  Pick<TerminalOptions, "env" | "isInline"> & { settings: Settings };

/** Signals that end the screen, besides those that end every command. SIGHUP: the terminal was closed. */
export type ExitSignal = "SIGHUP" | "SIGQUIT";

/** Runs until the user quits or a signal arrives. Returns the signal if it is an ExitSignal, else null. */
export async function openScreen({ settings, env, isInline, ...options }: OpenScreenOptions): Promise<ExitSignal | null> {
  const bindings = checkBindings(settings.keys);
  const terminal = await openTerminal({ notify: settings.notify, env, isInline });
  let signal: ExitSignal | null = null;
  let stop = () => {};
  const stopBy = (cause: ExitSignal) => {
    signal = cause;
    stop();
  };
  const onStop = (end: () => void) => options.onStop((stop = end));
  const onHangUp = () => stopBy("SIGHUP");
  const onQuit = () => stopBy("SIGQUIT");
  // Never removed: a closing shell sends SIGHUP more than once, and the end of the turn must still be recorded.
  process.on("SIGHUP", onHangUp).on("SIGQUIT", onQuit);
  process.stdin.on("end", onHangUp).on("error", onHangUp);
  process.stdout.on("error", onHangUp);
  try {
    await runScreen({ ...options, ...terminal, bindings, onStop }, terminal.renderer);
  } finally {
    await terminal.restore({ isGone: signal === "SIGHUP" });
  }
  return signal;
}

/** Runs the screen on any renderer. Tests pass one without a terminal. */
export async function runScreen(options: ScreenOptions, renderer: CliRenderer): Promise<void> {
  const end = Promise.withResolvers<void>();
  const size = () => ({ columns: renderer.width, rows: renderer.height });
  let state = initialState(options, size());
  const surface = options.surface({
    state: () => state,
    color: options.color,
    onMouse: send,
    onImages: send,
  });
  const unsentSaver = createUnsentSaver(options.local.unsent, (text) => send({ type: "notice", text, isError: true }));
  // The saver's timer does not run while the process is suspended.
  const suspendProcess = () => (unsentSaver.finish(), options.suspend());
  const suspender = createSuspender({ renderer, surface, suspendProcess, onFault: end.reject });
  const ctx: EffectContext = {
    ...options,
    pastedImages: new Map(),
    files: { isSearching: false, nextQuery: null },
    following: null,
    isHubLost: false,
    send,
    quit: end.resolve,
    ...suspender,
    redraw: surface.redraw,
  };
  let title = "";
  const about = createAboutReader(ctx, { branch: state.about.branch, whenDrawn: () => renderer.idle() });
  const frames = createFirstFrame(surface.draw);
  const clock = createSpinnerClock((now) => (state.activity === null ? undefined : send({ type: "clock", now })));
  /** The frame of an event also moves the spinner. */
  const withClock = ({ type }: UpdateMessage): State => {
    const now = type === "event" && state.activity !== null ? clock.move() : null;
    return now === null ? state : update(state, { type: "clock", now }).state;
  };

  function send(message: UpdateMessage): void {
    try {
      const next = update(withClock(message), message);
      state = next.state;
      unsentSaver.onState(state);
      frames.onMessage(message);
      if (titleOf(state) !== title) options.setTitle((title = titleOf(state)));
      about.onMessage(message);
      for (const effect of next.effects) void runEffect(ctx, effect);
    } catch (error) {
      end.reject(error);
    }
  }

  renderer.keyInput.on("keypress", (event) => {
    const key = keyOf(event);
    if (key !== null) send({ type: "key", key, now: performance.now() });
  });
  renderer.keyInput.on("paste", ({ bytes }) => send({ type: "paste", text: decodePasteBytes(bytes).replace(/\r\n?/g, "\n") }));
  renderer.on("focus", () => send({ type: "set", fields: { hasFocus: true } }));
  renderer.on("blur", () => send({ type: "set", fields: { hasFocus: false } }));
  renderer.on("render:error", ({ error }: { error: unknown }) => end.reject(error));
  renderer.on("handler:error", ({ error }: { error: unknown }) => end.reject(error));
  renderer.on("resize", () => send({ type: "set", fields: { size: size() } }));
  process.on("uncaughtException", end.reject);
  process.on("unhandledRejection", end.reject);
  options.onStop(end.resolve);
  options.onListening?.();
  try {
    await showFirstSession(ctx, options);
    await end.promise;
  } finally {
    clock.close();
    frames.close();
    unsentSaver.finish();
    stopFollowing(ctx);
    ctx.isHubLost = false; // ends the attempts to reconnect
    surface.close();
    suspender.close();
    process.off("uncaughtException", end.reject);
    process.off("unhandledRejection", end.reject);
  }
}

/** Shows the session that the screen was opened with, and restores history and unsent messages. */
async function showFirstSession(
  ctx: EffectContext,
  { local, turn, session, isPolicyNamed, isChoosing, task = null }: ScreenOptions,
): Promise<void> {
  ctx.send({ type: "history", entries: local.history.entries });
  const policySlot = slotOf(turn.policy.name);
  await enterSession(ctx, session);
  if (isPolicyNamed === true) setPolicy(ctx, policySlot);
  const isFirstStart = session === null && local.history.entries.length === 0 && ctx.bindings.preset === "plain";
  if (isFirstStart && task === null) ctx.send({ type: "notice", text: switchText("vi") });
  const saved = local.unsent.claim();
  const problem = local.unsent.problem();
  if (saved !== null) ctx.send({ type: "unsent", ...saved });
  if (problem !== null) ctx.send({ type: "notice", text: `the unsent message can't be restored: ${problem}`, isError: true });
  if (isChoosing === true) ctx.send({ type: "choose session" });
  if (task !== null) void runEffect(ctx, { type: "start", prompt: task, images: [] });
}

function initialState(options: ScreenOptions, size: Size): State {
  return firstState({
    size,
    pathPrefixes: { project: options.project, home: options.home },
    bindings: options.bindings,
    isPlanning: options.turn.policy.name === "plan",
    policy: options.turn.policy.name,
    net: options.turn.policy.net,
    sandbox: options.turn.policy.sandbox === "off" ? "off" : "on",
    about: {
      version: options.version,
      directory: options.directory,
      branch: options.local.readBranch(),
      ...nextAgent(options),
      contextWindow: null,
      problem: options.problem == null ? null : { ...options.problem, hint: screenHint(options.problem.hint) },
    },
  });
}
