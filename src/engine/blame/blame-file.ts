// The method `files.blame`: the session, turn, agent, model and prompt that wrote each line of a file.
import { lstatSync } from "node:fs";
import { relative, resolve, sep } from "node:path";
import { realPath, resolveLinks } from "../../kit/files/path-status.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { MethodParams } from "../../protocol/api/api.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { BlamedTurn, BlameReport } from "../../protocol/schema/views/blame-views.ts";
import type { CommittedFile } from "../../protocol/tree/history.ts";
import type { FileVersion } from "../../protocol/tree/file-changes.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { ComparedState } from "../files/credit-changes.ts";
import { findState, snapshotsOf, takeState } from "../files/files-methods.ts";
import { alignVersions } from "./align-versions.ts";
import { isBinary } from "./line-text.ts";
import { LineWriters, type CreditedText, type LineCredit } from "./line-writers.ts";
import { idOf, loadHistory, type ProjectHistory } from "./project-history.ts";

export async function blameFile(deps: EngineDeps, params: MethodParams<"files.blame">): Promise<BlameReport> {
  const snapshots = snapshotsOf(deps);
  const state = await stateFor(deps, snapshots, params);
  const store = await deps.store();
  const file = pathInProject(params.path, placeIn(state.project, params.directory, deps.projectOf(params.directory)), state.project);
  const history = await loadHistory(store, snapshots, { project: state.project, to: state.at, end: state.id });
  if (params.at === null && (await store.fileStates(state.project)).length === 0) throw nothingRecorded(state.project);
  const version = await snapshots.versionOf(state.project, state.id, file.bytes);
  if (version === null) throw await missingFile(store, history, file);
  await requireText(snapshots, state.project, { name: file.name, version });
  const writers = new LineWriters(store, snapshots);
  const text = await writers.read(history, { path: file.bytes, version, beforeSpan: Infinity });
  return reportOf(store, { text, credits: writers.credits, from: params.from, to: params.to }, { state, name: file.name });
}

export type CommittedBlame = {
  project: string;
  /** The path for people. */
  name: string;
  committed: CommittedFile;
  /** The turn that wrote each line at HEAD; null if it was not an agent, or is not known for certain. */
  turns: (string | null)[];
};

/** The writers of a file's lines at HEAD. The file may have changed since the commit. */
export async function blameCommitted(deps: EngineDeps, { path, directory }: { path: string; directory: string }): Promise<CommittedBlame> {
  const snapshots = snapshotsOf(deps);
  const state = await stateFor(deps, snapshots, { at: null, directory });
  const { project } = state;
  const store = await deps.store();
  const file = pathInProject(path, directory, project);
  const committed = await deps.commitNotes.committedFile(project, file.bytes);
  if (committed === null)
    throw new Fault("usage", `${file.name} is not in the latest commit of ${project}`, {
      hint: "notes belong to commits: commit it first",
    });
  if (isBinary(committed.content)) throw new Fault("usage", `${file.name} is a binary file, which has no lines`);
  if ((await store.fileStates(project)).length === 0) throw nothingRecorded(project);
  const history = await loadHistory(store, snapshots, { project, to: state.at, end: state.id });
  const recorded = history.byPath.get(file.bytes)?.findLast(({ after }) => idOf(after) === committed.blob);
  const version = recorded?.after ?? (await snapshots.versionOf(project, state.id, file.bytes));
  if (version === null) throw await missingFile(store, history, file);
  const writers = new LineWriters(store, snapshots);
  const beforeSpan = recorded === undefined ? Infinity : recorded.span + 1;
  const known = await writers.read(history, { path: file.bytes, version, beforeSpan });
  const turns = committed.lines.map((): string | null => null);
  for (const { a, b, length } of alignVersions(known.text, committed.content).runs)
    for (let offset = 0; offset < length; offset++) {
      const { writers: calls, isUncertain } = writers.credits[known.credits[a + offset]!]!;
      turns[b + offset] = calls.length === 1 && !isUncertain ? calls[0]!.turn : null;
    }
  return { project, name: file.name, committed, turns };
}

type StateParams = Pick<MethodParams<"files.blame">, "at" | "directory">;

async function stateFor(deps: EngineDeps, snapshots: Snapshots, { at, directory }: StateParams): Promise<ComparedState> {
  const project = deps.projectOf(directory);
  if (!deps.hasStore()) throw nothingRecorded(project);
  if (at === null) return takeState(snapshots, project);
  if (at.startsWith("snapshot:"))
    throw new Fault("usage", "the time of a snapshot is not recorded, so its lines have no writers", { hint: "name a node or a session" });
  return findState(deps, snapshots, { position: at, directory, command: "blame <file> --at" });
}

function nothingRecorded(project: string): Fault {
  return new Fault("usage", `no files were recorded in ${project} yet`, {
    hint: "a turn with tools records them; lines from before the first turn are not by an agent",
  });
}

/** The files of a node may be those of a worktree. A path then means the same place in the worktree. */
function placeIn(project: string, directory: string, ownProject: string): string {
  return project === ownProject ? directory : resolve(project, relative(ownProject, directory));
}

type FilePath = {
  /** Relative to the project, one character for each byte. */
  bytes: string;
  /** The same path for people. */
  name: string;
};

function pathInProject(path: string, directory: string, project: string): FilePath {
  const root = realPath(project) ?? project;
  const absolute = resolve(directory, path);
  // The last part may be a link: the link itself is recorded, not the file that it points at.
  const name = relative(root, resolve(resolveLinks(resolve(absolute, "..")), absolute.slice(absolute.lastIndexOf(sep) + 1)));
  if (name === "" || name === ".." || name.startsWith(`..${sep}`) || name.startsWith(sep))
    throw new Fault("usage", name === "" ? `${path} is the project itself` : `${path} is outside of the project ${project}`, {
      hint: "name a file of the project; -C <directory> changes to another project",
    });
  return { bytes: Buffer.from(name).toString("latin1"), name };
}

/** The error for a file that the state does not have. */
async function missingFile(store: Store, history: ProjectHistory, { bytes, name }: FilePath): Promise<Fault> {
  if (lstatSync(resolve(history.project, name), { throwIfNoEntry: false })?.isDirectory())
    return new Fault("usage", `${name} is a directory`, { hint: "name one file" });
  const last = history.byPath.get(bytes)?.findLast(({ after }) => after === null);
  if (last === undefined)
    return new Fault("usage", `${name} was never recorded`, {
      hint: "there is no such file, or it is ignored by git, in a nested repository or over 5 MB",
    });
  const [writer] = last.writers;
  const session = writer === undefined ? null : await store.session(writer.session);
  const by = writer === undefined ? "not by an agent" : `by ${session?.name ?? shortId(writer.session)}`;
  const node = writer?.first ?? null;
  const hint =
    node === null
      ? "`--at <node>` shows the file as it was at an earlier node"
      : `the file before that: skein blame ${name} --at ${shortId(node)}`;
  return new Fault("usage", `${name} was deleted, ${by}`, { hint });
}

async function requireText(
  snapshots: Snapshots,
  project: string,
  { name, version }: { name: string; version: FileVersion },
): Promise<void> {
  const mode = version!.split(" ", 1)[0];
  if (mode === "160000") throw new Fault("usage", `${name} is over 5 MB, so only its hash was recorded`);
  if (mode === "120000") throw new Fault("usage", `${name} is a symbolic link`, { hint: "name the file that it points at" });
  const [bytes = null] = await snapshots.contents(project, [version]);
  if (bytes !== null && isBinary(bytes)) throw new Fault("usage", `${name} is a binary file, which has no lines`);
}

type BlamedLines = { text: CreditedText; credits: readonly LineCredit[]; from: number | null; to: number | null };

async function reportOf(
  store: Store,
  { text: { text, credits: numbers }, credits, from, to }: BlamedLines,
  { state, name }: { state: ComparedState; name: string },
): Promise<BlameReport> {
  const [first, last] = [from ?? 1, Math.min(to ?? text.count, text.count)];
  if (first > text.count && from !== null) throw new Fault("usage", `${name} has ${text.count} lines, so there is no line ${first}`);
  const used = new Set<number>();
  const lines = Array.from({ length: Math.max(0, last - first + 1) }, (_, offset) => {
    const index = first - 1 + offset;
    const number = numbers[index]!;
    used.add(number);
    const { writers, isUncertain } = credits[number]!;
    return {
      line: index + 1,
      turns: writers.map(({ turn }) => turn),
      ...(isUncertain || writers.length > 1 ? { unclear: true as const } : {}),
      text: text.bytes.toString("utf8", text.starts[index], text.starts[index + 1]! - 1),
    };
  });
  const turns = await blamedTurns(store, [...new Set([...used].flatMap((number) => credits[number]!.writers.map(({ turn }) => turn)))]);
  return { project: state.project, path: name, node: state.node, turns, lines };
}

async function blamedTurns(store: Store, ids: string[]): Promise<BlamedTurn[]> {
  const prompts = await store.prompts(ids);
  const turns = await Promise.all(
    ids.map(async (id): Promise<BlamedTurn[]> => {
      const turn = await store.turn(id);
      if (turn === null) return [];
      const { session, agent, model, startedAt } = turn;
      const name = (await store.session(session))?.name ?? null;
      return [{ id, session, sessionName: name, agent, model, prompt: prompts.get(id) ?? null, startedAt }];
    }),
  );
  return turns.flat().toSorted((a, b) => a.startedAt - b.startedAt);
}
