// A conversation that is larger than its model's context window. Older work becomes a summary; the user's messages and
// the last call stay. The run continues, and so does the session afterwards.
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Node } from "../../../src/protocol/tree/node.ts";
import { openStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { field, listOf, textOf, type JsonValue } from "../../../src/scripted-model/json.ts";
import type { ServerFault, Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";

const model = "anthropic/claude-sonnet-4-5";
const session = "0190aaaa-bbbb-7ccc-8ddd-eeeeffff0002";
const task = 'Count the "things",\n  keep <tags> & 👩‍🚀 e\u0301 as they are.';
const window = 6000;
const tooLong: ServerFault = { type: "status", status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" };

/** Each command prints about 400 tokens between its own markers. */
const work = Array.from(
  { length: 24 },
  (_, index) => `echo ${index} >> counted.txt; echo "begin-${index}."; printf '%01200d\\n' ${index}; echo "end-${index}."`,
);

describe("a run that overflows its window", () => {
  test("a run that exceeds the window compacts more than once and makes every call exactly once", async () => {
    await runJourney({ window }, async ({ skein, server, run }) => {
      const ran = await run([task, "--session-id", session, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "all counted" });
      expect(readFileSync(join(skein.project, "counted.txt"), "utf8").trim().split("\n")).toEqual(work.map((_, index) => String(index)));

      const notes = (await pathOf(skein)).filter((node) => node.note?.about === "compaction");
      expect(notes.length).toBeGreaterThanOrEqual(2);
      expect(notes[0]?.parts[0]).toEqual({ kind: "text", text: "[Earlier work, summarised]\nSUMMARY 1 of the work" });
      for (const { body, text } of server.main()) {
        expect(userTexts(body)[0]).toBe(task);
        expect(Buffer.byteLength(text) / 4).toBeLessThan(window);
        checkPairs(body);
      }
      checkAfterEachSummary(server);
      expect(summaries(server)).toHaveLength(notes.length);
      expect((await skein.run(["verify"])).code).toBe(0);
    });
  });

  test("a resumed run sends both user messages, the last summary and the nodes after it", async () => {
    await runJourney({ window }, async ({ server, run }) => {
      await run([task, "--session-id", session, "--json"]);
      const before = server.main().at(-1)?.body ?? null;
      const summaryCount = summaries(server).length;
      server.clear();
      const ran = await run(["and how many were there?", "--resume", session, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "all counted" });
      const after = server.main().at(-1)?.body ?? null;
      expect(userTexts(after).filter((text) => !text.startsWith("["))).toEqual([task, "and how many were there?"]);
      expect(userTexts(after).filter((text) => text.includes("SUMMARY"))).toHaveLength(1);
      expect(summaries(server)).toEqual([]);
      expect(userTexts(after).find((text) => text.includes("SUMMARY"))).toContain(`SUMMARY ${summaryCount} `);
      expect(resultTexts(after)).toEqual(resultTexts(before));
    });
  });
});

describe("a server that says the context is too long", () => {
  test("after a too-long error skein sends a shorter conversation and the run continues", async () => {
    await runJourney({ faults: { 6: tooLong } }, async ({ skein, server, run }) => {
      const ran = await run([task, "--session-id", session, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "all counted" });
      expect(summaries(server)).toHaveLength(1);
      expect((await pathOf(skein)).filter((node) => node.note?.about === "compaction")).toHaveLength(1);
      const [, retried] = server.main().slice(6);
      expect(userTexts(retried?.body ?? null)[0]).toBe(task);
      expect(resultTexts(retried?.body ?? null).at(-1)).toContain("end-4.");
      expect(readFileSync(join(skein.project, "counted.txt"), "utf8").trim().split("\n")).toHaveLength(work.length);
    });
  });

  test("a server that always answers too long ends the run as too-long, and the finished work is stored", async () => {
    await runJourney(
      { faults: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [index + 6, tooLong])) },
      async ({ skein, run }) => {
        const ran = await run([task, "--session-id", session, "--json"], 1);
        expect(ran.json()).toMatchObject({ status: "too-long" });
        expect((await pathOf(skein)).filter((node) => node.author === "tool")).toHaveLength(5);
      },
    );
  });
});

describe("a summary that fails", () => {
  test("a failed summary is replaced by a plain list of the calls", async () => {
    await runJourney({ window, failSummaries: true }, async ({ skein, server, run }) => {
      const ran = await run([task, "--session-id", session, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "all counted" });
      const [note] = (await pathOf(skein)).filter((node) => node.note?.about === "compaction");
      const text = note?.parts[0]?.kind === "text" ? note.parts[0].text : "";
      expect(text).toContain("could not summarise");
      expect(text).toContain('- called bash {"command":"echo 0 >> counted.txt;');
      expect(server.main().at(-1)?.text).toContain("could not summarise");
    });
  });
});

describe("a result that is larger than the window", () => {
  test("a result that is larger than the window is shortened for the model", async () => {
    const commands = ["echo small", "echo first-word; head -c 30000 /dev/zero | tr '\\0' y; echo; echo last-word"];
    await runJourney({ window, commands }, async ({ server, run }) => {
      const ran = await run([task, "--session-id", session, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "all counted" });
      const last = server.main().at(-1);
      expect(userTexts(last?.body ?? null).join("\n")).toMatch(
        /\[Result of your last bash call, shortened\]\nfirst-word\ny+\n\[\.\.\. [\d,]+ bytes not shown \.\.\.\]\ny+\nlast-word/,
      );
      expect(Buffer.byteLength(last?.text ?? "") / 4).toBeLessThan(window);
    });
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

type Options = { window?: number; faults?: Record<number, ServerFault>; failSummaries?: boolean; commands?: string[] };
type JourneyContext = {
  skein: TemporaryHome;
  server: ModelServer;
  run: (args: string[], code?: number) => ReturnType<TemporaryHome["run"]>;
};

async function runJourney(options: Options, check: (ctx: JourneyContext) => Promise<void>): Promise<void> {
  let summaryCount = 0;
  const commands = options.commands ?? work;
  const script = ({ position, body }: { position: { step: number }; body: JsonValue }): Script => {
    if (!isSummary(body)) return { steps: stepsWithCommand(position.step, commands[position.step - summaryCount]), final: "all counted" };
    if (options.failSummaries === true)
      server.setFault({ type: "status", status: 400, message: "no summaries here" }, server.main().length + 1);
    else summaryCount += 1;
    return { steps: [], final: `SUMMARY ${summaryCount} of the work` };
  };
  const server = startModelServer(script, { count: "requests", faults: options.faults ?? {} });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const config = join(skein.root, "skein", "config");
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "config.jsonc"), JSON.stringify({ providers: { anthropic: { context_window: options.window ?? null } } }));
    const run: JourneyContext["run"] = async (args, code = 0) => {
      const ran = await skein.run(["run", ...args, "-m", model]);
      expect({ code: ran.code, err: ran.code === code ? "" : ran.err }).toEqual({ code, err: "" });
      return ran;
    };
    await check({ skein, server, run });
  } finally {
    await server.stop();
  }
}

/** Returns steps with this command at this step. Without a command the final answer follows. */
function stepsWithCommand(step: number, command: string | undefined): Script["steps"] {
  if (command === undefined) return [];
  return Array.from({ length: step + 1 }, () => ({ calls: [{ input: { command } }] }));
}

function isSummary(body: JsonValue): boolean {
  return userTexts(body).at(-1)?.startsWith("Stop working for a moment") === true;
}

function summaries(server: ModelServer): JsonValue[] {
  return server
    .main()
    .map((request) => request.body)
    .filter(isSummary);
}

/** Checks that the request after a summary contains it, and the complete result of the last call before it. */
function checkAfterEachSummary(server: ModelServer): void {
  const bodies = server.main().map((request) => request.body);
  bodies.forEach((body, index) => {
    if (!isSummary(body)) return;
    const next = bodies[index + 1] ?? null;
    const calls = bodies.slice(0, index).filter((earlier) => !isSummary(earlier)).length;
    expect(userTexts(next).filter((text) => text.includes("SUMMARY"))).toHaveLength(1);
    expect(resultTexts(next).at(-1)).toMatch(new RegExp(`^begin-${calls - 1}\\.\\n0*${calls - 1}\\nend-${calls - 1}\\.$`));
  });
}

/** Checks that every result follows the message with its call, and that every call has a result. */
function checkPairs(body: JsonValue): void {
  const messages = listOf(field(body, "messages"));
  const ids = (index: number, type: string, key: string) =>
    listOf(field(messages[index] ?? null, "content")).flatMap((block) =>
      field(block, "type") === type ? [textOf(field(block, key))] : [],
    );
  messages.forEach((_, index) => {
    expect(ids(index, "tool_result", "tool_use_id")).toEqual(ids(index - 1, "tool_use", "id"));
  });
}

function userTexts(body: JsonValue): string[] {
  return listOf(field(body, "messages"))
    .filter((message) => field(message, "role") === "user")
    .flatMap((message) => blocksOf(message))
    .flatMap((block) => (field(block, "type") === "text" ? [textOf(field(block, "text"))] : []));
}

function resultTexts(body: JsonValue): string[] {
  return listOf(field(body, "messages"))
    .flatMap((message) => blocksOf(message))
    .filter((block) => field(block, "type") === "tool_result")
    .map((block) => contentText(field(block, "content")));
}

function blocksOf(message: JsonValue): JsonValue[] {
  const content = field(message, "content");
  return typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
}

function contentText(content: JsonValue | undefined): string {
  return typeof content === "string"
    ? content
    : listOf(content)
        .map((block) => textOf(field(block, "text")))
        .join("");
}

async function pathOf(skein: TemporaryHome): Promise<Node[]> {
  const data = join(skein.root, "skein", "data");
  const store = await openStore({ path: join(data, "skein.db"), outputsDir: join(data, "outputs") });
  try {
    return await store.path((await store.session(session))?.tip ?? "");
  } finally {
    await store.close();
  }
}
