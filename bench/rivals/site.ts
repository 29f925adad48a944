// One repository and home for one run of one tool, a model server that can limit one vendor, and the run itself.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { startModelServer, type ModelServer, type ScriptSource } from "../../src/scripted-model/model-server.ts";
import { codexConfig } from "../contenders.ts";
import { peersBin } from "../peers.ts";
import { nodeBin, rivalDir } from "./install.ts";

export type Site = { home: string; repository: string; server: ModelServer };

export type ToolRun = { exitCode: number | null; seconds: number; output: string };

type SiteOptions = {
  script: ScriptSource;
  files?: Record<string, string>;
  /** Files in .gitignore. */
  ignored?: Record<string, string>;
  /** The Messages API answers 429 to requests with this text, and to all later ones. */
  limitAfter?: string;
};

export async function openSite({ script, files = {}, ignored = {}, limitAfter }: SiteOptions): Promise<Site & AsyncDisposable> {
  const root = await mkdtemp(join(tmpdir(), "rivals-"));
  const [home, repository] = [join(root, "home"), join(root, "project")];
  let isLimited = false;
  const server = startModelServer(script, {
    async route(request, path) {
      if (limitAfter === undefined || !path.endsWith("/messages")) return null;
      isLimited ||= (await request.clone().text()).includes(limitAfter);
      return isLimited ? limitReached() : null;
    },
  });
  await writeFiles(home, { ".codex/config.toml": codexConfig(server.url), "skein/config.json": "{}\n" });
  await writeFiles(repository, { "README.md": "a project\n", ".gitignore": Object.keys(ignored).join("\n"), ...files });
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-C", repository, "-c", "user.name=bench", "-c", "user.email=bench@localhost", ...args]);
  git("init", "-q");
  git("add", ".");
  git("commit", "-qm", "start");
  await writeFiles(repository, ignored);
  return {
    home,
    repository,
    server,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
}

function limitReached(): Response {
  const error = { type: "rate_limit_error", message: "This request would exceed your rate limit." };
  return Response.json({ type: "error", error }, { status: 429, headers: { "retry-after": "3600" } });
}

async function writeFiles(directory: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await Bun.write(join(directory, name), text);
  }
}

export const limitMs = 90_000;

/** Runs the command in the repository. The exit code is null if it was still running after `limitMs`. */
export async function runTool({ home, repository, server }: Site, command: string[], env: Record<string, string> = {}): Promise<ToolRun> {
  const startedAt = performance.now();
  const child = Bun.spawn(command, {
    cwd: repository,
    env: { ...toolEnv(home, server.url), ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: limitMs,
    killSignal: "SIGKILL",
  });
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return { exitCode: child.exitCode, seconds: (performance.now() - startedAt) / 1000, output: out + err };
}

/** Retries of Claude Code are bounded, so that a rival's failure ends within the limit. skein bounds them itself. */
function toolEnv(home: string, url: string): Record<string, string> {
  return {
    HOME: home,
    PATH: [nodeBin, peersBin, join(rivalDir("acpx"), "node_modules/.bin"), "/usr/bin", "/bin"].join(":"),
    TMPDIR: tmpdir(),
    LANG: "C.UTF-8",
    TERM: "dumb",
    USER: "bench",
    SHELL: "/bin/bash",
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "dummy",
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: "dummy",
    LAB_KEY: "dummy",
    SKEIN_HOME: join(home, "skein"),
    CLAUDE_CODE_MAX_RETRIES: "2",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    // Claude Code refuses --dangerously-skip-permissions as root without it.
    IS_SANDBOX: "1",
  };
}
