// The policy of a turn, from flags and configuration to the stored turn. The user's flags decide. An untrusted project
// and a sub-session can only narrow it. A policy that is not enforced is reported.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Policy } from "../../../src/protocol/api/policy.ts";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const defaultPolicy: Policy = { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] };

async function withHome(check: (skein: TemporaryHome, server: ModelServer) => Promise<void>, script?: ScriptSource): Promise<void> {
  const server = startModelServer(script ?? { steps: [], final: "fine" });
  // No sandbox is used here, so the messages are the same on every machine.
  using skein = temporaryHome({ ...vendorEnv(server.url), SKEIN_SANDBOX_BEST: "none" });
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

/** Returns the stored policy of a session's last turn. */
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

function readIfExists(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}

function configure(skein: TemporaryHome, config: Record<string, unknown>): void {
  mkdirSync(join(skein.project, ".skein"), { recursive: true });
  writeFileSync(join(skein.project, ".skein", "config.jsonc"), JSON.stringify(config));
}

describe("flags", () => {
  test("policy flags are stored on the turn, with absolute paths", async () => {
    await withHome(async (skein, server) => {
      const library = join(skein.root, "library");
      mkdirSync(library);
      const flags = ["--net", "on", "--allow-write", "../library", "--add-dir", "~", "--add-dir", library];
      const { policy } = await policyAfter(skein, flags);
      const [real, home] = [realpathSync(library), realpathSync(skein.home)];
      expect(policy).toEqual({ ...defaultPolicy, net: "on", allowWrite: [real], addDirs: [home, real] });
      expect(server.main()[0]?.text).toContain(`Also yours: ${real}`);
      expect((await policyAfter(skein, [])).policy).toEqual(defaultPolicy);
    });
  });

  test("--add-dir and --allow-write make exactly the named paths writable", async () => {
    using skein = temporaryHome({ OLLAMA_HOST: "127.0.0.1:9" });
    for (const name of ["library", "out", "other"]) mkdirSync(join(skein.root, name));
    writeFileSync(join(skein.root, "one.txt"), "");
    expect((await skein.run(["new", "main", "-m", "ollama/none"])).code).toBe(0);
    const openFlags = ["--add-dir", "../library", "--allow-write", "../out", "--allow-write", "../one.txt"];
    const write = async (path: string, flags: string[]) => {
      const { err } = await skein.run(["exec", "main", `echo x > ${path}`, ...flags]);
      return { isWritten: readIfExists(join(skein.project, path)) === "x\n", isEnforced: !err.includes("not enforced") };
    };
    for (const path of ["../library/a", "../out/a", "../one.txt"]) expect((await write(path, openFlags)).isWritten).toBe(true);
    // Without a sandbox the write succeeds, but a message reports it.
    for (const [path, flags] of [["../other/a", openFlags] as const, ["../library/b", []] as const]) {
      const { isWritten, isEnforced } = await write(path, [...flags]);
      expect(isWritten && isEnforced).toBe(false);
    }
  });

  test("policy flags apply to exec and add too", async () => {
    await withHome(async (skein) => {
      const session = (await skein.run(["run", "x", ...model, "--json"])).json()["session_id"] as string;
      expect((await skein.run(["exec", session, "true", "--net", "on", "--add-dir", skein.home])).code).toBe(0);
      expect(await policyOf(skein, session)).toEqual({ ...defaultPolicy, net: "on", addDirs: [realpathSync(skein.home)] });
      writeFileSync(join(skein.project, "notes"), "note");
      expect((await skein.run(["add", session, "--file", "notes", "--policy", "full", "--sandbox", "off"])).code).toBe(0);
      expect(await policyOf(skein, session)).toEqual({ ...defaultPolicy, name: "full", sandbox: "off", net: "on" });
    });
  });

  test.each([["--http", "http://127.0.0.1:9/"] as const, ["--postgres", "select 1"] as const])(
    "add %s with the network off prints the flag that turns it on",
    async (flag, value) => {
      await withHome(async (skein) => {
        const session = (await skein.run(["run", "x", ...model, "--json"])).json()["session_id"] as string;
        const ran = await skein.run(["add", session, flag, value]);
        expect(ran).toMatchObject({ code: 2, out: "" });
        expect(ran.err).toMatch(/the network is off[\s\S]*--net on/);
        const withNetwork = await skein.run(["add", session, flag, value, "--net", "on"]);
        expect(withNetwork.err).not.toContain("--net on");
      });
    },
  );
});

describe("an untrusted project", () => {
  test.each([
    ["net", { net: "on" }],
    ["policy", { policy: "full" }],
    ["allow_write", { allow_write: ["/"] }],
    ["sandbox", { sandbox: "off" }],
    ["sandbox", { sandbox: "auto" }],
  ])("an untrusted project can't widen %s: %p", async (key, config) => {
    await withHome(async (skein) => {
      configure(skein, config);
      const { policy, err } = await policyAfter(skein, []);
      expect(policy).toEqual(defaultPolicy);
      expect(err).toContain(`is not trusted, so ${key} is ignored`);
    });
  });

  test("an untrusted project can't undo limits that the user has set", async () => {
    await withHome(async (skein) => {
      configure(skein, { policy: "workspace", net: "on", tool_level: "orchestrator" });
      const userEnv = { SKEIN_POLICY: "readonly", SKEIN_SANDBOX: "auto", SKEIN_NET: "off" };
      expect((await policyAfter(skein, [], userEnv)).policy).toMatchObject({ name: "readonly", net: "off" });
      mkdirSync(join(skein.root, "skein", "config"), { recursive: true });
      writeFileSync(join(skein.root, "skein", "config", "config.jsonc"), '{ "policy": "readonly", "sandbox": "auto" }');
      const { policy, err } = await policyAfter(skein, []);
      expect(policy).toMatchObject({ name: "readonly", net: "off" });
      expect(err).toContain("policy, net are ignored");
    });
  });

  test("an untrusted project can narrow the policy, and the user's flags override it", async () => {
    await withHome(async (skein) => {
      configure(skein, { policy: "readonly", net: "off" });
      expect((await policyAfter(skein, ["--sandbox", "auto"])).policy).toEqual({ ...defaultPolicy, name: "readonly" });
      expect((await policyAfter(skein, ["--policy", "workspace", "--net", "on"])).policy).toEqual({ ...defaultPolicy, net: "on" });
      configure(skein, { tool_level: "readonly" });
      expect((await policyAfter(skein, ["--sandbox", "auto"])).policy).toEqual({ ...defaultPolicy, name: "readonly" });
      const contradicting = await skein.run(["run", "x", ...model, "--policy", "workspace"]);
      expect(contradicting).toMatchObject({ code: 2, out: "" });
      expect(contradicting.err).toContain("use --tool-level minimal");
    });
  });
});

describe("the sandbox of a sub-session", () => {
  const spawnWith =
    (sandbox: Record<string, unknown>): ScriptSource =>
    ({ position }) =>
      position.prompt === "part"
        ? { steps: [], final: "part is done" }
        : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part", sandbox } as never }] }], final: "whole" };

  test.each([
    ["a network that its parent lacks", { network: true }, "sandbox.network"],
    ["a path outside of the project", { extra_write_paths: ["src", "/etc"] }, "sandbox.extra_write_paths"],
    ["a text as network", { network: "on" }, "sandbox.network"],
    ["a text as list of paths", { extra_write_paths: "src" }, "sandbox.extra_write_paths"],
    ["an unknown field", { memory: 5 }, "network, extra_write_paths"],
  ])("a sub-session can't have %s, and the error for the model names the field", async (_title, sandbox, expected) => {
    await withHome(async (skein, server) => {
      expect((await skein.run(["run", "whole", ...model, "--json"])).json()).toMatchObject({ status: "ok" });
      const result = server.main().at(-1)?.text ?? "";
      expect(server.main()).toHaveLength(2);
      expect(result).toContain('"is_error":true');
      expect(result.slice(result.indexOf("tool_result"))).toContain(expected);
    }, spawnWith(sandbox));
  });

  const inheritedPolicies: [string, Record<string, unknown>, string[], Policy][] = [
    ["a sub-session gets its parent's policy", {}, ["--net", "on"], { ...defaultPolicy, net: "on" }],
    ["a sub-session can run without its parent's network", { network: false, extra_write_paths: ["src"] }, ["--net", "on"], defaultPolicy],
    ["a sub-session can keep its parent's network", { network: true }, ["--net", "on"], { ...defaultPolicy, net: "on" }],
  ];
  test.each(inheritedPolicies)("%s", async (_title, sandbox, args, expected) => {
    await withHome(async (skein, server) => {
      expect((await skein.run(["run", "whole", ...model, "--json", ...args])).json()).toMatchObject({ status: "ok" });
      const [, child] = /\[session ([0-9a-f-]{36}), ok/.exec(server.main().at(-1)?.text ?? "") ?? [];
      expect(await policyOf(skein, child)).toEqual(expected);
    }, spawnWith(sandbox));
  });
});

describe("a policy that is not enforced", () => {
  const notEnforced = /policy workspace is not enforced here/g;

  test.each(["text", "json", "stream-json"])(
    "a policy that is not enforced is reported once on stderr with %s, and in the JSON result",
    async (format) => {
      await withHome(
        async (skein) => {
          const ran = await skein.run(["run", "whole", ...model, "--output-format", format]);
          expect(ran.code).toBe(0);
          expect(ran.err.match(notEnforced)).toHaveLength(1);
          if (format === "json") expect(ran.json()["enforced"]).toMatchObject({ policy: "workspace", tier: "none", fs: false });
        },
        ({ position }) =>
          position.prompt === "part"
            ? { steps: [], final: "done" }
            : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part" } }] }], final: "whole" },
      );
    },
  );

  test("a policy that is not enforced is reported once per chat, and never for policy full", async () => {
    await withHome(async (skein) => {
      const ran = await skein.run(["chat", ...model], { stdin: "one\ntwo\n" });
      expect(ran.code).toBe(0);
      expect(ran.err.match(notEnforced)).toHaveLength(1);
      expect((await skein.run(["run", "x", ...model, "--policy", "full"])).err).not.toContain("not enforced");
    });
  });

  test.each([[["--policy", "readonly"]], [["--policy", "plan"]], [["--tool-level", "readonly"]], [["--sandbox", "required"]]])(
    "a run without a sandbox is refused with %p",
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
