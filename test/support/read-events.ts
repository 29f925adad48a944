// Reads the events that a running skein prints, until its end. A last line that a kill cut off is ignored.
import type { TemporaryHome } from "./temporary-home.ts";

/** The fields are not checked here. Journey tests check printed records against their schemas. */
export type PrintedEvent = {
  type: string;
  session_id: string;
  at: string;
  text?: string;
  call?: string;
  status?: string;
  node?: { id: string; author: string; parts: { kind: string; call?: string; text?: string }[] };
  session?: { transcript_path: string };
  spawned_session_id?: string;
  error?: { kind: string; message: string; limit?: string };
};

export type EventReader = {
  child: ReturnType<TemporaryHome["start"]>;
  printed: PrintedEvent[];
  /** Resolves with the first matching event, or with null if the process ended before. */
  until: (matches: (event: PrintedEvent) => boolean) => Promise<PrintedEvent | null>;
  /** Resolves when the process has ended and all output was read. */
  ended: Promise<{ code: number; err: string }>;
};

export function readEvents(child: ReturnType<TemporaryHome["start"]>): EventReader {
  const printed: PrintedEvent[] = [];
  let waiting: { matches: (event: PrintedEvent) => boolean; resolve: (event: PrintedEvent | null) => void }[] = [];

  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    let remainder = "";
    for await (const chunk of child.stdout) {
      const lines = (remainder + decoder.decode(chunk, { stream: true })).split("\n");
      remainder = lines.pop() ?? "";
      for (const line of lines) handle(JSON.parse(line) as PrintedEvent);
    }
    for (const { resolve } of waiting) resolve(null);
    waiting = [];
  }
  function handle(event: PrintedEvent): void {
    printed.push(event);
    waiting = waiting.filter(({ matches, resolve }) => {
      if (!matches(event)) return true;
      resolve(event);
      return false;
    });
  }

  const ended = Promise.all([read(), new Response(child.stderr).text(), child.exited]).then(([, err, code]) => ({ code, err }));
  return {
    child,
    printed,
    ended,
    until: (matches) => {
      const earlier = printed.find(matches);
      if (earlier !== undefined) return Promise.resolve(earlier);
      return Promise.race([new Promise<PrintedEvent | null>((resolve) => waiting.push({ matches, resolve })), ended.then(() => null)]);
    },
  };
}
