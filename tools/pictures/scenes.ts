// The sessions of the pictures: a small real project, real runs of skein, and a scripted model in place of a real one.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { barChart } from "./bar-chart.ts";
import { bugTask, cart, check, integersTask, roundTask, scriptFor, testsTask } from "./scripts.ts";
import { openWindow, runQuietly, type Studio } from "./terminal.ts";
import { terminalSvg } from "../../src/cli/export/terminal-svg.ts";

/** Draws all pictures. The keys are file names. */
export async function drawPictures(): Promise<Record<string, string>> {
  const root = mkdtempSync(join(tmpdir(), "skein-pictures-"));
  const project = join(root, "home", "shop");
  const server = startModelServer(({ position: { prompt } }) => scriptFor(prompt));
  const studio: Studio = { project, env: environment(root, server.url) };
  try {
    createProject(project);
    await runQuietly(studio, ["run", bugTask, "--session", "main"]);
    const answer = await drawAnswer(studio);
    await runQuietly(studio, ["fork", "main", "--name", "round"]);
    await runQuietly(studio, ["run", roundTask, "--session", "round"]);
    await runQuietly(studio, ["run", integersTask, "--session", "main", "-m", "openai/gpt-5.2"]);
    const pictures = {
      answer,
      tree: await drawTree(studio),
      diff: await drawDiff(studio),
      ps: await drawPs(studio),
      team: await drawTeam(studio),
    };
    return { ...Object.fromEntries(Object.entries(pictures).map(([name, svg]) => [`${name}.svg`, svg])), "figures.svg": barChart() };
  } finally {
    openGate(studio);
    await runQuietly(studio, ["hub", "stop"]).catch(() => "");
    await server.stop();
    // A killed sandbox leaves directories that can't be opened. `rm` can remove them by name, rmSync can't.
    Bun.spawnSync(["rm", "-rf", root]);
  }
}

function environment(root: string, url: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: join(root, "home"),
    SKEIN_HOME: join(root, "skein"),
    TMPDIR: root,
    LANG: "C.UTF-8",
    OLLAMA_HOST: "127.0.0.1:9",
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: "key",
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: "key",
    SKEIN_MODEL: "anthropic/claude-sonnet-4-5",
  };
}

function createProject(project: string): void {
  mkdirSync(join(project, "src"), { recursive: true });
  writeFileSync(join(project, "src", "cart.ts"), cart);
  // Runs until the gate opens, so that a picture can show work in progress.
  writeFileSync(join(project, "check-all"), `#!/bin/sh\nuntil [ -e "${gateOf(project)}" ]; do sleep 0.1; done\necho "48 pass"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(project, ".gitignore"), ".gate\n");
  writeFileSync(join(project, "check"), check, { mode: 0o755 });
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", ...args], { cwd: project });
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "first");
}

function gateOf(project: string): string {
  return join(project, ".gate");
}

function openGate({ project }: Studio): void {
  writeFileSync(gateOf(project), "");
}

async function drawAnswer(studio: Studio): Promise<string> {
  const window = openWindow(studio, { columns: 100, rows: 32 });
  const screen = window.start(["tui", "main"]);
  try {
    await window.until(/All 12 tests pass/);
    return terminalSvg(window.fixed(), "skein: an answer with its diff");
  } finally {
    await screen.end();
  }
}

async function drawTree(studio: Studio): Promise<string> {
  const window = openWindow(studio, { columns: 100, rows: 30 });
  const screen = window.start(["tui", "main"]);
  try {
    await window.until(/integers in cents/);
    screen.type("/tree");
    await window.until(/\/tree/);
    screen.type("\r");
    await window.until(/tree: .*integers/s);
    return terminalSvg(window.fixed(), "skein: the tree of a conversation");
  } finally {
    await screen.end();
  }
}

async function drawDiff(studio: Studio): Promise<string> {
  const window = openWindow(studio, { columns: 90, rows: 40 });
  await window.run(["diff", "round", "main"]);
  return terminalSvg(window.fixed(), "two branches compared");
}

/** A detached turn that runs, and a second terminal that follows and steers it to its end. */
async function drawPs(studio: Studio): Promise<string> {
  const window = openWindow(studio, { columns: 96, rows: 40 });
  await window.run(["run", testsTask, "--detach", "--session", "tests"]);
  await untilRunning(studio);
  await window.write("\r\n");
  await window.run(["ps"]);
  await window.write("\r\n");
  await window.prompt(["attach", "tests"]);
  const attached = window.start(["attach", "tests"]);
  try {
    await window.until(/bash \.\/check-all/);
    attached.type("leave the fixtures alone\r");
    await window.until(/waits for the agent's next step/);
    openGate(studio);
    await window.until(/ok · \d steps/);
    return terminalSvg(window.fixed(), "what runs, from any terminal");
  } finally {
    await attached.end();
  }
}

/** Resolves when the detached turn runs its command. */
async function untilRunning(studio: Studio): Promise<void> {
  while (!(await runQuietly(studio, ["logs", "tests"])).includes("check-all")) await Bun.sleep(50);
}

async function drawTeam(studio: Studio): Promise<string> {
  rmSync(gateOf(studio.project));
  const window = openWindow(studio, { columns: 100, rows: 24 });
  const args = ["team", "run", "add a rate limit", "--agents", "architect,engineer,engineer,reviewer"];
  await window.prompt(args);
  const team = window.start(args);
  try {
    await window.until(/engineer-2.*50 %.*engineer-3.*50 %/s);
    return terminalSvg(window.fixed(), "a team at work");
  } finally {
    openGate(studio);
    await team.end();
  }
}
