// The real terminal while the screen has it: taken, told things beside the picture, and given back however the screen ends.
import { writeSync } from "node:fs";
import { createCliRenderer, NativeSession, RendererControlState, type CliRenderer, type CliRendererConfig } from "@opentui/core";
import type { Settings } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { canvasSurface } from "./canvas.ts";
import { inlineSurface } from "../inline/surface.ts";
import { notification } from "./notification.ts";
import type { CreateSurface } from "./surface.ts";

export type TerminalOptions = { notify: Settings["notify"]; env: Record<string, string | undefined>; isInline: boolean };
export type Terminal = {
  /** Reads the keys; whether it also paints is the surface's affair. */
  renderer: CliRenderer;
  surface: CreateSurface;
  /** Tells a person who looks elsewhere. */
  notify: (text: string) => void;
  setTitle: (title: string) => void;
  /** Into the terminal's clipboard, where it has one; whether it was sent. */
  copy: (text: string) => boolean;
  /** With `isGone` there may be nobody to give it to. */
  restore: (how: { isGone: boolean }) => Promise<void>;
};

const keepTitle = "\x1b[22;0t";
const titleAsBefore = "\x1b[23;0t";

export async function openTerminal(options: TerminalOptions): Promise<Terminal> {
  writeSync(1, keepTitle);
  const output = options.isInline ? null : new NativeSession(process.stdout);
  const renderer = await rendererOf(output === null ? { bufferedOutput: "memory", useMouse: false } : { nativeSession: output });
  const terminal = output === null ? inlineTerminal(renderer, options) : wholeTerminal(renderer, output, options);
  /** A listener of the signal still sees the size before, and so does the renderer. */
  const resized = () => void setTimeout(() => renderer.requestResize(process.stdout.columns, process.stdout.rows), 20);
  process.on("SIGWINCH", resized);
  const leave = () => {
    process.off("SIGWINCH", resized);
    renderer.destroy();
    writeSync(1, `${output === null ? inlineOff : ""}${titleAsBefore}`);
  };
  process.once("exit", leave);
  return {
    ...terminal,
    renderer,
    async restore({ isGone }) {
      process.off("exit", leave);
      renderer.destroy();
      try {
        await renderer.closed;
        leave();
      } catch (error) {
        if (!isGone) throw error;
      }
    },
  };
}

type TerminalOutput = Omit<Terminal, "renderer" | "restore">;

function wholeTerminal(renderer: CliRenderer, output: NativeSession, { notify: how, env }: TerminalOptions): TerminalOutput {
  /** While someone else has the terminal, nothing is written to it. */
  const isOurs = () => !renderer.isDestroyed && renderer.controlState !== RendererControlState.EXPLICIT_SUSPENDED;
  return {
    surface: (shown) => canvasSurface(renderer, shown, () => ({ columns: process.stdout.columns, rows: process.stdout.rows })),
    setTitle: (title) => (isOurs() ? renderer.setTerminalTitle(title) : undefined),
    copy: (text) => renderer.copyToClipboardOSC52(text),
    notify(text) {
      if (!isOurs()) return;
      const told = (how === "auto" || how === "osc") && renderer.triggerNotification(text, "skein");
      if (!told) output.write(new TextEncoder().encode(notification(how, text, env)));
    },
  };
}

const inlineOn = "\x1b[?2004h\x1b[?1004h";
const inlineOff = "\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h";

/** Whoever reads the keys paints nothing, so all that is written is ours: no mouse, so that the terminal scrolls by itself. */
function inlineTerminal(renderer: CliRenderer, { notify: how, env }: TerminalOptions): TerminalOutput {
  const write = (bytes: string) => void process.stdout.write(bytes);
  const tell = (bytes: string) => (renderer.controlState === RendererControlState.EXPLICIT_SUSPENDED ? undefined : write(bytes));
  write(inlineOn);
  return {
    surface(shown) {
      const surface = inlineSurface(shown, write);
      const away = () => (surface.away(), write(inlineOff));
      const back = () => (write(inlineOn), surface.back());
      return { ...surface, away, back };
    },
    setTitle: (title) => tell(`\x1b]0;${title}\x07`),
    notify: (text) => tell(notification(how, text, env)),
    copy(text) {
      tell(`\x1b]52;c;${Buffer.from(text).toString("base64")}\x07`);
      return true;
    },
  };
}

async function rendererOf(config: CliRendererConfig): Promise<CliRenderer> {
  try {
    return await createCliRenderer({
      ...config,
      // Its own console and its own way out would hide what went wrong from us.
      exitOnCtrlC: false,
      exitSignals: [],
      debounceDelay: 30,
      consoleMode: "disabled",
      openConsoleOnError: false,
      // Only the wheel is of use, and a mouse that is merely moved should wake nobody.
      enableMouseMovement: false,
      // Else it would turn the sixteen colours, which are all we use, into some of its own.
      environment: { COLORTERM: "truecolor" },
    });
  } catch (error) {
    throw new Fault("not-installed", `the screen can't be opened: ${messageOf(error)}`, {
      hint: "`skein chat` talks without it",
      cause: error,
    });
  }
}
