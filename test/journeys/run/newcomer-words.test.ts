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
  ["claude -p x --fallback-model sonnet", /--at-limit codex,native:sonnet/],
  ["claude -p x --mcp-config servers.json", /skein mcp add <name>/],
  ["claude -p x --strict-mcp-config", /skein mcp add <name>/],
  ["claude -p x --include-partial-messages", /--output-format events/],
  ["claude -p x --agents {}", /--role <name>/],
  ["claude -p x --effort high", /-m <model>:high/],
  ["claude -p x --bare", /--no-context-files/],
  ['claude -p x --tools ""', /--tool-level none/],
  ["claude --ide", /skein acp install <editor>/],
  ["claude --chrome", /docs\/MCP-SERVERS\.md/],
  ["claude --teleport", /skein run --detach/],
  ["claude mcp add-from-claude-desktop", /skein mcp add <name>/],
  ["claude mcp reset-project-choices", /skein trust/],
  ["claude migrate-installer", /update it with/],
  ["claude ultrareview", /--role codereviewer/],
  ["claude project purge", "purge"],
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
  ['codex exec "fix it"', /to give an agent a task: skein run/],
  ['codex exec --skip-git-repo-check "fix it"', /skein run "task"/],
  ["codex exec resume --last x", /skein run "task"/],
  ['codex e "fix it"', "run"],
  ["codex -a never x", /-a is the agent[^]*--policy/],
  ["codex -s read-only x", /--policy readonly/],
  ["codex --sandbox workspace-write x", /--policy workspace/],
  ["codex --sandbox danger-full-access x", /--policy full --sandbox off/],
  ["codex --oss x", /-m ollama\/<model>/],
  ["codex -c model=o3 x", /-m <model>/],
  ["codex --enable web_search x", /skein config/],
  ["codex --no-alt-screen x", "run"],
  ["codex --skip-git-repo-check x", "run"],
  ["codex cloud", /skein fleet/],
  ["codex features list", "config"],
  ["codex execpolicy check", /--policy/],
  ["codex login status", "auth"],
  ["codex login --api-key x", /ANTHROPIC_API_KEY/],
  // gemini
  ["gemini --yolo -p x", /--policy full/],
  ["gemini -y x", /--policy full/],
  ["gemini --approval-mode plan x", /--policy plan/],
  ["gemini --list-sessions", /skein list/],
  ["gemini --include-directories nowhere -p x", /no directory .*nowhere|nowhere does not exist|nowhere is not/],
  ["gemini extensions list", /skein skills/],
  ["gemini -o json -p x", /--output-format json/],
  ["gemini --acp", /skein acp/],
  ["gemini -s -p x", /the sandbox is always on/],
  ["gemini --sandbox -p x", /--sandbox required/],
  ["gemini --delete-session 3", /skein delete/],
  ["gemini -e none -p x", /skein skills/],
  ["gemini -l", /skein mcp add/],
  ["gemini --allowed-mcp-server-names a -p x", /skein mcp add/],
  ["gemini --skip-trust -p x", "run"],
  ["gemini --checkpointing -p x", "run"],
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
  ["opencode run --title t x", "run"],
  ["opencode run --share x", /skein export --format html/],
  ["opencode run --command review x", /skein skills/],
  ["opencode run --attach http://localhost:4096 x", /skein tui --hub/],
  ["opencode agent create", /docs\/OTHER-AGENTS\.md/],
  ["opencode mcp auth docs", "mcp"],
  ["opencode mcp debug docs", "mcp"],
  ["opencode models anthropic", "models"],
  ["opencode models --refresh", "models"],
  ["opencode github install", /gh pr diff/],
  ["opencode debug config", "config"],
  ["opencode --print-logs", /SKEIN_DEBUG/],
  ["opencode db path", /skein config path/],
  ["opencode providers", "auth"],
  // pi
  ["pi --no-session -p x", "run"],
  ["pi --list-models", /skein models/],
  ["pi --thinking high -p x", /-m <model>:high/],
  ["pi -q -p x", "run"],
  ["pi --export out.html", /skein export/],
  ["pi --api-key x -p y", /skein auth login/],
  ["pi --mode json -p x", /--output-format text\|json/],
  ["pi --mode rpc", /skein acp/],
  ["pi --models sonnet,gpt", /-m <model>/],
  ["pi --no-tools -p x", /--tool-level none/],
  ["pi --extension x.ts", /skein skills/],
  ["pi --skill x -p y", /skein skills/],
  ["pi --theme dark", /NO_COLOR/],
  ["pi --offline -p x", /SKEIN_OFFLINE=1/],
  ["pi @file.md explain", /skein '@file\.md explain'/],
  // git
  ["git -C . list", /"list" is a command[^]*skein list \.\.\.[^]*skein run list/],
  ["git -C . show abc", /a command stands before its flags: skein show abc/],
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
  ["git stash pop", /skein undo/],
  ["git tag", /skein fork --name/],
  ["git rebase main", /skein graft/],
  ["git pull", /skein fleet/],
  ["git config --list", "config"],
  ["git bisect", /skein blame/],
  ["git log -p", /skein catch-up/],
  ["git branch -d abc", /skein delete <session>/],
  ["git branch new", /skein fork --name/],
  ["git switch -c new", /skein fork --name/],
  ["git checkout main -- file", /skein files restore/],
  ["git worktree add x", /skein run -w/],
  ["git worktree prune", "worktrees"],
  ["git diff --stat", /skein catch-up/],
  ["git reflog", "show"],
  // docker, shells and guesses
  ["docker ps -a", "ps"],
  ["docker rm -f abc", "delete"],
  ["docker stop abc", "kill"],
  ["docker kill -9 abc", "kill"],
  ["docker logs --tail 5 abc", "logs"],
  ["docker run -it x", "run"],
  ["docker inspect abc", "show"],
  ["docker run --rm -it ubuntu bash", /skein run 'ubuntu bash'/],
  ["docker exec -it abc bash", "exec"],
  ["docker ps -aq", "ps"],
  ["docker top abc", /skein logs <session>/],
  ["docker images", /skein list/],
  ["docker compose up", /skein list/],
  ["docker system prune", "purge"],
  ["docker cp a b", /skein fork/],
  ["docker wait abc", /skein logs -f/],
  ["docker events", "logs"],
  ["docker save abc", "export"],
  ["sh run fix the tests", /in quotes it is one task: skein run 'fix the tests'/],
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
