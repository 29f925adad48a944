import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServerOptions } from "../../../scripted-model/model-server.ts";
import { waitForNoProcesses } from "../../../../test/support/processes.ts";
import { probeSupport, startSandboxed, type SandboxedProgram } from "../fixtures/sandboxed.ts";

const open: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

/** Runs a script in the sandbox. The script has `url`, `token` and `args`, and prints one JSON value. */
async function insideWith(
  support: SandboxedProgram["support"],
  script: string,
  args: Record<string, unknown>,
  options: ModelServerOptions,
) {
  const source = (site: object) => `const { url, token, folder, args } = ${JSON.stringify({ ...site, args })};\n${ask}\n${script}`;
  const program = await startSandboxed(
    support,
    (site) => {
      writeFileSync(join(site.folder, "script.ts"), source(site));
      return [process.execPath, "--config=/dev/null", "--no-env-file", join(site.folder, "script.ts")];
    },
    options,
  );
  open.push(program.close);
  const [out, err] = await Promise.all([new Response(program.child.stdout).text(), new Response(program.child.stderr).text()]);
  expect({ out: out !== "", err }).toEqual({ out: true, err: "" });
  return { output: JSON.parse(out) as Record<string, unknown>, gateway: program.gateway };
}

async function inside(
  support: SandboxedProgram["support"],
  script: string,
  args: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  return (await insideWith(support, script, args, {})).output;
}

const ask = `
const ask = (more = {}) => fetch(url + "/v1/messages", { method: "POST", headers: { "x-api-key": token },
  body: JSON.stringify({ model: "m", stream: true, tools: [{ name: "bash" }], messages: [{ role: "user", content: "hi" }], ...more }) });
const outcome = (promise: Promise<unknown>) => promise.then(() => "worked", (error) => error.code ?? String(error));`;

describe.each(["namespaces", "landlock"] as const)("in the best sandbox up to %s, with the network off", (best) => {
  let support: SandboxedProgram["support"];
  beforeAll(async () => {
    support = await probeSupport(best);
  });

  test("the gateway answers 40 requests at once, and a request of 5 MB", async () => {
    const output = await inside(
      support,
      `const answers = await Promise.all(Array.from({ length: 40 }, async () => (await ask()).text()));
       const long = await ask({ metadata: "x".repeat(5_000_000) });
       const stranger = await fetch(url + "/v1/messages", { method: "POST", body: "{}" });
       console.log(JSON.stringify({ whole: answers.filter((text) => text.includes("message_stop")).length, long: long.status, stranger: stranger.status }));`,
    );
    expect(output).toEqual({ whole: 40, long: 200, stranger: 401 });
  });

  test("a sandboxed program can't use up the file descriptors of skein with open connections", async () => {
    const before = readdirSync("/proc/self/fd").length;
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, readdirSync("/proc/self/fd").length)), 20);
    const output = await inside(
      support,
      `const { hostname, port } = new URL(url);
       let closed = 0;
       const open = await Promise.all(Array.from({ length: 600 }, () => Bun.connect({ hostname, port: Number(port),
         socket: { data() {}, close() { closed += 1; } } }).catch(() => null)));
       while (closed < 600 - 128) await Bun.sleep(20);
       const kept = open.length - closed;
       for (const socket of open) socket?.end();
       while (closed < 600) await Bun.sleep(20);
       let status = 0;
       while (status !== 200) status = await ask().then((answer) => answer.status, () => 0);
       console.log(JSON.stringify({ kept, status }));`,
    );
    clearInterval(watch);
    expect(output).toEqual({ kept: 128, status: 200 });
    expect(most - before).toBeLessThan(600);
  });

  test("a sandboxed program reaches no other port and can send no datagram", async () => {
    using host = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("the support's") });
    const output = await inside(
      support,
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
         udp: symbols.socket(2, 2, 0) >= 0, mptcp: symbols.socket(2, 1, 262) >= 0, processes }));`,
      { port: host.port, libc: "libc.so.6" },
    );
    expect(output).toMatchObject({ answer: true, fast: -1 });
    expect(output["host"]).not.toBe("worked");
    // In its own network namespace any socket leads nowhere; else only TCP is allowed. No process of skein runs inside.
    if (support.tier === "namespaces") expect(output["processes"]).toBe(1);
    if (support.tier === "landlock") expect([output["udp"], output["mptcp"]]).toEqual([false, false]);
    // EPERM from seccomp: Landlock alone would allow it.
    if (support.tier === "landlock") expect(output["problem"]).toBe(1);
  });

  test("a child that exits during an answer cancels its request, and its usage is counted", async () => {
    const script = `const reader = (await ask()).body!.getReader();
       console.log(JSON.stringify({ got: (await reader.read()).value!.length > 100 }));
       process.exit();`;
    const { output, gateway } = await insideWith(support, script, {}, { faults: { 1: { type: "stall", afterEvents: 3 } } });
    expect(output).toEqual({ got: true });
    while (gateway.requests().length === 0) await Bun.sleep(5);
    expect(gateway.requests()).toMatchObject([{ status: 200, error: { kind: "cancelled" } }]);
    expect(gateway.spent().usage.input).toBeGreaterThan(0);
  });
});

describe("after skein is killed", () => {
  test("no process that it started in the sandbox survives", async () => {
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
