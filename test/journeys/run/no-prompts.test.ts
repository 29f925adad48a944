// No run asks for permission. Its policy decides before it starts: an allowed action works, a forbidden one fails at once.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { startInPty } from "../../support/pty.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const commands = [
  "echo x > inside",
  "echo x > /etc/skein-outside; echo x > ~/outside",
  "cat ~/.ssh/id_ed25519",
  "exec 3<>/dev/tcp/127.0.0.1/9",
  "rm -rf / --no-preserve-root",
  "read -p 'continue? [y/N] ' answer; echo \"got: <$answer>\"",
];

test.each(["workspace", "readonly", "plan"])(
  "a run with policy %s asks nothing in a terminal, and forbidden commands fail",
  async (policy) => {
    const server = startModelServer(shellScript(commands, "all tried"));
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await using run = startInPty(skein, [
        "run",
        "try",
        "--session",
        "quiet",
        "--policy",
        policy,
        "--sandbox",
        "auto",
        "-m",
        wireModels.anthropic,
      ]);
      // Nobody types anything. A question would keep the run waiting until the test's limit.
      expect([await run.exited, run.shown()]).toEqual([0, expect.stringContaining("all tried")]);
      expect(server.main()).toHaveLength(commands.length + 1);
      expect((await skein.run(["asks", "--json"])).json()).toEqual([] as never);
      const { nodes } = (await skein.run(["show", "quiet", "--json"])).json() as { nodes: { parts: { name?: string }[] }[] };
      expect(nodes.flatMap(({ parts }) => parts).some(({ name }) => name === "ask_user")).toBe(false);
      expect([existsSync("/etc/skein-outside"), existsSync(join(skein.home, "outside"))]).toEqual([false, false]);
      expect(existsSync(join(skein.project, "inside"))).toBe(policy === "workspace");
    } finally {
      await server.stop();
    }
  },
  60_000,
);

/** opencode gets its permissions in its configuration, and pi never asks. */
test.each([
  ["claude", /--dangerously-skip-permissions|--permission-prompts=none/],
  ["codex", /--dangerously-bypass-approvals-and-sandbox|approval_policy="never"/],
  ["gemini", /--approval-mode\nyolo/],
])(
  "%s is started so that it asks for no permission",
  async (agent, flag) => {
    using skein = homeWithFakeClis([agent]);
    expect((await skein.run(["run", "hello", "-a", agent, "--json"])).json()["status"]).toBe("ok");
    expect(skein.started()[0]?.input).toMatch(flag);
  },
  60_000,
);
