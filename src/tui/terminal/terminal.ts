// Takes over the terminal for the screen: renderer, title, notifications, clipboard. Restores it however the screen ends.
import { writeSync } from "node:fs";
import { createCliRenderer, NativeSession, RendererControlState, type CliRenderer, type CliRendererConfig } from "@opentui/core";
import type { Settings } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { canvasSurface } from "./canvas.ts";
import { createEarlyKeys } from "./early-keys.ts";
import { inlineSurface } from "../inline/surface.ts";
import type { CreateSurface } from "./surface.ts";

export type TerminalOptions = { notify: Settings["notify"]; env: Record<string, string | undefined>; isInline: boolean };
export type Terminal = {
  /** Reads keys. The surface decides whether it also paints. */
  renderer: CliRenderer;
  /** Called when the screen listens for keys. Sends it those that were typed before. */
  onListening: () => void;
  surface: CreateSurface;
  notify: (text: string) => void;
  setTitle: (title: string) => void;
  /** Copies to the clipboard of the terminal. False if the terminal has none. */
  copy: (text: string) => boolean;
  /** With `isGone` the terminal may be closed, so errors are ignored. */
  restore: (how: { isGone: boolean }) => Promise<void>;
};

const saveTitle = "\x1b[22;0t";
const restoreTitle = "\x1b[23;0t";

export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  writeSync(1, saveTitle);
  const output = options.isInline ? null : new NativeSession(process.stdout);
  const earlyKeys = createEarlyKeys((text) => process.stdin.emit("data", Buffer.from(text)));
  const renderer = await createRenderer(
    {
      ...(output === null ? { bufferedOutput: "memory", useMouse: false } : { nativeSession: output }),
      prependInputHandlers: [earlyKeys.take],
    },
    options.env,
  );
  const terminal = output === null ? inlineTerminal(renderer, options) : fullTerminal(renderer, output, options);
  /** During the signal the old size is still reported, so the renderer is resized 20 ms later. */
  const onResize = () => void setTimeout(() => renderer.requestResize(process.stdout.columns, process.stdout.rows), 20);
  process.on("SIGWINCH", onResize);
  const restoreNow = () => {
    process.off("SIGWINCH", onResize);
    renderer.destroy();
    writeSync(1, `${output === null ? inlineOff : ""}${restoreTitle}`);
  };
  process.once("exit", restoreNow);
  return {
    ...terminal,
    renderer,
    onListening: earlyKeys.release,
    async restore({ isGone }) {
      process.off("exit", restoreNow);
      renderer.destroy();
      try {
        await renderer.closed;
        restoreNow();
      } catch (error) {
        if (!isGone) throw error;
      }
    },
  };
}

type TerminalOutput = Omit<Terminal, "renderer" | "onListening" | "restore">;

function fullTerminal(renderer: CliRenderer, output: NativeSession, { notify: method, env }: TerminalOptions): TerminalOutput {
  /** Nothing is written while another program has the terminal. */
  const hasTerminal = () => !renderer.isDestroyed && renderer.controlState !== RendererControlState.EXPLICIT_SUSPENDED;
  return {
    surface: (options) =>
      canvasSurface(renderer, { ...options, joinsEmoji: joinsEmoji(env) }, () => ({
        columns: process.stdout.columns,
        rows: process.stdout.rows,
      })),
    setTitle: (title) => (hasTerminal() ? renderer.setTerminalTitle(title) : undefined),
    copy: (text) => renderer.copyToClipboardOSC52(text),
    notify(text) {
      if (!hasTerminal()) return;
      const isSent = (method === "auto" || method === "osc") && renderer.triggerNotification(text, "skein");
      if (!isSent) output.write(new TextEncoder().encode(notificationSequence(method, text, env)));
    },
  };
}

/** Bracketed paste and focus events. */
const inlineOn = "\x1b[?2004h\x1b[?1004h";
/** Undoes `inlineOn`, and restores line wrapping and the cursor. */
const inlineOff = "\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h";

/** The renderer only reads keys here. There is no mouse, so that the terminal itself scrolls. */
function inlineTerminal(renderer: CliRenderer, { notify: method, env }: TerminalOptions): TerminalOutput {
  const write = (bytes: string) => void process.stdout.write(bytes);
  const writeUnlessSuspended = (bytes: string) =>
    renderer.controlState === RendererControlState.EXPLICIT_SUSPENDED ? undefined : write(bytes);
  write(inlineOn);
  return {
    surface(options) {
      const surface = inlineSurface(options, write);
      const suspend = () => (surface.suspend(), write(inlineOff));
      const resume = () => (write(inlineOn), surface.resume());
      return { ...surface, suspend, resume };
    },
    setTitle: (title) => writeUnlessSuspended(`\x1b]0;${title}\x07`),
    notify: (text) => writeUnlessSuspended(notificationSequence(method, text, env)),
    copy(text) {
      writeUnlessSuspended(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`);
      return true;
    },
  };
}

const bell = "\x07";

/**
 * The sequence of a desktop notification, if OpenTUI can't notify in this terminal itself.
 * tmux passes a sequence on only in a wrapper with doubled ESC, and only if `allow-passthrough` is on.
 */
export function notificationSequence(method: Settings["notify"], text: string, env: Record<string, string | undefined>): string {
  if (method === "off") return "";
  if (method !== "osc") return bell;
  const sequence = `\x1b]9;skein: ${oneLine(text, 200)}\x07`;
  return env["TMUX"] === undefined ? sequence : `\x1bPtmux;${sequence.replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
}

/**
 * Whether the terminal draws a joined emoji such as 👩‍💻 in two cells, though it does not report that. tmux does from 3.3 on.
 * OpenTUI positions the cursor after each cluster, so the columns are right in either case.
 */
export function joinsEmoji({ TERM_PROGRAM, TERM_PROGRAM_VERSION = "" }: Record<string, string | undefined>): boolean {
  const [major = 0, minor = 0] = TERM_PROGRAM_VERSION.split(".").map((part) => Number.parseInt(part, 10));
  return TERM_PROGRAM === "tmux" && (major > 3 || (major === 3 && minor >= 3));
}

async function createRenderer(config: CliRendererConfig, env: TerminalOptions["env"]): Promise<CliRenderer> {
  try {
    return await createCliRenderer({
      ...config,
      // The renderer's console and exit handlers would hide errors from us.
      exitOnCtrlC: false,
      exitSignals: [],
      debounceDelay: 30,
      // With the default of 60, a key waits up to 16 ms after a frame of a stream.
      maxFps: 125,
      consoleMode: "disabled",
      openConsoleOnError: false,
      // Wheel, clicks and drags are used. Moves without a button must cause no events.
      enableMouseMovement: false,
      // Otherwise the renderer would convert the sixteen colours to other colours.
      environment: { COLORTERM: "truecolor", ...(joinsEmoji(env) ? { OPENTUI_FORCE_UNICODE: "1" } : {}) },
    });
  } catch (error) {
    throw new Fault("not-installed", `the screen can't be opened: ${messageOf(error)}`, {
      hint: "use skein chat instead",
      cause: error,
    });
  }
}
