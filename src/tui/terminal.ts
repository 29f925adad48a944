// The real terminal while the screen has it: taken, told things beside the picture, and given back however the screen ends.
import { writeSync } from "node:fs";
import { createCliRenderer, NativeSession, RendererControlState, type CliRenderer } from "@opentui/core";
import type { Settings } from "../protocol/api.ts";
import { Fault, messageOf } from "../protocol/error.ts";
import { notification } from "./notification.ts";

export type TerminalParts = { how: Settings["notify"]; env: Record<string, string | undefined> };
export type Terminal = {
  renderer: CliRenderer;
  /** Tells a person who looks elsewhere. */
  notify: (text: string) => void;
  setTitle: (title: string) => void;
  /** With `isGone` there may be nobody to give it to. */
  giveBack: (how: { isGone: boolean }) => Promise<void>;
};

const keepTitle = "\x1b[22;0t";
const titleAsBefore = "\x1b[23;0t";

export async function takeTerminal({ how, env }: TerminalParts): Promise<Terminal> {
  writeSync(1, keepTitle);
  const output = new NativeSession(process.stdout);
  const renderer = await rendererOf(output);
  const exiting = () => {
    renderer.destroy();
    writeSync(1, titleAsBefore);
  };
  process.once("exit", exiting);
  /** While someone else has the terminal, nothing is written to it. */
  const isOurs = () => !renderer.isDestroyed && renderer.controlState !== RendererControlState.EXPLICIT_SUSPENDED;
  return {
    renderer,
    setTitle: (title) => (isOurs() ? renderer.setTerminalTitle(title) : undefined),
    notify(text) {
      if (!isOurs()) return;
      const told = (how === "auto" || how === "osc") && renderer.triggerNotification(text, "skein");
      if (!told) output.write(new TextEncoder().encode(notification(how, text, env)));
    },
    async giveBack({ isGone }) {
      process.off("exit", exiting);
      renderer.destroy();
      try {
        await renderer.closed;
        writeSync(1, titleAsBefore);
      } catch (error) {
        if (!isGone) throw error;
      }
    },
  };
}

async function rendererOf(nativeSession: NativeSession): Promise<CliRenderer> {
  try {
    return await createCliRenderer({
      nativeSession,
      // Its own console and its own way out would hide what went wrong from us.
      exitOnCtrlC: false,
      exitSignals: [],
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
