// Compares git's hooks and settings before and after a turn, and looks for new repositories inside the project. The
// sandbox can't protect a repository that a tool creates, and not every tier protects git's settings.
import { lstatSync, readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { ownersFor, readSafely } from "../../kit/files/safe-file.ts";
import { isTooBroad } from "../../kit/files/path-status.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { GuardedTurn, ProjectGuards, Snapshots } from "../../protocol/api/ports.ts";
import { parseGitConfig, programSettings } from "../../sandbox/git-config.ts";
import { guardedPaths } from "../../sandbox/rules.ts";
import type { AppContext } from "../app-context.ts";
import type { ExecutorProvider } from "./executors.ts";
import {
  findInnerRepositories,
  fromBytes,
  type InnerRepositories,
  moveIndexAside,
  moveRepositoryAside,
  type Programs,
  toBytes,
  uncheckedIndex,
} from "./inner-repositories.ts";

type GuardDeps = { executors: Pick<ExecutorProvider, "support" | "endAll">; snapshots: Snapshots | null };

type GuardState = { files: Map<string, Programs>; repositories: InnerRepositories };

const maxFileBytes = 1 << 20;
const maxTextLength = 600;

export function createProjectGuards(ctx: AppContext, { executors, snapshots }: GuardDeps): Pick<ProjectGuards, "begin"> {
  const { home } = ctx.paths;
  const { env } = ctx;
  /** The repositories at the end of the last turn, by project. */
  const lastSeen = new Map<string, InnerRepositories>();

  async function readState({ project, directory, policy }: GuardedTurn): Promise<GuardState> {
    const paths = guardedPaths(policy, { project, directory, home, env }).filter((path) => basename(path) !== ".skein");
    const owners = ownersFor(statSync(project));
    const roots = [...new Set([project, directory, ...policy.addDirs, ...policy.allowWrite])].filter((path) => !isTooBroad(path, home));
    const listed = ((await snapshots?.innerRepositories(project)) ?? []).map((path) => `${toBytes(project)}/${path}`);
    return {
      files: new Map(paths.map((path) => [path, programsOf(path, owners)])),
      repositories: findInnerRepositories(roots, listed, owners),
    };
  }

  async function finish(turn: GuardedTurn, before: GuardState): Promise<string[]> {
    let after = await readState(turn);
    const isNewDanger = ([path, programs]: [string, Programs]) =>
      programs.size > 0 && (!before.repositories.has(path) || hasNewIndex(before.repositories.get(path), programs));
    if ([...after.repositories].some(isNewDanger)) {
      // A process that a command left running could create the repository again after it is moved aside.
      await executors.endAll(turn.root);
      after = await readState(turn);
    }
    const lines = [...after.files].flatMap(([path, programs]) => describeChange(path, before.files.get(path) ?? new Map(), programs));
    for (const [path, programs] of after.repositories) {
      const earlier = before.repositories.get(path);
      const isOwn = [turn.project, turn.directory].includes(fromBytes(path)) && earlier !== undefined;
      if (earlier === undefined && programs.size > 0) lines.push(moveAside(path, programs));
      else if (hasNewIndex(earlier, programs)) lines.push(moveNewIndex(path, programs, ownersFor(statSync(turn.project))));
      // The settings of the project's own repository are among the files.
      else if (earlier !== undefined && !isOwn) lines.push(...describeChange(`the repository ${fromBytes(path)}`, earlier, programs));
    }
    lastSeen.set(turn.project, after.repositories);
    return lines.map((line) => oneLine(line, maxTextLength));
  }

  return {
    async begin(turn) {
      const isSandboxed = turn.policy.name === "workspace" && (executors.support()?.tier ?? "none") !== "none";
      if (!isSandboxed || isTooBroad(turn.project, home)) return async () => [];
      const before = await readState(turn);
      const last = lastSeen.get(turn.project);
      const between = last === undefined ? [] : [...before.repositories].filter(([path, programs]) => !last.has(path) && programs.size > 0);
      const notes = between.map(
        ([path, programs]) =>
          `the repository ${fromBytes(path)} is new since the last turn and makes git run programs: ${namesOf(programs)}`,
      );
      return async () => [...notes, ...(await finish(turn, before))];
    },
  };
}

/** An index that can't be checked may name any repository, and git obeys its settings. */
function hasNewIndex(earlier: Programs | undefined, programs: Programs): boolean {
  return earlier !== undefined && programs.has(uncheckedIndex) && !earlier.has(uncheckedIndex);
}

function moveNewIndex(path: string, programs: Programs, owners: readonly number[]): string {
  const what = `the index of the repository ${fromBytes(path)} can't be checked any more (${programs.get(uncheckedIndex)})`;
  try {
    const { from, to } = moveIndexAside(path, owners);
    return `${what}, so it was moved aside; \`git reset\` makes a new one; to put it back: mv ${shellQuote(to)} ${shellQuote(from)}`;
  } catch (error) {
    return `${what}, and can't be moved aside: ${messageOf(error)}; remove it before you use git`;
  }
}

function moveAside(path: string, programs: Programs): string {
  const what = `a new repository in ${fromBytes(path)} would make git run programs (${namesOf(programs)})`;
  try {
    const { from, to } = moveRepositoryAside(path);
    return `${what}, so it was moved aside; to put it back: mv ${shellQuote(to)} ${shellQuote(from)}`;
  } catch (error) {
    return `${what}, and can't be moved aside: ${messageOf(error)}; remove its .git before you use git`;
  }
}

/** The hooks of a directory, the settings of a file that run programs, or the text of a file that names a repository. */
function programsOf(path: string, owners: readonly number[]): Programs {
  try {
    const stat = lstatSync(path);
    if (stat.isDirectory())
      return new Map(
        readdirSync(path)
          .filter((name) => !name.endsWith(".sample"))
          .map((name) => [name, textOf(join(path, name), owners)]),
      );
    const text = textOf(path, owners);
    // The content of skein's own placeholder means the same as no file.
    if (basename(path) === "commondir" && text.trim() === ".") return new Map();
    if (["commondir", ".git"].includes(basename(path))) return new Map([["another repository", text]]);
    return new Map(programSettings(parseGitConfig(text)).map(({ key, value }) => [key, value]));
  } catch {
    return new Map();
  }
}

function textOf(path: string, owners: readonly number[]): string {
  try {
    return readSafely(path, { maxBytes: maxFileBytes, isCut: true, owners })?.toString("latin1") ?? "";
  } catch (error) {
    return messageOf(error);
  }
}

function describeChange(what: string, before: Programs, after: Programs): string[] {
  const changed = new Map([...after].filter(([name, value]) => before.get(name) !== value));
  return changed.size === 0
    ? []
    : [`${what} changed during this turn and now makes git run: ${namesOf(changed)}; check it before you use git`];
}

function namesOf(programs: Programs): string {
  return [...programs.keys()].join(", ");
}
