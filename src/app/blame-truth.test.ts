// Blame against the truth: random histories of three agents and a person, who insert, change, move, rename, delete and
// restore lines and files. The text of a long line is unique and has one writer. Short lines are equal to each other:
// `ExpectedWriters` follows them by the rule in docs/BLAME.md. That needs changes which can be distinguished, so other
// histories mix all kinds of changes in one call, and only their long lines are compared.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ExpectedWriters, type ExpectedLine, type Writer } from "./fixtures/expected-writers.ts";
import { createTestEngine, node, ok, testAgent, text, turn, type TakeTurn } from "../engine/fixtures/engine-with.ts";
import { plainGit } from "../files/fixtures/plain-git.ts";
import { createSnapshots } from "../files/snapshots/snapshots.ts";
import type { Api } from "../protocol/api/api.ts";
import type { Snapshots } from "../protocol/api/ports.ts";
import type { NewNode } from "../protocol/tree/node.ts";
import type { Store } from "../store/store.ts";

/** Histories of each kind. CI runs few; `SKEIN_TEST_HISTORIES=1000` runs more. */
const histories = Number(process.env["SKEIN_TEST_HISTORIES"] ?? "20");
const firstSeed = Number(process.env["SKEIN_TEST_SEED"] ?? "1");

const agentNames = ["native", "claude", "codex"];
const fileNames = ["a.ts", "b.ts", "deep/c.ts", "deep/d.ts", "e f.ts"];
const commonLines = ["}", "", "});"];

class World {
  readonly project: string;
  readonly random: (below: number) => number;
  /** Changes may be mixed in any way between two records. Short lines then have no expected writer. */
  readonly isMixed: boolean;
  /** The writer of each long line. */
  readonly writers = new Map<string, Writer>();
  readonly expected: ExpectedWriters;
  /** Files that can't be edited until skein has recorded them: two edits could not be distinguished from others. */
  readonly #closed = new Set<string>();
  /** Files whose lines were inserted or removed since the last record. */
  readonly #edited = new Set<string>();
  #count = 0;

  constructor(project: string, seed: number, isMixed: boolean) {
    this.project = project;
    this.isMixed = isMixed;
    this.expected = new ExpectedWriters(this.writers, { hasShortLines: !isMixed });
    let state = seed * 2_654_435_761;
    this.random = (below) => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
  }

  files(): string[] {
    return fileNames.filter((file) => existsSync(join(this.project, file)));
  }

  lines(file: string): string[] {
    const path = join(this.project, file);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  }

  save(file: string, lines: readonly string[]): void {
    const content = lines.map((line) => `${line}\n`).join("");
    mkdirSync(join(this.project, "deep"), { recursive: true });
    writeFileSync(join(this.project, file), content);
  }

  /** Call it where skein records the files. All changes since the last call are by `writer`. */
  record(writer: Writer): void {
    this.expected.record(new Map(this.files().map((file) => [file, this.lines(file)])), writer);
    this.#closed.clear();
    this.#edited.clear();
  }

  /** Call it after a change by skein: a restored version is recognised only if nobody changes it before it is recorded. */
  closeAll(): void {
    for (const file of fileNames) this.#closed.add(file);
  }

  newLines(writer: Writer): string[] {
    return Array.from({ length: 1 + this.random(4) }, () => {
      if (this.random(5) < 2) return commonLines[this.random(commonLines.length)]!;
      // Over 40 letters: a shorter line that moves alone to another file is not recognised.
      const line = `  const value${(this.#count += 1)} = computeSomethingUseful("${Bun.hash(`${this.#count}`).toString(36)}", options);`;
      this.writers.set(line, writer);
      return line;
    });
  }

  /** One random edit by the writer. */
  edit(writer: Writer, file: string): void {
    if (this.#isClosed(file)) return;
    const lines = this.lines(file);
    const at = this.random(lines.length + 1);
    const kind = lines.length < 4 ? 0 : this.random(9);
    if (kind > 4) return this.#edited.has(file) && !this.isMixed ? undefined : this.#editAlone(writer, file, kind);
    if (kind <= 2) lines.splice(at, 0, ...this.newLines(writer));
    else if (kind === 3) lines.splice(at, 1 + this.random(3));
    else lines.splice(at, 1, ...this.newLines(writer));
    this.#edited.add(file);
    this.save(file, lines);
  }

  #isClosed(file: string): boolean {
    return this.#closed.has(file) && !this.isMixed;
  }

  #editAlone(writer: Writer, file: string, kind: number): void {
    const lines = this.lines(file);
    this.#closed.add(file);
    if (kind === 5) this.#moveInside(file, lines);
    else if (kind === 6) this.#moveBetween(file, lines);
    else if (kind === 7) this.#rename(writer, file, lines);
    else this.#restoreOrDelete(file);
  }

  /** Swaps two neighbouring blocks. Their edges are long lines: a short line at an edge can't be distinguished from others. */
  #moveInside(file: string, lines: string[]): void {
    if (this.isMixed) {
      const block = lines.splice(this.random(lines.length - 2), 1 + this.random(3));
      lines.splice(this.random(lines.length + 1), 0, ...block);
      return this.save(file, lines);
    }
    const isLong = (index: number) => this.writers.has(lines[index] ?? "");
    const edges = [...lines.keys()].filter((index) => isLong(index));
    const starts = edges.filter((index) => isLong(index - 1));
    const middle = starts[this.random(Math.max(starts.length, 1))];
    if (middle === undefined) return;
    const above = edges.filter((index) => index < middle);
    const below = edges.filter((index) => index >= middle);
    const from = above[this.random(above.length)]!;
    const to = below[this.random(below.length)]! + 1;
    lines.splice(from, to - from, ...lines.slice(middle, to), ...lines.slice(from, middle));
    this.save(file, lines);
  }

  /** At least two long lines: a smaller block is not recognised in another file. */
  #moveBetween(file: string, lines: string[]): void {
    const other = fileNames[this.random(fileNames.length)]!;
    const start = lines.findIndex((line, index) => this.writers.has(line) && this.writers.has(lines[index + 1] ?? ""));
    const isBusy = this.#closed.has(other) || this.#edited.has(other);
    if (other === file || (isBusy && !this.isMixed) || start < 0) return;
    this.#closed.add(other);
    const block = lines.splice(start, 2);
    const target = this.lines(other);
    target.splice(this.random(target.length + 1), 0, ...block);
    this.save(file, lines);
    this.save(other, target);
  }

  #rename(writer: Writer, file: string, lines: string[]): void {
    const target = fileNames.find((name) => !existsSync(join(this.project, name)) && !this.#isClosed(name));
    if (target === undefined) return;
    this.#closed.add(target);
    mkdirSync(join(this.project, "deep"), { recursive: true });
    renameSync(join(this.project, file), join(this.project, target));
    this.expected.rename(file, target);
    if (this.random(2) === 0 && lines.length > 8) lines.splice(this.random(lines.length + 1), 0, ...this.newLines(writer).slice(0, 1));
    this.save(target, lines);
  }

  #restoreOrDelete(file: string): void {
    const versions = this.expected.versions(file);
    if (this.random(3) === 0 || versions.length < 2) return rmSync(join(this.project, file), { force: true });
    writeFileSync(join(this.project, file), versions[this.random(versions.length)]!);
  }

  pickFile(): string {
    return fileNames[this.random(fileNames.length)]!;
  }
}

type Scene = { api: Api; store: Store; world: World };

const callNode = (id: string, name: string, input: Record<string, unknown>): NewNode => ({
  author: "agent",
  parts: [{ kind: "call", id, name, input }],
});
const resultNode = (id: string, name: string): NewNode => ({
  author: "tool",
  parts: [{ kind: "result", call: id, name, text: "done", isError: false }],
});

/** An agent whose calls edit files. A person may edit files between its calls. */
function createAgent(name: string, scene: () => Scene): TakeTurn {
  return async function* (input, context) {
    const { store, world } = scene();
    await context.keepFiles();
    for (let step = 0; step < 1 + world.random(2); step++) {
      if (world.random(6) === 0) world.edit(hand, world.pickFile());
      const id = `${input.turn}-${step}`;
      yield node(callNode(id, "bash", { command: "edit" }));
      world.record(hand);
      const writer = { author: name, turn: input.turn };
      for (let edit = 0; edit < 1 + world.random(2); edit++) world.edit(writer, world.pickFile());
      yield node(resultNode(id, "bash"));
      world.record(writer);
      while ((await store.turnRecords([input.turn])).some(({ after }) => after === null)) await Bun.sleep(1);
    }
    yield node(text("done"));
    yield ok;
  };
}

const hand: Writer = { author: "hand", turn: null };

async function openScene(seed: number, isMixed: boolean): Promise<Scene & { sessions: string[] }> {
  let scene: Scene | null = null;
  let snapshots: Snapshots | null = null;
  const late: Snapshots = new Proxy({} as Snapshots, { get: (_target, name) => snapshots![name as keyof Snapshots] });
  const agents = agentNames.map((name) => ({ ...testAgent(createAgent(name, () => scene!)), name }));
  const { api, store, root } = await createTestEngine(async function* () {}, {
    agents,
    snapshots: late,
    // No limit ends, so that a busy machine changes nothing.
    clock: { now: () => 0, setTimer: () => () => {} },
  });
  const project = join(root, "project");
  mkdirSync(project);
  const warn = (message: string) => expect(message).toBe("");
  snapshots = createSnapshots({ root: join(root, "files"), git: plainGit, tooBig: [], leaveOut: [], warn });
  const sessions: string[] = [];
  for (const agent of agentNames) {
    const place = { directory: project, task: "t", model: "test/one", toolLevel: "minimal" as const };
    sessions.push((await api.session.open({ ...place, find: { by: "new" }, agent, parentSession: null, transcriptDir: null })).id);
  }
  scene = { api, store, world: new World(project, seed, isMixed) };
  return { ...scene, sessions };
}

async function runHistory(seed: number, isMixed: boolean): Promise<void> {
  const { api, store, world, sessions } = await openScene(seed, isMixed);
  const states: { node: string; files: ReadonlyMap<string, readonly ExpectedLine[]> }[] = [];
  for (let count = 0; count < 4; count++) world.edit(hand, world.pickFile());
  for (let count = 0; count < 8; count++) {
    if (world.random(3) === 0) world.edit(hand, world.pickFile());
    const session = sessions[world.random(sessions.length)]!;
    await Array.fromAsync(api.turn.start({ ...turn, session, prompt: `turn ${count}` }));
    const tip = (await store.session(session))!.tip!;
    states.push({ node: tip, files: world.expected.files() });
    await afterTurn(api, world, { session, tip, sessions });
  }
  world.record(hand);
  for (const [file, lines] of world.expected.files()) await compare(api, world, { file, at: null, lines });
  const { node: at, files } = states[world.random(states.length)]!;
  for (const [file, lines] of files) await compare(api, world, { file, at, lines });
}

/** Forks, grafts, undoes or commits. None of them writes a new line. */
async function afterTurn(
  api: Api,
  world: World,
  { session, tip, sessions }: { session: string; tip: string; sessions: string[] },
): Promise<void> {
  const kind = world.random(8);
  const [first] = await api.node.path({ node: tip });
  const at = kind === 0 ? tip : first!.id;
  if (kind <= 1) sessions.push((await api.session.fork({ session, at, name: `fork${sessions.length}` })).id);
  if (kind === 1) await api.graft.make({ from: session, into: sessions.at(-1)! });
  if (kind === 2) {
    await api.session.undo({ session, dryRun: false });
    world.closeAll();
  }
  if (kind === 3) {
    const git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"];
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
      ["commit", "-q", "--allow-empty", "-m", "state"],
    ])
      expect(Bun.spawnSync([...git, ...args], { cwd: world.project }).exitCode).toBe(0);
  }
}

type Compared = { file: string; at: string | null; lines: readonly ExpectedLine[] };

async function compare(api: Api, world: World, { file, at, lines }: Compared): Promise<void> {
  const report = await api.files.blame({ path: file, directory: world.project, at, from: null, to: null });
  const agents = new Map(report.turns.map(({ id, agent }) => [id, agent]));
  const found = report.lines.map(({ text: line, turns, unclear }) => ({
    line,
    unclear,
    author: agents.get(turns[0] ?? "") ?? "hand",
    turn: turns[0] ?? null,
  }));
  const expected = lines.map(({ text: line, writer }) => ({ line, unclear: undefined, ...writer }));
  expect({ file, lines: found.map(({ line }) => line) }).toEqual({ file, lines: expected.map(({ line }) => line) });
  const isCompared = ({ line }: { line: string }) => !world.isMixed || world.writers.has(line);
  expect({ file, lines: found.filter(isCompared) }).toEqual({ file, lines: expected.filter(isCompared) });
}

const groups = Array.from({ length: Math.ceil(histories / 10) }, (_, index) => firstSeed + index * 10);
const kinds = [
  { name: "histories", isMixed: false },
  { name: "mixed histories", isMixed: true },
];
for (const { name, isMixed } of kinds)
  for (const start of groups)
    test(`no line is credited wrongly in the ${name} ${start} to ${start + 9}`, { timeout: 120_000 }, async () => {
      for (let seed = start; seed < start + Math.min(10, histories); seed++)
        try {
          await runHistory(seed, isMixed);
        } catch (error) {
          throw new Error(`history ${seed}: ${String(error)}`, { cause: error });
        }
    });
