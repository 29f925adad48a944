// One headless run from the command line to the disk, for every wire protocol and every output format.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { event, result, streamLine, transcriptHeader, transcriptLine } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../support/temporary-home.ts";

const commands = Array.from({ length: 20 }, (_, index) => `echo line-${index}; echo ${index} >> counted.txt`);
const formats = ["text", "json", "stream-json", "events"] as const;

for (const [wire, model] of Object.entries(wireModels)) {
  describe(`twenty calls over ${wire}`, () => {
    for (const format of formats) {
      test(`twenty tool calls over ${wire} are printed correctly as ${format}`, async () => {
        const server = startModelServer(shellScript(commands, "all twenty are done"));
        using skein = temporaryHome(vendorEnv(server.url));
        try {
          const ran = await skein.run(["run", "count to twenty", "-m", model, "--output-format", format]);
          expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
          expect(readFileSync(`${skein.project}/counted.txt`, "utf8").trim().split("\n")).toHaveLength(20);
          check[format](ran.out, ran.out.trim().split("\n"));
        } finally {
          await server.stop();
        }
      });
    }
  });
}

const check: Record<(typeof formats)[number], (out: string, lines: string[]) => void> = {
  text: (out) => expect(out).toBe("all twenty are done\n"),
  json: (_, lines) => {
    expect(lines).toHaveLength(1);
    const record = result.parse(JSON.parse(lines[0] as string));
    expect(record).toMatchObject({ status: "ok", result: "all twenty are done", steps: 21 });
    expect(record.usage.output).toBeGreaterThan(0);
    expect(record.cost_usd).not.toBeUndefined();
    const [header, ...parts] = readFileSync(record.transcript_path as string, "utf8")
      .trim()
      .split("\n");
    expect(transcriptHeader.parse(JSON.parse(header as string)).session_id).toBe(record.session_id);
    const roles = parts.map((line) => transcriptLine.parse(JSON.parse(line)).role);
    expect(roles.filter((role) => role === "tool_result")).toHaveLength(20);
  },
  "stream-json": (_, lines) => {
    const records = lines.map((line) => streamLine.parse(JSON.parse(line)));
    expect(records[0]?.type).toBe("system");
    expect(records.filter((record) => record.type === "user")).toHaveLength(20);
    expect(records.at(-1)).toMatchObject({
      type: "result",
      subtype: "success",
      is_error: false,
      num_turns: 21,
      result: "all twenty are done",
    });
  },
  events: (_, lines) => {
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const events = records.slice(0, -1).map((record) => event.parse(record));
    result.parse(records.at(-1));
    const durableSeqs = events.filter((record) => !("n" in record)).map((record) => record.seq);
    expect(durableSeqs).toEqual(durableSeqs.map((_seq, index) => (durableSeqs[0] as number) + index));
    const results = events.filter((record) => record.type === "node.added" && record.node.author === "tool");
    expect(results).toHaveLength(20);
  },
};
