// Runs the real program with an empty home directory, a git project and only the keys that a test sets.
// Tests wait for or kill every process that they start.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dir, "..", "..");

export type TemporaryHome = {
  root: string;
  home: string;
  project: string;
  env: Record<string, string>;
  run: (args: string[], options?: RunOptions) => Promise<RunResult>;
  start: (args: string[], options?: RunOptions) => ReturnType<typeof Bun.spawn<"ignore" | "pipe", "pipe", "pipe">>;
  [Symbol.dispose]: () => void;
};

export type RunOptions = { env?: Record<string, string>; cwd?: string; stdin?: string };
export type RunResult = { code: number; out: string; err: string; lines: () => unknown[]; json: () => Record<string, unknown> };

/**
 * `using skein = temporaryHome()` removes everything at the end of the block. `prefix` stands before the program, such as a
 * command that runs it as another user.
 */
export function temporaryHome(env: Record<string, string> = {}, prefix: string[] = [], program = skeinCommand): TemporaryHome {
  const base = mkdtempSync(join(tmpdir(), "skein-test-"));
  const home = join(base, "home");
  const project = join(base, "project");
  mkdirSync(join(project, ".git"), { recursive: true });
  mkdirSync(home);
  // skein runs no program from its temp directory, and fake programs of tests are in `base`.
  mkdirSync(join(base, "tmp"), { mode: 0o700 });
  const homeEnv = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    SKEIN_HOME: join(base, "skein"),
    TMPDIR: join(base, "tmp"),
    LANG: "C.UTF-8",
    OLLAMA_HOST: "127.0.0.1:9",
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    ...launcherEnv(),
    ...env,
  };

  function start(args: string[], options: RunOptions = {}) {
    return Bun.spawn([...prefix, ...program(), ...args], {
      cwd: options.cwd ?? project,
      env: { ...homeEnv, ...options.env },
      stdin: options.stdin === undefined ? "ignore" : new Blob([options.stdin]),
      stdout: "pipe",
      stderr: "pipe",
    }) as ReturnType<TemporaryHome["start"]>;
  }
  return {
    root: base,
    home,
    project,
    env: homeEnv,
    start,
    async run(args, options) {
      const child = start(args, options);
      const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
      const lines = () =>
        out
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line) as unknown);
      return { code, out, err, lines, json: () => JSON.parse(out) as Record<string, unknown> };
    },
    [Symbol.dispose]: () => removeAll(base),
  };
}

/** `SKEIN_SANDBOX_LAUNCHER=javascript bun test <file>` starts skein without the native launcher in all tests of a file. */
export function launcherEnv(): Record<string, string> {
  const launcher = process.env["SKEIN_SANDBOX_LAUNCHER"];
  return launcher === undefined ? {} : { SKEIN_SANDBOX_LAUNCHER: launcher };
}

/** A sandbox may leave directories that can't be opened. `rm` can remove them by name. */
function removeAll(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    Bun.spawnSync(["rm", "-rf", folder]);
  }
}

/**
 * The command that bin/skein runs, without its shell. SKEIN_TEST_BINARY names an executable to test instead, and
 * SKEIN_TEST_BUNDLE a main.js: tools/check.ts builds one, because it starts in a third of the time of the source.
 */
export function skeinCommand(): string[] {
  const binary = process.env["SKEIN_TEST_BINARY"];
  return binary === undefined ? bunCommand(process.env["SKEIN_TEST_BUNDLE"] ?? sourceMain) : [binary];
}

/** Always starts skein from its source. `flags` are flags of Bun. */
export function sourceCommand(...flags: string[]): string[] {
  return bunCommand(sourceMain, flags);
}

const sourceMain = join(root, "src", "main.ts");

function bunCommand(main: string, flags: string[] = []): string[] {
  return [process.execPath, ...flags, "--config=/dev/null", "--no-env-file", "--tsconfig-override=/dev/null", main];
}

/** The environment that points every vendor at a scripted server. */
export function vendorEnv(url: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "key-anthropic",
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: "key-openai",
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: "key-gemini",
    OLLAMA_HOST: url,
  };
}

/** One model per wire. */
export const wireModels = {
  anthropic: "anthropic/claude-sonnet-4-5",
  "openai-responses": "openai/gpt-5.2",
  "openai-chat": "ollama/qwen3:8b",
  gemini: "gemini/gemini-3-pro-preview",
};
