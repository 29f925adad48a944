// Tests that skein can't run inside of skein. A model tries to start it from bash in many forms, with and without a sandbox.
// Each is refused, the tool's result names spawn_session, and no second skein sends a request.
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer, type RecordedRequest, type ScriptSource } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const source = join(import.meta.dir, "..", "..");
const model = ["-m", wireModels.anthropic];
const refused = /skein can't be started from inside a session( \(\w{8}\))?\n +use spawn_session/;

/** `skein` in PATH has all it needs for a turn, so only the check for an enclosing session can stop it. */
async function withHome(script: ScriptSource, check: (skein: TemporaryHome, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  const folder = join(skein.root, "bin");
  mkdirSync(folder);
  const variables = Object.entries({ ...vendorEnv(server.url), SKEIN_HOME: skein.env["SKEIN_HOME"] }).map(
    ([name, value]) => `export ${name}="\${${name}:-${value}}"\n`,
  );
  const argv = skeinCommand().map((word) => `'${word}'`);
  writeFileSync(join(folder, "skein"), `#!/bin/sh\n${variables.join("")}exec ${argv.join(" ")} "$@"\n`);
  chmodSync(join(folder, "skein"), 0o755);
  skein.env["PATH"] = `${folder}:${skein.env["PATH"]}`;
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

/** All tool results in a request, in their order. */
function resultsOf(request: RecordedRequest): string[] {
  type Block = { type: string; content?: { text?: string }[] | string };
  const { messages } = request.body as unknown as { messages: { content: Block[] }[] };
  const blocks = messages.flatMap(({ content }) => content).filter((block) => block.type === "tool_result");
  return blocks.map(({ content = "" }) => (typeof content === "string" ? content : content.map((block) => block.text ?? "").join("")));
}

function toolsOf(request: RecordedRequest): string[] {
  return (request.body as unknown as { tools?: { name: string }[] }).tools?.map(({ name }) => name) ?? [];
}

const withEmptyEnv = (name: string) => `PATH="$PATH" HOME="$HOME" ${name}`;
const waitForOutput = (command: string) =>
  `rm -f output; ${command}; for i in $(seq 200); do [ -s output ] && break; sleep 0.05; done; sleep 0.1; cat output`;
const copied =
  process.env["SKEIN_TEST_BINARY"] === undefined
    ? `cp -r '${source}/src' '${source}/package.json' . && mv src/main.ts src/notes.ts && cp '${process.execPath}' ./vim && ./vim src/notes.ts`
    : `cp '${process.env["SKEIN_TEST_BINARY"]}' ./vim && ./vim`;

type Attempt = {
  command: string;
  /** Programs that not every machine has. */
  needs?: string;
  /** The error if the sandbox stops it before skein can. */
  sandboxed?: RegExp;
  /** The error if the machine stops it before skein can. */
  unsandboxed?: RegExp;
};

const attempts: Record<string, Attempt> = {
  "skein run": { command: "skein run x" },
  "skein -p": { command: "skein -p x" },
  "skein spawn": { command: "skein spawn --task x" },
  "skein chat": { command: "echo x | skein chat" },
  "skein demo": { command: "skein demo" },
  "a hub": { command: "skein hub start" },
  "a turn that is left to the hub": { command: "skein run x --detach" },
  "skein exec in the session itself": { command: 'skein exec "$SKEIN_SESSION_ID" true' },
  "its own permission": { command: "skein run x --allow-nesting" },
  "the variable unset": { command: "env -u SKEIN_SESSION_ID skein run x" },
  "an empty environment": { command: `env -i ${withEmptyEnv("skein run x")}` },
  "a permission that is made up": { command: "SKEIN_NESTING=allowed skein run x" },
  "a session that is made up": { command: "SKEIN_SESSION_ID=none SKEIN_NESTING=allowed sh -c 'skein run x; true'" },
  "a home elsewhere": { command: 'SKEIN_HOME="$TMPDIR/x" skein run x' },
  "another home": { command: 'HOME="$TMPDIR" skein run x' },
  "nothing kept": { command: "skein run x --ephemeral" },
  "a session of processes": { command: `env -i ${withEmptyEnv("setsid -w skein run x")}`, needs: "setsid" },
  "a double fork": {
    command: waitForOutput(`(env -i ${withEmptyEnv("nohup setsid sh -c 'sleep 0.1; skein run x' >output 2>&1 &")})`),
    needs: "setsid nohup",
  },
  "a copy under another name": { command: `mkdir -p elsewhere && cd elsewhere && ${copied} run x` },
  "the program without its wrapper": { command: `${skeinCommand().join(" ")} run x` },
  "another name in the process table": { command: `bash -c "exec -a init ${skeinCommand().join(" ")} run x"`, needs: "bash" },
  "sh in sh": { command: `sh -c "env -i ${withEmptyEnv("sh -c 'skein run x'").replaceAll('"', '\\"')}"` },
  "a terminal": {
    command: "script -qec 'skein run x' /dev/null | tr -d '\\r'",
    needs: "script",
    sandboxed: /failed to create pseudo-terminal/,
  },
  python: {
    command: `python3 -c 'import subprocess; subprocess.run(["skein", "run", "x"], env={"PATH": "'"$PATH"'", "HOME": "'"$HOME"'"})' 2>&1`,
    needs: "python3",
  },
  "a namespace of processes": {
    command: `env -i ${withEmptyEnv("unshare -pf --mount-proc skein run x")}`,
    needs: "unshare",
    sandboxed: /unshare: .*not permitted/,
    unsandboxed: /unshare: .*not permitted/,
  },
  "a namespace without its /proc": {
    command: `env -i ${withEmptyEnv("unshare -pf skein run x")}`,
    needs: "unshare",
    sandboxed: /unshare: .*not permitted/,
    unsandboxed: /unshare: .*not permitted/,
  },
  // The marker file exists only in a sandbox.
  "the marker removed": { command: `rm -f /dev/skein; mv /dev/skein /dev/gone; env -i ${withEmptyEnv("skein run x")}` },
};

const possible = Object.entries(attempts).filter(([, { needs = "" }]) => needs.split(" ").every((name) => name === "" || Bun.which(name)));

let isSandboxed = false;
beforeAll(async () => {
  using skein = temporaryHome();
  const { checks } = (await skein.run(["doctor", "--json"])).json() as { checks: { name: string; detail: string }[] };
  isSandboxed = /\((namespaces|landlock|seatbelt)\)/.test(checks.find((check) => check.name === "sandbox")?.detail ?? "");
});

describe("skein started by a model", () => {
  test.each([
    ["in the sandbox", []],
    ["in a namespace of processes alone", ["--policy", "full"]],
    ["without a sandbox", ["--policy", "full", "--sandbox", "off"]],
  ])(
    "skein started by a model %s is refused in every form, and the tool's result names spawn_session",
    async (_, flags) => {
      const script = { steps: [{ calls: possible.map(([, { command }]) => ({ input: { command } })) }], final: "done" };
      await withHome(script, async (skein, server) => {
        const ran = await skein.run(["run", "x", ...model, "--json", ...flags]);
        expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: expect.any(String) as string });
        const results = resultsOf(server.main().at(-1)!);
        expect(results).toHaveLength(possible.length);
        const outcomes = possible.map(([name, attempt], index) => {
          const otherError = isSandboxed && flags.length === 0 ? attempt.sandboxed : attempt.unsandboxed;
          const isRefused = refused.test(results[index]!) || otherError?.test(results[index]!) === true;
          return [name, isRefused ? "refused" : results[index]];
        });
        expect(outcomes).toEqual(possible.map(([name]) => [name, "refused"]));
        expect(possible.length).toBeGreaterThanOrEqual(12);
        expect(server.main()).toHaveLength(2);
      });
    },
    300_000,
  );

  test("under Landlock alone a command without its own tags is found by the name of its executor", async () => {
    const command = `env -i ${withEmptyEnv("prlimit --msgqueue=819200:819200 skein run x")}`;
    await withHome(shellScript([command]), async (skein, server) => {
      skein.env["SKEIN_SANDBOX_BEST"] = "landlock";
      await skein.run(["run", "x", ...model]);
      expect(resultsOf(server.main().at(-1)!)[0]).toMatch(refused);
    });
  });

  test("skein in the sandbox can still run commands that only read", async () => {
    await withHome(shellScript(["skein --version", "skein list"]), async (skein, server) => {
      await skein.run(["run", "x", ...model]);
      for (const result of resultsOf(server.main().at(-1)!)) expect(result).not.toContain("spawn_session");
    });
  });
});

describe("sub-sessions", () => {
  /** The top session delegates. Its sub-session tries to start skein. */
  const delegating: ScriptSource = ({ position }) =>
    position.prompt === "delegate"
      ? { steps: [{ calls: [{ name: "spawn_session", input: { task: "below" } }] }], final: "done" }
      : shellScript(["env -u SKEIN_SESSION_ID skein run x"]);

  test("sub-sessions have no spawn_session, and can't start skein either", async () => {
    await withHome(delegating, async (skein, server) => {
      const ran = await skein.run(["run", "delegate", ...model]);
      expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
      const [first, ...others] = server.main();
      expect(toolsOf(first!)).toContain("spawn_session");
      const subRequests = others.filter((request) => !request.text.includes('"delegate"'));
      expect(subRequests.map(toolsOf).map((names) => names.includes("spawn_session"))).toEqual([false, false]);
      expect(resultsOf(subRequests.at(-1)!)).toEqual([expect.stringMatching(refused)]);
    });
  });

  test("spawn_session is not offered with --no-spawn, at any level of tools that has it", async () => {
    await withHome({ steps: [], final: "done" }, async (skein, server) => {
      for (const more of [[], ["--tool-level", "orchestrator"], ["--tools", "bash,spawn_session"]]) {
        expect((await skein.run(["run", "x", ...model, "--no-spawn", ...more])).code).toBe(0);
        expect(toolsOf(server.main().at(-1)!)).not.toContain("spawn_session");
        expect(toolsOf(server.main().at(-1)!)).toContain("bash");
      }
    });
  });
});

describe("a user who allows it", () => {
  const nested: ScriptSource = ({ position }) =>
    position.prompt === "inner" ? shellScript(["skein run third"], "answer from within") : shellScript([position.prompt]);

  test.each([
    ["in a namespace of processes", ["--policy", "full"]],
    ["without a sandbox", ["--policy", "full", "--sandbox", "off"]],
  ])("--allow-nesting permits one skein inside of another %s, and no third", async (_, flags) => {
    await withHome(nested, async (skein, server) => {
      const ran = await skein.run(["run", `skein run inner ${model.join(" ")}`, ...model, "--allow-nesting", ...flags]);
      expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
      expect(resultsOf(server.main().at(-1)!).at(-1)).toContain("answer from within");
      const inner = server
        .main()
        .filter((request) => request.text.includes('"inner"'))
        .at(-1);
      expect(resultsOf(inner!)).toEqual([expect.stringMatching(refused)]);
      expect(server.main().some((request) => request.text.includes('"third"'))).toBe(false);
    });
  });

  test("the variable SKEIN_NESTING alone does not permit a skein inside of another", async () => {
    await withHome(nested, async (skein, server) => {
      const ran = await skein.run(["run", "skein run inner", ...model], { env: { SKEIN_NESTING: "allowed" } });
      expect(ran.code).toBe(0);
      expect(resultsOf(server.main().at(-1)!)).toEqual([expect.stringMatching(refused)]);
    });
  });
});

test("skein is refused if SKEIN_SESSION_ID is set, even outside of a session", async () => {
  await withHome({ steps: [], final: "done" }, async (skein, server) => {
    const ran = await skein.run(["run", "x", ...model], { env: { SKEIN_SESSION_ID: "01a1e3b1-3588-77e0-b62d-677adfeca85e" } });
    expect(ran).toMatchObject({ code: 2, out: "", err: expect.stringMatching(refused) as string });
    expect(server.requests).toHaveLength(0);
  });
});
