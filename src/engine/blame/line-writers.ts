// Finds who wrote each line of a recorded file: goes through its versions from the first to the last and credits the lines
// that each change added. Moved lines, renamed files and restored versions keep their writers. Reads recorded states only.
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { FileRecord, FileVersion } from "../../protocol/tree/file-changes.ts";
import type { Store } from "../../store/store.ts";
import type { CreditedChange } from "../files/file-history.ts";
import { alignVersions } from "./align-versions.ts";
import type { Run } from "./diff-lines.ts";
import { countWordCharacters, emptyText, endLastLine, isBinary, lineAt, splitLines, type LineText } from "./line-text.ts";
import { findMovedLines, uncovered, type Gap } from "./moved-lines.ts";
import { findOrigin } from "./find-origin.ts";
import { idOf, loadHistory, stepsOf, type ProjectHistory, type Step } from "./project-history.ts";
import { createMergeSources, worktreeStart, type MergeSources } from "./worktree-sources.ts";

/** The calls that can have written a line. None: it is not by an agent. Several: it is not known which of them. */
export type LineCredit = { writers: readonly FileRecord[]; isUncertain: boolean };

/** `credits` has the number of a credit for each line. */
export type CreditedText = { text: LineText; credits: Uint32Array };

export type FilePosition = { path: string; version: FileVersion; beforeSpan: number };

/** A block of fewer letters and digits may have been typed again, so it does not count as moved. */
const minMovedCharacters = { insideFile: 20, betweenFiles: 40 };
/** Versions that are read at a time. A version has at most 5 MB, and twice as many are in memory. */
const versionsPerRead = 8;
/** Other files of one change that are searched for moved lines. */
const maxSearchedFiles = 100;

export class LineWriters {
  readonly #store: Store;
  readonly #snapshots: Snapshots;
  /** Number 0 is for lines that are not by an agent. */
  readonly credits: LineCredit[] = [{ writers: [], isUncertain: false }];
  readonly #numbers = new Map<string, number>();
  readonly #histories = new Map<string, Promise<ProjectHistory>>();
  readonly #texts = new Map<string, Promise<CreditedText>>();

  readonly #mergeSources: MergeSources;

  constructor(store: Store, snapshots: Snapshots) {
    this.#mergeSources = createMergeSources(store);
    this.#store = store;
    this.#snapshots = snapshots;
  }

  /** The lines of a file as it was before a span, with their writers. */
  read(history: ProjectHistory, file: FilePosition): Promise<CreditedText> {
    const key = JSON.stringify([history.project, history.until, file.path, file.version, file.beforeSpan]);
    const known = this.#texts.get(key);
    if (known !== undefined) return known;
    const text = this.#readSteps(history, file);
    this.#texts.set(key, text);
    return text;
  }

  async #readSteps(history: ProjectHistory, file: FilePosition): Promise<CreditedText> {
    const steps = await stepsOf(history, file, (change) => findOrigin(this.#snapshots, history, change));
    const first = steps[0]?.from ?? file;
    let current = await this.#firstVersion(history, first);
    const restored = new RestoredVersions(steps);
    restored.keep(first.version, current);
    const removed = new RemovedLines();
    const wasRenamed = steps.some(({ change, from }) => change.path !== from.path);
    /** Changes whose content is not recorded. The next change can't be distinguished from them. */
    let unread: CreditedChange[] = [];
    const readBatch = (start: number) => {
      const versions = steps.slice(start, start + versionsPerRead).map(({ change }) => change.after);
      return versions.length === 0 ? [] : this.#snapshots.contents(history.project, versions);
    };
    let next = readBatch(0);
    for (let start = 0; start < steps.length; start += versionsPerRead) {
      const contents = await next;
      // The next versions are read while these are compared.
      next = readBatch(start + versionsPerRead);
      for (const [index, step] of steps.slice(start, start + versionsPerRead).entries()) {
        const { after } = step.change;
        const bytes = contents[index]!;
        const isReadable = bytes !== null && !isBinary(bytes);
        const before = current;
        const returned = restored.has(after) ? restored.get(after) : wasRenamed ? await this.#earlierVersion(history, step) : null;
        if (after === null) current = noLines;
        else if (returned !== null) current = returned;
        else if (isReadable) current = await this.#apply(history, step, { current, bytes, unread, removed });
        if (after === null || returned !== null) removed.addAll(before);
        unread = after === null || returned !== null || isReadable ? [] : [...unread, step.change];
        restored.keep(after, current);
      }
    }
    return current;
  }

  /** The version of a step as its path had it earlier, which may be before another file was renamed to the path. */
  async #earlierVersion(history: ProjectHistory, { change, from }: Step): Promise<CreditedText | null> {
    const id = idOf(change.after);
    if (id === null || idOf(from.version) === id) return null;
    const earlier = history.byPath.get(change.path)?.findLast(({ span, after }) => span < change.span && idOf(after) === id);
    if (earlier === undefined) return null;
    return this.read(history, { path: change.path, version: earlier.after, beforeSpan: earlier.span + 1 });
  }

  async #firstVersion(history: ProjectHistory, { path, version }: { path: string; version: FileVersion }): Promise<CreditedText> {
    const [bytes = null] = version === null ? [] : await this.#snapshots.contents(history.project, [version]);
    if (bytes === null || isBinary(bytes)) return noLines;
    const text = splitLines(endLastLine(bytes));
    const credits = new Uint32Array(text.count);
    const start = await worktreeStart(this.#store, history.project);
    if (start === null) return { text, credits };
    const parent = await this.#history(start.project, start.createdAt);
    const changes = parent.byPath.get(path) ?? [];
    const source = changes.findLast(({ after }) => idOf(after) === idOf(version)) ?? changes.at(-1);
    if (source === undefined || source.after === null) return { text, credits };
    const before = await this.read(parent, { path, version: source.after, beforeSpan: source.span + 1 });
    copyCredits(before.credits, credits, alignVersions(before.text, text.bytes).runs);
    return { text, credits };
  }

  async #apply(
    history: ProjectHistory,
    { change, from }: Step,
    { current, bytes, unread, removed }: { current: CreditedText; bytes: Buffer; unread: readonly CreditedChange[]; removed: RemovedLines },
  ): Promise<CreditedText> {
    const { text, runs } = alignVersions(current.text, endLastLine(bytes));
    const credits = new Uint32Array(text.count).fill(this.#numberOf([...unread, change]));
    copyCredits(current.credits, credits, runs);
    const added = uncovered(runs, text.count, "b");
    const lost = uncovered(runs, current.text.count, "a");
    if (added.length === 0) {
      removed.add(current, lost);
      return { text, credits };
    }
    const moved = findMovedLines({ text: current.text, gaps: lost }, { text, gaps: added }, minMovedCharacters.insideFile);
    copyCredits(current.credits, credits, moved);
    const target = { text, credits, gaps: uncovered([...runs, ...moved], text.count, "b") };
    const others = (history.bySpan.get(change.span) ?? []).filter(({ path }) => path !== change.path && path !== from.path);
    await this.#takeFromFiles(history, others, target);
    await this.#takeFromWorktrees(history, change, target);
    removed.takeBack(target);
    removed.add(current, lost);
    return { text, credits };
  }

  /** Credits lines that the same change removed from other files. */
  async #takeFromFiles(history: ProjectHistory, others: readonly CreditedChange[], target: TargetText): Promise<void> {
    for (const { path, before, after, span } of others.filter((other) => other.before !== null).slice(0, maxSearchedFiles)) {
      if (!hasRecognisableLines(target, minMovedCharacters.betweenFiles)) return;
      const [earlier, later] = (await this.#snapshots.contents(history.project, [before, after])) as [Buffer | null, Buffer | null];
      if (earlier === null || isBinary(earlier)) continue;
      const text = splitLines(endLastLine(earlier));
      const { runs } = alignVersions(text, later === null || isBinary(later) ? emptyText.bytes : endLastLine(later));
      const moved = findMovedLines({ text, gaps: uncovered(runs, text.count, "a") }, target, minMovedCharacters.betweenFiles);
      if (moved.length === 0) continue;
      const source = await this.read(history, { path, version: before, beforeSpan: span });
      takeLines(target, source.credits, moved);
    }
  }

  /** Credits lines that were merged from a worktree, or from the workspace of a team's member. */
  async #takeFromWorktrees(history: ProjectHistory, change: CreditedChange, target: TargetText): Promise<void> {
    if (change.writers.length > 1 || !hasRecognisableLines(target, minMovedCharacters.insideFile)) return;
    const projects = await this.#mergeSources(history.project, change.writers[0]?.session ?? null);
    const sources: { isExact: boolean; worktree: ProjectHistory; version: CreditedChange }[] = [];
    for (const project of projects) {
      const worktree = await this.#history(project, change.at);
      const versions = worktree.byPath.get(change.path) ?? [];
      const exact = versions.findLast(({ after }) => idOf(after) === idOf(change.after));
      const version = exact ?? versions.at(-1);
      if (version !== undefined && version.after !== null) sources.push({ isExact: exact !== undefined, worktree, version });
    }
    for (const { worktree, version } of sources.toSorted((a, b) => Number(b.isExact) - Number(a.isExact))) {
      const source = await this.read(worktree, { path: change.path, version: version.after, beforeSpan: version.span + 1 });
      const moved = findMovedLines({ text: source.text, gaps: agentLines(source) }, target, minMovedCharacters.insideFile);
      takeLines(target, source.credits, moved);
    }
  }

  #history(project: string, to: number): Promise<ProjectHistory> {
    const key = `${project}\0${to}`;
    const known = this.#histories.get(key);
    if (known !== undefined) return known;
    const history = loadHistory(this.#store, this.#snapshots, { project, to, end: null });
    this.#histories.set(key, history);
    return history;
  }

  #numberOf(changes: readonly CreditedChange[]): number {
    const writers = [...new Map(changes.flatMap((change) => change.writers).map((writer) => [writer.turn, writer])).values()];
    const isUncertain = writers.length > 0 && changes.some((change) => change.isUncertain);
    if (writers.length === 0) return 0;
    const key = JSON.stringify([isUncertain, writers.map(({ turn }) => turn).toSorted()]);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.credits.push({ writers, isUncertain }) - 1;
    this.#numbers.set(key, number);
    return number;
  }
}

const noLines: CreditedText = { text: emptyText, credits: new Uint32Array() };

/** The lines in `gaps` are credited to the change so far. */
type TargetText = CreditedText & { gaps: Gap[] };

function copyCredits(from: Uint32Array, to: Uint32Array, runs: readonly Run[]): void {
  for (const { a, b, length } of runs) to.set(from.subarray(a, a + length), b);
}

/** Copies the credits of the runs, and removes their lines from the gaps. */
function takeLines(target: TargetText, from: Uint32Array, runs: readonly Run[]): void {
  copyCredits(from, target.credits, runs);
  const covered = runs.map(({ b, length }) => ({ from: b, to: b + length }));
  target.gaps = target.gaps.flatMap((gap) => {
    const rest: Gap[] = [];
    let { from: next } = gap;
    for (const cover of covered.filter(({ from: start }) => start >= gap.from && start < gap.to)) {
      if (cover.from > next) rest.push({ from: next, to: cover.from });
      next = cover.to;
    }
    return next < gap.to ? [...rest, { from: next, to: gap.to }] : rest;
  });
}

function hasRecognisableLines({ text, gaps }: TargetText, minCharacters: number): boolean {
  let characters = 0;
  for (const { from, to } of gaps)
    for (let index = from; index < to; index++) {
      characters += countWordCharacters(lineAt(text, index));
      if (characters >= minCharacters) return true;
    }
  return false;
}

/** The lines that agents wrote, as ranges. */
function agentLines({ credits }: CreditedText): Gap[] {
  const ranges: Gap[] = [];
  for (let from = 0; from < credits.length;) {
    let to = from;
    while (to < credits.length && credits[to] !== 0) to += 1;
    if (to > from) ranges.push({ from, to });
    from = to + 1;
  }
  return ranges;
}

/** Lines that a file had earlier. A long line that returns, such as by a revert of one change, keeps its writer. */
class RemovedLines {
  readonly #credits = new Map<string, number>();

  add({ text, credits }: CreditedText, gaps: readonly Gap[]): void {
    for (const { from, to } of gaps) for (let index = from; index < to; index++) this.#credits.set(lineAt(text, index), credits[index]!);
  }

  addAll(file: CreditedText): void {
    this.add(file, [{ from: 0, to: file.text.count }]);
  }

  /** Short lines return only beside a long one. */
  takeBack({ text, credits, gaps }: TargetText): void {
    for (const { from, to } of gaps) {
      const isBack = Array.from({ length: to - from }, (_, offset) => {
        const line = lineAt(text, from + offset);
        return this.#credits.has(line) && countWordCharacters(line) >= minMovedCharacters.insideFile;
      });
      for (let offset = 1; offset < isBack.length; offset++) isBack[offset] ||= isBack[offset - 1]! && this.#has(text, from + offset);
      for (let offset = isBack.length - 2; offset >= 0; offset--) isBack[offset] ||= isBack[offset + 1]! && this.#has(text, from + offset);
      for (const [offset, back] of isBack.entries()) if (back) credits[from + offset] = this.#credits.get(lineAt(text, from + offset))!;
    }
  }

  #has(text: LineText, index: number): boolean {
    return this.#credits.has(lineAt(text, index));
  }
}

/** Versions that a file has more than once. A version that returns is a restored one, with the writers that it had. */
class RestoredVersions {
  readonly #repeated = new Set<string>();
  readonly #texts = new Map<string, CreditedText>();

  constructor(steps: readonly Step[]) {
    const first = steps[0];
    const seen = new Set<string>(first?.from.version == null ? [] : [idOf(first.from.version)!]);
    for (const { change } of steps) {
      const id = idOf(change.after);
      if (id === null) continue;
      if (seen.has(id)) this.#repeated.add(id);
      seen.add(id);
    }
  }

  has(version: FileVersion): boolean {
    return version !== null && this.#texts.has(idOf(version)!);
  }

  get(version: FileVersion): CreditedText {
    return this.#texts.get(idOf(version)!)!;
  }

  keep(version: FileVersion, text: CreditedText): void {
    const id = idOf(version);
    if (id !== null && this.#repeated.has(id) && !this.#texts.has(id)) this.#texts.set(id, text);
  }
}
