// What the engine is given to tell of a project's past: commits, a way to take secrets out, a conversation as data.
import type { AppContext } from "./app-context.ts";
import type { HistorySource } from "../engine/engine.ts";
import { redactor, envSecrets } from "../kit/text/redact.ts";
import { searchPath } from "./search-path.ts";

export function createHistorySource({ env, paths, providers }: AppContext): HistorySource {
  let made: ((text: string) => string) | null = null;
  return {
    commits: async (project) => (await import("../files/project/commits.ts")).readCommits({ project, path: searchPath(env) }),
    redact: (text) => (made ??= redactor({ home: paths.home, secrets: [...envSecrets(env), ...keysOf(providers)] }))(text),
    briefed: async (path, prompt) => (await import("../agents/external/turn/brief.ts")).promptWithBrief(path, prompt),
  };
}

function keysOf(providers: AppContext["providers"]): string[] {
  return Object.values(providers).flatMap(({ apiKey }) => apiKey ?? []);
}
