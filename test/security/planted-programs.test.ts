// Programs that a project or a tool puts into a directory of PATH. skein must not start them outside of the sandbox. Each of
// them would leave a file outside, and the normal program of that name must still work.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { until } from "../support/cpu-time.ts";
import { startInPty } from "../support/pty.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";
import { persons, readableProgram, type Person } from "./escape/person.ts";

const agents = ["claude", "codex", "gemini", "opencode", "pi"];
const system = "/usr/bin:/bin";
const key = "sk-ant-the-real-key";
const model = ["-m", wireModels.anthropic];

/** Runs each prompt as a shell command. */
let server: ModelServer;
let copies: string;
beforeAll(() => {
  server = startModelServer(({ position }) => shellScript([position.prompt]));
  copies = mkdtempSync(join(tmpdir(), "skein-readable-"));
  chmodSync(copies, 0o755);
});
afterAll(async () => {
  await server.stop();
  rmSync(copies, { recursive: true });
});

/** Their command starts with an absolute path: the tests set a PATH with planted programs. */
const people = persons()
  .filter(({ uid, projectOwner }) => uid === projectOwner)
  .map((person) => ({ ...person, prefix: person.prefix.map((word, index) => (index === 0 ? (Bun.which(word) ?? word) : word)) }));
const commands = new Map<string, string[]>();

/** The user may not be able to read this checkout. */
function commandOf(person: Person): string[] {
  const known = commands.get(person.name);
  if (known !== undefined) return known;
  const directory = join(copies, person.name);
  mkdirSync(directory);
  const { bun, main } = readableProgram(person, directory);
  const command = person.prefix.length === 0 ? skeinCommand() : [bun, ...skeinCommand().slice(1, -1), main];
  commands.set(person.name, command);
  return command;
}

type World = { skein: TemporaryHome; person: Person; tier: string };

/** A script that shows outside that it was started, by whom and with which keys. It fails, so that its work is missing too. */
function trap({ skein }: World, name: string): string {
  const mark = join(skein.root, "outside", name);
  return `#!/bin/sh\nid > '${mark}'\ntr '\\0' '\\n' < /proc/$PPID/environ | grep API_KEY >> '${mark}'\nenv >> '${mark}'\nexit 1\n`;
}

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode: 0o755 });
  return path;
}

const plant = (world: World, directory: string, names: string[]) =>
  names.forEach((name) => write(join(world.skein.project, directory, name), trap(world, name)));

/** The person owns everything, as at home. */
function giveAway({ skein, person }: World): void {
  if (!person.isRoot && process.getuid?.() === 0) Bun.spawnSync(["chown", "-R", `${person.uid}:${person.uid}`, skein.root]);
}

const venv = ({ skein }: World) => `${join(skein.project, ".venv", "bin")}:${system}`;

async function run(world: World, prompt: string, env: Record<string, string>, more = model) {
  giveAway(world);
  const ran = await world.skein.run(["run", prompt, "--json", ...more], { env });
  return { ...ran, record: ran.out === "" ? {} : (ran.json() as { status?: string; enforced?: { tier: string }; session_id?: string }) };
}

function configure({ skein }: World, config: object): void {
  write(join(skein.root, "skein", "config", "config.jsonc"), JSON.stringify(config));
}

const systemTools = { unshare: expect.stringMatching(/^\/(usr\/)?s?bin\//), setpriv: expect.stringMatching(/^\/(usr\/)?s?bin\//) };

function cachedTools({ skein }: World): unknown {
  const text = readFileSync(join(skein.root, "skein", "state", "sandbox.json"), "utf8");
  return (JSON.parse(text) as { machine: { tools: unknown } }[])[0]!.machine.tools;
}

/** Each row plants programs, does ordinary things, and checks that the normal programs did their work. */
const rows: Record<string, (world: World) => Promise<void>> = {
  "path-git-in-project": async (world) => {
    const { skein } = world;
    plant(world, "kit", ["git"]);
    const ran = await run(world, "mkdir -p .venv/bin; cp kit/git .venv/bin/git; echo new > made.txt", { PATH: venv(world) });
    expect({ code: ran.code, status: ran.record.status, tier: ran.record.enforced?.tier, err: ran.err }).toMatchObject({
      code: 0,
      status: "ok",
      tier: world.tier,
    });
    rmSync(join(skein.project, "made.txt"));
    // The state after the turn has the file, so the snapshot was taken by another git.
    const diff = await skein.run(["files", "diff", ran.record.session_id!, "--stat"], { env: { PATH: venv(world) } });
    expect(diff.out).toContain("made.txt");
  },

  "path-relative-unshare": async (world) => {
    plant(world, "node_modules/.bin", ["unshare", "setpriv", "git", "sh", "ps"]);
    const ran = await run(world, "echo fine", { PATH: `./node_modules/.bin:node_modules/.bin::${system}` });
    expect({ code: ran.code, tier: ran.record.enforced?.tier }).toEqual({ code: 0, tier: world.tier });
    expect(cachedTools(world)).toEqual(systemTools);
  },

  "path-cached-unshare": async (world) => {
    const { skein } = world;
    plant(world, "node_modules/.bin", ["unshare", "setpriv"]);
    await run(world, "echo fine", { PATH: system });
    const cache = join(skein.root, "skein", "state", "sandbox.json");
    const cached = readFileSync(cache, "utf8");
    for (const directory of ["node_modules/.bin", join(skein.project, "node_modules", ".bin")]) {
      writeFileSync(cache, cached.replaceAll(/"\/[^"]*\/(unshare|setpriv)"/g, `"${directory}/$1"`));
      const ran = await run(world, "echo fine", { PATH: system });
      expect({ code: ran.code, tier: ran.record.enforced?.tier }).toEqual({ code: 0, tier: world.tier });
      expect(cachedTools(world)).toEqual(systemTools);
    }
  },

  "path-agents-in-project": async (world) => {
    const { skein } = world;
    plant(world, ".venv/bin", agents);
    giveAway(world);
    const env = { PATH: venv(world) };
    const [listed, printed, doctor, tried] = [
      await skein.run(["agents", "--json"], { env }),
      await skein.run(["agents"], { env }),
      await skein.run(["doctor"], { env }),
      await skein.run(["doctor", "--agents"], { env }),
    ];
    const reason = `is found but not used: it is in ${skein.project}, where tools can write`;
    const infos = JSON.parse(listed.out) as { name: string; installed: boolean; path: string; missing: string }[];
    for (const name of agents) {
      const path = join(skein.project, ".venv", "bin", name);
      expect(infos.find((info) => info.name === name)).toMatchObject({ installed: false, path, missing: `${path} ${reason}` });
      for (const { out } of [printed, doctor, tried]) expect(out.replaceAll(/\s+/g, " ")).toContain(`${path} ${reason}`);
    }
    const turn = await run(world, "x", env, ["-a", "claude"]);
    expect([turn.code, turn.err]).toEqual([3, expect.stringContaining(reason)]);
    const bin = join(skein.root, "bin");
    write(join(bin, "claude"), '#!/bin/sh\necho "2.1.0 (Claude Code)"\n');
    giveAway(world);
    const found = await skein.run(["agents", "--json"], { env: { PATH: `${join(skein.project, ".venv", "bin")}:${bin}:${system}` } });
    expect((JSON.parse(found.out) as { name: string }[]).find(({ name }) => name === "claude")).toMatchObject({
      installed: true,
      path: join(bin, "claude"),
      version: "2.1.0",
    });
  },

  "path-agent-of-another-project": async (world) => {
    const { skein } = world;
    // The shell keeps the PATH of the first project, and skein then works in a second one.
    plant(world, "kit", ["claude"]);
    const env = { PATH: venv(world) };
    expect((await run(world, "mkdir -p .venv/bin; cp kit/claude .venv/bin/claude", env)).code).toBe(0);
    const other = join(skein.root, "other");
    mkdirSync(other);
    giveAway(world);
    for (const cwd of [other, skein.home]) {
      const { out } = await skein.run(["agents", "--json"], { cwd, env });
      expect((JSON.parse(out) as { name: string }[]).find(({ name }) => name === "claude")).toMatchObject({
        installed: false,
        missing: expect.stringContaining(`it is in ${skein.project}, where tools can write`),
      });
    }
  },

  "path-interpreter-in-project": async (world) => {
    const { skein } = world;
    plant(world, ".venv/bin", ["my-interpreter"]);
    const bin = join(skein.root, "bin");
    write(join(bin, "claude"), "#!/usr/bin/env my-interpreter\n");
    const real = write(join(skein.root, "real", "my-interpreter"), '#!/bin/sh\necho "2.1.0 (Claude Code)"\n');
    giveAway(world);
    const path = [join(skein.project, ".venv", "bin"), bin, dirname(real), system].join(":");
    const { out } = await skein.run(["agents", "--json"], { env: { PATH: path } });
    expect((JSON.parse(out) as { name: string }[]).find(({ name }) => name === "claude")).toMatchObject({ version: "2.1.0" });
  },

  "library-path-in-project": async (world) => {
    const { skein } = world;
    // The agent's own setting would make the launcher's programs load a library of the project.
    const lib = join(skein.project, "lib");
    const script = 'echo "$LD_LIBRARY_PATH" > "$1/seen"; while [ ! -e "$1/go" ]; do /bin/sleep 0.05; done; echo done';
    const agent = {
      command: "/bin/sh",
      args: ["-c", script, "sh", "{directory}", "{prompt}"],
      env: { LD_LIBRARY_PATH: "{directory}/lib" },
    };
    configure(world, { agents: { mine: agent } });
    const running = run(world, "x", { PATH: system }, ["-a", "mine"]);
    const seen = join(skein.project, "seen");
    await until(() => existsSync(seen) && readFileSync(seen, "utf8") === `${lib}\n`, "the agent sees its variable");
    expect(namesWithVariable(`LD_LIBRARY_PATH=${lib}`).filter((name) => name !== "sh" && name !== "sleep")).toEqual([]);
    write(join(skein.project, "go"), "");
    expect({ ...(await running).record }).toMatchObject({ status: "ok", result: "done" });
    const shown = await run(world, 'echo "$LD_LIBRARY_PATH" > shown', { PATH: system, LD_LIBRARY_PATH: "/nowhere" });
    expect([shown.code, readFileSync(join(skein.project, "shown"), "utf8")]).toEqual([0, "/nowhere\n"]);
  },

  "agent-in-project-by-absolute-path": async (world) => {
    const { skein } = world;
    const program = write(join(skein.project, "agent"), trap(world, "agent").replace("exit 1", "echo hello from inside"));
    // It leads out of the project to a directory with a secret, which must stay unreadable.
    const secret = write(join(skein.home, ".ssh", "tool"), "#!/bin/sh\necho the private key\n");
    symlinkSync(secret, join(skein.project, "linked"));
    const agent = (command: string) => ({ command, args: ["{prompt}"] });
    configure(world, { agents: { mine: agent(program), linked: agent(join(skein.project, "linked")) } });
    const env = { PATH: system };
    const ran = await run(world, "x", env, ["-a", "mine"]);
    expect({ code: ran.code, ...ran.record, err: ran.err }).toMatchObject({ code: 0, result: "hello from inside" });
    const linked = await run(world, "x", env, ["-a", "linked"]);
    expect(linked.code).not.toBe(0);
    expect(linked.out + linked.err).not.toContain("the private key");
    const { out } = await skein.run(["agents", "--json"], { env });
    expect((JSON.parse(out) as { name: string }[]).find(({ name }) => name === "mine")).toMatchObject({ installed: true, path: program });
    expect((await skein.run(["doctor"], { env })).out).toContain(program);
  },
};

/** Names of the running programs that have this text in their environment. */
function namesWithVariable(text: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const has = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(text);
      return has ? [readFileSync(`/proc/${pid}/comm`, "utf8").trim()] : [];
    } catch {
      return []; // It has ended, or belongs to another user.
    }
  });
}

const cases = people.flatMap((person) => ["namespaces", "landlock"].map((tier) => ({ person, who: person.name, tier })));

describe.each(cases)("as $who, $tier:", ({ person, tier }) => {
  test.each(Object.keys(rows))("%s: no planted program runs outside, and the normal one works", async (name) => {
    const env = { ...vendorEnv(server.url), ANTHROPIC_API_KEY: key, ...(tier === "landlock" ? { SKEIN_SANDBOX_BEST: tier } : {}) };
    using skein = temporaryHome(env, person.prefix, () => commandOf(person));
    mkdirSync(join(skein.root, "outside"));
    await rows[name]!({ skein, person, tier });
    expect(readdirSync(join(skein.root, "outside"))).toEqual([]);
    const written = Bun.spawnSync(["grep", "-rlaF", "--devices=skip", key, skein.root]).stdout.toString();
    expect(written).toBe("");
  });
});

test("an editor that a tool put into a PATH directory of the project is not run, and the same editor elsewhere is", async () => {
  using skein = temporaryHome({ ...vendorEnv(server.url), EDITOR: "my-editor", SKEIN_KEYS: "vi" });
  const world: World = { skein, person: people[0]!, tier: "namespaces" };
  mkdirSync(join(skein.root, "outside"));
  plant(world, ".venv/bin", ["my-editor", "vi", "vim"]);
  const edited = join(skein.root, "edited");
  const bin = dirname(write(join(skein.root, "bin", "my-editor"), `#!/bin/sh\ntouch '${edited}'\n`));
  for (const { path, shown } of [
    { path: venv(world), shown: "is not used" },
    { path: `${join(skein.project, ".venv", "bin")}:${bin}:${system}`, shown: "the plan is empty" },
  ]) {
    await using screen = startInPty(skein, ["tui", ...model, "--sandbox", "auto"], {
      env: { PATH: path },
      size: { columns: 200, rows: 24 },
    });
    await screen.until("[INSERT] [idle]");
    screen.type("\u0007");
    await screen.until(shown);
  }
  expect([readdirSync(join(skein.root, "outside")), existsSync(edited)]).toEqual([[], true]);
});
