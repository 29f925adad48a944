// No recursion: a model tries to start skein from its bash in every way that we could think of, behind walls and without.
// Each is refused, the model is told in the tool's result what to use instead, and no request of a second skein is seen.
import { beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer, type RecordedRequest, type ScriptSource } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const source = join(import.meta.dir, "..", "..");
const model = ["-m", wireModels.anthropic];
const refused = /skein can't be started from inside a session( \(\w{8}\))?\n +use spawn_session/;

/** `skein` in PATH has all it needs for a turn of its own: what stops it is that it is inside. */
async function withHome(script: ScriptSource, act: (skein: TemporaryHome, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  const folder = join(skein.root, "bin");
  mkdirSync(folder);
  const variables = Object.entries({ ...vendorEnv(server.url), SKEIN_HOME: skein.env["SKEIN_HOME"] }).map(
    ([name, value]) => `export ${name}="\${${name}:-${value}}"\n`,
  );
  const words = skeinCommand().map((word) => `'${word}'`);
  writeFileSync(join(folder, "skein"), `#!/bin/sh\n${variables.join("")}exec ${words.join(" ")} "$@"\n`);
  chmodSync(join(folder, "skein"), 0o755);
  skein.env["PATH"] = `${folder}:${skein.env["PATH"]}`;
  try {
    await act(skein, server);
  } finally {
    await server.stop();
  }
}

/** All tool results in a request, in their order. */
function resultsOf(request: RecordedRequest): string[] {
  type Block = { type: string; content?: { text?: string }[] | string };
  const { messages } = request.body as unknown as { messages: { content: Block[] }[] };
  const blocks = messages.flatMap(({ content }) => content).filter((one) => one.type === "tool_result");
  return blocks.map(({ content = "" }) => (typeof content === "string" ? content : content.map((one) => one.text ?? "").join("")));
}

function toolsOf(request: RecordedRequest): string[] {
  return (request.body as unknown as { tools?: { name: string }[] }).tools?.map(({ name }) => name) ?? [];
}

const own = (name: string) => `PATH="$PATH" HOME="$HOME" ${name}`;
const later = (command: string) =>
  `rm -f said; ${command}; for i in $(seq 200); do [ -s said ] && break; sleep 0.05; done; sleep 0.1; cat said`;
const copied =
  process.env["SKEIN_TEST_BINARY"] === undefined
    ? `cp -r '${source}/src' '${source}/package.json' . && mv src/main.ts src/notes.ts && cp '${process.execPath}' ./vim && ./vim src/notes.ts`
    : `cp '${process.env["SKEIN_TEST_BINARY"]}' ./vim && ./vim`;

type Try = {
  command: string;
  /** Programs that not every machine has. */
  needs?: string;
  /** Where walls stop it before skein can. */
  walled?: RegExp;
  /** Where the machine may stop it before skein can. */
  open?: RegExp;
};

const tries: Record<string, Try> = {
  "skein run": { command: "skein run x" },
  "skein -p": { command: "skein -p x" },
  "skein spawn": { command: "skein spawn --task x" },
  "skein chat": { command: "echo x | skein chat" },
  "skein demo": { command: "skein demo" },
  "a hub": { command: "skein hub start" },
  "a turn that is left to the hub": { command: "skein run x --detach" },
  "skein exec in the session itself": { command: 'skein exec "$SKEIN_SESSION_ID" true', walled: /can't|no session/ },
  "its own permission": { command: "skein run x --allow-nesting" },
  "the variable unset": { command: "env -u SKEIN_SESSION_ID skein run x" },
  "an empty environment": { command: `env -i ${own("skein run x")}` },
  "a permission that is made up": { command: "SKEIN_NESTING=allowed skein run x" },
  "a session that is made up": { command: "SKEIN_SESSION_ID=none SKEIN_NESTING=allowed sh -c 'skein run x; true'" },
  "a home elsewhere": { command: 'SKEIN_HOME="$TMPDIR/x" skein run x' },
  "another home": { command: 'HOME="$TMPDIR" skein run x' },
  "nothing kept": { command: "skein run x --ephemeral" },
  "a session of processes": { command: `env -i ${own("setsid -w skein run x")}`, needs: "setsid" },
  "a double fork": { command: later(`(env -i ${own("nohup setsid sh -c 'sleep 0.1; skein run x' >said 2>&1 &")})`), needs: "setsid nohup" },
  "a copy under another name": { command: `mkdir -p elsewhere && cd elsewhere && ${copied} run x` },
  "the program without its wrapper": { command: `${skeinCommand().join(" ")} run x` },
  "another name in the process table": { command: `bash -c "exec -a init ${skeinCommand().join(" ")} run x"`, needs: "bash" },
  "sh in sh": { command: `sh -c "env -i ${own("sh -c 'skein run x'").replaceAll('"', '\\"')}"` },
  "a terminal": {
    command: "script -qec 'skein run x' /dev/null | tr -d '\\r'",
    needs: "script",
    walled: /failed to create pseudo-terminal/,
  },
  python: {
    command: `python3 -c 'import subprocess; subprocess.run(["skein", "run", "x"], env={"PATH": "'"$PATH"'", "HOME": "'"$HOME"'"})' 2>&1`,
    needs: "python3",
  },
  "a namespace of processes": {
    command: `env -i ${own("unshare -pf --mount-proc skein run x")}`,
    needs: "unshare",
    walled: /unshare: .*not permitted/,
    open: /unshare: .*not permitted/,
  },
  "a namespace without its /proc": {
    command: `env -i ${own("unshare -pf skein run x")}`,
    needs: "unshare",
    walled: /unshare: .*not permitted/,
    open: /unshare: .*not permitted/,
  },
  // Without walls there is none.
  "the mark removed": { command: `rm -f /dev/skein; mv /dev/skein /dev/gone; env -i ${own("skein run x")}` },
};

const possible = Object.entries(tries).filter(([, { needs = "" }]) => needs.split(" ").every((name) => name === "" || Bun.which(name)));

let isWalled = false;
beforeAll(async () => {
  using skein = temporaryHome();
  const { checks } = (await skein.run(["doctor", "--json"])).json() as { checks: { name: string; detail: string }[] };
  isWalled = /\((namespaces|landlock|seatbelt)\)/.test(checks.find((check) => check.name === "sandbox")?.detail ?? "");
});

describe("skein started by a model", () => {
  test.each([
    ["behind walls", []],
    ["in a namespace of processes alone", ["--policy", "full"]],
    ["without any walls", ["--policy", "full", "--sandbox", "off"]],
  ])(
    "%s is refused in every way, and the model is told what to use",
    async (_, flags) => {
      const script = { steps: [{ calls: possible.map(([, { command }]) => ({ input: { command } })) }], final: "done" };
      await withHome(script, async (skein, server) => {
        const ran = await skein.run(["run", "x", ...model, "--json", ...flags]);
        expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: expect.any(String) as string });
        const said = resultsOf(server.main().at(-1)!);
        expect(said).toHaveLength(possible.length);
        const got = possible.map(([name, row], at) => {
          const other = isWalled && flags.length === 0 ? row.walled : row.open;
          const isTold = refused.test(said[at]!) || other?.test(said[at]!) === true;
          return [name, isTold ? "refused" : said[at]];
        });
        expect(got).toEqual(possible.map(([name]) => [name, "refused"]));
        expect(possible.length).toBeGreaterThanOrEqual(12);
        expect(server.main()).toHaveLength(2);
      });
    },
    300_000,
  );

  test("behind walls it may still look at what it can see", async () => {
    await withHome(shellScript(["skein --version", "skein list"]), async (skein, server) => {
      await skein.run(["run", "x", ...model]);
      for (const said of resultsOf(server.main().at(-1)!)) expect(said).not.toContain("spawn_session");
    });
  });
});

describe("sub-sessions", () => {
  /** The topmost one delegates; whoever is below tries skein. */
  const delegating: ScriptSource = ({ position }) =>
    position.prompt === "delegate"
      ? { steps: [{ calls: [{ name: "spawn_session", input: { task: "below" } }] }], final: "done" }
      : shellScript(["env -u SKEIN_SESSION_ID skein run x"]);

  test("have no spawn_session, and can't start skein either", async () => {
    await withHome(delegating, async (skein, server) => {
      const ran = await skein.run(["run", "delegate", ...model]);
      expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
      const [first, ...below] = server.main();
      expect(toolsOf(first!)).toContain("spawn_session");
      const childs = below.filter((request) => !request.text.includes('"delegate"'));
      expect(childs.map(toolsOf).map((names) => names.includes("spawn_session"))).toEqual([false, false]);
      expect(resultsOf(childs.at(-1)!)).toEqual([expect.stringMatching(refused)]);
    });
  });

  test("are not offered with --no-spawn, at any level of tools that has them", async () => {
    await withHome({ steps: [], final: "done" }, async (skein, server) => {
      for (const more of [[], ["--tool-level", "orchestrator"], ["--tools", "bash,spawn_session"]]) {
        expect((await skein.run(["run", "x", ...model, "--no-spawn", ...more])).code).toBe(0);
        expect(toolsOf(server.main().at(-1)!)).not.toContain("spawn_session");
        expect(toolsOf(server.main().at(-1)!)).toContain("bash");
      }
    });
  });
});

describe("a person who allows it", () => {
  const nested: ScriptSource = ({ position }) =>
    position.prompt === "inner" ? shellScript(["skein run third"], "answer from within") : shellScript([position.prompt]);

  test.each([
    ["in a namespace of processes", ["--policy", "full"]],
    ["without any walls", ["--policy", "full", "--sandbox", "off"]],
  ])("has one skein inside of another %s, and no third", async (_, flags) => {
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

  test("is not one who has only the variable", async () => {
    await withHome(nested, async (skein, server) => {
      const ran = await skein.run(["run", "skein run inner", ...model], { env: { SKEIN_NESTING: "allowed" } });
      expect(ran.code).toBe(0);
      expect(resultsOf(server.main().at(-1)!)).toEqual([expect.stringMatching(refused)]);
    });
  });
});

test("the variable alone, set by a person, is believed", async () => {
  await withHome({ steps: [], final: "done" }, async (skein, server) => {
    const ran = await skein.run(["run", "x", ...model], { env: { SKEIN_SESSION_ID: "01a1e3b1-3588-77e0-b62d-677adfeca85e" } });
    expect(ran).toMatchObject({ code: 2, out: "", err: expect.stringMatching(refused) as string });
    expect(server.requests).toHaveLength(0);
  });
});
