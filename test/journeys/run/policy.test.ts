// What a turn may do, from the flags and the configuration to the turn that is recorded: a person's flag decides, a
// stranger's project and a sub-session only ever narrow, and what is not enforced is said.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Policy } from "../../../src/protocol/api/policy.ts";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const usual: Policy = { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] };

async function withHome(act: (skein: TemporaryHome, server: ModelServer) => Promise<void>, script?: ScriptSource): Promise<void> {
  const server = startModelServer(script ?? { steps: [], final: "fine" });
  // Nothing holds here, so that the same is said on every machine.
  using skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_SANDBOX_BEST: "none" });
  try {
    await act(skein, server);
  } finally {
    await server.stop();
  }
}

/** The policy of a session's last turn, as it was recorded. */
async function policyOf(skein: TemporaryHome, session: unknown): Promise<Policy> {
  const [header] = (await skein.run(["export", session as string, "--format", "jsonl"])).lines();
  return (header as { tree: { turns: { policy: Policy }[] } }).tree.turns.at(-1)?.policy as Policy;
}

async function policyAfter(
  skein: TemporaryHome,
  args: string[],
  env: Record<string, string> = {},
): Promise<{ policy: Policy; err: string }> {
  const ran = await skein.run(["run", "x", ...model, "--json", ...args], { env });
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return { policy: await policyOf(skein, ran.json()["session_id"]), err: ran.err };
}

function readIfThere(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function configure(skein: TemporaryHome, config: Record<string, unknown>): void {
  mkdirSync(join(skein.project, ".skein"), { recursive: true });
  writeFileSync(join(skein.project, ".skein", "config.jsonc"), JSON.stringify(config));
}

describe("flags", () => {
  test("are recorded on the turn, with absolute paths", async () => {
    await withHome(async (skein, server) => {
      const library = join(skein.root, "library");
      mkdirSync(library);
      const given = ["--net", "on", "--allow-write", "../library", "--add-dir", "~", "--add-dir", library];
      const { policy } = await policyAfter(skein, given);
      const [real, home] = [realpathSync(library), realpathSync(skein.home)];
      expect(policy).toEqual({ ...usual, net: "on", allowWrite: [real], addDirs: [home, real] });
      expect(server.main()[0]?.text).toContain(`Also yours: ${real}`);
      expect((await policyAfter(skein, [])).policy).toEqual(usual);
    });
  });

  test("open exactly what they name", async () => {
    using skein = temporaryHome({ OLLAMA_HOST: "127.0.0.1:9" });
    for (const name of ["library", "out", "other"]) mkdirSync(join(skein.root, name));
    writeFileSync(join(skein.root, "one.txt"), "");
    expect((await skein.run(["new", "main", "-m", "ollama/none"])).code).toBe(0);
    const open = ["--add-dir", "../library", "--allow-write", "../out", "--allow-write", "../one.txt"];
    const write = async (path: string, flags: string[]) => {
      const { err } = await skein.run(["exec", "main", `echo x > ${path}`, ...flags]);
      return { isWritten: readIfThere(join(skein.project, path)) === "x\n", isHeld: !err.includes("not enforced") };
    };
    for (const path of ["../library/a", "../out/a", "../one.txt"]) expect((await write(path, open)).isWritten).toBe(true);
    // Where the kernel holds nothing, that is said instead.
    for (const [path, flags] of [["../other/a", open] as const, ["../library/b", []] as const]) {
      const { isWritten, isHeld } = await write(path, [...flags]);
      expect(isWritten && isHeld).toBe(false);
    }
  });

  test("hold for exec and add too", async () => {
    await withHome(async (skein) => {
      const session = (await skein.run(["run", "x", ...model, "--json"])).json()["session_id"] as string;
      expect((await skein.run(["exec", session, "true", "--net", "on", "--add-dir", skein.home])).code).toBe(0);
      expect(await policyOf(skein, session)).toEqual({ ...usual, net: "on", addDirs: [realpathSync(skein.home)] });
      writeFileSync(join(skein.project, "notes"), "note");
      expect((await skein.run(["add", session, "--file", "notes", "--policy", "full", "--sandbox", "off"])).code).toBe(0);
      expect(await policyOf(skein, session)).toEqual({ ...usual, name: "full", sandbox: "off", net: "on" });
    });
  });

  test.each([["--http", "http://127.0.0.1:9/"] as const, ["--postgres", "select 1"] as const])(
    "add %s with the network off says how to switch it on",
    async (flag, value) => {
      await withHome(async (skein) => {
        const session = (await skein.run(["run", "x", ...model, "--json"])).json()["session_id"] as string;
        const ran = await skein.run(["add", session, flag, value]);
        expect(ran).toMatchObject({ code: 2, out: "" });
        expect(ran.err).toMatch(/the network is off[\s\S]*--net on/);
        const closed = await skein.run(["add", session, flag, value, "--net", "on"]);
        expect(closed.err).not.toContain("--net on");
      });
    },
  );
});

describe("a project that nobody trusts", () => {
  test.each([
    ["net", { net: "on" }],
    ["policy", { policy: "full" }],
    ["allow_write", { allow_write: ["/"] }],
    ["sandbox", { sandbox: "off" }],
    ["sandbox", { sandbox: "auto" }],
  ])("can't widen %s: %p", async (key, config) => {
    await withHome(async (skein) => {
      configure(skein, config);
      const { policy, err } = await policyAfter(skein, []);
      expect(policy).toEqual(usual);
      expect(err).toContain(`is not trusted, so ${key} is ignored`);
    });
  });

  test("can't undo what the user has narrowed", async () => {
    await withHome(async (skein) => {
      configure(skein, { policy: "workspace", net: "on", tool_level: "orchestrator" });
      const narrow = { SKEIN_POLICY: "readonly", SKEIN_SANDBOX: "auto", SKEIN_NET: "off" };
      expect((await policyAfter(skein, [], narrow)).policy).toMatchObject({ name: "readonly", net: "off" });
      mkdirSync(join(skein.root, "skein", "config"), { recursive: true });
      writeFileSync(join(skein.root, "skein", "config", "config.jsonc"), '{ "policy": "readonly", "sandbox": "auto" }');
      const { policy, err } = await policyAfter(skein, []);
      expect(policy).toMatchObject({ name: "readonly", net: "off" });
      expect(err).toContain("policy, net are ignored");
    });
  });

  test("may narrow, and a person's flag still decides", async () => {
    await withHome(async (skein) => {
      configure(skein, { policy: "readonly", net: "off" });
      expect((await policyAfter(skein, ["--sandbox", "auto"])).policy).toEqual({ ...usual, name: "readonly" });
      expect((await policyAfter(skein, ["--policy", "workspace", "--net", "on"])).policy).toEqual({ ...usual, net: "on" });
      configure(skein, { tool_level: "readonly" });
      expect((await policyAfter(skein, ["--sandbox", "auto"])).policy).toEqual({ ...usual, name: "readonly" });
      const against = await skein.run(["run", "x", ...model, "--policy", "workspace"]);
      expect(against).toMatchObject({ code: 2, out: "" });
      expect(against.err).toContain("use --tool-level minimal");
    });
  });
});

describe("the sandbox of a sub-session", () => {
  const asking =
    (sandbox: Record<string, unknown>): ScriptSource =>
    ({ position }) =>
      position.prompt === "part"
        ? { steps: [], final: "part is done" }
        : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part", sandbox } as never }] }], final: "whole" };

  test.each([
    ["a network that is off", { network: true }, "sandbox.network"],
    ["a path outside", { extra_write_paths: ["src", "/etc"] }, "sandbox.extra_write_paths"],
    ["a word for the network", { network: "on" }, "sandbox.network"],
    ["one path as text", { extra_write_paths: "src" }, "sandbox.extra_write_paths"],
    ["something else", { memory: 5 }, "network, extra_write_paths"],
  ])("can't have %s, and the model is told which field", async (_title, sandbox, says) => {
    await withHome(async (skein, server) => {
      expect((await skein.run(["run", "whole", ...model, "--json"])).json()).toMatchObject({ status: "ok" });
      const result = server.main().at(-1)?.text ?? "";
      expect(server.main()).toHaveLength(2);
      expect(result).toContain('"is_error":true');
      expect(result.slice(result.indexOf("tool_result"))).toContain(says);
    }, asking(sandbox));
  });

  const narrowing: [string, Record<string, unknown>, string[], Policy][] = [
    ["is its parent's", {}, ["--net", "on"], { ...usual, net: "on" }],
    ["may do without the network", { network: false, extra_write_paths: ["src"] }, ["--net", "on"], usual],
    ["may keep the network", { network: true }, ["--net", "on"], { ...usual, net: "on" }],
  ];
  test.each(narrowing)("%s", async (_title, sandbox, args, wanted) => {
    await withHome(async (skein, server) => {
      expect((await skein.run(["run", "whole", ...model, "--json", ...args])).json()).toMatchObject({ status: "ok" });
      const [, child] = /\[session ([0-9a-f-]{36}), ok/.exec(server.main().at(-1)?.text ?? "") ?? [];
      expect(await policyOf(skein, child)).toEqual(wanted);
    }, asking(sandbox));
  });
});

describe("a policy that is not enforced", () => {
  const told = /policy workspace is not enforced here/g;

  test.each(["text", "json", "stream-json"])("is said once on stderr with %s, and is in the result", async (format) => {
    await withHome(
      async (skein) => {
        const ran = await skein.run(["run", "whole", ...model, "--output-format", format]);
        expect(ran.code).toBe(0);
        expect(ran.err.match(told)).toHaveLength(1);
        if (format === "json") expect(ran.json()["enforced"]).toMatchObject({ policy: "workspace", tier: "none", fs: false });
      },
      ({ position }) =>
        position.prompt === "part"
          ? { steps: [], final: "done" }
          : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part" } }] }], final: "whole" },
    );
  });

  test("is said once in a conversation, and not at all without walls to miss", async () => {
    await withHome(async (skein) => {
      const ran = await skein.run(["chat", ...model], { stdin: "one\ntwo\n" });
      expect(ran.code).toBe(0);
      expect(ran.err.match(told)).toHaveLength(1);
      expect((await skein.run(["run", "x", ...model, "--policy", "full"])).err).not.toContain("not enforced");
    });
  });

  test.each([[["--policy", "readonly"]], [["--policy", "plan"]], [["--tool-level", "readonly"]], [["--sandbox", "required"]]])(
    "is refused with %p",
    async (args) => {
      await withHome(async (skein, server) => {
        const ran = await skein.run(["run", "x", ...model, ...args]);
        expect(ran).toMatchObject({ code: 9, out: "" });
        expect(ran.err).toMatch(/can't be enforced[\s\S]*\n {7}\S/);
        expect([server.main().length, (await skein.run(["list", "--json"])).out.trim()]).toEqual([0, "[]"]);
      });
    },
  );
});
