// Tests what the real agents can reach and read from a shell in a real sandbox. Every credential is a recognisable key. After
// turns that succeed and fail, no file, argument list, stream or request body may contain a key.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames, peersBin } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { persons } from "../../security/escape/person.ts";
import { agentHome, agentModels, type TakenTurn, takeTurn } from "../../support/agent-journey.ts";
import { watchArguments } from "../../support/argument-lists.ts";
import {
  excerptAround,
  type CanaryHome,
  configOf,
  keyFiles as files,
  keyVariableOf,
  canaryPattern,
  secret,
  withCanaries,
  writeIn,
} from "../../support/canaries.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

/** Root, and an ordinary user if all users can read the programs. */
const people = persons().filter(
  ({ uid, projectOwner, prefix }) =>
    uid === projectOwner &&
    [process.execPath, peersBin, import.meta.path].every((path) => Bun.spawnSync([...prefix, "test", "-r", path]).exitCode === 0),
);

describe.each(people.map((person) => [person.name, person] as const))("as %s", (_, person) => {
  let server: ModelServer;
  let outside: Bun.TCPSocketListener;
  let skein: CanaryHome<TemporaryHome>;
  let watch: ReturnType<typeof watchArguments>;
  const printed: string[] = [];
  const bodies: string[] = [];
  const headers: string[] = [];
  let reached = 0;

  beforeAll(async () => {
    await installPeers(peerNames);
    server = startModelServer({ steps: [], final: "" });
    outside = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { open: () => void (reached += 1), data: () => {} } });
    skein = withCanaries(agentHome(server, {}, person.prefix));
    writeIn(join(skein.project, "probe.sh"), probe(skein, [new URL(server.url).port, String(outside.port)]));
    if (!person.isRoot) Bun.spawnSync(["chown", "-R", `${person.uid}:${person.uid}`, skein.root]);
    watch = watchArguments();
  }, 300_000);

  afterAll(async () => {
    await watch.stop();
    outside.stop(true);
    await server.stop();
    skein[Symbol.dispose]();
  });

  async function turn(agent: string, prompt: string): Promise<TakenTurn> {
    const taken = await takeTurn(skein, server, ["-a", agent, "-m", agentModels[agent]!, prompt]);
    printed.push(taken.ran.out, taken.ran.err);
    bodies.push(...server.requests.map((request) => request.text));
    headers.push(...server.requests.map((request) => Object.values(request.headers).join(" ") + request.path));
    return taken;
  }

  test("the probe reads and reaches everything without a sandbox", async () => {
    const output = await new Response(
      Bun.spawn([...person.prefix, "sh", "probe.sh"], { cwd: skein.project, env: skein.env, stderr: "ignore" }).stdout,
    ).text();
    expect(findingsIn(output).filter((line) => line.startsWith("READ"))).toEqual([...files, "config.jsonc"].map((file) => `READ ${file}`));
    expect(findingsIn(output).filter((line) => line.startsWith("REACHED"))).toHaveLength(2);
    expect(findingsIn(output).filter((line) => line.startsWith("HOLDS")).length).toBeGreaterThan(files.length);
    expect(output).toMatch(canaryPattern);
    expect(reached).toBe(1);
    reached = 0;
  });

  describe.each(peerNames.map((name) => [name] as const))("%s", (agent) => {
    test("the agent reaches only its gateway, and reads no key and no file of the user's agents", async () => {
      server.setScript(shellScript(["sh probe.sh"], "nothing to see"));
      const { turn: ended, nodes } = await turn(agent, "look around");
      expect([ended.status, ended.error]).toEqual(["ok", undefined]);
      const output = nodes.flatMap((node) => node.parts.flatMap((part) => (part.kind === "result" ? [part.text] : []))).join("\n");
      for (const word of ["PATH=", "PROBED", ...(ended.enforced?.tier === "namespaces" ? ["GATEWAY"] : [])]) expect(output).toContain(word);
      expect(findingsIn(output)).toEqual([]);
      expect([ended.enforced?.net, ended.enforced?.missing]).toEqual(["gateway", []]);
    });

    test("a key that the vendor repeats in an error is not printed", async () => {
      server.setScript({ steps: [], final: "never said" });
      server.setFault({ type: "status", status: 401, message: `the key is wrong: ${secret(keyVariableOf(agent))}` });
      const { ran, turn: ended } = await turn(agent, "ask");
      server.setFault(null);
      expect([ran.code, ended.status]).toEqual([4, "auth"]);
      expect(ended.error?.message).toContain("[key]");
    });
  });

  describe("afterwards", () => {
    test("the keys were sent, and no other server was reached", () => {
      const used = ["ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"].filter((name) =>
        headers.some((each) => each.includes(secret(name))),
      );
      expect(used).toHaveLength(3);
      expect(reached).toBe(0);
    });

    test("no stream, request body or argument list contained a key", () => {
      expect(watch.lists().some((list) => list.includes("/launcher-"))).toBe(true);
      for (const texts of [printed, bodies, watch.lists()])
        expect(texts.filter((text) => canaryPattern.test(text)).map(excerptAround)).toEqual([]);
    });

    test("no file except the users' own key files contains a key", async () => {
      const entries = readdirSync(skein.root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const paths = entries.map((entry) => join(entry.parentPath, entry.name));
      const missing = ["skein.db", ".jsonl", ".stdout.log", ".stderr.log"].filter((end) => !paths.some((path) => path.endsWith(end)));
      expect([missing, peerNames.filter((agent) => !paths.some((path) => path.includes(`/${agent}/`)))]).toEqual([[], []]);
      expect(await skein.leaks()).toEqual([]);
    });
  });
});

/** Prints the readable files and reached ports, but never a key. */
function probe(skein: TemporaryHome, open: string[]): string {
  return `
for file in ${files.join(" ")}; do cat "${skein.home}/$file" >/dev/null 2>&1 && echo "READ $file"; done
cat "${configOf(skein)}" >/dev/null 2>&1 && echo "READ config.jsonc"
ls "${skein.env["SKEIN_HOME"]}/data/skein.db" >/dev/null 2>&1 && echo "READ store"
for port in ${open.join(" ")}; do timeout 5 bash -c "echo hello >/dev/tcp/127.0.0.1/$port" 2>/dev/null && echo "REACHED $port"; done
timeout 5 bash -c "echo hello >/dev/tcp/127.0.0.1/8787" 2>/dev/null && echo "GATEWAY"
grep -rlE 'loose[-]lips' "${skein.root}" 2>/dev/null | sed 's/^/HOLDS /'
grep -alE 'loose[-]lips' /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | sed 's/^/HOLDS /'
env
cat /proc/self/environ /proc/$PPID/environ /proc/1/environ 2>/dev/null | tr '\\0' '\\n'
echo PROBED
`;
}

function findingsIn(output: string): string[] {
  return output.split("\n").filter((line) => /^(READ|REACHED|HOLDS) /.test(line));
}
