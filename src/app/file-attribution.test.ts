// Random work of three branches, another session and a person in one directory. Each line names its author, so the author
// that the records give can be compared with the truth for each line.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Api } from "../protocol/api/api.ts";
import { plainGit } from "../files/fixtures/plain-git.ts";
import { createSnapshots } from "../files/snapshots/snapshots.ts";
import type { Snapshots } from "../protocol/api/ports.ts";
import type { NewNode, Node } from "../protocol/tree/node.ts";
import type { Store } from "../store/store.ts";
import { createTestEngine, node, ok, text, turn, type TakeTurn } from "../engine/fixtures/engine-with.ts";
import { fileHistory } from "../engine/files/file-history.ts";

const fileNames = ["a.txt", "b.txt", "deep/c.txt", "deep/d.txt"];

type Random = (below: number) => number;

function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** The directory, in which every line names its author. */
class World {
  readonly project: string;
  readonly random: Random;
  #lines = 0;
  isCommandRunning = false;
  /** Files that each author changed, as `author file`. */
  readonly changed: { author: string; file: string }[] = [];

  constructor(project: string, random: Random) {
    this.project = project;
    this.random = random;
  }

  pickFile(): string {
    return fileNames[this.random(fileNames.length)]!;
  }

  lines(file: string): string[] {
    const path = join(this.project, file);
    return existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
  }

  /** Adds a line, and sometimes removes or replaces others. */
  change(author: string, file: string): void {
    const lines = this.lines(file);
    if (lines.length > 2 && this.random(3) === 0) lines.splice(this.random(lines.length), 1);
    lines.splice(this.random(lines.length + 1), 0, `${author} ${(this.#lines += 1)}`);
    mkdirSync(join(this.project, "deep"), { recursive: true });
    writeFileSync(join(this.project, file), `${lines.join("\n")}\n`);
    this.changed.push({ author, file });
  }

  removeFile(author: string, file: string): void {
    rmSync(join(this.project, file), { force: true });
    this.changed.push({ author, file });
  }
}

type Scene = { api: Api; store: Store; snapshots: Snapshots; world: World; project: string; sessions: Map<string, string> };

const callNode = (id: string, name: string, input: Record<string, unknown>): NewNode => ({
  author: "agent",
  parts: [{ kind: "call", id, name, input }],
});
const resultNode = (id: string, name: string): NewNode => ({
  author: "tool",
  parts: [{ kind: "result", call: id, name, text: "done", isError: false }],
});

/** An agent whose calls change files. A person may change others while it answers, and another session while it runs a command. */
function createAgent(scene: () => Scene): TakeTurn {
  return async function* (input, context) {
    const { store, world, sessions, api } = scene();
    const author = [...sessions].find(([, id]) => id === input.session)![0];
    await context.keepFiles();
    for (let step = 0; step < 1 + world.random(3); step++) {
      // A change by hand while a command runs can't be distinguished from the command's own.
      if (world.random(3) === 0 && !world.isCommandRunning) world.change("hand", world.pickFile());
      const id = `${input.turn}-${step}`;
      const file = world.pickFile();
      if (author === "other" || world.random(2) === 0) {
        yield node(callNode(id, "write", { path: file, content: "" }));
        world.change(author, file);
        yield node(resultNode(id, "write"));
      } else {
        yield node(callNode(id, "bash", { command: "change" }));
        world.change(author, world.pickFile());
        world.isCommandRunning = true;
        if (world.random(3) === 0) await runTurn(api, sessions.get("other")!);
        world.isCommandRunning = false;
        world.change(author, world.pickFile());
        if (world.random(6) === 0) world.removeFile(author, world.pickFile());
        yield node(resultNode(id, "bash"));
      }
      await isRecorded(store, input.turn);
    }
    yield node(text("done"));
    yield ok;
  };
}

/** Resolves when the snapshot after the last call is stored. */
async function isRecorded(store: Store, turnId: string): Promise<void> {
  while ((await store.turnRecords([turnId])).some(({ after }) => after === null)) await Bun.sleep(2);
}

async function runTurn(api: Api, session: string): Promise<void> {
  await Array.fromAsync(api.turn.start({ ...turn, session, prompt: "work" }));
}

async function openScene(seed: number): Promise<Scene> {
  let scene: Scene | null = null;
  let snapshots: Snapshots | null = null;
  const late: Snapshots = new Proxy({} as Snapshots, { get: (_target, name) => snapshots![name as keyof Snapshots] });
  const { api, store, root } = await createTestEngine(
    createAgent(() => scene!),
    // No limit ends, so that a busy machine changes nothing.
    { snapshots: late, clock: { now: () => 0, setTimer: () => () => {} } },
  );
  const project = join(root, "project");
  mkdirSync(project);
  snapshots = createSnapshots({
    root: join(root, "files"),
    git: plainGit,
    tooBig: [],
    leaveOut: [],
    warn: (message) => expect(message).toBe(""),
  });
  const open = async () =>
    (
      await api.session.open({
        find: { by: "new" },
        directory: project,
        task: "t",
        agent: "native",
        model: "test/one",
        toolLevel: "minimal",
        parentSession: null,
        transcriptDir: null,
      })
    ).id;
  const sessions = new Map([
    ["main", await open()],
    ["other", await open()],
  ]);
  scene = { api, store, snapshots, world: new World(project, randomFrom(seed)), project, sessions };
  return scene;
}

/** The author of each line of each current file, from the records alone. */
async function recordedAuthors({ store, snapshots, project, sessions }: Scene): Promise<Map<string, string>> {
  const names = new Map([...sessions].map(([name, id]) => [id, name]));
  const now = (await snapshots.take(project))!;
  const history = await fileHistory(store, snapshots, { project, from: 0, to: Date.now(), end: now });
  const authors = new Map<string, string>();
  for (const { before, after, writers, isUncertain } of history) {
    const author = isUncertain || writers.length > 1 ? "unclear" : (names.get(writers[0]?.session ?? "") ?? "hand");
    const earlier = new Set(await readLines(project, before));
    for (const line of await readLines(project, after)) if (!earlier.has(line)) authors.set(line, author);
  }
  return authors;
}

async function readLines(project: string, version: string | null): Promise<string[]> {
  if (version === null) return [];
  const files = join(project, "..", "files");
  const [shadow = ""] = readdirSync(files);
  const args = ["cat-file", "blob", version.split(" ")[1]!];
  const { out } = await plainGit({ args, env: { GIT_DIR: join(files, shadow) }, project, access: "read", repository: null });
  return out.toString().split("\n").slice(0, -1);
}

/** A node in the middle of a turn of the session, or at its end. */
function pickForkNode(path: Node[], random: Random): string {
  const ends = path.filter(({ author, parts }) => author === "tool" || (author === "agent" && parts[0]?.kind === "text"));
  return ends[random(ends.length)]!.id;
}

for (const seed of [1, 2, 3, 4, 5, 6])
  test(`each line is credited to the session or person that wrote it (seed ${seed})`, async () => {
    const scene = await openScene(seed);
    const { api, store, world, sessions, project } = scene;
    world.change("hand", "a.txt");
    await runTurn(api, sessions.get("main")!);
    for (const name of ["fork1", "fork2"]) {
      const at = pickForkNode(await store.sessionPath(sessions.get("main")!), world.random);
      const fork = await api.session.fork({ session: sessions.get("main")!, at, name });
      sessions.set(name, fork.id);
    }
    const forkedAt = world.changed.length;
    for (let count = 0; count < 8; count++) {
      if (world.random(3) === 0) world.change("hand", world.pickFile());
      const name = ["main", "fork1", "fork2", "other"][world.random(4)]!;
      await runTurn(api, sessions.get(name)!);
    }
    if (world.random(2) === 0) world.change("hand", world.pickFile());

    const recorded = await recordedAuthors(scene);
    const lines = fileNames.flatMap((file) => world.lines(file));
    // Lines that were there before the first record are not by an agent.
    expect(lines.map((line) => [line, recorded.get(line) ?? "hand"])).toEqual(lines.map((line) => [line, line.split(" ")[0]!]));

    for (const name of ["fork1", "fork2"]) {
      const { b } = await api.branch.compare({ a: sessions.get("main")!, b: sessions.get(name)!, directory: project });
      const changedByFork = new Set(world.changed.slice(forkedAt).flatMap(({ author, file }) => (author === name ? [file] : [])));
      expect(new Set(b.files?.map(({ path }) => path))).toEqual(changedByFork);
      const others = b.otherFiles.flatMap(({ by, unclear }) => (unclear ? [] : by.flatMap((session) => session?.id ?? [])));
      expect(others).not.toContain(sessions.get(name)!);
    }
  });
