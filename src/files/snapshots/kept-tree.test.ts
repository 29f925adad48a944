// Snapshots from memory must equal those that git takes, whatever happens to the files in between.
import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { plainGit } from "../fixtures/plain-git.ts";
import { testProject, type TestProject } from "../fixtures/project.ts";
import type { GitCommand } from "../git.ts";
import { createSnapshots } from "./snapshots.ts";

/** Snapshots that count the commands of git, without the global options. */
function countingSnapshots(temp: TestProject, name: string, commands: string[] = []) {
  const git = (command: GitCommand) => {
    commands.push(command.args.find((arg) => /^[a-z]+-[a-z]+$/.test(arg)) ?? "");
    return plainGit(command);
  };
  const options = { root: join(temp.data, name), git, tooBig: [], leaveOut: [temp.data], warn: (text: string) => temp.warnings.push(text) };
  return { commands, snapshots: createSnapshots(options) };
}

/** Every state is compared with a snapshot by git alone, in a new shadow repository. */
function comparedSnapshots(temp: TestProject) {
  let memory = countingSnapshots(temp, "memory");
  let count = 0;
  return {
    ...memory,
    /** Another process continues with the stored tree. */
    restart: async (): Promise<void> => {
      await memory.snapshots.save(temp.project);
      memory = countingSnapshots(temp, "memory", memory.commands);
    },
    check: async (step: string): Promise<void> => {
      const gitOnly = countingSnapshots(temp, `git${(count += 1)}`).snapshots;
      const taken = await memory.snapshots.take(temp.project);
      expect({ step, taken, warnings: temp.warnings }).toEqual({ step, taken: await gitOnly.take(temp.project), warnings: [] });
    },
  };
}

function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const names = ["a", "b.txt", "c.log", "d", "src", "lib", "build", "日本", "with blank"];

const ignoreFiles = [
  "*.log\n",
  "build/\n",
  "src\n",
  ".gitignore\nd\n",
  "",
  "/b.*\nlib/**\n",
  "**/d\n!src/d\n",
  "a/*/c.log\r\n",
  "[ab]*\n",
  "with\\ blank\n\\d  \n",
  "# only\n\n  \nLIB\nb.txt   \n",
  "日*\n",
  "*\n!*.txt\n",
  "d/\n/lib\nx*l*.t?t\n",
];

/** One random change of the project. Returns its description. */
function changeProject(project: string, random: (below: number) => number): string {
  const pick = <Item>(items: readonly Item[]): Item => items[random(items.length)]!;
  const path = Array.from({ length: 1 + random(3) }, () => pick(names)).join("/");
  const absolute = join(project, path);
  const inParent = (act: () => void): void => {
    mkdirSync(dirname(absolute), { recursive: true });
    act();
  };
  const actions: Record<string, () => void> = {
    write: () => inParent(() => writeFileSync(absolute, `${random(1_000_000)}\n`)),
    sameSize: () => inParent(() => writeFileSync(absolute, String(random(10)))),
    remove: () => rmSync(absolute, { recursive: true, force: true }),
    directory: () => inParent(() => mkdirSync(absolute, { recursive: true })),
    link: () => inParent(() => symlinkSync(pick(names), absolute)),
    // A directory needs its permissions, or only root could open it.
    mode: () => !statSync(absolute).isDirectory() && chmodSync(absolute, pick([0o644, 0o755])),
    move: () => inParent(() => renameSync(absolute, join(project, pick(names)))),
    ignore: () => inParent(() => writeFileSync(join(dirname(absolute), ".gitignore"), pick(ignoreFiles))),
    repository: () =>
      random(4) === 0 && inParent(() => mkdirSync(join(dirname(absolute), "inner", ".git", "objects"), { recursive: true })),
    noRepository: () => rmSync(join(dirname(absolute), "inner", ".git"), { recursive: true, force: true }),
    exclude: () => {
      mkdirSync(join(project, ".git", "info"), { recursive: true });
      writeFileSync(join(project, ".git", "info", "exclude"), pick(["lib\n", ""]));
    },
    many: () => inParent(() => Array.from({ length: 20 }, (_, n) => writeFileSync(`${absolute}.${n}`, String(n)))),
    nothing: () => {},
  };
  const action = pick(["write", "write", "write", "sameSize", "sameSize", ...Object.keys(actions)]);
  try {
    actions[action]!();
  } catch {
    // A file is in the place of a directory, or the other way round.
  }
  return `${action} ${path}`;
}

for (const seed of [1, 2, 3])
  test(`snapshots from memory equal those of git after random changes (seed ${seed})`, async () => {
    using temp = testProject();
    const random = randomFrom(seed);
    const { check, restart } = comparedSnapshots(temp);
    await check("start");
    for (let step = 0; step < 40; step++) {
      const changes = Array.from({ length: 1 + random(3) }, () => changeProject(temp.project, random));
      // Statuses of files become reliable with time, so some snapshots come later.
      if (random(4) === 0) await Bun.sleep(30);
      if (random(3) === 0) await restart();
      await check(`${step}: ${changes.join(", ")}`);
    }
    expect(readdirSync(temp.project).length).toBeGreaterThan(0);
  }, 60_000);

test("files below a directory that the user may not open are left out, and the others are recorded", async () => {
  using temp = testProject();
  const { check } = comparedSnapshots(temp);
  const closed = join(temp.project, "closed");
  mkdirSync(join(closed, "inner"), { recursive: true });
  writeFileSync(join(closed, "inner", "a"), "one");
  await check("all directories are open");
  try {
    for (const mode of [0o600, 0o000]) {
      chmodSync(closed, mode);
      writeFileSync(join(temp.project, "beside"), String(mode));
      await check(`mode ${mode}`);
    }
  } finally {
    chmodSync(closed, 0o700);
  }
  await check("open again");
});

test("changed, deleted and new files need no git, and a name that a rule may match only one command", async () => {
  using temp = testProject();
  const { commands, snapshots, check } = comparedSnapshots(temp);
  temp.write("deep/a", "1\n");
  temp.write("b", "1\n");
  temp.write(".gitignore", "*.log\n");
  await check("start");
  await snapshots.take(temp.project);
  commands.length = 0;
  temp.write("deep/a", "2\n");
  await check("changed");
  rmSync(join(temp.project, "b"));
  await check("deleted");
  temp.write("deep/new", "1\n");
  temp.write("other/deep/new", "1\n");
  await check("new");
  expect(commands).toEqual([]);
  temp.write("deep/ignored.log", "1\n");
  await check("may be ignored");
  expect(commands).toEqual(["ls-files"]);
  await check("unchanged");
  expect(commands).toEqual(["ls-files"]);
});

test("a snapshot that may wait begins together with the next one that may not", async () => {
  using temp = testProject();
  temp.write("a", "1\n");
  const late = temp.snapshots.read(temp.project, 1e9);
  temp.write("a", "2\n");
  const { id } = await temp.snapshots.read(temp.project);
  expect((await late).id).toBe(id);
  expect(await temp.take()).toBe(id!);
});

test("a state in memory is named before it is stored, and git takes over if it can't be stored", async () => {
  using temp = testProject();
  temp.write("a", "1\n");
  await temp.take();
  const first = await temp.take();
  const objects = join(temp.data, "files", readdirSync(join(temp.data, "files"))[0]!, "objects");
  temp.write("a", "2\n");
  const { id, stored } = await temp.snapshots.read(temp.project);
  expect(await stored).toBe(true);
  expect(await temp.snapshots.versionOf(temp.project, id!, "a")).not.toBeNull();

  renameSync(objects, `${objects}-away`);
  writeFileSync(objects, "");
  temp.write("a", "3\n");
  const lost = await temp.snapshots.read(temp.project);
  expect(lost.id).not.toBe(first);
  expect(await lost.stored).toBe(false);
  rmSync(objects);
  renameSync(`${objects}-away`, objects);
  expect(await temp.take()).toBe(lost.id!);
  expect(await temp.snapshots.versionOf(temp.project, lost.id!, "a")).not.toBeNull();
  expect(temp.warnings).toEqual([]);
});

async function storedSnapshots(temp: TestProject) {
  const compared = comparedSnapshots(temp);
  temp.write("deep/a", "1\n");
  temp.write("b", "1\n");
  temp.write(".gitignore", "*.log\n");
  await compared.check("start");
  await compared.restart();
  compared.commands.length = 0;
  return compared;
}

test("a new process needs no git for its first snapshot, also after changes of known files", async () => {
  using temp = testProject();
  const { commands, check, restart } = await storedSnapshots(temp);
  await check("unchanged");
  temp.write("deep/a", "2\n");
  await restart();
  temp.write("b", "3\n");
  await check("changed before and after the start");
  expect(commands).toEqual([]);
});

test("a new process asks git only for new names that a rule may match", async () => {
  using temp = testProject();
  const { commands, check } = await storedSnapshots(temp);
  temp.write("deep/new", "1\n");
  temp.write("c.log", "1\n");
  await check("new");
  expect(commands).toEqual(["ls-files"]);
});

test("a stored tree is not used if it is damaged, of other rules, or if its repository was created again", async () => {
  using temp = testProject();
  const { commands, check, restart } = await storedSnapshots(temp);
  const memory = join(temp.data, "memory");
  const shadow = join(memory, readdirSync(memory)[0]!);
  const file = join(shadow, "kept-tree.json");
  const text = readFileSync(file, "utf8");
  for (const damaged of ["", text.slice(0, 100), "null", "{}", text.replace("/.skein/sessions/", "/other/")]) {
    writeFileSync(file, damaged);
    await check("damaged");
    expect(commands).toContain("ls-files");
    await restart();
    commands.length = 0;
    await check("stored again");
    expect(commands).toEqual([]);
    await restart();
  }
  rmSync(join(shadow, "objects"), { recursive: true });
  rmSync(join(shadow, "HEAD"));
  rmSync(join(shadow, "index"));
  await check("created again");
  expect(existsSync(join(shadow, "objects"))).toBe(true);
  expect(commands).toContain("write-tree");
});

test("a new transcript needs no git, in a project with and without other files in .skein", async () => {
  for (const other of [".skein/config.jsonc", "elsewhere"]) {
    using temp = testProject();
    temp.write(other, "{}\n");
    temp.write(".skein/sessions/first.jsonl", "{}\n");
    const { commands, check, restart } = await storedSnapshots(temp);
    temp.write(".skein/sessions/second.jsonl", "{}\n");
    await check("before the turn");
    temp.write(".skein/sessions/third.jsonl", "{}\n");
    await restart();
    await check("in the next process");
    expect({ other, commands }).toEqual({ other, commands: [] });
  }
});
