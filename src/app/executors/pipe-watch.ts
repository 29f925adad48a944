// Ends git when it waits for a pipe. git opens `.gitignore`, `.gitattributes` and files of repositories without a check, so a
// pipe there would hold it for ever. A pipe is searched only if git takes long, because the search reads all directories.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { ShellCommand, ShellResult } from "../../kit/process/command-shell.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { Fault } from "../../protocol/api/error.ts";

/** Runs a program in the sandbox of the project, beside git. */
type RunBeside = (project: string, argv: string[], limits: Pick<ShellCommand, "maxBytes" | "signal">) => Promise<ShellResult>;

/** A shadow repository reads nothing of the project's own repository, except for objects that it borrows. */
type WatchedRepository = { project: string; isShadow: boolean };

export type PipeWatch = {
  /** Runs `work`. Rejects with the path of the pipe if git waits for one; `blocked` is aborted before. */
  during: (place: WatchedRepository, work: (blocked: AbortSignal) => Promise<ShellResult>) => Promise<ShellResult>;
};

const firstSearchMs = 2_000;
const maxSearchMs = 10_000;
const search = ["/usr/bin/find", ".", "(", "-name", ".gitignore", "-o", "-name", ".gitattributes", "-o", "-path"];

export function createPipeWatch(runBeside: RunBeside): PipeWatch {
  /** The pipes that were found, by place. git is not started there while they exist. */
  const known = new Map<string, string>();

  const find = async ({ project, isShadow }: WatchedRepository): Promise<string | null> => {
    const limits = { maxBytes: 64 << 10, signal: AbortSignal.timeout(maxSearchMs) };
    const repositories = isShadow ? ["./*/.git/*", "-o", "-path", "./.git/objects/info/alternates"] : ["*/.git/*"];
    const { out } = await runBeside(project, [...search, ...repositories, ")", "-type", "p", "-print0"], limits);
    const [path, rest] = out.toString().split("\0", 2);
    return rest === undefined ? null : path!.replace(/^\.\//, "");
  };

  return {
    async during(place, work) {
      const key = JSON.stringify(place);
      const knownPipe = known.get(key);
      if (knownPipe !== undefined && isPipe(join(place.project, knownPipe))) throw blockedBy(knownPipe);
      known.delete(key);
      const blocked = new AbortController();
      let found: string | null = null;
      let waitMs = firstSearchMs;
      let timer: ReturnType<typeof setTimeout> | null = null;
      const look = async (): Promise<void> => {
        // The search fails if the project is removed or the app closes. Then git fails too.
        found = await find(place).catch(() => null);
        if (found !== null) {
          known.set(key, found);
          blocked.abort();
        } else if (timer !== null) schedule();
      };
      const schedule = (): void => {
        timer = setTimeout(() => void look(), waitMs);
        waitMs *= 2;
      };
      schedule();
      try {
        const result = await work(blocked.signal).catch((error: unknown) => {
          // Another command in the same shell waited for the pipe, and the shell was ended.
          const pipe = known.get(key);
          throw pipe === undefined ? error : blockedBy(pipe);
        });
        if (result.code === null && found !== null) throw blockedBy(found);
        return result;
      } finally {
        if (timer !== null) clearTimeout(timer);
        timer = null;
      }
    },
  };
}

function isPipe(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

function blockedBy(path: string): Fault {
  return new Fault("file-unreadable", `${path} is a pipe, and git would wait for it for ever`, {
    hint: `remove it: rm ${shellQuote(path)}`,
  });
}
