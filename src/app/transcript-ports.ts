// Decides where transcripts are, and copies them. A transcript is in the project only if tools can't change it there.
// The paths have no links, so that `Transcript.open` can refuse every link that a tool creates.
import { closeSync, constants, existsSync, lstatSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { enclosingProject, type Paths } from "../config/paths.ts";
import type { EngineDeps } from "../engine/engine.ts";
import { resolveLinks, statPath } from "../kit/files/path-status.ts";
import { lazy } from "../kit/flow/lazy.ts";
import type { AgentTranscripts } from "../protocol/transcripts/agent-transcript.ts";
import { makeDirectorySafely, openSafely, readChunks, replaceSafely, writeAll } from "../kit/files/safe-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { transcriptPath } from "../store/transcript-path.ts";
import type { AppContext } from "./app-context.ts";
import type { ExecutorProvider } from "./executors/executors.ts";

export function transcriptPorts(ctx: AppContext, tier: ExecutorProvider["tier"]) {
  const { paths, ephemeral, openStore: openShared } = ctx;
  const dataDirectory = () => join(resolveLinks(paths.data), "sessions");
  return {
    transcriptFor: async (session) => {
      // A file of one machine would be missing on the next one.
      if (ephemeral || openShared !== undefined) return null;
      const directory = session.transcriptDir ?? ((await canProtect(session.project, paths, tier)) ? inProject(session.project) : null);
      return transcriptPath(directory === null ? dataDirectory() : resolveLinks(directory), session);
    },
    fallbackTranscript: (session) => transcriptPath(dataDirectory(), session),
    copyTranscript,
    readTranscript: async (...args) => (await import("../agents/external/import/read-transcript.ts")).readTranscript(...args),
    ...(ephemeral || openShared !== undefined ? {} : { agentTranscripts: lazyAgentTranscripts(ctx) }),
    isWorkDirectory: async (path) => statPath(path)?.isDirectory() === true && !(await isPrivate(path, ctx)),
  } satisfies Partial<EngineDeps>;
}

/** Few commands read the transcripts of other agents, so the code is loaded at the first call. */
function lazyAgentTranscripts({ paths, env }: AppContext): AgentTranscripts {
  return lazy(async () => {
    const { createAgentTranscripts } = await import("../agents/external/transcripts/agent-transcripts.ts");
    return createAgentTranscripts(join(paths.data, "agent-transcripts.db"), { env, home: paths.home });
  });
}

/** Whether a directory is one of secrets or of skein itself: as a project, tools could read and write it. */
async function isPrivate(path: string, { paths, env }: AppContext): Promise<boolean> {
  const { createSecretCheck } = await import("../sandbox/project-secrets.ts");
  const real = resolveLinks(path);
  const own = [paths.config, paths.data, paths.state].map(resolveLinks);
  const isSecret = createSecretCheck({ home: paths.home, isRoot: process.getuid?.() === 0, env });
  return isSecret(real) || own.some((directory) => `${real}${sep}`.startsWith(directory + sep));
}

function inProject(project: string): string {
  return join(project, ".skein", "sessions");
}

/**
 * False for a directory that is no project, a link in the place of `.skein`, and a project inside another one, whose tools
 * may write here. Landlock can't protect a directory inside a writable one.
 */
async function canProtect(project: string, { home }: Paths, tier: ExecutorProvider["tier"]): Promise<boolean> {
  const isProject = existsSync(join(project, ".skein")) || existsSync(join(project, ".git"));
  const hasLink = [dirname(inProject(project)), inProject(project)].some(isLink);
  const isNested = enclosingProject(project, home) !== null;
  return isProject && !hasLink && !isNested && (await tier()) !== "landlock";
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch {
    return false; // A parent is a file. The store then writes the transcript elsewhere, with a warning.
  }
}

async function copyTranscript(session: Session, to: string): Promise<void> {
  if (session.transcript === null) throw new Fault("usage", "--output-file needs a transcript; leave --ephemeral out");
  try {
    const source = openSafely(session.transcript, constants.O_RDONLY);
    try {
      makeDirectorySafely(dirname(to), 0o755);
      await replaceSafely(to, async (file) => {
        for await (const chunk of readChunks(source)) writeAll(file, chunk);
      });
    } finally {
      closeSync(source);
    }
  } catch (error) {
    throw new Fault("file-unwritable", `can't write ${to}: ${messageOf(error)}`, { cause: error });
  }
}
