// What the engine is given to tell of a project's past: commits, a way to take secrets out, a conversation as data.
import type { Ground } from "../house.ts";
import type { HistoryParts } from "../engine/engine.ts";
import { redactor, secretsIn } from "../kit/redact.ts";
import { programsIn } from "./programs.ts";

export function historyOf({ env, paths, providers }: Ground): HistoryParts {
  let made: ((text: string) => string) | null = null;
  return {
    commits: async (project) => (await import("../files/commits.ts")).readCommits({ project, path: programsIn(env) }),
    redact: (text) => (made ??= redactor({ home: paths.home, secrets: [...secretsIn(env), ...keysOf(providers)] }))(text),
    briefed: async (path, prompt) => (await import("../agents/external/brief.ts")).briefed(path, prompt),
  };
}

function keysOf(providers: Ground["providers"]): string[] {
  return Object.values(providers).flatMap(({ apiKey }) => apiKey ?? []);
}
