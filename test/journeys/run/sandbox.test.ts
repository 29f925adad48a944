// The walls around tools, as a person and a model meet them: by the real program, with whatever this machine can hold.
// Where it holds less than namespaces, the same walks say what was said instead.
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer, type RecordedRequest } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type RunResult, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];

let tier = "none";
beforeAll(async () => {
  using skein = temporaryHome();
  const { checks } = (await skein.run(["doctor", "--json"])).json() as { checks: { name: string; detail: string }[] };
  tier = /\((\w+)\)/.exec(checks.find((check) => check.name === "sandbox")?.detail ?? "")?.[1] ?? "none";
});

/** Each prompt is a command, and the answer is what the shell said. */
async function withHome(
  act: (skein: TemporaryHome, server: ModelServer) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const server = startModelServer(({ position }) => shellScript([position.prompt]));
  using skein = temporaryHome({ ...vendorEnv(server.url), ...env });
  try {
    await act(skein, server);
  } finally {
    await server.stop();
  }
}

/** Runs one command as a turn; `said` is the tool's result as the model got it. */
async function turn(skein: TemporaryHome, server: ModelServer, command: string, args: string[] = []) {
  const ran = await skein.run(["run", command, ...model, "--json", ...args]);
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  const record = ran.json() as { session_id: string; enforced: Record<string, unknown> };
  return { record, said: resultOf(server.main().at(-1)!) };
}

/** The last tool result in a request. */
function resultOf(request: RecordedRequest): string {
  type Block = { type: string; content?: { text?: string }[] | string };
  const { messages } = request.body as unknown as { messages: { content: Block[] }[] };
  const block = messages.flatMap(({ content }) => content).findLast((one) => one.type === "tool_result");
  return typeof block?.content === "string" ? block.content : (block?.content ?? []).map((one) => one.text ?? "").join("");
}

describe("the network", () => {
  test("that is off is said to the model in the tool's result; with --net on the same command works", async () => {
    await withHome(async (skein, server) => {
      using listener = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("reached the server") });
      const ways = [`exec 3<>/dev/tcp/127.0.0.1/${listener.port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`];
      if (Bun.which("curl") !== null) ways.push(`curl -sS http://127.0.0.1:${listener.port}/`);
      for (const command of ways) {
        const on = await turn(skein, server, command, ["--net", "on"]);
        expect(on.said).toContain("reached the server");
        expect(on.said).not.toContain("network is off");
        expect(on.record.enforced).toMatchObject({ net: "on" });
        const off = await turn(skein, server, command);
        expect(off.record.enforced).toMatchObject({ net: tier === "none" ? "on" : "off" });
        if (tier === "none") continue;
        expect(off.said).not.toContain("reached the server");
        expect(off.said).toContain("network is off");
      }
    });
  });

  test("of its own is there for servers that a command starts and asks", async () => {
    await withHome(async (skein, server) => {
      if (tier !== "namespaces") return;
      const script = `const s = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("own loop") }); console.log(await (await fetch(s.url)).text()); process.exit(0)`;
      writeFileSync(join(skein.project, "own.ts"), script);
      expect((await turn(skein, server, `${process.execPath} own.ts`)).said).toContain("own loop");
    });
  });
});

describe("what was enforced", () => {
  test("is in the result: the tier, and the network off", async () => {
    await withHome(async (skein, server) => {
      const { record } = await turn(skein, server, "true");
      expect(record.enforced).toMatchObject({ policy: "workspace", tier, net: tier === "none" ? "on" : "off", fs: tier !== "none" });
      if (tier === "namespaces") expect(record.enforced).toMatchObject({ secrets: true, processes: true, missing: [] });
    });
  });

  test.each(["readonly", "plan"])("nothing, where walls are required: %s refuses with exit 9 and says what to change", async (policy) => {
    await withHome(
      async (skein, server) => {
        const ran = await skein.run(["run", "true", ...model, "--policy", policy]);
        expect(ran).toMatchObject({ code: 9, out: "" });
        expect(ran.err).toContain(`policy ${policy} can't be enforced here`);
        expect(ran.err).toContain("unset SKEIN_SANDBOX_BEST");
        expect(server.main()).toEqual([]);
      },
      { SKEIN_SANDBOX_BEST: "none" },
    );
  });

  test("nothing, under workspace: said once, and recorded", async () => {
    await withHome(
      async (skein) => {
        const ran = await skein.run(["run", "true", ...model, "--json"]);
        expect(ran.code).toBe(0);
        expect(ran.err.match(/not enforced/g)).toHaveLength(1);
        expect(ran.json()["enforced"]).toMatchObject({ policy: "workspace", tier: "none", fs: false, net: "on" });
      },
      { SKEIN_SANDBOX_BEST: "none" },
    );
  });

  test("is said by doctor, with what is missing and why", async () => {
    const doctor = async (best: string): Promise<RunResult> => {
      using skein = temporaryHome(best === "" ? {} : { SKEIN_SANDBOX_BEST: best });
      return await skein.run(["doctor"]);
    };
    expect((await doctor("none")).out).toMatch(
      /^[-○] sandbox .*nothing is enforced: .*readonly and plan refuse.*\n +unset SKEIN_SANDBOX_BEST$/m,
    );
    const second = (await doctor("landlock")).out;
    expect(second).toMatch(
      /^[-+✓○] sandbox .*(\(landlock\).*not enforced: processes.*for more: unset SKEIN_SANDBOX_BEST|nothing is enforced)/m,
    );
    if (tier === "namespaces") expect((await doctor("")).out).toMatch(/^[+✓] sandbox .*fully enforced \(namespaces\), tested just now$/m);
  });
});

describe("from turn to turn", () => {
  test("another policy means other walls, in one session", async () => {
    await withHome(async (skein, server) => {
      if (tier === "none") return;
      const first = await turn(skein, server, "echo one > a.txt && echo wrote");
      expect(first.said).toContain("wrote");
      const same = ["--session", first.record.session_id];
      const second = await turn(skein, server, "echo two > a.txt && echo wrote", [...same, "--policy", "readonly"]);
      expect(second.said).not.toContain("wrote");
      expect(second.record).toMatchObject({ session_id: first.record.session_id, enforced: { policy: "readonly" } });
      expect(readFileSync(join(skein.project, "a.txt"), "utf8")).toBe("one\n");
      const third = await turn(skein, server, "echo three > a.txt && echo wrote", same);
      expect(third.said).toContain("wrote");
    });
  });

  test("a session and what it delegates share one executor under one policy; a narrower one gets another", async () => {
    const look = "readlink /proc/self/ns/mnt";
    const server = startModelServer(({ position }) => {
      if (position.prompt !== "whole") return shellScript([look], position.prompt);
      const spawn = (task: string, sandbox: { network?: boolean }) => ({ calls: [{ name: "spawn_session", input: { task, sandbox } }] });
      return {
        steps: [{ calls: [{ input: { command: look } }] }, spawn("same", {}), spawn("narrower", { network: false })],
        final: "done",
      };
    });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      if (tier !== "namespaces") return;
      const ran = await skein.run(["run", "whole", "--net", "on", ...model, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "done" });
      const [own, same, narrower] = server.main().flatMap((request) => /^mnt:\[\d+\]/.exec(resultOf(request)) ?? []);
      expect(own).toBeString();
      expect(same).toBe(own);
      expect(narrower).toBeString();
      expect(narrower).not.toBe(own);
    } finally {
      await server.stop();
    }
  });

  test("the temporary directory is the session's own: kept for its next turn, and not seen by another", async () => {
    await withHome(async (skein, server) => {
      const first = await turn(skein, server, 'echo mine > "$TMPDIR/kept"; echo also > /tmp/kept-too-by-skein; echo "at $TMPDIR"');
      const again = ["--session", first.record.session_id];
      const second = await turn(skein, server, 'cat "$TMPDIR/kept" /tmp/kept-too-by-skein; echo "at $TMPDIR"', again);
      expect(second.said).toContain("mine");
      const [place] = /at \/.*/.exec(first.said) ?? [""];
      expect(second.said).toContain(place);
      if (tier !== "namespaces") return;
      expect(second.said).toContain("also");
      const other = await turn(skein, server, `cat "${place.slice(3)}/kept" /tmp/kept-too-by-skein; ls "$TMPDIR"`);
      expect(other.said).not.toContain("mine");
      expect(other.said).not.toContain("also");
    });
  });
});

test("skein's own files and keys are not there for tools, and the project's hooks and settings stay as they are", async () => {
  await withHome(async (skein, server) => {
    if (tier !== "namespaces") return;
    mkdirSync(join(skein.home, ".ssh"));
    writeFileSync(join(skein.home, ".ssh", "id"), "a private key");
    const git = Bun.spawnSync(["git", "init", "-q"], { cwd: skein.project, env: { PATH: skein.env["PATH"]!, HOME: skein.home } });
    expect(git.exitCode).toBe(0);
    const commands = [
      `cat ~/.ssh/id "${skein.root}/skein/data/skein.db"`,
      "echo x > .git/hooks/pre-commit && echo bad",
      "git config core.hooksPath /x && echo bad",
      "echo ../evil > .git/commondir && echo bad",
      "mv .git .other && echo bad",
    ];
    const { said } = await turn(skein, server, commands.join("\n"));
    expect(said).not.toMatch(/private key|SQLite|bad/);
    expect((await turn(skein, server, "env")).said).not.toContain("key-anthropic");
  });
});
