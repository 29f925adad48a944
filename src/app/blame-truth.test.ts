// Blame against the truth: random histories of three agents and a person, who insert, change, move, rename, delete and
// restore lines and files. Each line that one of them writes is unique, so its text tells who wrote it in which turn.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createTestEngine, node, ok, testAgent, text, turn, type TakeTurn } from "../engine/fixtures/engine-with.ts";
import { plainGit } from "../files/fixtures/plain-git.ts";
import { createSnapshots } from "../files/snapshots/snapshots.ts";
import type { Api } from "../protocol/api/api.ts";
import type { Snapshots } from "../protocol/api/ports.ts";
import type { NewNode } from "../protocol/tree/node.ts";
import type { Store } from "../store/store.ts";

/** CI runs few histories. `SKEIN_TEST_HISTORIES=1000` runs more. */
const histories = Number(process.env["SKEIN_TEST_HISTORIES"] ?? "40");
const firstSeed = Number(process.env["SKEIN_TEST_SEED"] ?? "1");

const agentNames = ["native", "claude", "codex"];
const fileNames = ["a.ts", "b.ts", "deep/c.ts", "deep/d.ts", "e f.ts"];
const commonLines = ["}", "", "  return null;"];

type Writer = { author: string; turn: string | null };

class World {
  readonly project: string;
  readonly random: (below: number) => number;
  /** The writer of each unique line. */
  readonly writers = new Map<string, Writer>();
  /** Everybody who wrote a line that is not unique. */
  readonly commonWriters = new Map<string, Set<string>>();
  /** Earlier contents of each path. */
  readonly versions = new Map<string, string[]>();
  #count = 0;

  constructor(project: string, seed: number) {
    this.project = project;
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

  /** Call it where skein records the files: only recorded versions can be recognised when they return. */
  keepVersions(): void {
    for (const file of this.files()) {
      const content = readFileSync(join(this.project, file), "utf8");
      const versions = this.versions.get(file) ?? [];
      if (!versions.includes(content)) this.versions.set(file, [...versions, content]);
    }
  }

  newLines(writer: Writer): string[] {
    return Array.from({ length: 1 + this.random(4) }, () => {
      if (this.random(5) === 0) {
        const line = commonLines[this.random(commonLines.length)]!;
        this.commonWriters.set(line, (this.commonWriters.get(line) ?? new Set()).add(writer.author));
        return line;
      }
      // Over 40 letters: a shorter line that moves alone to another file is not recognised.
      const line = `  const value${(this.#count += 1)} = computeSomethingUseful("${Bun.hash(`${this.#count}`).toString(36)}", options);`;
      this.writers.set(line, writer);
      return line;
    });
  }

  /** One random edit by the writer. */
  edit(writer: Writer, file: string): void {
    const lines = this.lines(file);
    const at = this.random(lines.length + 1);
    const kind = lines.length < 4 ? 0 : this.random(9);
    if (kind <= 2) lines.splice(at, 0, ...this.newLines(writer));
    else if (kind === 3) lines.splice(at, 1 + this.random(3));
    else if (kind === 4) lines.splice(at, 1, ...this.newLines(writer));
    else if (kind === 5) return this.#moveInside(writer, file, lines);
    else if (kind === 6) return this.#moveBetween(file, lines);
    else if (kind === 7) return this.#rename(writer, file, lines);
    else return this.#restoreOrDelete(writer, file);
    this.save(file, lines);
  }

  /** A lone brace looks moved if a block is moved across it, and typed again then: the mover counts as its writer too. */
  #moveInside(writer: Writer, file: string, lines: string[]): void {
    for (const line of lines) if (!this.writers.has(line)) this.commonWriters.get(line)!.add(writer.author);
    const block = lines.splice(this.random(lines.length - 2), 1 + this.random(3));
    lines.splice(this.random(lines.length + 1), 0, ...block);
    this.save(file, lines);
  }

  /** At least two unique lines: a smaller block is not recognised in another file. */
  #moveBetween(file: string, lines: string[]): void {
    const other = fileNames[this.random(fileNames.length)]!;
    const start = lines.findIndex((line, index) => this.writers.has(line) && this.writers.has(lines[index + 1] ?? ""));
    if (other === file || start < 0) return;
    const block = lines.splice(start, 2);
    const target = this.lines(other);
    target.splice(this.random(target.length + 1), 0, ...block);
    this.save(file, lines);
    this.save(other, target);
  }

  #rename(writer: Writer, file: string, lines: string[]): void {
    const target = fileNames.find((name) => !existsSync(join(this.project, name)));
    if (target === undefined) return;
    mkdirSync(join(this.project, "deep"), { recursive: true });
    renameSync(join(this.project, file), join(this.project, target));
    // The restored versions of a path belong to the file that had it last.
    this.versions.set(target, this.versions.get(file) ?? []);
    if (this.random(2) === 0 && lines.length > 8) lines.splice(this.random(lines.length + 1), 0, ...this.newLines(writer).slice(0, 1));
    this.save(target, lines);
  }

  /** A lone brace of a restored version that was edited at once may be a new one, so the restorer counts as its writer too. */
  #restoreOrDelete(writer: Writer, file: string): void {
    const versions = this.versions.get(file) ?? [];
    if (this.random(3) === 0 || versions.length < 2) return rmSync(join(this.project, file), { force: true });
    writeFileSync(join(this.project, file), versions[this.random(versions.length)]!);
    for (const line of this.lines(file)) if (!this.writers.has(line)) this.commonWriters.get(line)!.add(writer.author);
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
      world.keepVersions();
      for (let edit = 0; edit < 1 + world.random(2); edit++) world.edit({ author: name, turn: input.turn }, world.pickFile());
      yield node(resultNode(id, "bash"));
      world.keepVersions();
      while ((await store.turnRecords([input.turn])).some(({ after }) => after === null)) await Bun.sleep(1);
    }
    yield node(text("done"));
    yield ok;
  };
}

const hand: Writer = { author: "hand", turn: null };

async function openScene(seed: number): Promise<Scene & { sessions: string[] }> {
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
  scene = { api, store, world: new World(project, seed) };
  return { ...scene, sessions };
}

async function runHistory(seed: number): Promise<void> {
  const { api, store, world, sessions } = await openScene(seed);
  const states: { node: string; files: Map<string, string[]> }[] = [];
  for (let count = 0; count < 4; count++) world.edit(hand, world.pickFile());
  for (let count = 0; count < 8; count++) {
    if (world.random(3) === 0) world.edit(hand, world.pickFile());
    const session = sessions[world.random(sessions.length)]!;
    await Array.fromAsync(api.turn.start({ ...turn, session, prompt: `turn ${count}` }));
    const tip = (await store.session(session))!.tip!;
    states.push({ node: tip, files: new Map(world.files().map((file) => [file, world.lines(file)])) });
    await afterTurn(api, world, { session, tip, sessions });
  }
  for (const file of world.files()) await compare(api, world, { file, at: null, lines: world.lines(file) });
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
  if (kind === 2) await api.session.undo({ session, dryRun: false });
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

async function compare(api: Api, world: World, { file, at, lines }: { file: string; at: string | null; lines: string[] }): Promise<void> {
  const report = await api.files.blame({ path: file, directory: world.project, at, from: null, to: null });
  expect(report.lines.map((line) => line.text)).toEqual(lines);
  const agents = new Map(report.turns.map(({ id, agent }) => [id, agent]));
  for (const { text: line, turns, unclear } of report.lines) {
    const found = { author: agents.get(turns[0] ?? "") ?? "hand", turn: turns[0] ?? null };
    const truth = world.writers.get(line);
    expect({ file, line, unclear, ...(truth === undefined ? {} : found) }).toEqual({ file, line, unclear: undefined, ...truth });
    // Equal lines can't be distinguished, but only an author of such a line is credited.
    if (truth === undefined) expect(world.commonWriters.get(line)).toContain(found.author);
  }
}

const groups = Array.from({ length: Math.ceil(histories / 10) }, (_, index) => firstSeed + index * 10);
for (const start of groups)
  test(`no line is credited wrongly in the histories ${start} to ${start + 9}`, { timeout: 120_000 }, async () => {
    for (let seed = start; seed < start + 10; seed++)
      try {
        await runHistory(seed);
      } catch (error) {
        throw new Error(`history ${seed}: ${String(error)}`, { cause: error });
      }
  });
