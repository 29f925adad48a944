// The engine's port to a project's history: its commits, the redaction of secrets, and a conversation as a prompt.
import type { AppContext } from "./app-context.ts";
import type { GitRunner } from "../files/git.ts";
import type { HistorySource } from "../engine/engine.ts";
import { redactor, envSecrets } from "../kit/text/redact.ts";

export function createHistorySource({ env, paths, providers }: AppContext, git: GitRunner): HistorySource {
  let redact: ((text: string) => string) | null = null;
  return {
    commits: async (project) => (await import("../files/project/commits.ts")).readCommits({ project, git }),
    redact: (text) => (redact ??= redactor({ home: paths.home, secrets: [...envSecrets(env), ...keysOf(providers)] }))(text),
    promptWithBrief: async (path, prompt) => (await import("../agents/external/turn/brief.ts")).promptWithBrief(path, prompt),
  };
}

function keysOf(providers: AppContext["providers"]): string[] {
  return Object.values(providers).flatMap(({ apiKey }) => apiKey ?? []);
}
