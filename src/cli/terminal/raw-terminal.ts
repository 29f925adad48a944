// Reads the terminal in raw mode, or the lines of a pipe. Loaded only by interactive commands.
import { readLines } from "../../kit/text/line-splitter.ts";

export type RawTerminalCallbacks = { onInput: (text: string) => void; onResize: () => void; onEnd: () => void };
export type RawTerminal = { suspend: () => void; close: () => void };

const pasteOn = "\x1b[?2004h";
const pasteOff = "\x1b[?2004l";

/** Passes on every key, Ctrl-C included, until it is closed. Restores the terminal however the process exits. */
export function rawTerminal(callbacks: RawTerminalCallbacks): RawTerminal {
  const { stdin, stdout } = process;
  let isOpen = true;
  function close(): void {
    if (!isOpen) return;
    isOpen = false;
    stdout.write(pasteOff);
    stdin.setRawMode(false);
    stdin.pause();
    stdin.off("data", callbacks.onInput);
    stdin.off("end", callbacks.onEnd);
    stdout.off("resize", callbacks.onResize);
  }
  stdin.setEncoding("utf8");
  stdin.setRawMode(true);
  stdin.on("data", callbacks.onInput);
  stdin.on("end", callbacks.onEnd);
  stdout.on("resize", callbacks.onResize);
  stdout.write(pasteOn);
  process.once("exit", close);
  /** Stops this process like Ctrl-Z. The shell's `fg` continues it. */
  function suspend(): void {
    stdout.write(pasteOff);
    stdin.setRawMode(false);
    process.once("SIGCONT", () => {
      if (!isOpen) return;
      stdin.setRawMode(true);
      stdout.write(pasteOn);
      callbacks.onResize();
    });
    process.kill(process.pid, "SIGTSTP");
  }
  return { suspend, close };
}

const maxLineBytes = 100_000_000;

/** Yields the lines of stdin without line ends. */
export async function* stdinLines(): AsyncGenerator<string> {
  for await (const { text } of readLines(Bun.stdin.stream(), maxLineBytes)) yield text.endsWith("\r") ? text.slice(0, -1) : text;
}
