// A tool exchanges a directory for a link while skein's git works in it. What git then writes or reads lies outside of the
// project, so the sandbox of git must refuse it.
import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { skeinCommand, temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";
import { persons, readableProgram, type Person } from "../escape/person.ts";
import type { SwapperArguments } from "./swapper.ts";

const secret = "TOPSECRET-SNAPSHOT-KEY";
const shared = mkdtempSync(join(tmpdir(), "skein-swapped-"));
chmodSync(shared, 0o755);
afterAll(() => rmSync(shared, { recursive: true, force: true }));

const people = persons().filter(({ name }) => name !== "root in another's project");
for (const person of people)
  for (const tier of ["namespaces", "landlock"]) {
    test(`files restore writes nothing into the home directory, as ${person.name} with ${tier}`, async () => {
      using skein = homeOf(person, tier);
      const d = join(skein.project, "d");
      await skein.run(["new", "main", "-m", "ollama/none"]);
      const make = "mkdir d; for n in $(seq -w 3000); do echo x > d/!$n; done; echo evil > d/.bash_profile";
      expect((await skein.run(["exec", "main", make])).code).toBe(0);
      const tip = /"tip": "([0-9a-f-]{36})"/.exec((await skein.run(["show", "main", "--json"])).out)![1]!;
      expect((await skein.run(["exec", "main", "rm -rf d; mkdir d"])).code).toBe(0);
      // A restore would remove a link beside the directory first.
      const link = join(skein.project, ".git", "d.link");
      symlinkSync(skein.home, link);
      giveTo(person, skein);
      using swapper = await startSwapper(person, ["create", d, link]);
      const restored = await skein.run(["files", "restore", tip, "--yes"]);
      swapper.kill();
      expect(await new Response(swapper.stdout).text(), restored.err).toContain("swapped");
      expect(readdirSync(skein.home).filter((name) => name.startsWith("!") || name === ".bash_profile")).toEqual([]);
    }, 120_000);

    test(`a snapshot records no key, as ${person.name} with ${tier}`, async () => {
      using skein = homeOf(person, tier);
      const dd = join(skein.project, "dd");
      mkdirSync(dd);
      mkdirSync(join(skein.home, ".ssh"), { mode: 0o700 });
      for (const directory of [dd, join(skein.home, ".ssh")]) {
        for (let n = 10; n < 35; n++) writeFileSync(join(directory, `a${n}`), Buffer.alloc(3 << 20, String(n)));
        writeFileSync(join(directory, "id_ed25519"), directory === dd ? "harmless\n" : `${secret}\n`);
      }
      symlinkSync(join(skein.home, ".ssh"), `${dd}.link`);
      await skein.run(["new", "main", "-m", "ollama/none"]);
      giveTo(person, skein);
      using swapper = await startSwapper(person, ["open", dd, `${dd}.link`]);
      await skein.run(["exec", "main", "true"]);
      swapper.kill();
      expect(await new Response(swapper.stdout).text()).toContain("swapped");
      expect(isRecorded(skein)).toBe(false);
    }, 120_000);
  }

function homeOf(person: Person, tier: string): TemporaryHome {
  const command = () => {
    if (person.prefix.length === 0) return skeinCommand();
    const { bun, main } = programOf(person);
    return [bun, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null", process.env["SKEIN_TEST_BUNDLE"] ?? main];
  };
  const skein = temporaryHome({ SKEIN_SANDBOX_BEST: tier }, person.prefix, command);
  giveTo(person, skein);
  return skein;
}

let copied: ReturnType<typeof readableProgram> | null = null;

function programOf(person: Person): ReturnType<typeof readableProgram> {
  return (copied ??= readableProgram(person, shared));
}

function giveTo({ uid }: Person, { root }: TemporaryHome): void {
  Bun.spawnSync(["chown", "-Rh", `${uid}:${uid}`, root]);
}

async function startSwapper(person: Person, args: SwapperArguments) {
  const { bun } = person.prefix.length === 0 ? { bun: process.execPath } : programOf(person);
  const script = join(shared, "swapper.ts");
  if (!existsSync(script)) await Bun.write(script, Bun.file(join(import.meta.dir, "swapper.ts")));
  const child = Bun.spawn([...person.prefix, bun, script, ...args], { cwd: "/", stdout: "pipe", stderr: "ignore" });
  const [out, rest] = child.stdout.tee();
  const reader = out.getReader();
  await reader.read();
  void reader.cancel();
  const kill = () => child.kill("SIGKILL");
  return { kill, stdout: rest, [Symbol.dispose]: kill };
}

/** Whether a blob of a shadow repository has the secret. */
function isRecorded({ root }: TemporaryHome): boolean {
  const repositories = [...new Bun.Glob("skein/**/files/*.git/HEAD").scanSync({ cwd: root, dot: true, absolute: true })];
  expect(repositories.length).toBeGreaterThan(0);
  return repositories.some((head) => {
    const gitDir = join(head, "..");
    const args = ["git", "--git-dir", gitDir, "-c", "safe.directory=*", "cat-file", "--batch-all-objects", "--batch"];
    return Bun.spawnSync(args).stdout.includes(secret);
  });
}
