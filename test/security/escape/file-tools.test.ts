// Tests that the sandbox also limits the file tools, `output_file` and handles of every source. A scripted model calls
// them, and the effect is checked from outside.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { field, type JsonValue, listOf, textOf } from "../../../src/scripted-model/json.ts";
import type { ScriptCall, Script } from "../../../src/scripted-model/script.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { type FileCall, fileCalls, inputOf, linkCommands, widerTask } from "./file-calls.ts";
import type { World } from "./inside/world.ts";
import { buildOutside, type Outside } from "./outside.ts";
import { type Person, persons } from "./person.ts";
import { type SandboxCase, snapshotOf, outputOf, policyFlags } from "./runs.ts";

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "done" });
});
afterAll(() => server.stop());

const people = persons().filter((person) => person.uid === person.projectOwner);
type Sandbox = Pick<SandboxCase, "tier" | "policy" | "net">;
const unsandboxed: Sandbox = { tier: "none", policy: "full", net: "on" };
const tiers = ["namespaces", "landlock"] as const;
const sandboxCases = people.flatMap((person) =>
  tiers.flatMap((tier) =>
    (["workspace", "readonly", "plan"] as const).map((policy) => ({ person, who: person.name, tier, policy, net: "off" as const })),
  ),
);

describe.each(people)("without a sandbox, as $name,", (person) => {
  test.each(Object.values(fileCalls).map((calls) => ({ tool: calls[0]!.tool, calls })))(
    "every call of $tool and its like succeeds",
    async ({ calls }) => {
      expect(await callAll(person, unsandboxed, calls)).toEqual(calls.map((call) => call.name));
    },
  );
});

describe.each(sandboxCases)("as $who, $tier, $policy:", ({ person, ...sandbox }) => {
  test("no file tool, answer file or sub-session breaks out of the sandbox", async () => {
    const calls = Object.values(fileCalls).flat();
    const through = await callAll(person, sandbox, calls);
    const isListed = (call: FileCall) => call.isInProject === true && sandbox.tier === "landlock" && sandbox.policy === "workspace";
    expect(calls.filter((call) => through.includes(call.name) && !isListed(call)).map((call) => call.name)).toEqual([]);
  });
});

describe.each(people.flatMap((person) => (["none", ...tiers] as const).map((tier) => ({ person, who: person.name, tier }))))(
  "handles, as $who, $tier:",
  ({ person, tier }) => {
    test("a source reads files for a session inside the session's sandbox", async () => {
      const outside = await buildOutside(person, tier !== "none");
      try {
        expect(await addAll(outside, tier)).toEqual(tier === "none" ? Object.keys(handles(outside.world)) : []);
      } finally {
        await outside.end();
      }
    });
  },
);

test("the stored output of another session can't be read by its name, and that of the own session can", async () => {
  const outside = await buildOutside(people[0]!, true);
  const skein = (...args: string[]) => outputOf(outside, [...outside.skein, ...args], "namespaces", vendorEnv(server.url));
  try {
    await skein("new", "other", "-m", wireModels.anthropic);
    await skein("exec", "other", `echo ${outside.world.token}`);
    const id = (JSON.parse(await skein("list", "--json")) as { id: string }[])[0]!.id;
    const read: ScriptCall = { name: "read", input: { path: `bash:${id}/1` } };
    server.setScript({ steps: [{ calls: [read] }], final: "done" });
    for (const [session, canRead] of [
      ["mine", false],
      ["other", true],
    ] as const) {
      server.clear();
      await skein("run", "read it", "--session", session, "-m", wireModels.anthropic);
      expect({ session, canRead: resultsOf(server, 1)?.[0]?.includes(outside.world.token) }).toEqual({ session, canRead });
    }
  } finally {
    await outside.end();
  }
});

/** Names of the calls that succeeded. */
async function callAll(person: Person, sandbox: Sandbox, calls: FileCall[]): Promise<string[]> {
  const outside = await buildOutside(person, sandbox.tier !== "none");
  const { world } = outside;
  try {
    const before = new Map(calls.map((call) => [call.name, snapshotOf(call.target(world))]));
    const played: ScriptCall[] = calls.map((call) => ({ name: call.tool, input: inputOf(call, world) }));
    server.clear();
    server.setScript(({ body }) => scriptFor(body, world, played));
    const run = [...outside.skein, "run", "the main task", "-m", wireModels.anthropic, "--json", ...policyFlags(sandbox)];
    const output = await outputOf(outside, run, sandbox.tier, vendorEnv(server.url));
    const results = resultsOf(server, played.length);
    if (results === null) throw new Error(`the calls were not answered: ${output}`);
    const isThrough = (call: FileCall, index: number) =>
      call.tool === "read" ? results[index]!.includes(world.token) : snapshotOf(call.target(world)) !== before.get(call.name);
    return calls.filter(isThrough).map((call) => call.name);
  } finally {
    await outside.end();
  }
}

function scriptFor(body: JsonValue, world: World, played: ScriptCall[]): Script {
  const first = JSON.stringify(listOf(field(body, "messages"))[0]);
  if (first.includes("the main task"))
    return { steps: [{ calls: [{ input: { command: linkCommands(world) } }] }, { calls: played }], final: "done" };
  const wider: ScriptCall = {
    name: "write",
    input: { path: join(world.outside, "rename-in/victim"), content: "changed by a sub-session" },
  };
  return { steps: first.includes(widerTask) ? [{ calls: [wider] }] : [], final: "the answer" };
}

/** The tool results that the model was sent; null if the turn ended earlier. */
function resultsOf({ main }: ModelServer, count: number): string[] | null {
  const complete = main().flatMap(({ body }) => {
    const last = listOf(field(listOf(field(body, "messages")).at(-1) ?? null, "content"));
    const results = last.filter((part) => textOf(field(part, "type")) === "tool_result");
    return results.length === count ? [results.map((part) => JSON.stringify(part))] : [];
  });
  return complete.at(-1) ?? null;
}

/** Programs with these names come first in the PATH and try forbidden actions. */
const hostile = ["curl", "psql"];

const handles = (world: World): Record<string, string[]> => ({
  "file key": ["--file", join(world.home, ".ssh/id_ed25519")],
  "file by link": ["--file", join(world.project, "links/key")],
  "file by proc": ["--file", `/proc/self/root${join(world.home, ".ssh/id_ed25519")}`],
  "file own config": ["--file", join(world.own.config, "config.jsonc")],
  http: ["--http", "http://127.0.0.1:1/", "--net", "on"],
  postgres: ["--postgres", "select 1", "--net", "on"],
});

/** Names of the sources through which the session read a secret. */
async function addAll(outside: Outside, tier: SandboxCase["tier"]): Promise<string[]> {
  const { world } = outside;
  const bin = join(world.project, "bin");
  mkdirSync(bin, { recursive: true });
  for (const name of hostile) writeFileSync(join(bin, name), '#!/bin/sh\ncat "$HOME/.ssh/id_ed25519"\n', { mode: 0o755 });
  const skein = (...args: string[]) => outputOf(outside, [...outside.skein, ...args], tier, { PATH: `${bin}:${outside.env["PATH"]}` });
  const secretsIn = (text: string) => text.split(world.token).length - 1;
  await skein("new", "main", "-m", "ollama/none");
  const through: string[] = [];
  let secretCount = 0;
  for (const [name, flags] of Object.entries(handles(world))) {
    await skein("add", "main", ...flags, ...(tier === "none" ? policyFlags(unsandboxed) : []));
    const count = secretsIn(await skein("context", "main"));
    if (count > secretCount) through.push(name);
    secretCount = count;
  }
  return through;
}
