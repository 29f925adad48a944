// Command lines that users of claude, codex, gemini, opencode, pi, git and docker type by habit. Each one reaches the
// command that it means, or is refused with the words that do it. They run in this process: an Api that is asked for
// ends the command.
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { runCli } from "../../../src/cli/cli.ts";
import { createTestContext, root } from "../../../src/cli/commands/fixtures/run-command.ts";
import { Fault } from "../../../src/protocol/api/error.ts";

const reachedText = "the command asks for its Api";

type Line = [line: string, expected: string | RegExp];

/** The expected text is the usage of the command that the line reaches, or a pattern of what is printed. */
const lines: Line[] = [
  // claude
  ['claude -p "explain this"', "run"],
  ["claude -c -p next", "run"],
  ["claude -p x --output-format stream-json --verbose", "run"],
  ["claude -p x --max-turns 3", "run"],
  ["claude -p x --append-system-prompt brief", "run"],
  ["claude -p x --system-prompt brief", "run"],
  ["claude -p x --dangerously-skip-permissions", /--policy full/],
  ["claude -p x --permission-mode plan", /--policy plan/],
  ["claude -p x --allowedTools Bash", /--tools read,bash/],
  ["claude -p x --resume abc --fork-session", "run"],
  ["claude -p x -n name", "run"],
  ["claude --version", /^skein \d/],
  ["claude -v", /^skein \d/],
  ["claude mcp list", "mcp"],
  ["claude mcp add-json fs {}", /skein mcp add <name>/],
  ["claude config list", "config"],
  ["claude doctor", "doctor"],
  ["claude update", /update it with/],
  ["claude setup-token", "auth"],
  ["claude rm abc", "delete"],
  ["claude stop abc", "kill"],
  ["claude logs abc", "logs"],
  ["claude attach abc", "attach"],
  ["claude -w", /there is no task/],
  // codex
  ["codex login", "auth"],
  ["codex logout", /skein auth status/],
  ["codex completion bash", /_skein/],
  ["codex fork", "fork"],
  ["codex resume --last", "resume"],
  ["codex resume", /skein list/],
  ["codex apply", /skein undo/],
  ["codex --full-auto x", /--policy workspace/],
  ["codex -i shot.png x", /no file .*shot\.png/],
  ["codex review", /--role codereviewer/],
  ["codex app-server --port 0", /--port takes a whole number/],
  ["codex --search x", /--net on/],
  ["codex sandbox ls", /--policy/],
  ["codex archive abc", "delete"],
  // gemini
  ["gemini --yolo -p x", /--policy full/],
  ["gemini -y x", /--policy full/],
  ["gemini --approval-mode plan x", /--policy plan/],
  ["gemini --list-sessions", /skein list/],
  ["gemini --include-directories nowhere -p x", /no directory .*nowhere|nowhere does not exist|nowhere is not/],
  ["gemini extensions list", /skein skills/],
  ["gemini -o json -p x", /--output-format json/],
  ["gemini --acp", /skein acp/],
  // opencode
  ["opencode serve --port 0", /--port takes a whole number/],
  ["opencode web --help", /Usage: skein web/],
  ["opencode acp --help", /Usage: skein acp/],
  ["opencode auth list", "auth"],
  ["opencode auth login", "auth"],
  ["opencode auth logout", /skein auth status/],
  ["opencode session list", "list"],
  ["opencode session delete abc", "delete"],
  ["opencode stats", "usage"],
  ["opencode upgrade", /update it with/],
  ["opencode agent list", "agents"],
  ["opencode models", "models"],
  ["opencode export abc", "export"],
  ["opencode pr 123", /gh pr diff/],
  ["opencode run x --format json", "run"],
  ["opencode run x -f notes.md", /name it in the task/],
  ["opencode share", /skein export --format html --redact/],
  ["opencode uninstall", /skein update/],
  // pi
  ["pi --no-session -p x", "run"],
  ["pi --list-models", /skein models/],
  ["pi --thinking high -p x", /-m <model>:high/],
  ["pi -q -p x", "run"],
  // git
  ["git log", "logs"],
  ["git log --oneline", "logs"],
  ["git status", "ps"],
  ["git branch", "list"],
  ["git checkout abc", "use"],
  ["git checkout -b new", /skein fork --name/],
  ["git diff a b", "diff"],
  ["git revert", "undo"],
  ["git merge abc", "merge"],
  ["git mv old new", "rename"],
  ["git grep word", "search"],
  ["git gc", "purge"],
  ["git fsck", "verify"],
  ["git commit -m x", /use git/],
  ["git reset", /skein undo/],
  // docker, shells and guesses
  ["docker ps -a", "ps"],
  ["docker rm -f abc", "delete"],
  ["docker stop abc", "kill"],
  ["docker kill -9 abc", "kill"],
  ["docker logs --tail 5 abc", "logs"],
  ["docker run -it x", "run"],
  ["docker inspect abc", "show"],
  ["sh ls -la", "list"],
  ["sh history", "list"],
  ["sh tree", "show"],
  ["sh undo", "undo"],
  ["sh version", /^skein \d/],
  ["sh man", /\.TH SKEIN/],
  ["sh help ls", /Usage: skein list/],
  ["sh rnu x", /did you mean "skein run"/],
  ["sh lgoin", /did you mean "skein login"/],
  ["sh fix the tests", /skein 'fix the tests'/],
  ['sh "fix the tests"', "run"],
  ["sh 修复测试", "run"],
];

/** The words of a line without its program. A quoted part is one word. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].slice(1).map(([, quoted, word]) => quoted ?? word!);
}

async function runLine(argv: string[], tty = false) {
  const cwd = join(root, "project");
  mkdirSync(cwd, { recursive: true });
  const { ctx, text } = createTestContext({ cwd, tty, env: { TERM: "xterm" } });
  let isReached = false;
  ctx.stdin.isTty = tty;
  ctx.api = () => {
    isReached = true;
    throw new Fault("usage", reachedText);
  };
  const code = await runCli(argv, ctx);
  return { code, isReached, text: `${text.out}${text.err}` };
}

describe("habits of other programs", () => {
  test("there are at least sixty lines, and none of them twice", () => {
    expect(new Set(lines.map(([line]) => line)).size).toBe(lines.length);
    expect(lines.length).toBeGreaterThanOrEqual(60);
  });

  test.each(lines)("`%s` does what it means, or the refusal names the right words", async (line, expected) => {
    const argv = wordsOf(line);
    const ran = await runLine(argv);
    if (typeof expected !== "string") {
      expect(ran.isReached).toBe(false);
      expect(ran.text).toMatch(expected);
      return;
    }
    expect({ line, text: ran.text, isReached: ran.isReached }).toEqual({
      line,
      text: expect.stringContaining(reachedText),
      isReached: true,
    });
    expect((await runLine([...argv, "--help"])).text).toContain(`Usage: skein ${expected}`);
  });

  test.each([
    [["-m", "opus"]],
    [["-a", "codex"]],
    [["-c"]],
    [["--policy", "plan"]],
    [["-C", "."]],
    [["--inline"]],
    [["--new"]],
    [["--screen-reader"]],
    [["-r"]],
    [["-r", "abc"]],
    [["fix the tests"]],
    [["-m", "opus", "fix the tests"]],
    [["fix the tests", "--max-turns", "3"]],
    [["."]],
    [["resume"]],
    [["continue"]],
  ])("%j in a terminal opens the screen", async (argv) => {
    const ran = await runLine(argv, true);
    expect({ isReached: ran.isReached, text: ran.text }).toEqual({ isReached: true, text: expect.stringContaining(reachedText) });
  });

  test.each([[["--new"]], [["--inline"]], [["--screen-reader"]], [["-m", "opus"]], [["-c"]], [["."]]])(
    "%j without a terminal is a run without a task",
    async (argv) => {
      expect((await runLine(argv)).text).toContain("there is no task");
    },
  );

  test("a short word that is no command gets no wrong guess", async () => {
    for (const word of ["xs", "mcq", "pq", "--nwe", "--nex"]) expect((await runLine([word])).text).not.toContain('did you mean "skein ps"');
    expect((await runLine(["run", "x", "--nxt"])).text).not.toContain("--net");
  });
});
