// Tool output from nothing to half a gigabyte. Memory stays bounded. The model gets an excerpt that is cut between
// characters. The complete output is stored and can be read back. Commands that exceed their time limit are ended.
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
/** Bytes for the line with the path of the complete output. */
const notice = 200;

describe("five megabytes", () => {
  const lines = 655_360;
  const print = `seq -f %07.0f 1 ${lines}`;
  const expectedOutput = Array.from({ length: lines }, (_, index) => `${String(index + 1).padStart(7, "0")}\n`).join("");

  test("5 MB of output give the model an excerpt, watchers small records, and the store every byte", async () => {
    const script = { steps: [bash(print), read(600_000, 10), read(1, 20)], final: "read it" };
    await runJourney(script, ["--output-format", "events"], async ({ skein, ran, server, peaks }) => {
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

      expect(await outputHash(skein, 1)).toBe(Bun.hash(expectedOutput));
      checkPeaks(peaks);
    });
  });
});

describe("a model that pages through an output", () => {
  test("a model that pages through an output gets every line once, in order", async () => {
    const print = `for n in $(seq 1 3000); do printf '%05d %0*d\\n' $n $((n % 97)) 0; done`;
    const script: ScriptSource = ({ body, position }) => {
      const next = /continue with offset=(\d+)\]$/.exec(lastResult(body) ?? "")?.[1];
      const step =
        position.step === 0 ? bash(print) : position.step === 1 ? read(1) : next === undefined ? { text: "all" } : read(Number(next));
      return { steps: [...Array.from({ length: position.step }, () => bash("true")), step], final: "all" };
    };
    await runJourney(script, ["--json"], async ({ server, skein }) => {
      const pages = resultsOf(server).slice(1);
      expect(pages.length).toBeGreaterThan(3);
      const text = pages.map((page) => page.replace(/\n\[lines [^\n]*\]$/, "")).join("\n");
      const output = await readOutput(skein, 1);
      expect(text.trimEnd()).toBe(new TextDecoder().decode(output).trimEnd());
    });
  });
});

describe("a flood", () => {
  const floods: [string, string, number][] = [
    ["500 MB of lines", `yes 'the quick brown fox jumps over the lazy dog' | head -c ${500 * MB}`, 500 * MB],
    ["one line of 100 MB", `head -c ${100 * MB} /dev/zero | tr '\\0' x`, 100 * MB],
  ];
  for (const [name, command, bytes] of floods) {
    test(`an output with ${name} needs bounded memory and is stored completely`, async () => {
      await runJourney(
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
  test("a timeout stops the command and every process it started, even detached ones", async () => {
    const hiders = [
      "sleep 301 &",
      "setsid sleep 302 &",
      "nohup sleep 303 >/dev/null 2>&1 &",
      "(setsid sh -c 'sleep 304 & sleep 305' >/dev/null 2>&1 &);",
      "sh -c '(trap \"\" TERM HUP INT; exec setsid sleep 306) </dev/null >/dev/null 2>&1 & exit' &",
    ];
    const step = { calls: [{ input: { command: `${hiders.join(" ")} echo started; sleep 300`, timeout: 1 } }] };
    await runJourney({ steps: [step, bash("echo next")], final: "went on" }, ["--json"], async ({ skein, ran, server }) => {
      expect(ran.json()).toMatchObject({ status: "ok", result: "went on" });
      const [stopped, next] = resultsOf(server);
      expect(stopped).toContain("started\ntimed out after 1");
      expect(next).toBe("next");
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    });
  });
});

describe("the cut of an excerpt", () => {
  const clusters = {
    family: "👨‍👩‍👧‍👦",
    "letter under marks": "e\u0301\u0323",
    flag: "🇩🇪",
    "skin tone": "👍🏽",
    hangul: "각",
    colour: "\x1b[38;5;196m",
  };
  for (const [name, cluster] of Object.entries(clusters)) {
    test(`an excerpt is never cut inside a ${name}`, async () => {
      const size = Buffer.byteLength(cluster);
      const shifts = Array.from({ length: Math.min(size, 5) }, (_, index) => index);
      const manyCount = Math.ceil((80 * KB) / size);
      const nearLimitCount = Math.floor((32 * KB) / size);
      const commands = [
        ...shifts.map((shift) => printRepeated(cluster, manyCount, shift)),
        ...shifts.map((shift) => printRepeated(cluster, nearLimitCount, shift)),
      ];
      const steps = [{ calls: commands.map((command) => ({ input: { command } })) }];
      await runJourney({ steps, final: "done" }, ["--json"], async ({ server }) => {
        const texts = resultsOf(server);
        expect(texts).toHaveLength(commands.length);
        for (const [index, text] of texts.entries()) {
          expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32 * KB + notice);
          const leftover = text
            .replaceAll(cluster, "")
            .replace(/^-*/, "")
            .replaceAll(/\n?\[[^\]]*\]\n?/g, "");
          expect({ index, leftover }).toEqual({ index, leftover: "" });
        }
      });
    });
  }
});

describe("bytes that are not text", () => {
  test("bytes that are not text are stored as they were printed", async () => {
    const command = "head -c 200000 /dev/urandom | tee printed.bin; printf '\\xff\\xfe\\x80' | tee -a printed.bin";
    await runJourney({ steps: [bash(command)], final: "done" }, ["--json"], async ({ skein, server }) => {
      expect(Buffer.byteLength(resultsOf(server)[0] ?? "")).toBeLessThanOrEqual(32 * KB + notice);
      expect(Buffer.compare(await readOutput(skein, 1), readFileSync(join(skein.project, "printed.bin")))).toBe(0);
    });
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

type Peaks = { main: number; executor: number };
type JourneyContext = { skein: TemporaryHome; server: ModelServer; ran: RunResult; peaks: Peaks };

async function runJourney(script: ScriptSource, args: string[], check: (ctx: JourneyContext) => Promise<void>): Promise<void> {
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

/**
 * Resolves with the most anonymous memory that skein and its executor had. File pages do not count: the kernel maps up to
 * 30 MB more of them if the bundle was just written.
 */
async function watchMemory(main: number): Promise<Peaks> {
  const peaks: Peaks = { main: 0, executor: 0 };
  for (;;) {
    const status = procText(`/proc/${main}/status`);
    if (status === "" || /^State:\s+Z/m.test(status)) return peaks;
    peaks.main = Math.max(peaks.main, anonymousBytes(status));
    for (const pid of descendantsOf(String(main))) {
      if (procText(`/proc/${pid}/cmdline`).includes("__executor"))
        peaks.executor = Math.max(peaks.executor, anonymousBytes(procText(`/proc/${pid}/status`)));
    }
    await Bun.sleep(20);
  }
}

/** The executor is not a child: the launcher of the sandbox is between them. */
function descendantsOf(pid: string): string[] {
  const children = procText(`/proc/${pid}/task/${pid}/children`).split(" ");
  return children.filter((child) => child !== "").flatMap((child) => [child, ...descendantsOf(child)]);
}

function anonymousBytes(status: string): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * KB;
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
  // 77 to 98 MB in 12 floods on a busy machine; 20 to 60 MB more without the collections of src/executor/client.ts.
  expect(peaks.main).toBeLessThan(130 * MB);
  // 42 to 48 MB.
  expect(peaks.executor).toBeGreaterThan(0);
  expect(peaks.executor).toBeLessThan(80 * MB);
}

function bash(command: string) {
  return { calls: [{ input: { command } }] };
}

function read(offset: number, limit?: number) {
  return { calls: [{ name: "read", input: { path: `bash:${session}/1`, offset, ...(limit === undefined ? {} : { limit }) } }] };
}

/** Returns a command that prints `shift` dashes, then the cluster `count` times. */
function printRepeated(cluster: string, count: number, shift: number): string {
  const literal = [...Buffer.from(cluster)].map((byte) => `\\x${byte.toString(16)}`).join("");
  return `printf -v c '%b' '${literal}'; printf -v s '%*s' ${count} ''; printf '%s' '${"-".repeat(shift)}' "\${s// /$c}"`;
}

/** Returns the tool results in the last request, in the order of their calls. */
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

async function readOutput(skein: TemporaryHome, n: number): Promise<Uint8Array> {
  const store = await openStore(storeOf(skein));
  try {
    return await new Response(await store.readOutput(`${session}/${n}`)).bytes();
  } finally {
    await store.close();
  }
}

async function outputHash(skein: TemporaryHome, n: number): Promise<number | bigint> {
  return Bun.hash(await readOutput(skein, n));
}
