// Denied actions end to end: the model reads the denial in the result, the user sees an event and a line. Without a
// sandbox on this machine no denial is reported; the guard against destructive commands works everywhere.
import { expect, test } from "bun:test";
import { event as eventSchema } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

type Line = Record<string, unknown> & { type: string };

async function runCommand(command: string, flags: string[]) {
  const server = startModelServer(() => shellScript([command], "done"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const ran = await skein.run(["run", "go", "-m", wireModels.anthropic, ...flags]);
    const sent = server.main().at(-1)?.text ?? "";
    return { ...ran, sent };
  } finally {
    await server.stop();
  }
}

const connectTo = (url: string) => `exec 3<>/dev/tcp/${url} && echo reached`;

test("with the network off the result and an event report the denial, and with --net on the same command works", async () => {
  const listener = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("hello") });
  const command = connectTo(`127.0.0.1/${listener.port}`);
  try {
    const off = await runCommand(command, ["--output-format", "events"]);
    const lines = off.lines() as Line[];
    const tier = (lines.at(-1) as { enforced?: { tier: string } }).enforced?.tier;
    const denied = lines.filter(({ type }) => type === "tool.denied");
    if (tier === "none") return expect(denied).toEqual([]);
    expect(off.sent).toContain("network is off");
    expect(denied.map((line) => [eventSchema.safeParse(line).success, line["what"]])).toEqual([[true, "net"]]);
    expect(denied[0]!["text"]).toContain("--net on");

    const on = await runCommand(command, ["--net", "on", "--output-format", "events"]);
    expect(on.sent).toContain("reached");
    expect((on.lines() as Line[]).some(({ type }) => type === "tool.denied")).toBe(false);
  } finally {
    await listener.stop(true);
  }
}, 300_000);

// The command appends nothing, so it does no harm without a sandbox.
test("a denied write outside of the project is one line on stderr, and stdout has only the answer", async () => {
  const { out, err, sent } = await runCommand(": >> /etc/hostname", ["--output-format", "text"]);
  expect(out).toBe("done\n");
  if (/not enforced/.test(err)) return;
  expect(sent).toContain("policy workspace allows writing only");
  expect(err.split("\n").filter((line) => line.includes("policy workspace allows writing only")).length).toBe(1);
}, 300_000);

test("a plainly destructive command is refused under every policy, including full", async () => {
  for (const policy of ["workspace", "full"]) {
    const { sent, err } = await runCommand("rm -rf --no-preserve-root /no/such/place", ["--policy", policy, "--output-format", "text"]);
    expect(sent).toContain("refused: rm with --no-preserve-root");
    expect(err).toContain("the user can run it outside of skein");
  }
}, 300_000);
