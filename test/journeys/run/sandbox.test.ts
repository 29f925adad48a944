// The sandbox of tools with the real program, as far as this machine supports it. On a machine with less than
// namespaces the tests check the messages about missing protection instead.
import { beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
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

/** Runs `check` with a model that runs each prompt as a shell command. */
async function withHome(
  check: (skein: TemporaryHome, server: ModelServer) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const server = startModelServer(({ position }) => shellScript([position.prompt]));
  using skein = temporaryHome({ ...vendorEnv(server.url), ...env });
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

/** Runs one command as a turn. `result` is the tool's result in the request to the model. */
async function runTurn(skein: TemporaryHome, server: ModelServer, command: string, args: string[] = []) {
  const ran = await skein.run(["run", command, ...model, "--json", ...args]);
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  const record = ran.json() as { session_id: string; enforced: Record<string, unknown> };
  return { record, result: resultOf(server.main().at(-1)!) };
}

/** Returns the last tool result in a request. */
function resultOf(request: RecordedRequest): string {
  type Block = { type: string; content?: { text?: string }[] | string };
  const { messages } = request.body as unknown as { messages: { content: Block[] }[] };
  const block = messages.flatMap(({ content }) => content).findLast((each) => each.type === "tool_result");
  return typeof block?.content === "string" ? block.content : (block?.content ?? []).map((each) => each.text ?? "").join("");
}

describe("the network", () => {
  test("with the network off the tool's result says so, and with --net on the same command works", async () => {
    await withHome(async (skein, server) => {
      using listener = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("reached the server") });
      const commands = [`exec 3<>/dev/tcp/127.0.0.1/${listener.port}; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`];
      if (Bun.which("curl") !== null) commands.push(`curl -sS http://127.0.0.1:${listener.port}/`);
      for (const command of commands) {
        const on = await runTurn(skein, server, command, ["--net", "on"]);
        expect(on.result).toContain("reached the server");
        expect(on.result).not.toContain("network is off");
        expect(on.record.enforced).toMatchObject({ net: "on" });
        const off = await runTurn(skein, server, command);
        expect(off.record.enforced).toMatchObject({ net: tier === "none" ? "on" : "off" });
        if (tier === "none") continue;
        expect(off.result).not.toContain("reached the server");
        expect(off.result).toContain("network is off");
      }
    });
  });

  test("a command can reach a server that it starts itself while the network is off", async () => {
    await withHome(async (skein, server) => {
      if (tier !== "namespaces") return;
      const script = `const s = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("own loop") }); console.log(await (await fetch(s.url)).text()); process.exit(0)`;
      writeFileSync(join(skein.project, "own.ts"), script);
      expect((await runTurn(skein, server, `${process.execPath} own.ts`)).result).toContain("own loop");
    });
  });
});

describe("what was enforced", () => {
  test("the result contains the sandbox tier and the state of the network", async () => {
    await withHome(async (skein, server) => {
      const { record } = await runTurn(skein, server, "true");
      expect(record.enforced).toMatchObject({ policy: "workspace", tier, net: tier === "none" ? "on" : "off", fs: tier !== "none" });
      if (tier === "namespaces") expect(record.enforced).toMatchObject({ secrets: true, processes: true, missing: [] });
    });
  });

  test.each(["readonly", "plan"])("without a sandbox policy %s is refused with exit code 9 and a hint", async (policy) => {
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

  test("a missing sandbox is reported once under policy workspace, and is in the result", async () => {
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

  test("doctor reports the sandbox tier, what is missing and why", async () => {
    const doctor = async (best: string): Promise<RunResult> => {
      using skein = temporaryHome(best === "" ? {} : { SKEIN_SANDBOX_BEST: best });
      return await skein.run(["doctor"]);
    };
    expect((await doctor("none")).out).toMatch(
      /^[-○] sandbox .*nothing is enforced: .*readonly and plan refuse.*\n +unset SKEIN_SANDBOX_BEST$/m,
    );
    const landlock = (await doctor("landlock")).out;
    expect(landlock).toMatch(
      /^[-+✓○] sandbox .*(\(landlock\).*not enforced: processes.*for more: unset SKEIN_SANDBOX_BEST|nothing is enforced)/m,
    );
    if (tier === "namespaces")
      expect((await doctor("")).out).toMatch(/^[+✓] sandbox .*fully enforced \(namespaces\), native launcher, tested just now$/m);
  });

  test("where no program of the state directory may be executed, doctor names the other launcher, and its sandbox is the same", async () => {
    if (tier !== "namespaces") return;
    const server = startModelServer(shellScript(["echo new > ../outside.txt; echo own > own.txt; echo tried"]));
    const own = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
    const mount = 'mkdir -p "$SKEIN_HOME/state" && mount -t tmpfs -o noexec none "$SKEIN_HOME/state" && exec "$@"';
    using skein = temporaryHome(vendorEnv(server.url), ["unshare", ...own, "--mount", "sh", "-c", mount, "sh"]);
    try {
      const doctor = await skein.run(["doctor"]);
      expect(doctor.out).toMatch(/^[+✓] sandbox .*fully enforced \(namespaces\), launcher in JavaScript, tested just now$/m);
      const ran = await skein.run(["run", "try", ...model, "--json"]);
      expect({ err: ran.code === 0 ? "" : ran.err, ...ran.json() }).toMatchObject({
        err: "",
        enforced: { tier: "namespaces", fs: true, net: "off" },
      });
      expect(resultOf(server.main().at(-1)!)).toContain("tried");
      expect(readdirSync(skein.root)).not.toContain("outside.txt");
      expect(readFileSync(join(skein.project, "own.txt"), "utf8")).toBe("own\n");
    } finally {
      await server.stop();
    }
  });
});

describe("from turn to turn", () => {
  test("each turn of a session gets the sandbox of its own policy", async () => {
    await withHome(async (skein, server) => {
      if (tier === "none") return;
      const first = await runTurn(skein, server, "echo one > a.txt && echo wrote");
      expect(first.result).toContain("wrote");
      const same = ["--session", first.record.session_id];
      const second = await runTurn(skein, server, "echo two > a.txt && echo wrote", [...same, "--policy", "readonly"]);
      expect(second.result).not.toContain("wrote");
      expect(second.record).toMatchObject({ session_id: first.record.session_id, enforced: { policy: "readonly" } });
      expect(readFileSync(join(skein.project, "a.txt"), "utf8")).toBe("one\n");
      const third = await runTurn(skein, server, "echo three > a.txt && echo wrote", same);
      expect(third.result).toContain("wrote");
    });
  });

  test("a sub-session shares its parent's executor under the same policy and gets another under a narrower one", async () => {
    const printNamespace = "readlink /proc/self/ns/mnt";
    const server = startModelServer(({ position }) => {
      if (position.prompt !== "whole") return shellScript([printNamespace], position.prompt);
      const spawn = (task: string, sandbox: { network?: boolean }) => ({ calls: [{ name: "spawn_session", input: { task, sandbox } }] });
      return {
        steps: [{ calls: [{ input: { command: printNamespace } }] }, spawn("same", {}), spawn("narrower", { network: false })],
        final: "done",
      };
    });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      if (tier !== "namespaces") return;
      const ran = await skein.run(["run", "whole", "--net", "on", ...model, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "done" });
      const [parent, same, narrower] = server.main().flatMap((request) => /^mnt:\[\d+\]/.exec(resultOf(request)) ?? []);
      expect(parent).toBeString();
      expect(same).toBe(parent);
      expect(narrower).toBeString();
      expect(narrower).not.toBe(parent);
    } finally {
      await server.stop();
    }
  });

  test("a session keeps its own temporary directory for its next turn, and other sessions can't see it", async () => {
    await withHome(async (skein, server) => {
      const first = await runTurn(skein, server, 'echo mine > "$TMPDIR/kept"; echo also > /tmp/kept-too-by-skein; echo "at $TMPDIR"');
      const again = ["--session", first.record.session_id];
      const second = await runTurn(skein, server, 'cat "$TMPDIR/kept" /tmp/kept-too-by-skein; echo "at $TMPDIR"', again);
      expect(second.result).toContain("mine");
      const [directoryLine] = /at \/.*/.exec(first.result) ?? [""];
      expect(second.result).toContain(directoryLine);
      if (tier !== "namespaces") return;
      expect(second.result).toContain("also");
      const otherSession = await runTurn(skein, server, `cat "${directoryLine.slice(3)}/kept" /tmp/kept-too-by-skein; ls "$TMPDIR"`);
      expect(otherSession.result).not.toContain("mine");
      expect(otherSession.result).not.toContain("also");
    });
  });
});

test("tools can't read skein's files and keys, and can't change git hooks and settings of the project", async () => {
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
    const { result } = await runTurn(skein, server, commands.join("\n"));
    expect(result).not.toMatch(/private key|SQLite|bad/);
    expect((await runTurn(skein, server, "env")).result).not.toContain("key-anthropic");
  });
});

test("the directories that a sandbox leaves for the next turn can be removed by the user", async () => {
  await withHome(async (skein, server) => {
    await runTurn(skein, server, "echo x > file");
    const temps = join(skein.env["SKEIN_HOME"]!, "data", "tmp");
    const entries = readdirSync(temps, { recursive: true, withFileTypes: true });
    const directories = entries.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
    expect(directories.length).toBeGreaterThan(0);
    expect(directories.filter((directory) => (statSync(directory).mode & 0o700) !== 0o700)).toEqual([]);
  });
});
