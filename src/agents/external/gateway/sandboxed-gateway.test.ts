import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServerOptions } from "../../../scripted-model/model-server.ts";
import { waitForNoProcesses } from "../../../../test/support/processes.ts";
import { machineOf, startSandboxed, type SandboxedProgram } from "../fixtures/sandboxed.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Runs a script with the runtime, inside; it finds `url`, `token` and `args`, and prints one JSON. */
async function insideWith(
  machine: SandboxedProgram["machine"],
  script: string,
  args: Record<string, unknown>,
  options: ModelServerOptions,
) {
  const source = (place: object) => `const { url, token, folder, args } = ${JSON.stringify({ ...place, args })};\n${ask}\n${script}`;
  const walled = await startSandboxed(
    machine,
    (place) => {
      writeFileSync(join(place.folder, "script.ts"), source(place));
      return [process.execPath, "--config=/dev/null", "--no-env-file", join(place.folder, "script.ts")];
    },
    options,
  );
  open.push(walled.close);
  const [out, err] = await Promise.all([new Response(walled.child.stdout).text(), new Response(walled.child.stderr).text()]);
  expect({ out: out !== "", err }).toEqual({ out: true, err: "" });
  return { said: JSON.parse(out) as Record<string, unknown>, gateway: walled.gateway };
}

async function inside(
  machine: SandboxedProgram["machine"],
  script: string,
  args: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  return (await insideWith(machine, script, args, {})).said;
}

const ask = `
const ask = (more = {}) => fetch(url + "/v1/messages", { method: "POST", headers: { "x-api-key": token },
  body: JSON.stringify({ model: "m", stream: true, tools: [{ name: "bash" }], messages: [{ role: "user", content: "hi" }], ...more }) });
const outcome = (promise: Promise<unknown>) => promise.then(() => "worked", (error) => error.code ?? String(error));`;

describe.each(["namespaces", "landlock"] as const)("under the best walls up to %s, with the network off", (best) => {
  let machine: SandboxedProgram["machine"];
  beforeAll(async () => {
    machine = await machineOf(best);
  });

  test("the gateway answers, to many at once and at length", async () => {
    const said = await inside(
      machine,
      `const answers = await Promise.all(Array.from({ length: 40 }, async () => (await ask()).text()));
       const long = await ask({ metadata: "x".repeat(5_000_000) });
       const stranger = await fetch(url + "/v1/messages", { method: "POST", body: "{}" });
       console.log(JSON.stringify({ whole: answers.filter((text) => text.includes("message_stop")).length, long: long.status, stranger: stranger.status }));`,
    );
    expect(said).toEqual({ whole: 40, long: 200, stranger: 401 });
  });

  test("nothing else answers: no other port, no datagram, no socket of the gateway's own", async () => {
    using host = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("the machine's") });
    const said = await inside(
      machine,
      `const answer = await (await ask()).text();
       const tcp = (hostname: string, port: number) => outcome(Bun.connect({ hostname, port, socket: { data() {} } }));
       const { dlopen, ptr, read } = await import("bun:ffi");
       const { symbols } = dlopen(args.libc, { socket: { args: ["i32", "i32", "i32"], returns: "i32" }, __errno_location: { args: [], returns: "ptr" },
         sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" } });
       const address = new Uint8Array([2, 0, args.port >> 8, args.port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
       const fast = symbols.sendto(symbols.socket(2, 1, 0), ptr(new Uint8Array(4)), 4, 0x20000000, ptr(address), 16);
       const problem = read.i32(symbols.__errno_location()!, 0);
       const { readdirSync } = await import("node:fs");
       const processes = readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length;
       console.log(JSON.stringify({ answer: answer.includes("Hello"), host: await tcp("127.0.0.1", args.port), fast: Number(fast), problem,
         unix: await outcome(Bun.connect({ unix: folder + "/hidden/g", socket: { data() {} } })),
         udp: symbols.socket(2, 2, 0) >= 0, mptcp: symbols.socket(2, 1, 262) >= 0, processes }));`,
      { port: host.port, libc: "libc.so.6" },
    );
    expect(said).toMatchObject({ answer: true, fast: -1 });
    expect([said["host"], said["unix"]]).not.toContain("worked");
    // In a network of its own any socket leads nowhere; elsewhere there is only TCP. Nothing of ours runs inside.
    if (machine.tier === "namespaces") expect(said["processes"]).toBe(1);
    if (machine.tier === "landlock") expect([said["udp"], said["mptcp"]]).toEqual([false, false]);
    // Not permitted: Landlock alone would let it pass.
    if (machine.tier === "landlock") expect(said["problem"]).toBe(1);
  });

  test("a child that ends in mid-answer takes its request with it, and what it used is counted", async () => {
    const script = `const reader = (await ask()).body!.getReader();
       console.log(JSON.stringify({ got: (await reader.read()).value!.length > 100 }));
       process.exit();`;
    const { said, gateway } = await insideWith(machine, script, {}, { faults: { 1: { type: "stall", afterEvents: 3 } } });
    expect(said).toEqual({ got: true });
    while (gateway.requests().length === 0) await Bun.sleep(5);
    expect(gateway.requests()).toMatchObject([{ status: 200, error: { kind: "cancelled" } }]);
    expect(gateway.spent().usage.input).toBeGreaterThan(0);
  });
});

describe("when skein is killed", () => {
  test("nothing is left of what it started behind the walls", async () => {
    const fixture = join(import.meta.dir, "..", "fixtures", "sandboxed.ts");
    const parent = Bun.spawn([process.execPath, fixture], { stdio: ["ignore", "pipe", "inherit"] });
    const { value } = await parent.stdout.getReader().read();
    const [word, folder] = new TextDecoder().decode(value).trim().split(" ") as [string, string];
    expect(word).toBe("up");
    parent.kill("SIGKILL");
    await parent.exited;
    expect(await waitForNoProcesses(folder)).toEqual([]);
    rmSync(folder, { recursive: true, force: true });
  });
});
