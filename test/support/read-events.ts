// Reads what a running skein prints as events while it runs, until its end; a line torn by a kill is left out.
import type { TemporaryHome } from "./temporary-home.ts";

/** Fields are checked by the walks that hold records to their schemas; here they are only read. */
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
  /** Resolves with the first event that fits, or with null when the process ended before one came. */
  until: (fits: (event: PrintedEvent) => boolean) => Promise<PrintedEvent | null>;
  /** Everything was read and the process has ended. */
  ended: Promise<{ code: number; err: string }>;
};

export function readEvents(child: ReturnType<TemporaryHome["start"]>): EventReader {
  const printed: PrintedEvent[] = [];
  let waiting: { fits: (event: PrintedEvent) => boolean; tell: (event: PrintedEvent | null) => void }[] = [];

  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of child.stdout) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) take(JSON.parse(line) as PrintedEvent);
    }
    for (const { tell } of waiting) tell(null);
    waiting = [];
  }
  function take(event: PrintedEvent): void {
    printed.push(event);
    waiting = waiting.filter(({ fits, tell }) => {
      if (!fits(event)) return true;
      tell(event);
      return false;
    });
  }

  const ended = Promise.all([read(), new Response(child.stderr).text(), child.exited]).then(([, err, code]) => ({ code, err }));
  return {
    child,
    printed,
    ended,
    until: (fits) => {
      const already = printed.find(fits);
      if (already !== undefined) return Promise.resolve(already);
      return Promise.race([new Promise<PrintedEvent | null>((tell) => waiting.push({ fits, tell })), ended.then(() => null)]);
    },
  };
}
