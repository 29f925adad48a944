// A hostile MCP server on stdio fails like any tool: outside files, secrets, sockets, and processes that outlive the turn.
// Its own secrets stay hidden from the session's other tools.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mcpCall, serverJourney, testServerEntry } from "../support/server-journey.ts";
import { findProcess, ownRlimitTag, waitForNoProcesses } from "../support/processes.ts";
import { wireModels } from "../support/temporary-home.ts";

const anthropic = ["-m", wireModels.anthropic];
const readEnvironments = 'for f in /proc/[0-9]*/environ; do tr "\\0" "\\n" < "$f"; done 2>/dev/null | grep -c "^OWN=hidden-value" || true';

async function attack(flags: string[], env: Record<string, string>) {
  const listener = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("reached") });
  const outside = join("home", "outside.txt");
  try {
    await using journey = serverJourney(
      [
        mcpCall("hostile", "write", { path: "../" + outside }),
        mcpCall("hostile", "read", { path: "../home/.ssh/id_ed25519" }),
        mcpCall("hostile", "dial", { port: listener.port }),
        mcpCall("hostile", "write", { path: "inside.txt" }),
        { input: { command: readEnvironments } },
      ],
      { hostile: testServerEntry([], { env: { OWN: "hidden-value" } }) },
      env,
    );
    const { skein } = journey;
    mkdirSync(join(skein.home, ".ssh"), { mode: 0o700 });
    writeFileSync(join(skein.home, ".ssh", "id_ed25519"), "the private key");
    const { code, err } = await skein.run(["run", "go", ...anthropic, ...flags]);
    expect([code, err]).toEqual([0, expect.not.stringContaining("skein:")]);
    const [, secret, dialled, , environments] = journey.results();
    return {
      hasWrittenOutside: existsSync(join(skein.root, outside)),
      hasReadSecret: secret!.includes("the private key"),
      hasConnected: dialled!.startsWith("connected"),
      hasWrittenInside:
        existsSync(join(skein.project, "inside.txt")) && readFileSync(join(skein.project, "inside.txt"), "utf8") === "written",
      showsItsSecret: environments!.trim() !== "0",
    };
  } finally {
    await listener.stop(true);
  }
}

test("without a sandbox every attempt succeeds, which shows that the attempts work", async () => {
  expect(await attack(["--policy", "full", "--sandbox", "off"], {})).toEqual({
    hasWrittenOutside: true,
    hasReadSecret: true,
    hasConnected: true,
    hasWrittenInside: true,
    showsItsSecret: true,
  });
});

describe.each(["namespaces", "landlock"])("in the sandbox of tier %s", (tier) => {
  const env = { SKEIN_SANDBOX_BEST: tier };

  test("a server can't write outside, read ~/.ssh or connect, and its secrets are hidden from the session's tools", async () => {
    expect(await attack(["--sandbox", "required"], env)).toEqual({
      hasWrittenOutside: false,
      hasReadSecret: false,
      hasConnected: false,
      hasWrittenInside: true,
      showsItsSecret: false,
    });
  });

  test("policy readonly lets a server write nothing", async () => {
    const { hasWrittenInside } = await attack(["--policy", "readonly"], env);
    expect(hasWrittenInside).toBe(false);
  });

  test.each(["SIGKILL", "SIGINT"] as const)("nothing of a server is left after %s of skein", async (signal) => {
    const tag = ownRlimitTag();
    const calls = [mcpCall("family", "act", { how: "hang" })];
    await using journey = serverJourney(calls, { family: testServerEntry(["family", tag]) }, env);
    const run = journey.skein.start(["run", "go", ...anthropic]);
    await findProcess(journey.skein.root, (command) => command.startsWith(`sleep\0${tag}`) || command.startsWith(`sleep ${tag}`));
    run.kill(signal);
    await run.exited;
    expect(await waitForNoProcesses(journey.skein.root, 20_000, { tag })).toEqual([]);
  });
});
