// Flags that `--agent-arg` accepts and refuses, in all their spellings.
import { describe, expect, test } from "bun:test";
import type { CliLaunch } from "./adapter.ts";
import { checkAgentArgs } from "./agent-args.ts";
import { loadAdapters } from "./index.ts";

const someCli = { name: "some", forbiddenArgs: "--model -m --approval-mode --allowedTools" };

describe("an allowed --agent-arg", () => {
  test.each([[["--verbose"]], [["--max-turns", "3"]], [["--max-turns=3"]], [["-v"]], [["--models", "x"]], [[]]])(
    "--agent-arg %j is accepted",
    (args) => {
      expect(() => checkAgentArgs(someCli, args)).not.toThrow();
    },
  );
});

describe("a forbidden --agent-arg", () => {
  test.each([
    [["--model", "x"], "--model"],
    [["--model=x"], "--model"],
    [["-m", "x"], "-m"],
    [["-mx"], "-m"],
    [["-m=x"], "-m"],
    [["-vm", "x"], "-m"],
    [["--verbose", "--approval-mode=yolo"], "--approval-mode"],
    [["--approvalMode", "yolo"], "--approval-mode"],
    [["--approval_mode", "yolo"], "--approval-mode"],
    [["--approval-mode.x"], "--approval-mode"],
    [["--no-approval-mode"], "--approval-mode"],
    [["--allowed-tools", "Bash"], "--allowedTools"],
  ])("--agent-arg %j is refused, and the message names the flag", (args, flag) => {
    expect(() => checkAgentArgs(someCli, args)).toThrow(`skein sets ${flag} of some itself`);
  });
});

test("a first argument that is no flag, and a double dash, are refused", () => {
  expect(() => checkAgentArgs(someCli, ["resume"])).toThrow('"resume" is not a flag of some');
  expect(() => checkAgentArgs(someCli, ["--verbose", "--"])).toThrow("would turn flags");
});

/** Flags that skein sets, but that `--agent-arg` may repeat, because the repetition changes nothing. */
const harmless: Record<string, string[]> = {
  claude: ["--verbose", "--include-partial-messages", "--forward-subagent-text"],
  codex: ["--skip-git-repo-check", "--ignore-rules"],
  gemini: [],
  opencode: ["--thinking"],
  pi: ["--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes", "--append-system-prompt"],
};

test.each(await loadAdapters())("$name refuses the flags that its adapter sets", (adapter) => {
  const launch: Omit<CliLaunch, "start"> = {
    prompt: "words",
    model: "m",
    effort: adapter.efforts[0] ?? null,
    role: null,
    directory: "/project",
    addDirs: ["/more"],
    configDir: "/config",
    endpoint: { url: "http://127.0.0.1:1", token: "t" },
    isSandboxed: true,
    isRoot: false,
    isOffline: true,
    servers: { list: [], values: {} },
    extraArgs: [],
  };
  const starts: CliLaunch["start"][] = [
    { how: "new", id: "1" },
    { how: "resume", id: "1" },
    { how: "fork", id: "1", forkId: "2" },
  ];
  const flags = starts.flatMap((start) => adapter.args({ ...launch, start })).filter((arg) => /^--?[a-z]/.test(arg));
  const passed = new Set(flags.filter((flag) => !isRefused(() => checkAgentArgs(adapter, [flag]))));
  expect([...passed].toSorted()).toEqual((harmless[adapter.name] ?? []).toSorted());
});

function isRefused(check: () => void): boolean {
  try {
    check();
    return false;
  } catch {
    return true;
  }
}
