// Four experiments with the same work for each tool: hand-over at a limit, race, loop and worktree.
// A cell says what was observed in the repository and at the model server, not what the tool reports.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { shellScript } from "../../src/scripted-model/script.ts";
import { rivalProgram } from "./install.ts";
import { limitMs, openSite, runTool, type Site, type ToolRun } from "./site.ts";

export type Experiment = { title: string; columns: string[]; rows: Record<string, () => Promise<string[]>>; absent: string };

type Command = { command: string[]; env?: Record<string, string> };

const task = "Do the steps.";

/** goose drives Claude Code, like the others. */
const gooseEnv = { GOOSE_PROVIDER: "claude-code", GOOSE_MODEL: "default", GOOSE_MODE: "auto", GOOSE_DISABLE_KEYRING: "1" };

const taktWorkflow = `name: one
description: one step
max_steps: 3
initial_step: work
steps:
  - name: work
    edit: true
    required_permission_mode: full
    instruction: |
      {task}
    rules:
      - condition: done
        next: COMPLETE
`;

export function experiments(skein: string): Experiment[] {
  return [handOver(skein), race(skein), loop(skein), worktree(skein)];
}

/** Claude Code does two of three steps, then its vendor answers 429. Codex is to do the third. */
function handOver(skein: string): Experiment {
  const commands: Record<string, Command> = {
    skein: { command: [skein, "run", "-a", "claude", "--at-limit", "codex", task] },
    acpx: { command: [rivalProgram("acpx"), "--approve-all", "claude", "exec", task] },
    goose: { command: [rivalProgram("goose"), "run", "--no-session", "-t", task], env: gooseEnv },
    ralphy: { command: [rivalProgram("ralphy"), "--claude", "--fast", "--no-commit", "--max-retries", "1", task] },
    takt: { command: [rivalProgram("takt"), "--pipeline", "--skip-git", "--provider", "claude", "-w", "one", "-t", task] },
    "claude --fallback-model": { command: ["claude", "-p", task, "--fallback-model", "haiku", "--dangerously-skip-permissions"] },
  };
  const stepOf = (number: number): string => `echo ${number} >> steps.txt; echo out-$((${number} * 11))`;
  const run = async ({ command, env }: Command): Promise<string[]> => {
    // A model that knows the results of two steps does only the third.
    const script = ({ body }: { body: unknown }) =>
      shellScript(isCodex(body) && knowsSteps(body) ? [stepOf(3)] : [1, 2, 3].map(stepOf), "all done");
    await using site = await openSite({ script, limitAfter: "out-22", files: { ".takt/workflows/one.yaml": taktWorkflow } });
    const ended = await runTool(site, command, env);
    const first = site.server.main().find(({ path }) => path.endsWith("/responses"));
    const steps = read(site, "steps.txt").trim().split("\n").join(" ");
    return [
      exitText(ended),
      seconds(ended),
      steps,
      first === undefined ? "nobody" : knowsSteps(first.body) ? "Codex, knows both" : "Codex, knows nothing",
    ];
  };
  return {
    title: "Hand-over at a limit",
    columns: ["exit code", "s", "steps done", "who went on"],
    rows: rowsOf(commands, run),
    absent: "Claude Code does two of three steps, then its vendor answers 429. `1 2 3` is the whole work.",
  };
}

/** Codex sends its prompt as `input`, Claude Code as `messages`. */
const isCodex = (body: unknown): boolean => typeof body === "object" && body !== null && "input" in body;
const knowsSteps = (body: unknown): boolean => ["out-11", "out-22"].every((text) => JSON.stringify(body).includes(text));

/** Both agents write the same file with different content, after a second of work. */
function race(skein: string): Experiment {
  const commands: Record<string, Command> = {
    skein: { command: [skein, "race", task, "-a", "claude,codex", "--json"] },
    acpx: { command: [rivalProgram("acpx"), "compare", "--approve-all", "--json", "claude", "codex", task] },
  };
  const run = async ({ command, env }: Command): Promise<string[]> => {
    const script = ({ body }: { body: unknown }) =>
      shellScript([`sleep 1; echo ${isCodex(body) ? "codex" : "claude"} > answer.txt`], "all done");
    await using site = await openSite({ script });
    const ended = await runTool(site, command, env);
    const answers = filesNamed(site, "answer.txt").map((file) => readFileSync(file, "utf8").trim());
    const requests = site.server.main();
    const starts = ["/messages", "/responses"].map((path) => requests.find((request) => request.path.endsWith(path))?.at ?? Infinity);
    const apart = Math.abs(starts[0]! - starts[1]!) / 1000;
    return [
      exitText(ended),
      seconds(ended),
      apart.toFixed(1),
      answers.toSorted().join(" ") || "none",
      read(site, "answer.txt").trim() || "unchanged",
    ];
  };
  return {
    title: "Race of Claude Code and Codex",
    columns: ["exit code", "s", "s between the two starts", "answers kept", "project"],
    rows: rowsOf(commands, run),
    absent: "goose, ralphy, takt and Claude Code have no command for it.",
  };
}

/** Each pass of Claude Code adds a line; the check needs three. */
function loop(skein: string): Experiment {
  const check = 'echo "lines so far: $(cat lines.txt 2>/dev/null | wc -l)"; test $(cat lines.txt 2>/dev/null | wc -l) -ge 3';
  const recipe = (command: string) =>
    `version: "1.0.0"\ntitle: loop\ndescription: loop\nprompt: ${JSON.stringify(task)}\nretry:\n  max_retries: 5\n  checks:\n    - type: shell\n      command: ${JSON.stringify(command)}\n`;
  const commands: Record<string, Command> = {
    skein: { command: [skein, "loop", task, "--until", check, "--max-runs", "5", "-a", "claude"] },
    goose: { command: [rivalProgram("goose"), "run", "--no-session", "--recipe", "recipe.yaml"], env: gooseEnv },
  };
  const observe = async ({ command, env }: Command, work: string, files: Record<string, string>) => {
    await using site = await openSite({
      script: () => shellScript([work], "done for now"),
      files: { "recipe.yaml": recipe(check), ...files },
    });
    const ended = await runTool(site, command, env);
    return { ended, requests: site.server.main(), lines: read(site, "lines.txt").split("\n").length - 1 };
  };
  const run = async (tool: Command): Promise<string[]> => {
    const passing = await observe(tool, "echo x >> lines.txt", {});
    const passed = await observe(tool, "echo x >> lines.txt", { "lines.txt": "1\n2\n3\n" });
    const failing = await observe(tool, "true", {});
    const knows = passing.requests.some(({ text }) => text.includes("lines so far: 1"));
    return [
      `${exitText(passing.ended)}, ${passing.lines} passes`,
      knows ? "yes" : "no",
      `${exitText(passed.ended)}, ${passed.requests.length} requests`,
      `${exitText(failing.ended)}, ${failing.requests.length} requests`,
    ];
  };
  return {
    title: "Loop until a command passes",
    columns: ["passes after three", "model sees the check's output", "passes already", "never passes"],
    rows: rowsOf(commands, run),
    absent: "acpx, ralphy, takt and Claude Code have no loop that a command's exit code ends.",
  };
}

/** The work must be in a worktree with the ignored `.env`; the project stays as it is. */
function worktree(skein: string): Experiment {
  const commands: Record<string, Command> = {
    "skein -w": { command: [skein, "run", "-w", "feat", "-a", "claude", task] },
    "claude -w": { command: ["claude", "-w", "feat", "-p", task, "--dangerously-skip-permissions"] },
    "claude without one": { command: ["claude", "-p", task, "--dangerously-skip-permissions"] },
  };
  const run = async ({ command, env }: Command): Promise<string[]> => {
    await using site = await openSite({
      script: () => shellScript(["cat .env > seen.txt; echo new > work.txt"], "all done"),
      files: { ".worktreeinclude": ".env\n" },
      ignored: { ".env": "KEY=value\n" },
    });
    const ended = await runTool(site, command, env);
    const seen = filesNamed(site, "seen.txt").some((file) => readFileSync(file, "utf8").includes("KEY=value"));
    const changed = Bun.spawnSync(["git", "-C", site.repository, "status", "--short"]).stdout.toString().trim();
    return [exitText(ended), seconds(ended), seen ? "yes" : "no", changed === "" ? "unchanged" : changed.replaceAll("\n", ", ")];
  };
  return {
    title: "Worktree with an ignored .env",
    columns: ["exit code", "s", ".env seen", "git status of the project"],
    rows: rowsOf(commands, run),
    absent: "takt clones the repository for queued tasks, ralphy uses worktrees for lists of tasks; neither for one run.",
  };
}

function rowsOf(commands: Record<string, Command>, run: (command: Command) => Promise<string[]>): Experiment["rows"] {
  return Object.fromEntries(Object.entries(commands).map(([name, command]) => [name, () => run(command)]));
}

const seconds = ({ seconds }: ToolRun): string => seconds.toFixed(1);
const exitText = ({ exitCode }: ToolRun): string => (exitCode === null ? `none after ${limitMs / 1000} s` : String(exitCode));

function read({ repository }: Site, name: string): string {
  const file = join(repository, name);
  return existsSync(file) ? readFileSync(file, "utf8") : "";
}

/** Files of that name in the project, and in worktrees inside or outside of it. */
function filesNamed({ repository, home }: Site, name: string): string[] {
  return [repository, home].flatMap((directory) => [...new Bun.Glob(`**/${name}`).scanSync({ cwd: directory, absolute: true, dot: true })]);
}
