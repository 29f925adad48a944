// What tools print, from nothing to half a gigabyte: memory stays bounded, the model gets an excerpt that is cut
// between characters, the whole is kept and can be read back, and what outlives its time is ended.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { field, listOf, textOf, type JsonValue } from "../../../src/scripted-model/json.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, type RunResult, type TemporaryHome } from "../../support/temporary-home.ts";

const model = "anthropic/claude-sonnet-4-5";
const session = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0001";
const KB = 1024;
const MB = 1024 * 1024;
/** Room for the line that says where the whole output is. */
const notice = 200;

describe("five megabytes", () => {
  const lines = 655_360;
  const print = `seq -f %07.0f 1 ${lines}`;
  const whole = Array.from({ length: lines }, (_, at) => `${String(at + 1).padStart(7, "0")}\n`).join("");

  test("become an excerpt for the model, small records for watchers, and a handle with every byte", async () => {
    const script = { steps: [bash(print), read(600_000, 10), read(1, 20)], final: "read it" };
    await walk(script, ["--output-format", "events"], async ({ skein, ran, server, peaks }) => {
      const records = ran.out.trim().split("\n");
      expect(Math.max(...records.map((record) => record.length))).toBeLessThan(100 * KB);
      expect(ran.out.length).toBeLessThan(2 * MB);

      const [excerpt = "", deep = "", first = ""] = resultsOf(server);
      expect(Buffer.byteLength(excerpt)).toBeLessThanOrEqual(32 * KB + notice);
      expect(excerpt.startsWith("0000001\n0000002\n")).toBe(true);
      expect(excerpt).toContain("0655360\n");
      expect(excerpt).toMatch(/\[\.\.\. [\d,]+ bytes not shown \.\.\.\]/);
      expect(excerpt).toContain(`bash:${session}/1`);
      expect(deep.startsWith("0600000\n0600001\n")).toBe(true);
      expect(deep).toContain("0600009\n[");
      expect(first.startsWith("0000001\n")).toBe(true);

      expect(await wholeOutput(skein, 1)).toBe(Bun.hash(whole));
      checkPeaks(peaks);
    });
  });
});

describe("a model that pages through an output", () => {
  test("gets every line of it once, in order", async () => {
    const print = `for n in $(seq 1 3000); do printf '%05d %0*d\\n' $n $((n % 97)) 0; done`;
    const script: ScriptSource = ({ body, position }) => {
      const next = /continue with offset=(\d+)\]$/.exec(lastResult(body) ?? "")?.[1];
      const step =
        position.step === 0 ? bash(print) : position.step === 1 ? read(1) : next === undefined ? { text: "all" } : read(Number(next));
      return { steps: [...Array.from({ length: position.step }, () => bash("true")), step], final: "all" };
    };
    await walk(script, ["--json"], async ({ server, skein }) => {
      const pages = resultsOf(server).slice(1);
      expect(pages.length).toBeGreaterThan(3);
      const text = pages.map((page) => page.replace(/\n\[lines [^\n]*\]$/, "")).join("\n");
      const kept = await readWhole(skein, 1);
      expect(text.trimEnd()).toBe(new TextDecoder().decode(kept).trimEnd());
    });
  });
});

describe("a flood", () => {
  const floods: [string, string, number][] = [
    ["of 500 MB in lines", `yes 'the quick brown fox jumps over the lazy dog' | head -c ${500 * MB}`, 500 * MB],
    ["of 100 MB in one line", `head -c ${100 * MB} /dev/zero | tr '\\0' x`, 100 * MB],
  ];
  for (const [name, command, bytes] of floods) {
    test(`${name} ends with bounded memory and is kept whole`, async () => {
      await walk(
        { steps: [bash(command), read(1)], final: "done" },
        ["--output-format", "events"],
        async ({ skein, ran, server, peaks }) => {
          expect(ran.out.length).toBeLessThan(4 * MB);
          for (const text of resultsOf(server)) expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32 * KB + notice);
          checkPeaks(peaks);
          const store = await openStore(storeOf(skein));
          try {
            const path = await store.path((await store.session(session))?.tip ?? "");
            const handles = path
              .flatMap((node) => node.parts)
              .flatMap((part) => (part.kind === "result" && part.handle ? [part.handle.metadata] : []));
            expect(handles).toMatchObject([{ bytes, keptBytes: bytes, exitCode: 0 }]);
          } finally {
            await store.close();
          }
        },
      );
    });
  }
});

describe("a timeout", () => {
  test("stops sleep 300 and all it started, however they hid", async () => {
    const hiders = [
      "sleep 301 &",
      "setsid sleep 302 &",
      "nohup sleep 303 >/dev/null 2>&1 &",
      "(setsid sh -c 'sleep 304 & sleep 305' >/dev/null 2>&1 &);",
      "sh -c '(trap \"\" TERM HUP INT; exec setsid sleep 306) </dev/null >/dev/null 2>&1 & exit' &",
    ];
    const step = { calls: [{ input: { command: `${hiders.join(" ")} echo started; sleep 300`, timeout: 1 } }] };
    await walk({ steps: [step, bash("echo next")], final: "went on" }, ["--json"], async ({ skein, ran, server }) => {
      expect(ran.json()).toMatchObject({ status: "ok", result: "went on" });
      const [stopped, next] = resultsOf(server);
      expect(stopped).toContain("started\ntimed out after 1");
      expect(next).toBe("next");
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    });
  });
});

describe("a cut", () => {
  const clusters = {
    family: "👨‍👩‍👧‍👦",
    "letter under marks": "e\u0301\u0323",
    flag: "🇩🇪",
    "skin tone": "👍🏽",
    hangul: "각",
    colour: "\x1b[38;5;196m",
  };
  for (const [name, cluster] of Object.entries(clusters)) {
    test(`never falls inside a ${name}`, async () => {
      const size = Buffer.byteLength(cluster);
      const shifts = Array.from({ length: Math.min(size, 5) }, (_, at) => at);
      const many = Math.ceil((80 * KB) / size);
      const near = Math.floor((32 * KB) / size);
      const commands = [...shifts.map((shift) => repeated(cluster, many, shift)), ...shifts.map((shift) => repeated(cluster, near, shift))];
      const steps = [{ calls: commands.map((command) => ({ input: { command } })) }];
      await walk({ steps, final: "done" }, ["--json"], async ({ server }) => {
        const texts = resultsOf(server);
        expect(texts).toHaveLength(commands.length);
        for (const [at, text] of texts.entries()) {
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32 * KB + notice);
          const leftover = text
            .replaceAll(cluster, "")
            .replace(/^-*/, "")
            .replaceAll(/\n?\[[^\]]*\]\n?/g, "");
          expect({ at, leftover }).toEqual({ at, leftover: "" });
        }
      });
    });
  }
});

describe("bytes that are no text", () => {
  test("are kept as they were printed", async () => {
    const command = "head -c 200000 /dev/urandom | tee printed.bin; printf '\\xff\\xfe\\x80' | tee -a printed.bin";
    await walk({ steps: [bash(command)], final: "done" }, ["--json"], async ({ skein, server }) => {
      expect(Buffer.byteLength(resultsOf(server)[0] ?? "")).toBeLessThanOrEqual(32 * KB + notice);
      expect(Buffer.compare(await readWhole(skein, 1), readFileSync(join(skein.project, "printed.bin")))).toBe(0);
    });
  });
});

// --- the walk ---------------------------------------------------------------------------------------------

type Peaks = { main: number; executor: number };
type Walked = { skein: TemporaryHome; server: ModelServer; ran: RunResult; peaks: Peaks };

async function walk(script: ScriptSource, args: string[], check: (walked: Walked) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const child = skein.start(["run", "print", "-m", model, "--session-id", session, ...args]);
    const peaks = watchMemory(child.pid);
    const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    const lines = () =>
      out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown);
    const ran = { code, out, err, lines, json: () => JSON.parse(out) as Record<string, unknown> };
    await check({ skein, server, ran, peaks: await peaks });
  } finally {
    await server.stop();
  }
}

/** The highest resident size each of the two ever had, as the kernel remembers it. */
async function watchMemory(main: number): Promise<Peaks> {
  const peaks: Peaks = { main: 0, executor: 0 };
  for (;;) {
    const status = procText(`/proc/${main}/status`);
    if (status === "" || /^State:\s+Z/m.test(status)) return peaks;
    peaks.main = Math.max(peaks.main, highWater(status));
    for (const pid of procText(`/proc/${main}/task/${main}/children`).trim().split(" ")) {
      if (procText(`/proc/${pid}/cmdline`).includes("__executor"))
        peaks.executor = Math.max(peaks.executor, highWater(procText(`/proc/${pid}/status`)));
    }
    await Bun.sleep(20);
  }
}

function highWater(status: string): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * KB;
}

function procText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function checkPeaks(peaks: Peaks): void {
  expect(peaks.main).toBeGreaterThan(0);
  expect(peaks.main).toBeLessThan(150 * MB);
  expect(peaks.executor).toBeLessThan(150 * MB);
}

function bash(command: string) {
  return { calls: [{ input: { command } }] };
}

function read(offset: number, limit?: number) {
  return { calls: [{ name: "read", input: { path: `bash:${session}/1`, offset, ...(limit === undefined ? {} : { limit }) } }] };
}

/** Prints the cluster so many times behind so many dashes. */
function repeated(cluster: string, count: number, shift: number): string {
  const literal = [...Buffer.from(cluster)].map((byte) => `\\x${byte.toString(16)}`).join("");
  return `printf -v c '%b' '${literal}'; printf -v s '%*s' ${count} ''; printf '%s' '${"-".repeat(shift)}' "\${s// /$c}"`;
}

/** The results in the last request, in the order of their calls. */
function resultsOf(server: ModelServer): string[] {
  return resultTexts(server.main().at(-1)?.body ?? null);
}

function lastResult(body: JsonValue): string | undefined {
  return resultTexts(body).at(-1);
}

function resultTexts(body: JsonValue): string[] {
  return listOf(field(body, "messages"))
    .flatMap((message) => listOf(field(message, "content")))
    .filter((block) => field(block, "type") === "tool_result")
    .map((block) => contentText(field(block, "content")));
}

function contentText(content: JsonValue | undefined): string {
  return typeof content === "string"
    ? content
    : listOf(content)
        .map((block) => textOf(field(block, "text")))
        .join("");
}

function storeOf(skein: TemporaryHome): { path: string; outputsDir: string } {
  const data = join(skein.root, "skein", "data");
  return { path: join(data, "skein.db"), outputsDir: join(data, "outputs") };
}

async function readWhole(skein: TemporaryHome, n: number): Promise<Uint8Array> {
  const store = await openStore(storeOf(skein));
  try {
    return await new Response(await store.readOutput(`${session}/${n}`)).bytes();
  } finally {
    await store.close();
  }
}

async function wholeOutput(skein: TemporaryHome, n: number): Promise<number | bigint> {
  return Bun.hash(await readWhole(skein, n));
}
