// Wrong use of every flag, command and setting gives one clear line on stderr, exit code 2 or 3, nothing on stdout and
// no file. The tables are compared with those of the program, so that a new flag or command can't be forgotten.
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allCommands, commandTable } from "../../../src/cli/commands/index.ts";
import { runFlags } from "../../../src/cli/commands/run/run-flags.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type RunResult, type TemporaryHome } from "../../support/temporary-home.ts";

/** Nothing listens at this address, so a run that sends a request fails with another message. */
const unreachableVendors = vendorEnv("http://127.0.0.1:9");

function expectRefused(skein: TemporaryHome, ran: RunResult, pattern: RegExp, codes: readonly number[] = [2, 3]): void {
  expect(codes, ran.err).toContain(ran.code);
  expect(ran.out).toBe("");
  const [first, ...hintLines] = ran.err.trimEnd().split("\n");
  expect(first).toMatch(/^skein: \S/);
  expect(ran.err).toMatch(pattern);
  for (const line of hintLines) expect(line).toMatch(/^ {7}\S/);
  expect(ran.err).not.toMatch(/\bat .*:\d+:\d+|undefined|\[object/);
  expect(filesOf(skein.env["SKEIN_HOME"] as string)).toEqual([]);
  expect(existsSync(join(skein.project, ".skein"))).toBe(false);
  expect(readdirSync(skein.home)).toEqual([]);
}

/** Lists all files except the cached sandbox check and the launcher, which any command may write. */
function filesOf(folder: string): string[] {
  const entries = existsSync(folder) ? readdirSync(folder, { recursive: true, withFileTypes: true }) : [];
  return entries.filter((entry) => entry.isFile() && !/^(sandbox\.json|launcher-\w+)$/.test(entry.name)).map((entry) => entry.name);
}

/** One wrong use of each flag of `run`, and its message. */
const wrongFlags: Record<string, [string[], RegExp]> = {
  model: [["-m", "no-such-model"], /no model "no-such-model"/],
  agent: [["-a", "nobody"], /no agent or model "nobody"/],
  "agent-arg": [["-a", "claude", "--agent-arg=--permission-mode=plan"], /skein sets --permission-mode of claude itself/],
  role: [["--role", "enginer"], /no role "enginer"[\s\S]*did you mean engineer\?/],
  provider: [["--provider", "nobody"], /nobody/],
  session: [["--session", "a", "--resume", "b"], /--session and --resume exclude/],
  continue: [["--continue"], /no session/],
  resume: [["--resume", "nope"], /no session "nope"/],
  fork: [["--fork"], /--fork needs --session/],
  at: [["--at", "00000000"], /no node "00000000"/],
  "session-id": [["--session-id", "7"], /lower-case UUID/],
  "parent-session": [["--parent-session", "nope"], /no session "nope"/],
  worktree: [["--worktree=a/../b"], /"a\/\.\.\/b" can't be the name of a worktree/],
  fleet: [["--fleet"], /fleet\.url is not set[\s\S]*skein config set fleet\.url/],
  needs: [["--needs", "gpu"], /--needs needs --fleet/],
  priority: [["--priority", "5"], /--priority needs --fleet/],
  "with-changes": [["--with-changes"], /--with-changes needs a worktree: -w/],
  "with-ignored": [["--with-ignored"], /--with-ignored needs a worktree: -w/],
  fresh: [["--fresh=yes"], /--fresh takes no value/],
  system: [["--system"], /--system needs a value/],
  "append-system": [["--append-system="], /--append-system needs a value/],
  "no-context-files": [["--no-context-files=1"], /takes no value/],
  image: [["--image", "nothing.png"], /no file .*project\/nothing\.png/],
  "tool-level": [["--tool-level", "minimall"], /did you mean "minimal"/],
  tools: [["--tools", "bash,teleport"], /unknown tool: teleport/],
  stream: [["--stream=yes"], /--stream takes no value/],
  "no-spawn": [["--no-spawn", "--no-spawn"], /given twice/],
  "allow-nesting": [["--allow-nesting=yes"], /--allow-nesting takes no value/],
  policy: [["--policy", "work"], /workspace, readonly, plan, full/],
  sandbox: [["--sandbox", "off"], /--sandbox off needs --policy full/],
  net: [["--net", "maybe"], /--net takes on, off or hosts, not "maybe"/],
  "allow-write": [["--allow-write", "nowhere"], /--allow-write: .*project\/nowhere does not exist/],
  "add-dir": [["--add-dir", "plain-file"], /--add-dir: .*plain-file is not a directory/],
  plan: [["--plan", "nothing.md"], /--plan: no file .*project\/nothing\.md/],
  "max-steps": [["--max-steps", "1.5"], /whole number above 0/],
  "max-tokens": [["--max-tokens", "-5"], /whole number above 0/],
  "max-budget-usd": [["--max-budget-usd", "$5"], /a number above 0/],
  "max-children": [["--max-children", "none"], /whole number above 0/],
  timeout: [["--timeout", "soon"], /seconds or 90s, 10m, 2h/],
  "at-limit": [["--at-limit", "codexx"], /no agent or model "codexx"[\s\S]*did you mean codex\?/],
  "wait-at-most": [["--wait-at-most", "soon"], /seconds or 90s, 10m, 2h/],
  check: [["--check="], /--check needs a value/],
  "no-check": [["--no-check", "--check", "true"], /--check and --no-check exclude/],
  "check-timeout": [["--check-timeout", "soon"], /seconds or 90s, 10m, 2h/],
  queue: [["--queue", "--ephemeral"], /--ephemeral and --queue exclude/],
  "no-auto-resume": [["--no-auto-resume=1"], /takes no value/],
  "output-format": [["--output-format", "jsonn"], /did you mean "json"/],
  json: [["--json", "--output-format", "text"], /exclude each other/],
  "no-stream": [["--no-stream=no"], /takes no value/],
  "json-schema": [["--json-schema", "nothing.json"], /no file .*project\/nothing\.json/],
  "output-file": [["--output-file", "."], /is a directory/],
  "transcript-dir": [["--transcript-dir", "plain-file"], /is not a directory/],
  ephemeral: [["--ephemeral", "--output-file", "copy.jsonl"], /--ephemeral keeps no transcript/],
  detach: [["--detach", "--ephemeral"], /--ephemeral and --detach exclude/],
  cd: [["--cd", "nowhere"], /no directory .*project\/nowhere/],
  trust: [["--trust", "--no-trust"], /exclude each other/],
  "no-trust": [["--no-trust=1"], /takes no value/],
  task: [["--task", "again"], /given twice/],
  quiet: [["--quiet=1"], /takes no value/],
  print: [["--print=1"], /takes no value/],
};

describe("run", () => {
  test("the table of wrong flags has an entry for every flag of run", () => {
    expect(Object.keys(wrongFlags).toSorted()).toEqual(runFlags.map((flag) => flag.name).toSorted());
  });

  test.each(runFlags.map((flag) => [flag.name] as const))("a wrong use of --%s is refused and nothing is written", async (name) => {
    const [args, pattern] = wrongFlags[name] as [string[], RegExp];
    using skein = temporaryHome(unreachableVendors);
    writeFileSync(join(skein.project, "plain-file"), "");
    expectRefused(skein, await skein.run(["run", "task", ...args]), pattern);
  });

  const wrongRuns: [string, string[], RegExp][] = [
    ["a flag for an agent that has no command line", ["run", "x", "--agent-arg=--verbose"], /--agent-arg is for the command lines/],
    ["events of a detached turn", ["run", "x", "--detach", "--output-format", "events"], /skein logs -f --json/],
    ["a missing task", ["run"], /there is no task/],
    ["an empty task", ["run", "  "], /there is no task/],
    ["two tasks", ["run", "a", "b"], /unexpected argument "b"/],
    ["-p without a task", ["-p"], /there is no task/],
    ["a misspelled flag", ["run", "x", "--max-step", "3"], /did you mean "--max-steps"/],
    ["an unknown flag", ["run", "x", "--quux"], /--help/],
    ["tools without a name", ["run", "x", "--tools", ","], /--tool-level none/],
    ["a file that is not an image", ["run", "x", "--image", "plain-file"], /no png, jpeg, gif or webp/],
    ["a schema that is not JSON", ["run", "x", "--json-schema", "plain-file"], /is not JSON/],
    ["an invalid schema", ["run", "x", "--json-schema", "bad-schema"], /JSON schema is not valid/],
    ["an unknown vendor", ["run", "x", "-m", "acme/one"], /no vendor "acme"/],
    ["a budget for a model without a price", ["run", "x", "-m", "ollama/homemade", "--max-budget-usd", "1"], /no price is known/],
    ["a directory that is a file", ["run", "x", "--cd", "plain-file/below"], /no directory/],
    ["an image below a file", ["run", "x", "--image", "plain-file/below"], /no file/],
    ["a schema that is a directory", ["run", "x", "--json-schema", "."], /--json-schema/],
    ["a plan that is a directory", ["run", "--plan", "."], /--plan: .* is a directory/],
    ["a plan that is empty", ["run", "--plan", "empty"], /--plan: .* is empty/],
    ["a plan that is too large", ["run", "--plan", "large"], /--plan: .* has 100001 bytes; a plan may have 100000/],
    ["a plan with policy plan", ["run", "--plan", "plain-file", "--policy", "plan"], /--plan executes/],
    [
      "a plan and a session to continue",
      ["run", "x", "--plan", "plain-file", "--session", "a"],
      /--session and --plan exclude|--plan and --session exclude/,
    ],
    ["a plan and the latest session", ["run", "x", "--plan", "plain-file", "-c"], /exclude each other/],
    ["a plan and a session to resume", ["run", "--plan", "plain-file", "-r", "a"], /exclude each other/],
    ["a plan and a fork", ["run", "--plan", "plain-file", "--at", "00000000"], /exclude each other/],
    ["readonly tools and a policy that writes", ["run", "x", "--tool-level", "readonly", "--policy", "workspace"], /its bash could write/],
    ["a writable path under a read-only policy", ["run", "x", "--policy", "readonly", "--allow-write", "."], /--allow-write excludes/],
    ["turning the network off without a sandbox", ["run", "x", "--policy", "full", "--net", "off"], /--net off needs a sandbox/],
    ["exec with a file as directory", ["exec", "x", "true", "--add-dir", "plain-file"], /is not a directory/],
    [
      "add with a missing path",
      ["add", "x", "--file", "plain-file", "--allow-write", "none"],
      /--allow-write: .*project\/none does not exist/,
    ],
  ];
  test.each(wrongRuns)("%s is refused and nothing is written", async (_title, args, pattern) => {
    using skein = temporaryHome(unreachableVendors);
    writeFileSync(join(skein.project, "plain-file"), "plain");
    writeFileSync(join(skein.project, "bad-schema"), '{"type": 5}');
    writeFileSync(join(skein.project, "empty"), "\n");
    writeFileSync(join(skein.project, "large"), "x".repeat(100_001));
    expectRefused(skein, await skein.run(args), pattern);
  });

  test("an output file in a directory that can't be written is refused before the run", async () => {
    using skein = temporaryHome(unreachableVendors);
    mkdirSync(join(skein.project, "locked"));
    chmodSync(join(skein.project, "locked"), 0o500);
    // Root can write anywhere, so a path below a file is used instead.
    if (process.getuid?.() === 0) writeFileSync(join(skein.project, "file"), "");
    const target = process.getuid?.() === 0 ? "file/copy.jsonl" : "locked/copy.jsonl";
    expectRefused(skein, await skein.run(["run", "x", "--output-file", target]), /--output-file/);
  });

  test("a session id that exists already is refused", async () => {
    const server = startModelServer({ steps: [], final: "hi" });
    using skein = temporaryHome(vendorEnv(server.url));
    const args = ["run", "x", "-m", wireModels.anthropic, "--session-id", "01890000-0000-7000-8000-00000000abcd"];
    try {
      expect((await skein.run(args)).code).toBe(0);
      const again = await skein.run(args);
      expect(again).toMatchObject({ code: 2, out: "" });
      expect(again.err).toContain("already a session");
    } finally {
      await server.stop();
    }
  });
});

/** One wrong use of every other command. */
const wrongCommands: Record<string, [string[], RegExp]> = {
  run: [["run", "--nope"], /no flag "--nope"/],
  chat: [["chat", "talk", "--continue"], /exclude each other/],
  tui: [["tui", "talk", "--new"], /exclude each other/],
  ps: [["ps", "all"], /takes no arguments/],
  attach: [["attach", "nope"], /no session "nope"/],
  logs: [["logs", "nope", "--limit", "0"], /whole number above 0/],
  asks: [["asks", "all"], /takes no arguments/],
  answer: [["answer", "nope", "yes"], /no question "nope"/],
  pause: [["pause", "nope"], /no session "nope"/],
  resume: [["resume", "nope", "--force"], /no flag "--force"/],
  kill: [["kill", "nope"], /no session and no queued turn "nope"/],
  loop: [["loop", "x"], /there is no --until/],
  race: [["race", "x", "-a", "nobody"], /no agent or model "nobody"/],
  merge: [["merge", "nope"], /no session or worktree "nope"/],
  worktrees: [["worktrees", "cleen"], /did you mean "skein worktrees clean"/],
  msg: [["msg", "send", "--to", "all", "hello"], /msg works only inside a team/],
  report: [["report", "status", "half"], /report works only inside a team/],
  mcp: [["mcp", "--project", "nowhere"], /--project: no directory .*project\/nowhere/],
  hub: [["hub", "begin"], /start, stop, status/],
  demo: [["demo", "--kep"], /did you mean "--keep"/],
  new: [["new", "a", "b"], /unexpected argument "b"/],
  list: [["list", "--limit", "none"], /whole number above 0/],
  use: [["use"], /needs/],
  show: [["show", "nope"], /no session "nope"/],
  context: [["context", "nope"], /no session "nope"/],
  exec: [["exec", "nope", "true", "--timeout", "soon"], /seconds or 90s/],
  add: [["add", "nope"], /takes exactly one of/],
  files: [["files", "fix", "nope"], /takes diff, restore/],
  undo: [["undo", "nope"], /no session "nope"/],
  redo: [["redo", "--dry-rum"], /did you mean "--dry-run"/],
  graft: [["graft", "nope"], /no session "nope"/],
  rename: [["rename", "nope", "name"], /no session "nope"/],
  delete: [["delete", "nope"], /no session "nope"/],
  restore: [["restore", "nope"], /no session "nope"/],
  init: [["init", "here"], /takes no arguments/],
  agents: [["agents", "all"], /takes no arguments/],
  models: [["models", "--al"], /did you mean "--all"/],
  skills: [["skills", "all"], /takes no arguments/],
  roles: [["roles", "engineer"], /skein roles show engineer/],
  usage: [["usage", "--by", "week"], /day, agent, model, project/],
  auth: [["auth", "statsu"], /did you mean "skein auth status"/],
  config: [["config", "get", "modell"], /did you mean "model"/],
  trust: [["trust", "nowhere"], /nowhere/],
  team: [["team", "merge", "nope"], /no session "nope"/],
  search: [["search", "***"], /no word to search for/],
  diff: [["diff", "nope", "nobody"], /no session/],
  export: [["export", "nope"], /no session "nope"/],
  import: [["import", "transcript.jsonl", "--format", "nobody"], /--format/],
  purge: [["purge", "nope"], /no session "nope"/],
  verify: [["verify", "all"], /takes no arguments/],
  doctor: [["doctor", "--agent"], /did you mean "--agents"/],
  completions: [["completions", "tcsh"], /bash, zsh, fish/],
  fork: [["fork", "nope"], /no session "nope"/],
  update: [["update", "now"], /takes no arguments/],
  blame: [["blame", "nothing.txt"], /no files were recorded/],
  "catch-up": [["catch-up", "nope"], /no session "nope"/],
  replay: [["replay", "nope"], /no session "nope"/],
  fleet: [["fleet", "nope"], /fleet takes setup, status, drain, pull, schedule, cap, not "nope"/],
  worker: [["worker", "nope"], /worker takes start, not "nope"/],
  hooks: [["hooks", "test", "nope"], /there is no hook "nope"/],
  web: [["web", "--port", "x"], /--port takes a whole number from 1 to 65535/],
  acp: [["acp", "bogus"], /acp takes login, install/],
  man: [["man", "run"], /takes no arguments/],
};

describe("commands", () => {
  test("the table of wrong uses has an entry for every command", () => {
    expect(Object.keys(wrongCommands).toSorted()).toEqual(commandTable.map((entry) => entry.names[0] as string).toSorted());
  });

  test.each(Object.entries(wrongCommands))(
    "a wrong use of the command %s is refused and nothing is written",
    async (_name, [args, pattern]) => {
      using skein = temporaryHome(unreachableVendors);
      expectRefused(skein, await skein.run(args), pattern);
    },
  );

  test.each([
    [["config", "set", "modell", "x"], /did you mean "model"/],
    [["config", "set", "max_steps", "many"], /max_steps/],
    [["config", "set", "max_steps"], /config set/],
    [["config", "gett"], /did you mean "skein config get"/],
    [["trust", "--show", "--revoke"], /exclude each other/],
    [["logs", "nope"], /no session "nope"/],
    [["roles", "show", "palnner"], /no role "palnner"[\s\S]*did you mean planner\?/],
    [["roles", "show"], /needs the name of a role/],
    [["attach"], /attach needs an argument: <session>\n.*\n.*`skein ps` lists what runs, `skein list` all sessions/],
    [["kill"], /kill needs an argument: <session\|turn>\n.*\n.*`skein ps` lists what runs/],
    [["use"], /use needs an argument: <session>\n.*\n.*`skein list` lists the sessions/],
    [["diff"], /diff needs 2 arguments: <session> <session>\n.*\n.*`skein list` lists the sessions/],
    [["answer"], /answer needs 2 arguments: <ask> <text\|number>\n.*\n.*`skein asks` lists the open questions/],
    [["auth"], /auth needs an argument: status, login/],
    [["kill", "nope", "--froce"], /did you mean "--force"/],
    [["msg", "sned"], /did you mean "skein msg send"/],
    [["msg", "send", "--to", "all", "x", "--priority", "hihg"], /did you mean "high"/],
    [["msg", "send", "hello"], /works only inside a team/],
    [["msg", "read", "--to", "all"], /--to does not go with msg read/],
    [["msg", "list", "all"], /unexpected argument "all"/],
    [["report", "complete", "success"], /report complete needs success or failure, and a summary/],
    [["report", "artifact", "a", "b", "--progress", "1"], /--progress does not go with report artifact/],
    [["report", "status"], /report status needs a text/],
    [["mcp", "--toolset", "tema"], /did you mean "team"/],
    [["team", "status", "--names"], /--names does not go with team status/],
    [["roles", "show", "qa", "--names"], /--names works only with the list/],
    [["team", "statsu"], /did you mean "skein team status"/],
    [["team", "run"], /team run needs an objective/],
    [["team", "run", "x", "--strategy", "sequental"], /did you mean "sequential"/],
    [["team", "run", "x", "--strategy", "parallel"], /needs --agents/],
    [["team", "run", "x", "--agents", "engineer,,qa"], /--agents takes role\[:agent\]/],
    [["team", "run", "x", "--agents", "enginer"], /role "enginer" is unknown/],
    [["team", "run", "x", "--agents", "engineer:nobody"], /no agent or model "nobody"/],
    [["team", "run", "x", "--planner", "nobody"], /no agent or model "nobody"/],
    [["team", "run", "x", "--agents", "qa", "--planner", "claude"], /--planner needs --strategy adaptive/],
    [["team", "run", "x", "--phases", "nowhere.json"], /--phases: .*nowhere\.json/],
    [["team", "run", "x", "--max-agents", "0"], /whole number above 0/],
    [["team", "run", "x", "--agents", "qa,qa", "--max-per-role", "1"], /2 of role qa; the limit per role is 1/],
    [["team", "run", "x", "--merge", "--detach"], /--merge waits for the end/],
    [["team", "run", "x", "--workspace", "cloud"], /worktree, project, plain/],
    [["team", "status", "--merge"], /--merge does not go with team status/],
    [["team", "status"], /no team in this project yet/],
    [["team", "list", "all"], /unexpected argument "all"/],
    [["team", "message", "hello"], /needs --to/],
    [["team", "message", "--to", "all"], /needs a text/],
    [["team", "message", "--to", "all", "x", "--kind", "shout"], /--kind takes request/],
    [["team", "stop", "nope"], /no session "nope"/],
    [["team", "resume", "nope"], /no session "nope"/],
    [["team", "merge", "--yes", "--dry-run"], /exclude each other/],
    [["team", "clean", "--older-than", "long"], /--older-than must be a time/],
    [["team", "clean", "nope", "--older-than", "1d"], /whatever its age/],
    [["mcp", "--hand-back-after", "soon"], /--hand-back-after takes seconds or 90s, .*, not "soon"/],
    [["mcp", "--project", "/"], /--project can't be \//],
    [["mcp", "--port", "5000"], /--port goes with --http/],
    [["mcp", "--http", "--port", "0"], /--port takes a whole number from 1 to 65535/],
    [["mcp", "begin"], /mcp takes install, add, list, get, remove, try, login, logout, not "begin"/],
    [["mcp", "--remove"], /--remove goes with mcp install/],
    [["mcp", "install"], /mcp install needs a client: claude, claude-desktop, codex/],
    [["mcp", "install", "claude", "--http"], /--http does not go with mcp install/],
    [["mcp", "install", "claud"], /did you mean "claude"/],
    [["mcp", "install", "claude", "codex"], /unexpected argument "codex"/],
    [["mcp", "install", "zed", "--project", "nowhere"], /--project: no directory/],
    [["tui"], /the screen needs a terminal/],
    [["tui", "--hub", "http://127.0.0.1:4444"], /--hub can't be "http:[^]*ws:/],
    [["tui", "--hub"], /--hub needs a value/],
    [["attach", "nope", "--tui"], /the screen needs a terminal/],
    [["attach", "nope", "--tui", "--json"], /exclude each other/],
    [["tui", "--inlien"], /did you mean "--inline"/],
    [["tui", "--inline", "--screen-reader"], /exclude each other/],
    [["tui", "--hub", "auto", "--screen-reader"], /exclude each other/],
    [["hub", "start", "--port", "70000"], /--port takes a whole number from 1 to 65535/],
    [["hub", "stop", "--wait", "long"], /--wait takes seconds or 90s, .*, not "long"/],
    [["hub", "status", "--wait", "1s"], /--wait goes with hub stop/],
    [["trust", "/dev/null/below"], /no directory \/dev\/null\/below/],
    [["completions"], /needs an argument/],
    [["rnu", "x"], /did you mean "skein run"/],
    [["frobnicate"], /--help/],
    [["help", "modles"], /did you mean "skein models"/],
  ])("the wrong command line %p is refused and nothing is written", async (args, pattern) => {
    using skein = temporaryHome(unreachableVendors);
    expectRefused(skein, await skein.run(args), pattern);
  });

  test("skein without arguments and without a terminal prints help on stderr and exits with 2", async () => {
    using skein = temporaryHome();
    const ran = await skein.run([]);
    expect(ran).toMatchObject({ code: 2, out: "" });
    expect(ran.err).toContain("Usage: skein");
  });

  test("the help of every command is on stdout, at most 80 columns wide, and lists every flag", async () => {
    using skein = temporaryHome();
    const main = await skein.run(["--help"]);
    expect(main.code).toBe(0);
    expect((await skein.run(["help", "--all"])).out).toContain("  msg ");
    for (const command of await allCommands()) {
      const isHidden = ["msg", "report"].includes(command.name);
      expect(main.out.includes(`  ${command.name} `)).toBe(!isHidden);
      const ran = await skein.run([command.name, "--help"]);
      expect(ran).toMatchObject({ code: 0, err: "" });
      for (const flag of command.flags) expect(ran.out).toContain(`--${flag.name}`);
      for (const line of ran.out.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
    }
    expect(existsSync(skein.env["SKEIN_HOME"] as string)).toBe(false);
  });
});

describe("configuration", () => {
  const broken: [string, string, RegExp][] = [
    ["an unknown key", '{ "modell": "x" }', /config\.jsonc.*"modell"[\s\S]*did you mean "model"/],
    ["a wrong type", '{ "max_steps": "many" }', /config\.jsonc: "max_steps" must be/],
    ["a wrong choice", '{ "policy": "sometimes" }', /config\.jsonc: "policy" must be/],
    ["broken JSONC", '{ "model": ', /config\.jsonc/],
    ["an unknown key deep inside", '{ "providers": { "acme": { "base_ulr": "http://x" } } }', /did you mean "providers\.acme\.base_url"/],
  ];
  for (const owner of ["user", "project"] as const) {
    test.each(broken)(
      `%s in the ${owner}'s config file ends with exit code 3 and a message that names the file`,
      async (_title, text, pattern) => {
        using skein = temporaryHome(unreachableVendors);
        const folder = owner === "user" ? join(skein.env["SKEIN_HOME"] as string, "config") : join(skein.project, ".skein");
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, "config.jsonc"), text);
        const ran = await skein.run(["run", "x"]);
        expect(ran).toMatchObject({ code: 3, out: "" });
        expect(ran.err).toContain(folder);
        expect(ran.err).toMatch(pattern);
        expect(ran.err.split("\n").length).toBeLessThanOrEqual(3);
        expect(existsSync(join(skein.env["SKEIN_HOME"] as string, "data"))).toBe(false);
        expect(existsSync(join(skein.project, ".skein", "sessions"))).toBe(false);
      },
    );
  }

  test("an environment variable with a wrong value ends with exit code 3 and a message that names it", async () => {
    using skein = temporaryHome(unreachableVendors);
    expectRefused(skein, await skein.run(["run", "x"], { env: { SKEIN_MAX_STEPS: "many" } }), /SKEIN_MAX_STEPS/, [3]);
  });
});

describe("without a key", () => {
  test("a run without any model ends with exit code 4 and instructions, and nothing is written", async () => {
    using skein = temporaryHome();
    const ran = await skein.run(["run", "x"]);
    expect(ran).toMatchObject({ code: 4, out: "" });
    for (const words of ["no model can be used", "export ANTHROPIC_API_KEY=", "https://", "ollama serve", "skein demo"])
      expect(ran.err).toContain(words);
    expect(Math.max(...ran.err.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(existsSync(skein.env["SKEIN_HOME"] as string)).toBe(false);
  });

  test.each([
    ["anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"],
    ["openai/gpt-5.2", "OPENAI_API_KEY"],
    ["gemini", "GEMINI_API_KEY"],
    ["groq/openai/gpt-oss-120b", "GROQ_API_KEY"],
  ])("a run with %s but without a key ends with exit code 4 and names %s", async (model, variable) => {
    using skein = temporaryHome();
    expectRefused(skein, await skein.run(["run", "x", "-m", model]), new RegExp(`set ${variable}; get one at https://`), [4]);
  });
});
