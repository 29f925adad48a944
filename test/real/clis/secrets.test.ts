// The real agents behind real walls, with a shell: what they can reach and read. Keys that can be recognised stand in
// every credential; after good and failed turns no file, argument list, stream or request body holds one of them.
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

/** Root, and another user where the programs can be read by all. */
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

  test("the probe finds everything where there are no walls", async () => {
    const said = await new Response(
      Bun.spawn([...person.prefix, "sh", "probe.sh"], { cwd: skein.project, env: skein.env, stderr: "ignore" }).stdout,
    ).text();
    expect(foundIn(said).filter((line) => line.startsWith("READ"))).toEqual([...files, "config.jsonc"].map((file) => `READ ${file}`));
    expect(foundIn(said).filter((line) => line.startsWith("REACHED"))).toHaveLength(2);
    expect(foundIn(said).filter((line) => line.startsWith("HOLDS")).length).toBeGreaterThan(files.length);
    expect(said).toMatch(canaryPattern);
    expect(reached).toBe(1);
    reached = 0;
  });

  describe.each(peerNames.map((name) => [name] as const))("%s", (agent) => {
    test("reaches its gateway alone, and reads no key and nothing of the person's own agents", async () => {
      server.setScript(shellScript(["sh probe.sh"], "nothing to see"));
      const { turn: ended, nodes } = await turn(agent, "look around");
      expect([ended.status, ended.error]).toEqual(["ok", undefined]);
      const said = nodes.flatMap((node) => node.parts.flatMap((part) => (part.kind === "result" ? [part.text] : []))).join("\n");
      for (const word of ["PATH=", "PROBED", ...(ended.enforced?.tier === "namespaces" ? ["GATEWAY"] : [])]) expect(said).toContain(word);
      expect(foundIn(said)).toEqual([]);
      expect([ended.enforced?.net, ended.enforced?.missing]).toEqual(["gateway", []]);
    });

    test("repeats no key that its vendor repeats to it", async () => {
      server.setScript({ steps: [], final: "never said" });
      server.setFault({ type: "status", status: 401, message: `the key is wrong: ${secret(keyVariableOf(agent))}` });
      const { ran, turn: ended } = await turn(agent, "ask");
      server.setFault(null);
      expect([ran.code, ended.status]).toEqual([4, "auth"]);
      expect(ended.error?.message).toContain("[key]");
    });
  });

  describe("afterwards", () => {
    test("the keys were used, and nobody outside was reached", () => {
      const used = ["ANTHROPIC_API_KEY", "CODEX_API_KEY", "GEMINI_API_KEY"].filter((name) =>
        headers.some((each) => each.includes(secret(name))),
      );
      expect(used).toHaveLength(3);
      expect(reached).toBe(0);
    });

    test("no stream, no request body and no argument list held a key", () => {
      expect(watch.lists().some((list) => list.includes("__launch"))).toBe(true);
      for (const texts of [printed, bodies, watch.lists()])
        expect(texts.filter((text) => canaryPattern.test(text)).map(excerptAround)).toEqual([]);
    });

    test("no file holds a key, besides those that people keep them in", async () => {
      const found = readdirSync(skein.root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const paths = found.map((entry) => join(entry.parentPath, entry.name));
      const kept = ["skein.db", ".jsonl", ".stdout.log", ".stderr.log"].filter((end) => !paths.some((path) => path.endsWith(end)));
      expect([kept, peerNames.filter((agent) => !paths.some((path) => path.includes(`/${agent}/`)))]).toEqual([[], []]);
      expect(await skein.leaks()).toEqual([]);
    });
  });
});

/** Says what it finds, and never what it looks for. */
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

function foundIn(said: string): string[] {
  return said.split("\n").filter((line) => /^(READ|REACHED|HOLDS) /.test(line));
}
